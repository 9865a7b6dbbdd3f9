// own-lists.ts: reads the lists that are part of Inkling. Every row names its source.

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

/** Reads data/vpn-systems.csv: numbers of autonomous systems. @throws FeedError naming the first invalid line */
export function parseVpnSystems(body: Uint8Array): ReadonlySet<number> {
  const systems = new Set<number>();
  forEachEntry(body, ["asn", "operator", "source"], ([asn], line) => {
    if (!/^[1-9][0-9]{0,9}$/.test(asn) || systems.has(Number(asn)))
      throw new FeedError(`line ${line} is not an AS number, or repeats one`);
    systems.add(Number(asn));
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
