// gates.ts: which copies of a feed are used. Pure: time and the last good copy come in.
//
// in   a feed's row, what a new copy holds, what the last good one held, the time
// out  nothing when it passes; entries that can never set a flag
// err  FeedError with the reason; HeldBack where only the comparison with the last good copy fails, so that the
//      operator may accept it
// cost a comparison walks both lists once

import { ADDRESS_FLAGS, cutSuffix, formatPrefix, type Prefix, specialUse } from "@inkling/engine";
import type { DomainClaims, Flag, NetworkClaims } from "../catalog/claims.ts";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { comparePrefixes } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";

const HOUR = 3_600_000;
/** Clocks differ, and a date without a time may be tomorrow's in another zone. */
const FUTURE_MS = 24 * HOUR;

/** Refused by a comparison with the last good copy: `--accept` takes it. */
export class HeldBack extends FeedError {}

/** @throws FeedError when it was made in the future */
export function requirePast(publishedAt: Date | undefined, now: Date): void {
  if (publishedAt === undefined || !isAhead(publishedAt, now)) return;
  throw new FeedError(`has a date in the future: ${publishedAt.toISOString()}`);
}

const isAhead = (time: Date, now: Date) => time.getTime() > now.getTime() + FUTURE_MS;

/** @throws HeldBack when the file is older than the one in use */
export function requireNewer(
  publishedAt: Date | undefined,
  lastPublishedAt: Date | undefined,
  now: Date,
): void {
  if (publishedAt === undefined || lastPublishedAt === undefined) return;
  // A last date in the future came from a wrong clock.
  if (isAhead(lastPublishedAt, now) || publishedAt >= lastPublishedAt) return;
  throw new HeldBack(
    `was made on ${publishedAt.toISOString()}, before the last good copy of ${lastPublishedAt.toISOString()}`,
  );
}

/** Formats of one entry a line that do not state how many there are. */
const LINES: ReadonlySet<Format> = new Set([
  "ip-lines",
  "domain-lines",
  "geofeed-csv",
  "fakefilter-text",
  "proxy-lines",
  "dshield-block",
  "ip-range-csv",
]);
const LINE_END = 10;

/**
 * A list whose last line has lost its line end was cut inside that line: the rest of it may be a valid address.
 * @throws HeldBack
 */
export function requireWholeLines(format: Format, next: Uint8Array, last: Uint8Array): void {
  if (!LINES.has(format) || last.at(-1) !== LINE_END || next.at(-1) === LINE_END) return;
  throw new HeldBack("is cut short: its last line has no end, as that of the last good copy has");
}

/** @throws FeedError when a copy has fewer or more entries than its feed can have */
export function requireEntries(feed: Feed, count: number): void {
  const { least, most } = feed.entries;
  if (count < least) throw new FeedError(`has ${count} entries, at least ${least} are expected`);
  if (count > most) throw new FeedError(`has ${count} entries, at most ${most} are expected`);
}

/** @throws FeedError when a network is wider than any that the feed can hold */
export function requireNarrow(
  feed: Feed,
  networks: readonly Prefix[],
  skipped: readonly Skipped[] = [],
): void {
  const tooWide = skipped.find(({ reason }) => reason.startsWith("too wide"));
  if (tooWide !== undefined) throw new FeedError(`line ${tooWide.line}: ${tooWide.reason}`);
  if (feed.widest === undefined) return;
  const { v4, v6 } = feed.widest;
  for (const { address, bits } of networks) {
    const widest = address.family === 4 ? v4 : v6;
    if (bits >= widest) continue;
    throw new FeedError(
      `has a network of /${bits} (IPv${address.family}): /${widest} is the widest it can hold`,
    );
  }
}

/** What can be compared: entries one by one, or only how many there are. */
export interface Comparable {
  readonly entries: number;
  readonly networks?: readonly NetworkClaims[];
  readonly domains?: DomainClaims;
}

/** @throws HeldBack when more was added to the last good copy, or taken from it, than the feed's row expects */
export function requireLikeness(feed: Feed, next: Comparable, last: Comparable): void {
  if (feed.change === Number.POSITIVE_INFINITY || last.entries === 0) return;
  const { added, removed } = changes(next, last);
  const share = Math.max(added, removed) / last.entries;
  if (share <= feed.change) return;
  throw new HeldBack(
    `differs too much from the last good copy: ${added} added and ${removed} removed of ${last.entries}, ` +
      `at most ${Math.round(feed.change * 100)} % are expected`,
  );
}

export function changes(next: Comparable, last: Comparable): { added: number; removed: number } {
  let kept: number;
  const [networks, before] = [onlyOne(next.networks), onlyOne(last.networks)];
  if (networks && before) kept = common(networks, before);
  else if (next.domains && last.domains) {
    const domains = last.domains.domains;
    kept = 0;
    for (const domain of next.domains.domains.keys()) if (domains.has(domain)) kept++;
  } else kept = Math.min(next.entries, last.entries);
  return { added: next.entries - kept, removed: last.entries - kept };
}

/** The list of a feed with one label; feeds with several are compared by their number of entries. */
function onlyOne(claims: readonly NetworkClaims[] | undefined): readonly Prefix[] | undefined {
  return claims?.length === 1 ? claims[0]!.networks : undefined;
}

/** How many networks two sorted lists share. */
function common(a: readonly Prefix[], b: readonly Prefix[]): number {
  let [i, j, count] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const order = comparePrefixes(a[i]!, b[j]!);
    if (order === 0) count++;
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return count;
}

/** Special-use networks: policy never flags them. */
export function unflaggableNetworks({ sets }: Feed, networks: readonly Prefix[]): string[] {
  if (!ADDRESS_FLAGS.includes(sets as Flag)) return [];
  return networks.flatMap((network) => {
    const special = specialUse(network.address);
    return special === undefined ? [] : [`${formatPrefix(network)} is ${special.use}: never flagged`];
  });
}

/** Public and special-use suffixes: policy never flags them. */
export function unflaggableDomains({ sets }: Feed, domains: Iterable<string>): string[] {
  if (sets !== "disposable") return [];
  const unflaggable: string[] = [];
  for (const domain of domains) {
    if (!mayHaveMail(domain, cutSuffix(domain)))
      unflaggable.push(`${domain} is a public or special-use suffix: never flagged`);
  }
  return unflaggable;
}
