import { describe, expect, test } from "bun:test";
import { formatIp, parsePeerPrefix, parsePrefix } from "@inkling/engine";
import rows from "../../../client/test/caller-addresses.json" with { type: "json" };
import { sendersOf } from "./client-address.ts";

const TRUSTED = ["10.0.0.0/8", "2001:db8:1::/48"].map((text) => parsePrefix(text)!);
const caller = (peer: string | undefined, forwardedFor: string | null, trusted = TRUSTED) => {
  const address = sendersOf(peer, forwardedFor, trusted).caller;
  return address === undefined ? undefined : formatIp(address);
};

describe("the caller", () => {
  test.each([
    ["direct", "203.0.113.9", null, "203.0.113.9"],
    ["a header from a stranger counts nothing", "203.0.113.9", "8.8.8.8", "203.0.113.9"],
    ["one proxy", "10.0.0.1", "8.8.8.8", "8.8.8.8"],
    ["no header from a proxy: it is not the caller", "10.0.0.1", null, undefined],
    ["the visitor's own lie stands further left", "10.0.0.1", "1.1.1.1, 8.8.8.8", "8.8.8.8"],
    ["two proxies", "10.0.0.1", "1.1.1.1, 8.8.8.8, 10.0.0.2", "8.8.8.8"],
    ["only proxies", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["a mapped peer", "::ffff:10.0.0.1", "8.8.8.8", "8.8.8.8"],
    ["a mapped entry", "10.0.0.1", "::ffff:8.8.8.8", "8.8.8.8"],
    ["a mapped proxy in the chain", "10.0.0.1", "8.8.8.8,::ffff:10.0.0.2", "8.8.8.8"],
    ["IPv6", "2001:db8:1::1", "2606:4700::1111", "2606:4700::1111"],
    ["IPv4 with a port", "10.0.0.1", "8.8.8.8:443", "8.8.8.8"],
    ["IPv6 in brackets with a port", "10.0.0.1", "[2606:4700::1111]:443", "2606:4700::1111"],
    ["IPv6 in brackets", "10.0.0.1", "[2606:4700::1111]", "2606:4700::1111"],
    ["a zone", "fe80::1%eth0", null, "fe80::1"],
    ["spaces and tabs", "10.0.0.1", " 1.1.1.1 ,\t8.8.8.8 ", "8.8.8.8"],
    ["a tunnel is an address of its own", "2002:808:808::1", null, "2002:808:808::1"],
    ["unknown", "10.0.0.1", "unknown", undefined],
    ["empty", "10.0.0.1", "", undefined],
    ["an empty entry", "10.0.0.1", "8.8.8.8,", undefined],
    ["a name", "10.0.0.1", "localhost", undefined],
    ["leading zeros", "10.0.0.1", "010.8.8.8", undefined],
    ["garbage left of the visitor is never read", "10.0.0.1", "<script>, 8.8.8.8", "8.8.8.8"],
    ["garbage between proxies", "10.0.0.1", "8.8.8.8, junk, 10.0.0.2", undefined],
    ["quotes and semicolons", "10.0.0.1", 'for="8.8.8.8";proto=http', undefined],
    ["no connection", undefined, "8.8.8.8", undefined],
  ])("%s", (_, peer, forwardedFor, expected) => {
    expect(caller(peer, forwardedFor)).toBe(expected);
  });

  // The clients for TypeScript and Python run the same table. The server trusts only networks.
  const shared = rows.filter(({ trust }) => Array.isArray(trust) && trust.every((it) => it.includes("/")));
  test.each(shared)("as in the clients: $name", ({ trust, peer, header, address }) => {
    const trusted = (trust as string[]).map((text) => parsePeerPrefix(text)!);
    expect(caller(peer ?? undefined, header, trusted) ?? null).toBe(address);
  });
  test("the table has cases for the server", () => expect(shared.length).toBeGreaterThan(15));

  test("without trusted proxies the header is nothing", () => {
    expect(caller("10.0.0.1", "8.8.8.8", [])).toBe("10.0.0.1");
  });

  test("a header full of commas ends", () => {
    expect(caller("10.0.0.1", "10.0.0.2,".repeat(900))).toBeUndefined();
    expect(caller("10.0.0.1", `8.8.8.8${",10.0.0.2".repeat(900)}`)).toBe("8.8.8.8");
  });
});

describe("the visitor", () => {
  test.each([
    ["one proxy", "10.0.0.1", "1.1.1.1, 8.8.8.8", "8.8.8.8"],
    ["two proxies", "10.0.0.1", "8.8.8.8, 10.0.0.2", "8.8.8.8"],
    ["a visitor in the network of the proxies", "10.0.0.1", "10.0.0.2", "10.0.0.2"],
    ["a stranger names nobody", "203.0.113.9", "8.8.8.8", undefined],
    ["a proxy that sends no visitor is not the visitor", "10.0.0.1", null, undefined],
    ["unknown", "10.0.0.1", "unknown", undefined],
    ["no connection", undefined, "8.8.8.8", undefined],
  ])("%s", (_, peer, forwardedFor, expected) => {
    const address = sendersOf(peer, forwardedFor, TRUSTED).visitor;
    expect(address && formatIp(address)).toBe(expected);
  });
});

describe("the proxy", () => {
  test.each([
    ["the proxy at the other end", "10.0.0.1", "8.8.8.8", "10.0.0.1"],
    ["one that asks through another", "10.0.0.1", "8.8.8.8, 10.0.0.2", "10.0.0.2"],
    ["a visitor that claims to be a proxy", "10.0.0.1", "10.0.0.2, 8.8.8.8", "10.0.0.1"],
    ["a visitor in the network of the proxies", "10.0.0.1", "10.0.0.3", "10.0.0.1"],
    ["a stranger", "203.0.113.9", "8.8.8.8, 10.0.0.2", "203.0.113.9"],
    ["no header", "10.0.0.1", null, "10.0.0.1"],
    ["garbage", "10.0.0.1", "junk, 10.0.0.2", "10.0.0.1"],
    ["no connection", undefined, "8.8.8.8", undefined],
  ])("%s", (_, peer, forwardedFor, expected) => {
    const address = sendersOf(peer, forwardedFor, TRUSTED).proxy;
    expect(address && formatIp(address)).toBe(expected);
  });
});
