// own-lists.ts: the lists that are part of this project; every row names its source.

import { FeedError, type ParsedDomains, type ParsedNetworks, type Skipped } from "../catalog/feed.ts";
import { forEachRow } from "./csv.ts";
import { DomainList } from "./domain-list.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";

/** data/tor-exit-networks.csv. @throws FeedError naming the first line at fault */
export function parseExitNetworks(body: Uint8Array): ParsedNetworks {
  const tally = new Tally();
  const list = new NetworkList(tally);
  forEachRow(body, ["network", "operator", "source"], ([network, operator, source], line) => {
    requireSource(operator!, source!, line);
    list.add(line, network!);
  });
  requireAll(tally.report.skipped);
  return { networks: list.sorted(), ...tally.report };
}

/** data/relay-domains.csv. @throws FeedError naming the first line at fault */
export function parseRelayDomains(body: Uint8Array): ParsedDomains {
  const tally = new Tally();
  const list = new DomainList(tally);
  forEachRow(body, ["domain", "service", "source"], ([domain, service, source], line) => {
    requireSource(service!, source!, line);
    list.add(line, domain!, service!);
  });
  requireAll(tally.report.skipped);
  return { domains: list.sorted(), ...tally.report };
}

function requireSource(name: string, source: string, line: number): void {
  if (name === "" || !source.startsWith("https://")) {
    throw new FeedError(`line ${line} lacks a name or a source that starts with https://`);
  }
}

function requireAll(skipped: readonly Skipped[]): void {
  const first = skipped[0];
  if (first !== undefined) throw new FeedError(`line ${first.line}: ${first.reason}`);
}
