// content-gates.ts: checks what one copy of a feed may contain, regardless of the last good copy. It has no side
// effects.

import { ADDRESS_FLAGS, cutSuffix, type Prefix } from "@inkling/engine";
import { type Feed, FeedError } from "../catalog/feed.ts";
import { isSpecialUse, TOO_WIDE } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";
import { FLAG_BOUNDS } from "../policy/labels.ts";

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

/**
 * Returns the domains that the policy never flags: public suffixes, and domains with a special-use or unknown suffix.
 */
export function unflaggableDomains({ sets }: Feed, domains: Iterable<string>): string[] {
  if (sets !== "disposable") return [];
  return [...domains].filter((domain) => !mayHaveMail(domain, cutSuffix(domain)));
}

/** Describes a domain that is never flagged: "co.uk is a public suffix: never flagged". */
export const neverDisposable = (domain: string): string =>
  cutSuffix(domain).registrableStart < 0
    ? `${domain} is a public suffix: never flagged`
    : `${domain} has a special-use or unknown suffix: never flagged`;
