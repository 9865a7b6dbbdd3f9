// json-formats.ts: the formats that consist of one JSON document. Each has a schema and a function that reads its
// records.
//
// src  metrics.torproject.org/onionoo.html: or_addresses are "ip:port" and "[v6]:port". exit_addresses are the
//      addresses that exit scanners saw in the last 24 hours; the field is absent if there are none
// note the dates in lists of crawlers and CDNs are ignored, because they state when the list last changed, which may be
//      years ago

import { z } from "zod";
import { FeedError, type Format } from "../catalog/feed.ts";
import { parseJsonPath, selectJson } from "../catalog/json-path.ts";
import { addNetworks } from "./address-ranges.ts";
import { DomainList } from "./domain-list.ts";
import { PlacedList } from "./geofeed.ts";
import { toService } from "./line-formats.ts";
import { NetworkList } from "./network-list.ts";
import { type EntryList, jsonParser, type MakeList, newerOf, parsed, readJson, unixTime } from "./parser.ts";
import { Tally } from "./tally.ts";
import { findDate, readText } from "./text.ts";

const texts = z.array(z.string());

/**
 * Calls `use` with each text that the paths lead to. If there are several paths, some may lead to nothing, such as
 * those to a server's IPv6 address.
 * @throws FeedError if no path leads to anything
 */
function selectTexts(
  document: unknown,
  paths: readonly string[],
  use: (text: string, number: number) => void,
  tally: Tally,
) {
  const found = paths.map((path) => selectJson(document, parseJsonPath(path) ?? []));
  if (found.every((values) => values.length === 0)) throw new FeedError(`has nothing at ${paths.join(", ")}`);
  for (const [i, values] of found.entries())
    for (const [index, value] of values.entries()) {
      if (paths.length > 1 && (value === null || value === ""))
        tally.pass(index + 1, `is empty at ${paths[i]}`);
      else if (typeof value === "string") use(value.trim(), index + 1);
      else tally.fail(index + 1, `is not text at ${paths[i]}`);
    }
  return undefined;
}

/**
 * Maximum number of JSON values in an operator's own feed: enough for a million entries with three fields each. These
 * take up to 800 MB.
 */
const MAX_OWN_VALUES = 4_000_000;

/** @param add adds one text to the list @returns a parser whose paths are those that json-path.ts can parse */
const pathParser =
  <Result>(make: MakeList<Result>, add: (list: EntryList, number: number, text: string) => void) =>
  (body: Uint8Array, paths: readonly string[]) =>
    jsonParser(
      make,
      z.unknown(),
      (file, list) => selectTexts(file, paths, (text, number) => add(list, number, text), list.tally),
      MAX_OWN_VALUES,
    )(body);

const parseNetworksAt = pathParser(NetworkList, addNetworks);
const parseDomainsAt = pathParser(DomainList, (list, number, text) => list.add(number, text));

/** Private Internet Access signs its list, and puts the signature after the first line. */
function parseSigned(body: Uint8Array, paths: readonly string[]) {
  const end = readText(body).includes("\n") ? body.indexOf(0x0a) : -1;
  if (end < 0) throw new FeedError("is truncated: the signature after the first line is missing");
  return parseNetworksAt(body.subarray(0, end), paths);
}

/** The array of domains in a program: its first array of texts. */
function parseQuoted(body: Uint8Array) {
  const text = readText(body);
  const start = text.indexOf('["');
  const end = text.indexOf('"]', start);
  if (start < 0 || end < 0) throw new FeedError("has no array of texts");
  return parseDomainsAt(new TextEncoder().encode(text.slice(start, end + 2)), ["$[*]"]);
}

/** In most of MISP's warning lists, `version` is a date, such as 20260801. */
const warningList = z.object({
  list: texts,
  version: z.union([z.string(), z.number()]).optional().catch(undefined),
});

function readWarningList({ list: entries, version }: z.infer<typeof warningList>, list: EntryList) {
  addEach(list, entries);
  const day = /^(20\d\d)(\d\d)(\d\d)$/.exec(String(version));
  return findDate(day?.slice(1).join("-"));
}

function addEach(list: EntryList, entries: readonly string[]): undefined {
  for (const [index, text] of entries.entries()) list.add(index + 1, text);
}

const vpnServers = z.object({
  timestamp: unixTime,
  servers: z.array(
    z.object({
      ips: texts.optional(),
      country: z.string().optional(),
      region: z.string().optional(),
      city: z.string().optional(),
    }),
  ),
});

/**
 * The servers of a VPN operator, with the addresses that its programs connect to, and their cities. Some operators call
 * the country a region. A city that the operator marks as virtual is left out.
 */
function parseGluetun(body: Uint8Array) {
  const list = new PlacedList(new Tally("record"));
  const { timestamp, servers } = readJson(readText(body), vpnServers);
  for (const [index, { ips, region, country = region, city = "" }] of servers.entries()) {
    if (ips === undefined) list.tally.pass(index + 1, "has no address");
    const isPlace = country && city && !/virtual/i.test(city);
    for (const ip of ips ?? [])
      list.locate(index + 1, list.add(index + 1, ip), isPlace ? { country, city } : {});
  }
  list.tally.check();
  return parsed(list, { publishedAt: new Date(timestamp * 1000) });
}

/** The confidence that was requested. Entries with a lower confidence are skipped. */
const MIN_CONFIDENCE = 100;

const WITH_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):[0-9]{1,5}$/;

export const JSON_NETWORKS = {
  "json-networks": parseNetworksAt,
  "signed-json": parseSigned,
  // Lists of crawlers, in the format of Google and Microsoft. A prefix of neither family means that the format has
  // changed. Without the schema, the rest of the list would be used as if it were whole.
  "prefix-json": jsonParser(
    NetworkList,
    z.object({
      prefixes: z.array(
        z.union([z.object({ ipv4Prefix: z.string() }), z.object({ ipv6Prefix: z.string() })]),
      ),
    }),
    ({ prefixes }, list) =>
      addEach(
        list,
        prefixes.map((row) => ("ipv4Prefix" in row ? row.ipv4Prefix : row.ipv6Prefix)),
      ),
  ),
  "fastly-json": jsonParser(
    NetworkList,
    z.object({ addresses: texts, ipv6_addresses: texts }),
    (file, list) => addEach(list, [...file.addresses, ...file.ipv6_addresses]),
  ),
  // GitHub publishes all its networks. Only those from which it sends webhooks are read.
  "github-meta": (body: Uint8Array) => parseNetworksAt(body, ["$.hooks[*]"]),
  "misp-json": jsonParser(NetworkList, warningList, readWarningList),
  // Working proxies: for each, the address that clients connect to, and the address from which it sends traffic.
  "monosans-json": jsonParser(
    NetworkList,
    z.array(z.object({ host: z.string(), exit_ip: z.string().nullish() })),
    (proxies, list) => {
      for (const [index, { host, exit_ip }] of proxies.entries()) {
        list.add(index + 1, host);
        if (exit_ip) list.add(index + 1, exit_ip);
      }
      return undefined;
    },
  ),
  "gluetun-json": parseGluetun,
  "abuseipdb-json": jsonParser(
    NetworkList,
    z.object({
      meta: z.object({ generatedAt: z.string().optional() }).optional(),
      data: z.array(
        z.object({
          ipAddress: z.string(),
          abuseConfidenceScore: z.number(),
          lastReportedAt: z.string().optional().catch(undefined),
        }),
      ),
    }),
    ({ meta, data }, list) => {
      let newest: Date | undefined;
      for (const [index, { ipAddress, abuseConfidenceScore: score, lastReportedAt }] of data.entries()) {
        newest = newerOf(newest, findDate(lastReportedAt));
        if (score >= MIN_CONFIDENCE) list.add(index + 1, ipAddress);
        else list.tally.pass(index + 1, `confidence is ${score}, but at least ${MIN_CONFIDENCE} is required`);
      }
      return findDate(meta?.generatedAt) ?? newest;
    },
  ),
  "onionoo-json": jsonParser(
    NetworkList,
    z.object({
      relays_published: z.string().optional(),
      relays: z.array(
        z.object({
          or_addresses: texts,
          exit_addresses: texts.optional(),
          // The request asks for running exits only, but a copy created by hand may contain all relays.
          flags: texts.optional(),
          running: z.boolean().optional(),
        }),
      ),
    }),
    ({ relays, relays_published }, list) => {
      for (const [index, relay] of relays.entries()) {
        const number = index + 1;
        if (relay.running === false || relay.flags?.includes("Exit") === false) {
          list.tally.pass(number, "is not a running exit");
          continue;
        }
        for (const text of relay.or_addresses) {
          const parts = WITH_PORT.exec(text);
          if (parts === null) list.tally.fail(number, "is not an address with a port");
          else list.add(number, (parts[1] ?? parts[2])!); // one of the two groups always matches
        }
        for (const text of relay.exit_addresses ?? []) list.add(number, text);
      }
      return findDate(relays_published);
    },
  ),
} satisfies { readonly [F in Format]?: unknown };

export const JSON_DOMAINS = {
  "json-domains": parseDomainsAt,
  "domain-json": (body: Uint8Array) => parseDomainsAt(body, ["$[*]"]),
  "quoted-domains": parseQuoted,
  "misp-domains": jsonParser(DomainList, warningList, readWarningList),
  // The official websites that Wikidata has for each organisation.
  "organisation-websites": jsonParser(
    DomainList,
    z.object({ wikidata: z.record(z.string(), z.object({ officialWebsites: texts.optional() })) }),
    ({ wikidata }, list) => {
      for (const [index, { officialWebsites = [] }] of Object.values(wikidata).entries()) {
        for (const url of officialWebsites)
          list.add(index + 1, URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, "") : "");
      }
      return undefined;
    },
  ),
  // FakeFilter groups hosts by registrable domain. Only the hosts are used, because a dynamic-DNS domain has many owners.
  "fakefilter-json": jsonParser(
    DomainList,
    z.object({
      version: z.literal(2),
      t: unixTime,
      domains: z.record(z.string(), z.object({ providers: texts, hosts: z.record(z.string(), z.unknown()) })),
    }),
    (file, list) => {
      for (const [index, { providers, hosts }] of Object.values(file.domains).entries()) {
        const service = providers.map(toService).find((name) => name !== "") ?? "";
        for (const host of Object.keys(hosts)) list.add(index + 1, host, service);
      }
      return new Date(file.t * 1000);
    },
  ),
} satisfies { readonly [F in Format]?: unknown };
