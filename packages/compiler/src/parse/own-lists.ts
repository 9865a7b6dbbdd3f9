// own-lists.ts: the lists that are part of this project; every row names its source.

import { FeedError, type ParsedDomains, type ParsedNetworks, type Skipped } from "../catalog/feed.ts";
import { forEachRow } from "./csv.ts";
import { DomainList } from "./domain-list.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { readText } from "./text.ts";

/** data/tor-exit-networks.csv. @throws FeedError naming the first line at fault */
export function parseExitNetworks(body: Uint8Array): ParsedNetworks {
  const tally = new Tally();
  const list = new NetworkList(tally);
  forEachEntry(body, ["network", "operator", "source"], ([network], line) => list.add(line, network));
  requireAll(tally.report.skipped);
  return { networks: list.sorted(), ...tally.report };
}

/** data/relay-domains.csv. @throws FeedError naming the first line at fault */
export function parseRelayDomains(body: Uint8Array): ParsedDomains {
  const tally = new Tally();
  const list = new DomainList(tally);
  forEachEntry(body, ["domain", "service", "source"], ([domain, service], line) =>
    list.add(line, domain, service),
  );
  requireAll(tally.report.skipped);
  return { domains: list.sorted(), ...tally.report };
}

function forEachEntry(
  body: Uint8Array,
  columns: readonly [string, string, string],
  visit: (row: readonly [entry: string, name: string], line: number) => void,
): void {
  const check = ([entry = "", name = "", source = ""]: readonly string[], line: number) => {
    if (name === "" || !source.startsWith("https://"))
      throw new FeedError(`line ${line} lacks a name or a source that starts with https://`);
    visit([entry, name], line);
  };
  forEachRow(readText(body), check, columns);
}

function requireAll(skipped: readonly Skipped[]): void {
  const first = skipped[0];
  if (first !== undefined) throw new FeedError(`line ${first.line}: ${first.reason}`);
}
