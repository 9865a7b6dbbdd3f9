// address-readers.test.ts: lists everything that reads an IP address or a network from text, and which reader of
// packages/engine/src/address/ip.ts it uses.
//
// A new caller fails the first test. Whoever adds it to the list decides: what is looked up, listed or compared with a
// lookup uses parseIp and parsePrefix, which unwrap IPv4 inside IPv6. Anything else needs a reason.

import { describe, expect, test } from "bun:test";
import { valuesIn } from "@inkling/bulk/values";
import { Answerer, formatIp, formatPrefix, visitorNetworkOf } from "@inkling/engine";
import { addressIn } from "../packages/bulk/src/enrich/cells.ts";
import { parseGeofeed } from "../packages/compiler/src/parse/geofeed.ts";
import { parseNetworks } from "../packages/compiler/src/parse/index.ts";
import { networksOf, sendersOf } from "../packages/server/src/http/client-address.ts";
import { readNetwork } from "../packages/server/src/lookup/subject.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { overrideTarget } from "../packages/store/src/overrides/override.ts";
import { projectFiles, withoutComments } from "./harness/project-files.ts";

/** Readers that unwrap IPv4 inside IPv6. */
const UNWRAPPED: Readonly<Record<string, string>> = {
  "bulk/src/enrich/cells.ts": "cells of files",
  "bulk/src/values.ts": "addresses in text",
  "cli/src/runtime/answer.ts": "the network of a refused address",
  "compiler/src/fetch/fetch.ts": "hosts that a feed redirects to",
  "compiler/src/parse/network-list.ts": "networks of all feeds and own feeds",
  "compiler/src/parse/nro-delegated.ts": "delegations of the registries",
  "compiler/src/pipeline/history.ts": "networks of the copies kept",
  "data/src/dns/client.ts": "whether a text is an address",
  "engine/src/lookup/address-block.ts": "the lines and values of batches, lists of addresses in applications",
  "engine/src/lookup/answerer.ts": "every other lookup: API, decisions, files, applications",
  "engine/src/lookup/failure.ts": "our own table",
  "engine/src/overrides/model.ts": "stored overrides",
  "server/src/lookup/subject.ts": "networks to summarize",
  "server/src/lookup/value-texts.ts": "whether a text would be an address without its port",
  "server/src/api/openapi-examples.ts": "our own examples",
  "store/src/overrides/override.ts": "new overrides",
};

/** Peers and networks that are trusted: a tunnel address must not pass for the IPv4 address inside it. */
const PEERS: Readonly<Record<string, string>> = {
  "cli/src/config/setting-types.ts": "networks in settings: trusted proxies",
  "server/src/http/client-address.ts": "the connection's address, X-Forwarded-For, trusted proxies",
  "store/src/keys/key-input.ts": "networks that a key is limited to",
  "store/src/keys/key.ts": "the same, as stored",
};

const RAW: Readonly<Record<string, string>> = {
  "compiler/src/parse/address-ranges.ts": "ends of ranges, whose networks are unwrapped afterwards",
  "compiler/src/parse/asn.ts":
    "ends of ranges: the system that announces 2002::/16 does not announce the IPv4 internet",
  "operations/src/webhook-destination.ts":
    "a destination is refused if it, or the IPv4 address inside it, is not public",
};

/** Addresses that are already parsed: a caller, whose tunnel address is unwrapped before the lookup. */
const CALLERS: Readonly<Record<string, string>> = {
  "server/src/api/forward-auth.ts": "the visitor that a proxy asks about",
  "server/src/lookup/pipeline.ts": "the caller, as `me`",
  "operations/src/webhook-destination.ts": "see above",
};

/** Text that only has to look like an address. The client may import nothing of ours, and the server unwraps. */
const OTHERS: Readonly<Record<string, string>> = {
  "client/src/ip.ts": "the SDK's own parser",
  "server/src/http/host-names.ts": "whether a Host header has a name or an address",
};

const CALLS = {
  unwrapped: /\b(parseIp|parseIpInto|parseIpBytesInto|parsePrefix|parsePrefixAround)\(/,
  peers: /\b(parsePeer|parsePeerPrefix)\(/,
  raw: /\b(parseRawIp|parseRawIpInto)\(/,
  callers: /\bunwrapIpv4\(/,
  others: /\b(isIP|isIPv4|isIPv6)\(|\bBlockList\b|export function parseIp\(/,
} as const;

const LISTED = { unwrapped: UNWRAPPED, peers: PEERS, raw: RAW, callers: CALLERS, others: OTHERS } as const;

const sources = projectFiles().filter(
  ({ path }) =>
    /^packages\/[^/]+\/src\/.*\.tsx?$/.test(path) &&
    !/\.(test|testing)\.tsx?$/.test(path) &&
    path !== "packages/engine/src/address/ip.ts" &&
    !(path.startsWith("packages/client/") && path !== "packages/client/src/ip.ts"), // uses the SDK's own parser
);

describe("every reader is listed", () => {
  for (const kind of Object.keys(CALLS) as (keyof typeof CALLS)[]) {
    test(kind, () => {
      const isOwn = (path: string) => path === "packages/client/src/ip.ts" && kind !== "others";
      const callers = sources.filter(
        ({ path, text }) => CALLS[kind].test(withoutComments(text)) && !isOwn(path),
      );
      expect(callers.map(({ path }) => path.replace("packages/", "")).sort()).toEqual(
        Object.keys(LISTED[kind]).sort(),
      );
    });
  }
});

/** The same address and network in each form. */
const FORMS = [
  ["IPv4", "185.220.101.1", "185.220.101.0/24"],
  ["mapped", "::ffff:185.220.101.1", "::ffff:185.220.101.0/120"],
  ["6to4", "2002:b9dc:6501::9", "2002:b9dc:6500::/40"],
  ["NAT64", "64:ff9b::b9dc:6501", "64:ff9b::b9dc:6500/120"],
  ["Teredo", "2001:0:4136:e378:8000:63bf:4623:9afe", "2001:0:4136:e378:8000:63bf:4623:9a00/120"],
] as const;
/** In the same forms, a private address. */
const PRIVATE = ["10.0.0.1", "::ffff:10.0.0.1", "2002:0a00:0001::1", "64:ff9b::a00:1"];

const bytes = (text: string) => new TextEncoder().encode(text);
const network = (text: string) => readNetwork(text)!;
const read = (text: string) => {
  const answerer = new Answerer();
  return answerer.readAddress(text) === undefined ? formatIp(answerer.address) : undefined;
};

describe.each(FORMS)("%s", (form, address, prefix) => {
  const ADDRESS = "185.220.101.1";
  const NETWORK = "185.220.101.0/24";

  test("a lookup, as text and as bytes", () => {
    expect(read(address)).toBe(ADDRESS);
    const answerer = new Answerer();
    expect(answerer.readAddressBytes(bytes(address), 0, address.length)).toBe(true);
    expect(formatIp(answerer.address)).toBe(ADDRESS);
  });
  test("a cell with a list: the first public address", () => {
    for (const before of PRIVATE) {
      const found = addressIn(`${before}, ${address}, 104.16.0.1`);
      expect([before, found && read(found)]).toEqual([before, ADDRESS]);
    }
  });
  test("text: only public addresses", () => {
    expect(valuesIn(`from ${PRIVATE.join(" or ")} to ${address}`).map(read)).toEqual([ADDRESS]);
  });
  test("own feeds", () => {
    const inLines = (text: string) =>
      parseNetworks("network-lines", bytes(`${text}\n`)).networks.map(formatPrefix);
    expect(inLines(address)).toEqual([`${ADDRESS}/32`]);
    expect(inLines(prefix)).toEqual([NETWORK]);
    expect(parseGeofeed(bytes(`${prefix},DE,,,\n`)).networks.map(formatPrefix)).toEqual([NETWORK]);
    const json = bytes(JSON.stringify([prefix]));
    expect(parseNetworks("json-networks", json, ["$[*]"]).networks.map(formatPrefix)).toEqual([NETWORK]);
  });
  test("overrides", () => {
    expect(overrideTarget(address)).toEqual({ kind: "address", value: ADDRESS });
    expect(overrideTarget(prefix)).toEqual({ kind: "network", value: NETWORK });
  });
  test("a network to summarize, named by any of its addresses", () => {
    expect(formatPrefix(network(prefix))).toBe(NETWORK);
    expect(formatPrefix(network(prefix.replace(/^.*(?=\/)/, address)))).toBe(NETWORK);
  });
  test("the filter of stored decisions, and networks in rules", () => {
    expect(visitorNetworkOf(address)).toBe(NETWORK);
    expect(visitorNetworkOf(prefix)).toBe(NETWORK);
  });
  test("peers and trusted networks: only mapped addresses are IPv4", () => {
    const isIpv4 = form === "IPv4" || form === "mapped";
    expect(formatIp(sendersOf(address, null, []).caller!)).toBe(isIpv4 ? ADDRESS : address);
    expect(formatPrefix(networksOf([prefix])[0]!)).toBe(isIpv4 ? NETWORK : prefix);
    const key = parseNewKey({ name: "a", networks: [prefix] }, 0);
    expect(formatPrefix(key.networks[0]!)).toBe(isIpv4 ? NETWORK : prefix);
    // 185.220.101.0/24 is trusted, so only a peer that is in this network may name the visitor
    const found = sendersOf(address, "8.8.8.8", networksOf(["185.220.101.0/24"])).caller;
    expect(formatIp(found!)).toBe(isIpv4 ? "8.8.8.8" : address);
  });
});
