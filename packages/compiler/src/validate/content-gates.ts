// content-gates.ts: what one copy of a feed may hold, whatever the last good copy held. Pure.
//
// in   a feed's row, the bytes of a copy or what its parser made of them
// out  nothing if the copy passes; entries that can never set a flag
// err  FeedError with the reason

import { ADDRESS_FLAGS, cutSuffix, type Prefix, specialUse } from "@inkling/engine";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { isSpecialUse } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";
import { FLAG_BOUNDS } from "../policy/labels.ts";

const LINE_END = 10;

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
 * Bounds what the parser of a copy has to hold, before it begins: `requireEntries` counts what the parser made, and
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
