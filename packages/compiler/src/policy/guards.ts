// guards.ts: the flags that guarded networks never have, by kind of guard.
//
// catalog/guard-feeds.ts has the networks, docs/guards.md the reasons.

import type { GuardKind, NetworkLabel } from "../catalog/claims.ts";
import { ALL_FLAGS, IS_ABUSER, IS_PROXY } from "./flags.ts";

interface GuardRule {
  /** Bits of flags that a network of this kind never has. */
  readonly takes?: number;
  /**
   * Bits of flags that it does not have from less specific lists: lists of traffic, and lists of a network around it.
   */
  readonly outweighs?: number;
  /** Bits of flags that a single list does not set. */
  readonly doubts?: number;
  /** One address answers in many places at once: it has no city. */
  readonly anycast?: true;
}

export const GUARD_KINDS: Readonly<Record<GuardKind, GuardRule>> = {
  "public-resolver": { takes: ALL_FLAGS, anycast: true },
  // Anyone can open a resolver and have it listed, so it never outweighs two lists of which one names this very address,
  // nor a list of botnet command servers.
  "listed-resolver": { outweighs: IS_ABUSER | IS_PROXY, doubts: IS_PROXY },
  crawler: { takes: ALL_FLAGS },
  // Not is_proxy: Cloudflare WARP's users leave from 104.28.0.0/16.
  cdn: { takes: IS_ABUSER, anycast: true },
  // Never flagged, although the operator may rent out machines in it: docs/policy.md counts the flags removed.
  "cdn-operator": { takes: ALL_FLAGS },
  "mail-sender": { takes: IS_ABUSER | IS_PROXY },
  monitor: { takes: IS_ABUSER | IS_PROXY },
  "webhook-sender": { takes: IS_ABUSER | IS_PROXY },
};

/** Are the networks under this label anycast? A CDN operator's other networks are not. */
export function isAnycast(label: NetworkLabel | undefined): boolean {
  if (label === "anycast") return true;
  return label !== undefined && label in GUARD_KINDS && GUARD_KINDS[label as GuardKind].anycast === true;
}

/** Prefix length of the widest networks that guard against a Tor list that names an address itself. */
export const EXACT_GUARD_BITS: Readonly<Record<4 | 6, number>> = { 4: 24, 6: 48 };
