// verdict.ts: the lists, labels and guards that meet at one address -> its flags, and what each of them does there.
//
// in   those that name the address
// out  flag bits, and one part for each that has something to say
// err  none thrown
//
// The rules (docs/policy.md gives their reasons):
//   1 a flag is set when the lists that speak for it weigh QUORUM together (labels.ts); copies count once (lineage.ts)
//   2 of a Tor exit, lists that saw traffic do not count
//   3 relay: never is_proxy or is_abuser
//   4 guard: never the flags that its kind takes away
//   5 special-use: no flag at all

import { SPECIAL_USE } from "@inkling/engine";
import type { GuardKind, Label, NetworkClaims } from "../claims.ts";
import type { EvidenceEntry } from "./evidence.ts";
import { ALL_FLAGS, FLAG_BITS, FLAGS, flagsOf, IS_TOR_EXIT } from "./flags.ts";
import { GUARD_KINDS } from "./guards.ts";
import { LABELS, QUORUM, weightOfList } from "./labels.ts";
import { independentWeight, type Witness } from "./lineage.ts";

/** One set of networks of the same effect: a feed under one label, or special use. */
export interface Source extends Pick<EvidenceEntry, "feed" | "label">, Witness {
  /** Bits of the flag that it speaks for, 0 for none. */
  readonly adds: number;
  /** Bits of the flags that it takes away, whoever set them. */
  readonly takes: number;
  readonly traffic: boolean;
}

/** What one of the sources does. */
export interface Part extends Pick<EvidenceEntry, "effect" | "flags" | "why"> {
  /** Its place among the sources that were judged. */
  readonly index: number;
}

export interface Verdict {
  /** Bits: what the parts set, less what they remove. */
  readonly flags: number;
  /** Those that set flags, then those that remove some, then the others. */
  readonly parts: readonly Part[];
}

export const SPECIAL_USE_SOURCE: Source = {
  feed: "special-use",
  label: "special_use",
  adds: 0,
  takes: ALL_FLAGS,
  traffic: false,
  weight: 0,
};
export const SPECIAL_USE_NETWORKS = SPECIAL_USE.map((row) => row.prefix);

export function sourceOf({ feed, subject, label, lineage }: NetworkClaims): Source {
  if (subject === "guard") {
    const { takes } = GUARD_KINDS[label as GuardKind];
    return { feed, label, adds: 0, takes, traffic: false, weight: 0 };
  }
  const { flag, takes, traffic = false } = LABELS[label as Label];
  const adds = flag === undefined ? 0 : FLAG_BITS[flag];
  return { feed, label, adds, takes, traffic, weight: weightOfList(feed), lineage };
}

/** @param sources all that name the address */
export function judge(sources: readonly Source[]): Verdict {
  const isTorExit = weigh(sources, IS_TOR_EXIT) >= QUORUM;
  const counting = isTorExit ? sources.filter((source) => !source.traffic) : sources;
  const weights = new Map(FLAGS.map((flag) => [FLAG_BITS[flag], weigh(counting, FLAG_BITS[flag])]));
  let set = 0;
  for (const [bit, weight] of weights) if (weight >= QUORUM) set |= bit;
  let taken = 0;
  for (const { takes } of sources) taken |= takes;
  const parts = sources.flatMap((source, index): Part[] => {
    if (source.label === "special_use" && set === 0) return [];
    if ((source.takes & set) !== 0) return [{ index, effect: "removes", flags: flagsOf(source.takes & set) }];
    if (source.adds === 0) return [{ index, effect: "label", flags: [] }];
    if (isTorExit && source.traffic) return [{ index, effect: "label", flags: [], why: TOR_EXIT }];
    if ((source.adds & set) !== 0) return [{ index, effect: "sets", flags: flagsOf(source.adds) }];
    const why = `${weights.get(source.adds)} of the ${QUORUM} that it takes`;
    return [{ index, effect: "label", flags: [], why }];
  });
  return {
    flags: set & ~taken,
    parts: EFFECTS.flatMap((wanted) => parts.filter((p) => p.effect === wanted)),
  };
}

const EFFECTS = ["sets", "removes", "label"] as const;
/** 240 of the 14,217 addresses of ipsum-3 are exits, and there is a flag for that. */
const TOR_EXIT = "what comes from a Tor exit is its users' traffic";

/** The weight of those that speak for this flag. */
function weigh(sources: readonly Source[], bit: number): number {
  return independentWeight(sources.filter((source) => (source.adds & bit) !== 0));
}
