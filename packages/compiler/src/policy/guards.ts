// guards.ts: the flags that guarded networks never have, by kind of guard.
//
// catalog/guard-feeds.ts has the networks.

import type { GuardKind } from "../catalog/claims.ts";
import { ALL_FLAGS, IS_ABUSER, IS_PROXY } from "./flags.ts";

interface GuardRule {
  /** Bits of flags that a network of this kind never has. */
  readonly takes?: number;
  /**
   * Bits of flags that it does not have from less specific lists: lists of traffic, and lists of a network around it.
   */
  readonly outweighs?: number;
  /** Bits of flags that one list alone does not set. */
  readonly doubts?: number;
  readonly reason: string;
}

export const GUARD_KINDS: Readonly<Record<GuardKind, GuardRule>> = {
  "public-resolver": {
    takes: ALL_FLAGS,
    reason:
      "answers questions and sends no visitors; it is reported because its address is the easiest to forge",
  },
  // Anybody can open a resolver and have it listed. So it never outweighs two lists of which one names this very
  // address, nor a list of machines that command botnets.
  "listed-resolver": {
    outweighs: IS_ABUSER | IS_PROXY,
    doubts: IS_PROXY,
    reason:
      "as above, on the word of a list of resolvers: it knows the address, where other lists know its network; and what " +
      "answers everybody by mistake is the router of people whose address it is",
  },
  crawler: {
    takes: ALL_FLAGS,
    reason: "the operator publishes the network as its crawler's alone; crawling is reported as scanning",
  },
  // Not is_proxy: people browse from inside these networks too (Cloudflare WARP leaves from 104.28.0.0/16).
  cdn: {
    takes: IS_ABUSER,
    reason: "millions of sites answer from it; a report is about one of them, or about someone behind it",
  },
  // The owner's decision: what a warning list names as a CDN's network is never flagged, though the operator may rent
  // machines in it. docs/policy.md counts what that hides.
  "cdn-operator": {
    takes: ALL_FLAGS,
    reason: "all that a CDN's operator has, on the word of a warning list: millions of sites answer from it",
  },
  "mail-sender": {
    takes: IS_ABUSER | IS_PROXY,
    reason: "relays the mail of a billion people, some of it spam; nobody browses through it",
  },
};
