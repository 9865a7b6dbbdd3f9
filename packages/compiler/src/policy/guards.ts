// guards.ts: defines how each kind of guard affects the flags of a network.
//
// catalog/guard-feeds.ts lists the networks, and docs/guards.md gives the reasons.

import type { GuardKind, NetworkLabel } from "../catalog/claims.ts";
import { ALL_FLAGS, IS_ABUSER, IS_PROXY } from "./flags.ts";

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
  /** The addresses are in many places at once, so they have no city. */
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
