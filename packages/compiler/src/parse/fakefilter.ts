// fakefilter.ts: 7c/fakefilter, as text and as JSON: throw-away domains with the service behind each.
//
// Both forms hold the same hosts. Many services share domains; the first one named stays.
// JSON groups hosts by registrable domain: only the hosts are listed, for a group such as a dynamic-DNS
// domain has many owners.

import { toAsciiDomain } from "@inkling/engine";
import { z } from "zod";
import type { ParsedDomains } from "../catalog/feed.ts";
import { DomainList } from "./domain-list.ts";
import { readJson } from "./json.ts";
import { Tally } from "./tally.ts";
import { findStatedDate, forEachLine, readText } from "./text.ts";

const version2 = z.object({
  version: z.literal(2),
  /** Seconds since 1970. */
  t: z.number().int().positive(),
  domains: z.record(
    z.string(),
    z.object({ providers: z.array(z.string()), hosts: z.record(z.string(), z.unknown()) }),
  ),
});

/** A service as FakeFilter names it: mostly a domain, but also "static" for entries added by hand. */
const toService = (name: string): string => toAsciiDomain(name) ?? "";

/** @throws FeedError when the file cannot be believed */
export function parseFakefilterText(body: Uint8Array): ParsedDomains {
  const text = readText(body);
  const tally = new Tally();
  const list = new DomainList(tally);
  let service = "";
  let publishedAt: Date | undefined;
  forEachLine(text, (line, number) => {
    if (line.startsWith("##")) service = toService(line.slice(2).trim());
    else if (line.startsWith("#")) publishedAt ??= findStatedDate(line);
    else list.add(number, line, service);
  });
  tally.checkLines(text);
  return { domains: list.sorted(), ...tally.report, ...(publishedAt && { publishedAt }) };
}

/** @throws FeedError when the file cannot be believed */
export function parseFakefilterJson(body: Uint8Array): ParsedDomains {
  const file = readJson(readText(body), version2);
  const tally = new Tally("record");
  const list = new DomainList(tally);
  let number = 0;
  for (const { providers, hosts } of Object.values(file.domains)) {
    number++;
    const service = providers.map(toService).find((name) => name !== "") ?? "";
    for (const host of Object.keys(hosts)) list.add(number, host, service);
  }
  tally.check();
  return { domains: list.sorted(), ...tally.report, publishedAt: new Date(file.t * 1000) };
}
