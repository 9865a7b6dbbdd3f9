// gates.ts: which copies of a feed are used. Pure: time and the last good copy come in.
//
// in   a feed's row, what a new copy holds, what the last good one held, the time
// out  nothing when it passes; entries that can never set a flag
// err  FeedError with the reason; HeldBack where the copy is too small, or only the comparison with the last good one
//      fails, so that the operator may accept it
// cost a comparison walks both lists once

import { ADDRESS_FLAGS, cutSuffix, type Prefix, type Space, specialUse } from "@inkling/engine";
import type { DomainClaims, NetworkClaims } from "../catalog/claims.ts";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import type { StatedPlaces } from "../parse/geofeed.ts";
import { comparePrefixes, isSpecialUse } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";
import { FLAG_BOUNDS } from "../policy/labels.ts";
import { spaceChanges } from "./space.ts";

const HOUR = 3_600_000;
/** Clocks differ, and a date without a time may be tomorrow's in another zone. */
const FUTURE_MS = 24 * HOUR;

/** Refused by its size, or by a comparison with the last good copy: `--accept` takes it. */
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
 * A shorter list whose last line is only the beginning of a line of the last good copy was cut inside that line, and the
 * rest of it may be a valid address. A last line without an end says nothing by itself.
 * @throws HeldBack
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
  if (longer) throw new HeldBack("is cut short: its last line is the beginning of one of the last good copy");
}

/** Formats of one JSON document. */
const DOCUMENTS: ReadonlySet<Format> = new Set([
  "onionoo-json",
  "monosans-json",
  "gluetun-json",
  "abuseipdb-json",
  "as-metadata",
  "prefix-json",
  "fastly-json",
  "github-meta",
  "misp-json",
  "domain-json",
  "fakefilter-json",
  "misp-domains",
  "json-networks",
  "json-domains",
]);
/** Proxies of monosans have 34 values each, Tor's relays 11, all others fewer. */
const VALUES_PER_ENTRY = 64;
/** Lines that are no entries: comments and blank ones. A list has about a tenth of the entries that its row allows. */
const MORE_LINES = 10_000;
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/**
 * Bounds what the parser of a copy has to hold, before it begins: {@link requireEntries} counts what the parser made, and
 * 64 MiB of small records take 2 GB to parse.
 * @throws FeedError when the text has more lines, or values of JSON, than as many entries as the feed can have may take
 */
export function requireParsable({ entries: { most } }: Feed, format: Format, body: Uint8Array): void {
  const isDocument = DOCUMENTS.has(format);
  const limit = isDocument ? most * VALUES_PER_ENTRY : most + MORE_LINES;
  if (body.length <= limit) return; // each takes a byte
  const count = isDocument ? countValues(body) : countLines(body);
  if (count <= limit) return;
  const unit = isDocument ? "JSON values" : "lines";
  throw new FeedError(
    `has ${count} ${unit}, at most ${limit} are parsed: at most ${most} entries are expected`,
  );
}

/** An upper bound: what stands in strings is counted as well. */
function countValues(body: Uint8Array): number {
  let count = 1;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
  }
  return count;
}

function countLines(body: Uint8Array): number {
  let count = 1;
  for (let at = body.indexOf(LINE_END); at >= 0; at = body.indexOf(LINE_END, at + 1)) count++;
  return count;
}

/**
 * A publisher may shrink a list for good, and only the operator can know. No list becomes empty.
 * @param mayBeSmall the operator accepts the copy, or accepted such a one before: it is the last good one
 * @throws HeldBack when a copy has fewer entries than its feed can have
 * @throws FeedError when it has more, or none
 */
export function requireEntries({ entries: { least, most } }: Feed, count: number, mayBeSmall = false): void {
  if (count > most) throw new FeedError(`has ${count} entries, at most ${most} are expected`);
  if (count >= least || (mayBeSmall && count > 0)) return;
  const Refusal = count > 0 ? HeldBack : FeedError;
  throw new Refusal(`has ${count} entries, at least ${least} are expected`);
}

/**
 * @param sets the flag that the networks set, if any: of a feed with several labels each has its own
 * @throws FeedError when a network is wider than any that the feed can hold
 */
export function requireNarrow(
  feed: Feed,
  networks: readonly Prefix[],
  skipped: readonly Skipped[] = [],
  sets: string | undefined = feed.sets,
): void {
  const tooWide = skipped.find(({ reason }) => reason.startsWith("too wide"));
  if (tooWide !== undefined) throw new FeedError(`line ${tooWide.line}: ${tooWide.reason}`);
  const wide = networks.find(isTooWideFor(feed, sets));
  if (wide === undefined) return;
  const { family } = wide.address;
  throw new FeedError(
    `has a network of /${wide.bits} (IPv${family}): /${widestOf(feed, family, sets)} is the widest it can hold`,
  );
}

/** Whether a network is wider than any that the feed can hold; special-use ones, which are never flagged, may be. */
export function isTooWideFor(feed: Feed, sets: string | undefined = feed.sets): (network: Prefix) => boolean {
  const widest = { 4: widestOf(feed, 4, sets), 6: widestOf(feed, 6, sets) };
  return (network) => network.bits < widest[network.address.family] && !isSpecialUse(network);
}

/** The shortest prefix that the feed can hold; 0 where any may be. */
function widestOf({ widest }: Feed, family: 4 | 6, sets: string | undefined): number {
  const flag = ADDRESS_FLAGS.find((name) => name === sets);
  const bounds = [widest, flag && FLAG_BOUNDS[flag].widest].flatMap((bound) => bound ?? []);
  return Math.max(0, ...bounds.map((bound) => (family === 4 ? bound.v4 : bound.v6)));
}

/** What can be compared: entries one by one, or only how many there are. */
export interface Comparable {
  readonly entries: number;
  readonly networks?: readonly NetworkClaims[];
  readonly domains?: DomainClaims;
  readonly stated?: StatedPlaces;
}

/** @throws HeldBack when more was added to the last good copy, or taken from it, than the feed's row expects */
export function requireLikeness(feed: Feed, next: Comparable, last: Comparable): void {
  if (feed.change === Number.POSITIVE_INFINITY || last.entries === 0) return;
  const { added, removed } = changes(next, last);
  const most = Math.max(feed.change * last.entries, feed.freeChange ?? 0);
  if (Math.max(added, removed) <= most) return;
  throw new HeldBack(
    `differs too much from the last good copy: ${added} added and ${removed} removed of ${last.entries}, ` +
      `at most ${Math.round(feed.change * 100)} % are expected`,
  );
}

/** What any list may gain or lose: an IPv4 /16, an IPv6 /32. Below that a share says nothing of a small list. */
const FREE_SPACE: Space = { v4: 2 ** 16, v6: 2 ** 32 };

/**
 * Entries say little: 29.9 % more of them covered 37 times as many addresses.
 * @throws HeldBack when the networks cover more or less of either address space than the feed's row expects
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
    throw new HeldBack(
      `covers too much else than the last good copy: ${added} ${unit} added and ${removed} removed of ${before}, ` +
        `at most ${Math.round(most)} are expected`,
    );
  }
}

export function changes(next: Comparable, last: Comparable): { added: number; removed: number } {
  let kept: number;
  const [networks, before] = [onlyOne(next.networks), onlyOne(last.networks)];
  if (next.stated && last.stated) kept = commonCountries(next.stated, last.stated);
  else if (networks && before) kept = common(networks, before);
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

/** How many networks two geofeeds put into the same country. */
function commonCountries(a: StatedPlaces, b: StatedPlaces): number {
  const country = ({ places, placeOf }: StatedPlaces, i: number) => places[placeOf[i]!]!.country;
  return common(a.networks, b.networks, (i, j) => country(a, i) === country(b, j));
}

/** How many networks two sorted lists share. */
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

/** Special-use networks: policy never flags them. */
export function unflaggableNetworks({ sets }: Feed, networks: readonly Prefix[]): string[] {
  if (!ADDRESS_FLAGS.some((flag) => flag === sets)) return [];
  return networks.flatMap((network) => {
    const special = specialUse(network.address);
    return special === undefined ? [] : [`a network is ${special.use}: never flagged`];
  });
}

/** Public and special-use suffixes: policy never flags them. */
export function unflaggableDomains({ sets }: Feed, domains: Iterable<string>): string[] {
  if (sets !== "disposable") return [];
  const unflaggable: string[] = [];
  for (const domain of domains) {
    if (!mayHaveMail(domain, cutSuffix(domain)))
      unflaggable.push("a domain is a public or special-use suffix: never flagged");
  }
  return unflaggable;
}
