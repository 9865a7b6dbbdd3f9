// own-lists.ts: reads the lists that are part of Inkling. Every row has its source.

import { FeedError } from "../catalog/feed.ts";
import { forEachRow } from "./csv.ts";
import { DomainList } from "./domain-list.ts";
import { NetworkList } from "./network-list.ts";
import { parsed } from "./parser.ts";
import { type Skips, Tally } from "./tally.ts";
import { readText } from "./text.ts";

/** Reads data/tor-exit-networks.csv and similar files. @throws FeedError naming the first invalid line */
export function parseExitNetworks(body: Uint8Array) {
  const list = new NetworkList(new Tally());
  forEachEntry(body, ["network", "operator", "source"], ([network], line) => list.add(line, network));
  return requireAll(parsed(list));
}

/** Reads data/relay-domains.csv and similar files. @throws FeedError naming the first invalid line */
export function parseRelayDomains(body: Uint8Array) {
  const list = new DomainList(new Tally());
  forEachEntry(body, ["domain", "service", "source"], ([domain, service], line) =>
    list.add(line, domain, service),
  );
  return requireAll(parsed(list));
}

/**
 * Reads data/vpn-systems.csv and similar files: the operator of each autonomous system, by number. A company through
 * which the operator holds the system is in parentheses, and not part of the result.
 * @throws FeedError naming the first invalid line
 */
export function parseOperatorSystems(body: Uint8Array): ReadonlyMap<number, string> {
  const systems = new Map<number, string>();
  forEachEntry(body, ["asn", "operator", "source"], ([asn, operator], line) => {
    if (!/^[1-9][0-9]{0,9}$/.test(asn) || systems.has(Number(asn)))
      throw new FeedError(`line ${line} is not an AS number, or repeats one`);
    systems.set(Number(asn), operator.replace(/ \(.*/, ""));
  });
  return systems;
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

function requireAll<T extends Skips>(list: T): T {
  const [first] = list.skipped;
  if (first !== undefined) throw new FeedError(`line ${first.line}: ${first.reason}`);
  return list;
}
