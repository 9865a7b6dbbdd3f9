// content-gates.ts: checks what one copy of a feed may contain, regardless of the last good copy. It has no side
// effects.

import { ADDRESS_FLAGS, cutSuffix, type Prefix } from "@inkling/engine";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { isSpecialUse, TOO_WIDE } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";
import { FLAG_BOUNDS } from "../policy/labels.ts";

const LINE_END = 10;

/** Formats that consist of one JSON document. */
const DOCUMENTS: ReadonlySet<Format> = new Set([
  "onionoo-json",
  "monosans-json",
  "gluetun-json",
  "abuseipdb-json",
  "as-metadata",
  "peeringdb-net",
  "prefix-json",
  "fastly-json",
  "github-meta",
  "misp-json",
  "domain-json",
  "fakefilter-json",
  "misp-domains",
  "organisation-websites",
  "json-networks",
  "ipverse-bots",
  "signed-json",
  "json-domains",
]);
/**
 * Maximum number of JSON values per entry. Proxies from monosans have 34 values each, and Tor's relays have 11. All
 * other formats have fewer.
 */
const VALUES_PER_ENTRY = 64;
/**
 * Maximum number of lines that are not entries: comments and blank lines. A list has about a tenth of the entries that
 * its row allows.
 */
const MORE_LINES = 10_000;
/** The registries also list records that are not entries, and Inkling's own list was checked before it was committed. */
const UNLIMITED: ReadonlySet<Format> = new Set(["nro-delegated", "operator-systems"]);
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/**
 * Limits, before parsing, how much the parser of a copy has to keep in memory. `requireEntries` counts only the
 * parser's results, and parsing 64 MiB of small records needs 2 GB.
 * @throws FeedError if the text has more lines or JSON values than the maximum number of entries can need
 */
export function requireParsable({ entries: { most } }: Feed, format: Format, body: Uint8Array): void {
  if (UNLIMITED.has(format)) return;
  const isDocument = DOCUMENTS.has(format);
  const limit = isDocument ? most * VALUES_PER_ENTRY : most + MORE_LINES;
  if (body.length <= limit) return; // each line or value takes at least one byte
  const count = isDocument ? countValues(body) : countLines(body);
  if (count <= limit) return;
  const unit = isDocument ? "JSON values" : "lines";
  throw new FeedError(
    `has ${count} ${unit}, but at most ${limit} are parsed: at most ${most} entries are expected`,
  );
}

/** Returns an upper bound on the number of values. It also counts characters inside strings. */
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
 * @param sets the flag that the networks set, if any. If a feed has several labels, each label has its own flag
 * @throws FeedError if a network is wider than the feed may contain
 */
export function requireNarrow(
  feed: Feed,
  networks: readonly Prefix[],
  skipped: readonly Skipped[] = [],
  sets: string | undefined = feed.sets,
): void {
  const tooWide = skipped.find(({ reason }) => reason.startsWith(TOO_WIDE));
  if (tooWide !== undefined) throw new FeedError(`line ${tooWide.line}: ${tooWide.reason}`);
  const wide = networks.find(isTooWideFor(feed, sets));
  if (wide === undefined) return;
  const { family } = wide.address;
  throw new FeedError(
    `has a network of /${wide.bits} (IPv${family}): /${widestOf(feed, family, sets)} is the widest allowed`,
  );
}

/**
 * Returns whether a network is wider than the feed may contain. Special-use networks may be wider, because they are
 * never flagged.
 */
export function isTooWideFor(feed: Feed, sets: string | undefined = feed.sets): (network: Prefix) => boolean {
  const widest = { 4: widestOf(feed, 4, sets), 6: widestOf(feed, 6, sets) };
  return (network) => network.bits < widest[network.address.family] && !isSpecialUse(network);
}

/** Returns the minimum prefix length of networks in the feed, or 0 if there is no limit. */
function widestOf({ widest }: Feed, family: 4 | 6, sets: string | undefined): number {
  const flag = ADDRESS_FLAGS.find((name) => name === sets);
  const bounds = [widest, flag && FLAG_BOUNDS[flag].widest].flatMap((bound) => bound ?? []);
  return Math.max(0, ...bounds.map((bound) => (family === 4 ? bound.v4 : bound.v6)));
}

/** Returns the special-use networks, which the policy never flags. */
export function unflaggableNetworks({ sets }: Feed, networks: readonly Prefix[]): Prefix[] {
  return ADDRESS_FLAGS.some((flag) => flag === sets) ? networks.filter(isSpecialUse) : [];
}

/** Returns the domains that the policy never flags: public suffixes, and domains with a special-use or unknown suffix. */
export function unflaggableDomains({ sets }: Feed, domains: Iterable<string>): string[] {
  if (sets !== "disposable") return [];
  return [...domains].filter((domain) => !mayHaveMail(domain, cutSuffix(domain)));
}

/** Describes a domain that is never flagged: "co.uk is a public suffix: never flagged". */
export const neverDisposable = (domain: string): string =>
  cutSuffix(domain).registrableStart < 0
    ? `${domain} is a public suffix: never flagged`
    : `${domain} has a special-use or unknown suffix: never flagged`;
