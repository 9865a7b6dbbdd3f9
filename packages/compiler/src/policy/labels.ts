// labels.ts: what each label means for the answer, and the weight of each list.
//
// A flag is set when the lists that name an address for it weigh QUORUM together (reputation.ts has the exceptions).
// docs/policy.md gives the reasons, and a test keeps it and these tables alike.

import type { Space } from "@inkling/engine";
import type { Flag, Label } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { IS_ABUSER, IS_PROXY } from "./flags.ts";

/** Which flag a label sets is a row of the contract (LABEL_ROWS). */
interface LabelRule {
  /** Bits of flags that such a network never has. */
  readonly takes?: number;
  /** The label is about traffic from the address, not about its operator. */
  readonly traffic?: true;
}

export const LABELS: Readonly<Record<Label, LabelRule>> = {
  tor_exit: {},
  vpn: {},
  public_proxy: {},
  attacker: { traffic: true },
  criminal_network: {},
  botnet_c2: {},
  // Data centres also host sites' own servers, crawlers and offices' gateways.
  hosting: {},
  // About places only.
  anycast: {},
  // Ordinary people, many behind one address; the operator refuses abusers itself.
  relay: { takes: IS_PROXY | IS_ABUSER },
};

interface FlagBound {
  /** The widest network that any list of the flag may hold, whatever the list's row says; rows have narrower ones. */
  readonly widest: Space;
  /** The largest share of public IPv4 that a release may give the flag, and the largest number of IPv6 /64s. */
  readonly largest: Space;
}

/**
 * What is believable of each flag. In brackets the figures of the default feeds of August 2026, which the optional feeds
 * at most double.
 */
export const FLAG_BOUNDS: Readonly<Record<Flag, FlagBound>> = {
  // widest (/12 of Spamhaus): a /10 would be 0.11 % of public IPv4 by one line
  // largest (0.40 %: 14,876,114 addresses, nearly all Spamhaus'); no copy of its IPv6 list was at hand
  is_abuser: { widest: { v4: 11, v6: 19 }, largest: { v4: 0.02, v6: 2 ** 47 } },
  // widest (/16 and /29 of X4BNet)
  // largest (0.082 %: 3,038,503 addresses; 2.6e12 /64s, as many as 605 /32s have): at most 32,768 /32s
  is_proxy: { widest: { v4: 12, v6: 20 }, largest: { v4: 0.02, v6: 2 ** 47 } },
  // widest (/25 and /59 of Inkling's list)
  // largest (0.00004 %: 1,622 addresses; 41 /64s): at most as many as a /32 has
  is_tor_exit: { widest: { v4: 24, v6: 48 }, largest: { v4: 0.0001, v6: 2 ** 32 } },
};

/** The weight that sets a flag. */
export const QUORUM = 2;

/** 2: sets a flag only. 1: needs another list that does not copy it. */
type ListWeight = 1 | 2;

const NOISY = new Set(FEEDS.filter(({ optIn }) => optIn?.why === "noisy").map(({ id }) => id));

/** A list states what it observed, or the operator enabled it; only a noisy one needs another list. */
export const weightOfList = (feed: string): ListWeight => (NOISY.has(feed) ? 1 : 2);
