// line-formats.ts: the formats of one entry a line, each by how it reads a line. Comments may state the file's date.
//
// proxy-lines      address:port, IPv6 in brackets; only the address is used
// fakefilter-text  domains under "## service" headings
// spamhaus         a JSON object a line, the last one metadata, which counts the others

import { toAsciiDomain } from "@inkling/engine";
import { z } from "zod";
import { FeedError } from "../catalog/feed.ts";
import { DomainList } from "./domain-list.ts";
import { NetworkList } from "./network-list.ts";
import { lineParser, parsed, type ReadLine, readJson, unixTime } from "./parser.ts";
import { Tally } from "./tally.ts";
import { findStatedDate, forEachLine, readText } from "./text.ts";

/** One entry per line; text after a `comment` sign is ignored. */
function entryReader(comment: RegExp): ReadLine {
  return (line, number, list) => {
    const at = line.search(comment);
    const value = at < 0 ? line : line.slice(0, at).trimEnd();
    if (value !== "") list.add(number, value);
    return at < 0 ? undefined : findStatedDate(line.slice(at));
  };
}

export const parseIpLines = lineParser(NetworkList, () => entryReader(/[#;]/));
export const parseDomainLines = lineParser(DomainList, () => entryReader(/#/));

const PROXY = /^(?:[a-z0-9]+:\/\/)?(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]{1,5})$/;

export const parseProxyLines = lineParser(NetworkList, () => (line, number, list) => {
  if (line.startsWith("#")) return undefined;
  const match = PROXY.exec(line);
  const address = match?.[1] ?? match?.[2];
  if (address === undefined) list.tally.fail(number, "is not an address with a port");
  else list.add(number, address);
  return undefined;
});

/** A service as FakeFilter names it: mostly a domain, but also "static" for entries added by hand. */
export const toService = (name: string): string => toAsciiDomain(name) ?? "";

export const parseFakefilterText = lineParser(DomainList, () => {
  let service = "";
  return (line, number, list) => {
    if (line.startsWith("##")) service = toService(line.slice(2).trim());
    else if (line.startsWith("#")) return findStatedDate(line);
    else list.add(number, line, service);
    return undefined;
  };
});

/** It is shown with the data, so nothing else may stand there; the feed table has one without the year. */
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

/** @throws FeedError above all when the metadata is missing or counts differently */
export function parseSpamhaus(body: Uint8Array) {
  const list = new NetworkList(new Tally("record"));
  let records = 0;
  let end: Extract<z.infer<typeof spamhausLine>, { type: string }> | undefined;
  forEachLine(readText(body), (line, number) => {
    if (end !== undefined) throw new FeedError(`goes on after its metadata, at line ${number}`);
    const value = readJson(line, spamhausLine, `line ${number}`);
    if ("type" in value) end = value;
    else {
      records++;
      list.add(number, value.cidr);
    }
  });
  if (end === undefined) throw new FeedError("is cut short: the metadata that closes it is missing");
  if (end.records !== records)
    throw new FeedError(`has ${records} records, its metadata counts ${end.records}`);
  list.tally.check();
  const copyright = COPYRIGHT.test(end.copyright ?? "") ? end.copyright : undefined;
  return parsed(list, { publishedAt: new Date(end.timestamp * 1000), copyright });
}
