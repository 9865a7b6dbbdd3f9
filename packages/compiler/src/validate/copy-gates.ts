// copy-gates.ts: decides which copies of a feed are used, and for how long. It has no side effects; the time and the
// last good copy are arguments.
//
// Cost: one pass over both lists for a comparison.

import type { Prefix, Space } from "@inkling/engine";
import type { DomainClaims, NetworkClaims } from "../catalog/claims.ts";
import { type AgeLimits, type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { type FeedCopy, isNew } from "../fetch/copy.ts";
import type { FeedState, KeptCopies } from "../fetch/feed-state.ts";
import type { StatedPlaces } from "../parse/geofeed.ts";
import { isDomainFormat, isNetworkFormat } from "../parse/index.ts";
import { comparePrefixes, isSpecialUse } from "../parse/network-list.ts";
import { type Readable, readContent } from "./read-copy.ts";
import { spaceChanges } from "./space.ts";

/** Everything that the gates need to know about a feed, apart from the new copy. */
export interface Known {
  readonly state: FeedState;
  readonly kept: KeptCopies;
  readonly now: Date;
}

/**
 * @returns the copy with the date that its content states, and its age
 * @throws FeedError if the copy looks wrong
 */
export function requireGood(
  feed: Feed,
  copy: FeedCopy,
  read: Readable,
  { state, kept, now }: Known,
): { readonly copy: FeedCopy; readonly age: Age } {
  const publishedAt = read.publishedAt ?? copy.publishedAt;
  const dated = { ...copy, ...(publishedAt && { publishedAt }) };
  const age = ageOf(feed, dated, now);
  const isKnownSmall = state.copy?.entries !== undefined && state.copy.entries < feed.entries.least;
  requireEntries(feed, read.entries, copy.accepted === true || isKnownSmall);
  if (!isNew(copy)) return { copy: dated, age };
  requirePast(publishedAt, now);
  const last = kept.find("copy");
  if (last === undefined || ageOf(feed, last, now) === "dropped") return { copy: dated, age };
  if (age === "dropped") throw new FeedError(whyExpired(feed, dated));
  if (copy.accepted !== true)
    requireLikeLast(feed, dated, read, { ...last, entries: state.copy?.entries }, now);
  return { copy: dated, age };
}

/**
 * Returns a message that tells the operator what is wrong with the dates. `rsync -a` and `cp -p` preserve a file's
 * original time.
 */
function whyExpired(feed: Feed, { source, fetchedAt, publishedAt }: FeedCopy): string {
  const dates = [
    publishedAt && `is from ${publishedAt.toISOString()}`,
    fetchedAt &&
      `${source === "mirror" ? "has the file time" : "was confirmed at"} ${fetchedAt.toISOString()}`,
  ];
  return `${dates.filter(Boolean).join(" and ")}, more than ${daysText(feed.age.dropHours)} ago: an expired copy cannot replace the last good copy`;
}

export const daysText = (hours: number): string => {
  const days = Math.round(hours / 24);
  return `${days} ${days === 1 ? "day" : "days"}`;
};

const HOUR_MS = 3_600_000;
/**
 * Milliseconds by which a date may be in the future, because clocks differ, and a date without a time may already be
 * tomorrow in another time zone.
 */
const FUTURE_MS = 24 * HOUR_MS;

/** @throws FeedError if the copy's date is in the future */
export function requirePast(publishedAt: Date | undefined, now: Date): void {
  if (publishedAt === undefined || !isAhead(publishedAt, now)) return;
  throw new FeedError(`has a date in the future: ${publishedAt.toISOString()}`);
}

const isAhead = (time: Date, now: Date) => time.getTime() > now.getTime() + FUTURE_MS;

/** @throws FeedError if the file is older than the file in use */
export function requireNewer(
  publishedAt: Date | undefined,
  lastPublishedAt: Date | undefined,
  now: Date,
): void {
  if (publishedAt === undefined || lastPublishedAt === undefined) return;
  // If the last good copy's date is in the future, that date came from a wrong clock.
  if (isAhead(lastPublishedAt, now) || publishedAt >= lastPublishedAt) return;
  throw new FeedError(
    `is from ${publishedAt.toISOString()}, before the last good copy from ${lastPublishedAt.toISOString()}`,
  );
}

/** Formats with one entry per line that do not state the number of entries. */
const LINES: ReadonlySet<Format> = new Set([
  "ip-lines",
  "network-lines",
  "domain-lines",
  "geofeed-csv",
  "fakefilter-text",
  "proxy-lines",
  "dshield-block",
  "ip-range-csv",
]);
const LINE_END = 10;
const CARRIAGE_RETURN = 13;

/**
 * Detects a list that was cut off inside a line. Such a list is shorter than the last good copy, and its last line is
 * only the beginning of a line in that copy. The beginning may itself be a valid address. A missing line end by itself
 * proves nothing.
 * @throws FeedError
 */
export function requireWholeLines(format: Format, next: Uint8Array, last: Uint8Array): void {
  if (!LINES.has(format) || next.length >= last.length || next.at(-1) === LINE_END) return;
  const end = next.subarray(next.lastIndexOf(LINE_END) + 1);
  const before = Buffer.from(last.buffer, last.byteOffset, last.length);
  let longer = false;
  for (let at = before.indexOf(end); at >= 0; at = before.indexOf(end, at + 1)) {
    if (at > 0 && before[at - 1] !== LINE_END) continue;
    const after = before[at + end.length];
    if (after === undefined || after === LINE_END || after === CARRIAGE_RETURN) return;
    longer = true;
  }
  if (longer) throw new FeedError("is truncated: its last line is the start of a line in the last good copy");
}

/**
 * Checks the number of entries. A publisher may shrink a list permanently, which only the operator can confirm. A list
 * must never become empty.
 * @param mayBeSmall whether the operator accepts the copy, or has accepted a small copy that is now the last good copy
 * @throws FeedError if a copy has fewer or more entries than its feed should have
 */
export function requireEntries({ entries: { least, most } }: Feed, count: number, mayBeSmall = false): void {
  const entries = count === 1 ? "entry" : "entries";
  if (count > most) throw new FeedError(`has ${count} ${entries}, but should have at most ${most}`);
  if (count >= least || (mayBeSmall && count > 0)) return;
  throw new FeedError(`has ${count} ${entries}, but should have at least ${least}`);
}

/** What can be compared: individual entries, or only the number of entries. */
export interface Comparable {
  readonly entries: number;
  readonly networks?: readonly NetworkClaims[];
  readonly domains?: DomainClaims;
  readonly stated?: StatedPlaces;
}

/** @throws FeedError if more entries were added or removed than the feed's row expects */
export function requireLikeness(feed: Feed, next: Comparable, last: Comparable): void {
  if (feed.change === Number.POSITIVE_INFINITY || last.entries === 0) return;
  const { added, removed } = changes(next, last);
  const most = Math.max(feed.change * last.entries, feed.freeChange ?? 0);
  if (Math.max(added, removed) <= most) return;
  throw new FeedError(
    `differs too much from the last good copy: ${added} added and ${removed} removed of ${last.entries}, ` +
      `but at most ${Math.round(feed.change * 100)}% are expected`,
  );
}

/**
 * Address space that any list may gain or lose: an IPv4 /16, an IPv6 /32. In a small list, a change below this size
 * means little, whatever its share.
 */
const FREE_SPACE: Space = { v4: 2 ** 16, v6: 2 ** 32 };

/**
 * Compares address space, because the number of entries says little: in one case, 29.9% more entries covered 37 times
 * as many addresses.
 * @throws FeedError if the networks cover more or less of either address space than the feed's row expects
 */
export function requireLikeSpace(
  feed: Feed,
  next: readonly Pick<NetworkClaims, "networks">[],
  last: readonly Pick<NetworkClaims, "networks">[],
): void {
  if (feed.change === Number.POSITIVE_INFINITY) return;
  const networks = (claims: readonly Pick<NetworkClaims, "networks">[]) =>
    claims.flatMap((claim) => claim.networks.filter((network) => !isSpecialUse(network)));
  const changes = spaceChanges(networks(next), networks(last));
  for (const family of ["v4", "v6"] as const) {
    const { added, removed, before } = changes[family];
    const most = Math.max(feed.change * before, FREE_SPACE[family]);
    if (Math.max(added, removed) <= most) continue;
    const unit = family === "v4" ? "IPv4 addresses" : "IPv6 /64s";
    throw new FeedError(
      `differs too much from the last good copy in address space: ${added} ${unit} added and ${removed} removed of ${before}, ` +
        `but at most ${Math.round(most)} are expected`,
    );
  }
}

export function changes(next: Comparable, last: Comparable): { added: number; removed: number } {
  if (next.stated && last.stated) {
    // Skipped lines are in neither list, so they are not counted.
    const same = commonCountries(next.stated, last.stated);
    return { added: next.stated.networks.length - same, removed: last.stated.networks.length - same };
  }
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

/**
 * Returns the networks of a feed that has only one label. Feeds with several labels are compared by their number of
 * entries.
 */
function onlyOne(claims: readonly NetworkClaims[] | undefined): readonly Prefix[] | undefined {
  return claims?.length === 1 ? claims[0]!.networks : undefined;
}

/** Counts the networks that two geofeeds place in the same country. */
function commonCountries(a: StatedPlaces, b: StatedPlaces): number {
  const country = ({ places, placeOf }: StatedPlaces, i: number) => places[placeOf[i]!]!.country;
  return common(a.networks, b.networks, (i, j) => country(a, i) === country(b, j));
}

/** Counts the networks that two sorted lists share. */
function common(
  a: readonly Prefix[],
  b: readonly Prefix[],
  isSame: (i: number, j: number) => boolean = () => true,
): number {
  let [i, j, count] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const order = comparePrefixes(a[i]!, b[j]!);
    if (order === 0 && isSame(i, j)) count++;
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return count;
}

/**
 * @param last the last good copy, with its number of entries if known
 * @throws FeedError
 */
function requireLikeLast(
  feed: Feed,
  copy: FeedCopy,
  read: Readable,
  last: FeedCopy & { readonly entries: number | undefined },
  now: Date,
): void {
  if (last.sha256 === copy.sha256) return;
  requireNewer(copy.publishedAt, last.publishedAt, now);
  if (last.format !== copy.format) return;
  requireWholeLines(copy.format, copy.files[0]!, last.files[0]!); // a fetched copy is a single file
  if (isNetworkFormat(copy.format) || isDomainFormat(copy.format) || feed.label !== undefined) {
    const lastList = findList(feed, last);
    if (lastList === undefined) return;
    const nextList = { entries: read.entries, ...read.content() };
    requireLikeness(feed, nextList, lastList);
    requireLikeSpace(feed, networksOf(nextList), networksOf(lastList));
  } else if (last.entries !== undefined) requireLikeness(feed, read, { entries: last.entries });
}

const networksOf = ({ networks, stated }: Comparable) => networks ?? (stated ? [stated] : []);

/** Returns undefined for a list that this version of Inkling would refuse. */
function findList(feed: Feed, copy: FeedCopy): Comparable | undefined {
  try {
    const { entries, content } = readContent(feed, copy);
    return { entries, ...content };
  } catch (error) {
    if (error instanceof FeedError) return undefined;
    throw error;
  }
}

export type Age = "fresh" | "stale" | "dropped";

/**
 * Rates a copy's age by the publisher's own date, if there is one. A copy without a date, such as Inkling's own file,
 * is fresh. A publisher whose job has failed keeps confirming its last file, and an old list does not become new when
 * somebody puts it into a mirror.
 */
export function ageOf(
  { age }: { readonly age: AgeLimits },
  { publishedAt, fetchedAt }: { readonly [Field in "publishedAt" | "fetchedAt"]?: Date | undefined },
  now: Date,
): Age {
  const publishedOrFetched = publishedAt ?? fetchedAt;
  if (publishedOrFetched === undefined) return "fresh";
  const ageMs = now.getTime() - publishedOrFetched.getTime();
  if (ageMs > age.dropHours * HOUR_MS) return "dropped";
  return ageMs > age.staleHours * HOUR_MS ? "stale" : "fresh";
}
