// labels.ts: defines how each label and each kind of guard affects the answer, and the weight of each list.
//
// A flag is set if the lists that claim it for an address together reach the weight QUORUM (verdict.ts has the
// exceptions). docs/policy.md gives the reasons, and a test checks that it matches these tables.
// catalog/guard-feeds.ts lists the guarded networks.

import { LABEL_ROWS, recordOf } from "@inkling/contract";
import { ADDRESS_FLAGS, bitsOf, type Space } from "@inkling/engine";
import type { Flag, GuardKind, Label, NetworkLabel } from "../catalog/claims.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { weightOf } from "./domain-weights.ts";

// Flags as bits. The engine's REPUTATION_ANSWERS have the same order.
export const IS_ABUSER = bitsOf(["is_abuser"]);
export const IS_PROXY = bitsOf(["is_proxy"]);
export const IS_TOR_EXIT = bitsOf(["is_tor_exit"]);
export const ALL_FLAGS = bitsOf(ADDRESS_FLAGS);

export const FLAG_BITS: Readonly<Record<Flag, number>> = recordOf(ADDRESS_FLAGS, (flag) => bitsOf([flag]));

/** Returns the flags whose bits are set, in the order of the answer. */
export function flagsOf(bits: number): Flag[] {
  return ADDRESS_FLAGS.filter((flag) => (bits & FLAG_BITS[flag]) !== 0);
}

/** The effect of a label. The contract's LABEL_ROWS define which flag the label sets. */
interface LabelRule {
  /** Bits of the flags that a network with this label never has. */
  readonly takes?: number;
  /** The label is about traffic from the address, not about its operator. */
  readonly traffic?: true;
}

export const LABELS: Readonly<Record<Label, LabelRule>> = {
  tor_exit: {},
  vpn: {},
  vpn_network: {},
  public_proxy: {},
  proxy_network: {},
  attacker: { traffic: true },
  criminal_network: {},
  botnet_c2: {},
  // Data centres also contain sites' own servers, crawlers and office gateways.
  hosting: {},
  gateway: {},
  // Ordinary people use the same addresses.
  proxy_seen: {},
  // This label only affects places.
  anycast: {},
  // Many ordinary people share one address, and the operator itself refuses abusers.
  relay: { takes: IS_PROXY | IS_ABUSER },
};

interface FlagBound {
  /**
   * Prefix length of the widest network that any list for the flag may contain, regardless of the list's row. Rows have
   * narrower limits.
   */
  readonly widest: Space;
  /** The largest share of public IPv4 that a release may flag, and the largest number of IPv6 /64s. */
  readonly largest: Space;
}

/**
 * Plausible limits for each flag. The comments give the figures for the default feeds of August 2026. Optional feeds at
 * most double these figures.
 */
export const FLAG_BOUNDS: Readonly<Record<Flag, FlagBound>> = {
  // widest: Spamhaus lists a /12. A /10 would flag 0.11% of public IPv4 with one line.
  // largest: 0.40%, or 14,876,114 addresses, nearly all from Spamhaus. No copy of Spamhaus' IPv6 list was available.
  is_abuser: { widest: { v4: 11, v6: 19 }, largest: { v4: 0.02, v6: 2 ** 47 } },
  // widest: X4BNet lists a /16 and a /29. largest: 0.082%, or 3,038,503 addresses; 2.6e12 /64s, the size of 605 /32s.
  // The limit is 32,768 /32s.
  is_proxy: { widest: { v4: 12, v6: 20 }, largest: { v4: 0.02, v6: 2 ** 47 } },
  // widest: Inkling's list has a /25 and a /59. largest: 0.00004%, or 1,622 addresses; 41 /64s. The limit is one /32.
  is_tor_exit: { widest: { v4: 24, v6: 48 }, largest: { v4: 0.0001, v6: 2 ** 32 } },
};

/** The combined weight at which a flag is set. */
export const QUORUM = 2;

/** A list with weight 2 sets a flag by itself. A list with weight 1 needs another list that does not copy from it. */
type ListWeight = 1 | 2;

const NOISY = new Set(FEEDS.filter(({ optIn }) => optIn?.why === "noisy").map(({ id }) => id));

/**
 * Returns a list's weight. Most lists decide by themselves, because they state what they observed or because the
 * operator enabled them. Only a noisy list needs another list.
 */
export const weightOfList = (feed: string): ListWeight => (NOISY.has(feed) ? 1 : 2);

/** @returns undefined for a feed whose claims set no flag */
export function feedWeight({ id, label, sets, weight }: Feed): number | undefined {
  if (sets === "disposable") return weightOf(id, weight);
  if (label === undefined || label === "unknown" || LABEL_ROWS[label].sets === undefined) return undefined;
  return weight ?? weightOfList(id);
}

interface GuardRule {
  /** Bits of flags that a network of this kind never has. */
  readonly takes?: number;
  /**
   * Bits of the flags that less specific lists cannot set: lists about traffic, and lists that contain only a
   * surrounding network.
   */
  readonly outweighs?: number;
  /** Bits of the flags that a single list cannot set. */
  readonly doubts?: number;
  /** The addresses are in many places at the same time, so they have no city. */
  readonly anycast?: true;
}

export const GUARD_KINDS: Readonly<Record<GuardKind, GuardRule>> = {
  public_resolver: { takes: ALL_FLAGS, anycast: true },
  // Anyone can run a resolver and have it listed, so some lists override this guard. Two lists still set is_proxy if
  // one of them contains the exact address. A list that is not about traffic, such as a list of botnet command servers,
  // still sets is_abuser for the exact address.
  listed_resolver: { outweighs: IS_ABUSER | IS_PROXY, doubts: IS_PROXY },
  crawler: { takes: ALL_FLAGS },
  // The operator's other machines, and its visitors, use the network as well.
  crawler_network: {},
  // The guard does not remove is_proxy, because users of Cloudflare WARP come from 104.28.0.0/16.
  cdn: { takes: IS_ABUSER, anycast: true },
  // These networks are never flagged, although the operator may rent out machines in them. docs/policy.md states how
  // many flags this removes.
  cdn_operator: { takes: ALL_FLAGS },
  mail_sender: { takes: IS_ABUSER | IS_PROXY },
  monitor: { takes: IS_ABUSER | IS_PROXY },
  webhook_sender: { takes: IS_ABUSER | IS_PROXY },
};

/** Returns whether networks with this label are anycast. A CDN operator's other networks are not. */
export function isAnycast(label: NetworkLabel | undefined): boolean {
  if (label === "anycast") return true;
  return label !== undefined && label in GUARD_KINDS && GUARD_KINDS[label as GuardKind].anycast === true;
}

/**
 * Minimum prefix length of a guard that also removes the Tor flag from a listed address. Wider guards do not remove it.
 */
export const EXACT_GUARD_BITS: Readonly<Record<4 | 6, number>> = { 4: 24, 6: 48 };
