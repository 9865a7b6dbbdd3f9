// line-formats.ts: the formats with one entry per line. Each has a function that reads a line. Comments may state the
// file's date.
//
// proxy-lines      address:port, IPv6 in brackets; only the address is used
// fakefilter-text  domains under "## service" headings
// spamhaus         a JSON object per line; the last line is metadata and states the number of other lines

import { toAsciiDomain } from "@inkling/engine";
import { z } from "zod";
import { FeedError, type Format } from "../catalog/feed.ts";
import { DomainList } from "./domain-list.ts";
import { NetworkList } from "./network-list.ts";
import { lineParser, parsed, type ReadLine, readJson, unixTime } from "./parser.ts";
import { Tally } from "./tally.ts";
import { findStatedDate, forEachLine, readText } from "./text.ts";

/** Reads one entry per line. Text after the `comment` character is ignored. */
function entryReader(comment: RegExp): ReadLine {
  return (line, number, list) => {
    const at = line.search(comment);
    const value = at < 0 ? line : line.slice(0, at).trimEnd();
    if (value !== "") list.add(number, value);
    return at < 0 ? undefined : findStatedDate(line.slice(at));
  };
}

/** The service of each domain is its rank. */
const parseRankedDomains = lineParser(DomainList, () => (line, number, list) => {
  const comma = line.indexOf(",");
  const rank = line.slice(0, Math.max(comma, 0));
  if (/^[1-9][0-9]{0,6}$/.test(rank)) list.add(number, line.slice(comma + 1), rank);
  else list.tally.fail(number, "does not begin with a rank");
  return undefined;
});

/** The service of each domain is the date of its lookup, and its hosts. */
const parseMailHosts = lineParser(DomainList, () => (line, number, list) => {
  if (line.startsWith("#")) return findStatedDate(line);
  const [domain = "", date = "", hosts = ""] = line.split(",");
  const isValid = hosts === "" || hosts.split(" ").every((host) => toAsciiDomain(host) === host);
  if (isValid && /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(date))
    list.add(number, domain, `${date} ${hosts}`.trim());
  else list.tally.fail(number, "is not a domain, a date and hosts");
  return undefined;
});

const PROXY = /^(?:[a-z0-9]+:\/\/)?(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]{1,5})$/;

const parseProxyLines = lineParser(NetworkList, () => (line, number, list) => {
  if (line.startsWith("#")) return undefined;
  const match = PROXY.exec(line);
  const address = match?.[1] ?? match?.[2];
  if (address === undefined) list.tally.fail(number, "is not an address with a port");
  else list.add(number, address);
  return undefined;
});

/**
 * Returns a service as a domain. FakeFilter mostly names services by domain, but uses "static" for entries added by
 * hand.
 */
export const toService = (name: string): string => toAsciiDomain(name) ?? "";

const parseFakefilterText = lineParser(DomainList, () => {
  let service = "";
  return (line, number, list) => {
    if (line.startsWith("##")) service = toService(line.slice(2).trim());
    else if (line.startsWith("#")) return findStatedDate(line);
    else list.add(number, line, service);
    return undefined;
  };
});

/**
 * The copyright line is shown with the data, so no other text is allowed. The feed table contains the line without the
 * year.
 */
const COPYRIGHT = /^\(c\) [0-9]{4} The Spamhaus Project(?: SLU)?$/;

const spamhausLine = z.union([
  z.object({
    type: z.literal("metadata"),
    timestamp: unixTime,
    records: z.number().int().nonnegative(),
    copyright: z.string().max(200).optional(),
  }),
  z.object({ cidr: z.string() }),
]);

/** @throws FeedError in particular if the metadata is missing or states a different number of entries */
function parseSpamhaus(body: Uint8Array) {
  const list = new NetworkList(new Tally("record"));
  let records = 0;
  let end: Extract<z.infer<typeof spamhausLine>, { type: string }> | undefined;
  forEachLine(readText(body), (line, number) => {
    if (end !== undefined) throw new FeedError(`continues after its metadata, at line ${number}`);
    const value = readJson(line, spamhausLine, `line ${number}`);
    if ("type" in value) end = value;
    else {
      records++;
      list.add(number, value.cidr);
    }
  });
  if (end === undefined) throw new FeedError("is truncated: the closing metadata is missing");
  if (end.records !== records)
    throw new FeedError(`has ${records} records, but its metadata lists ${end.records}`);
  list.tally.check();
  const copyright = COPYRIGHT.test(end.copyright ?? "") ? end.copyright : undefined;
  return parsed(list, { publishedAt: new Date(end.timestamp * 1000), copyright });
}

export const LINE_NETWORKS = {
  "ip-lines": lineParser(NetworkList, () => entryReader(/[#;]/)),
  "proxy-lines": parseProxyLines,
  "spamhaus-json-lines": parseSpamhaus,
} satisfies { readonly [F in Format]?: unknown };

export const LINE_DOMAINS = {
  "domain-lines": lineParser(DomainList, () => entryReader(/#/)),
  "ranked-domains": parseRankedDomains,
  "mail-hosts": parseMailHosts,
  "fakefilter-text": parseFakefilterText,
} satisfies { readonly [F in Format]?: unknown };
