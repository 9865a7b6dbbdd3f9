// verdict.ts: the lists, labels and guards of one address -> its flags, and the effect of each source.
//
// in   the sources that name the address
// out  flag bits, and one part for each that is evidence
//
// The rules (docs/policy.md gives their reasons):
//   1 a flag is set when the lists for it weigh QUORUM together (labels.ts); copies count once (lineage.ts)
//   2 for a Tor exit, lists of traffic do not count
//   3 relay: never is_proxy or is_abuser
//   4 guard: never the flags that its kind removes, or not those set by less specific lists or by one list only; a wide
//     guard leaves is_tor_exit to a Tor list that names the address itself
//   5 special-use: no flag at all

import { flagOfLabel } from "@inkling/contract";
import { ADDRESS_FLAGS, SPECIAL_USE } from "@inkling/engine";
import type { GuardKind, Label, NetworkClaims } from "../catalog/claims.ts";
import type { EvidenceEntry } from "./evidence.ts";
import { ALL_FLAGS, FLAG_BITS, flagsOf, IS_TOR_EXIT } from "./flags.ts";
import { GUARD_KINDS } from "./guards.ts";
import { LABELS, QUORUM, weightOfList } from "./labels.ts";
import { independentWeight, type WeightedList } from "./lineage.ts";

/** One set of networks of the same effect: a feed under one label, or special use. */
export interface Source extends Pick<EvidenceEntry, "feed" | "label">, WeightedList {
  /** Bits of the flag that it sets, 0 for none. */
  readonly adds: number;
  /** Bits of the flags that it removes. */
  readonly takes: number;
  /** The same, of guards only. */
  readonly guards: number;
  /** Bits of the flags that it removes where only lists of traffic or of a wider network set them. */
  readonly outweighs: number;
  /** Those of them that it removes unless the lists that set them weigh twice {@link QUORUM}. */
  readonly doubts: number;
  readonly traffic: boolean;
  /** Whether it lists a network around the address. */
  readonly wide: boolean;
  /** Bits of those in `takes` that it leaves to lists that name the address itself. */
  readonly yields: number;
}

/** The effect of one source. */
export interface Part extends Pick<EvidenceEntry, "effect" | "flags" | "why"> {
  /** Its index among the judged sources. */
  readonly index: number;
}

export interface Verdict {
  /** Bits: what the parts set, less what they remove. */
  readonly flags: number;
  /** Bits of the flags that guards remove here whoever sets them, and of those that lists set. */
  readonly guarded: number;
  readonly overruled: number;
  /** Those that set flags, then those that remove some, then the others. */
  readonly parts: readonly Part[];
}

const NO_EFFECT = {
  adds: 0,
  takes: 0,
  guards: 0,
  outweighs: 0,
  doubts: 0,
  traffic: false,
  weight: 0,
  yields: 0,
} as const;

export const SPECIAL_USE_SOURCE: Source = {
  ...NO_EFFECT,
  feed: "special-use",
  label: "special_use",
  takes: ALL_FLAGS,
  wide: true,
};
export const SPECIAL_USE_NETWORKS = SPECIAL_USE.map((row) => row.prefix);

/**
 * @param wide for the networks of the claim, or for its single addresses?
 * @param yields for the networks of a guard that are wider than {@link EXACT_GUARD_BITS}?
 */
export function sourceOf(
  { feed, subject, label, lineage, weight = weightOfList(feed) }: NetworkClaims,
  wide: boolean,
  yields = false,
): Source {
  const source = { ...NO_EFFECT, feed, label, wide };
  if (subject === "guard") {
    const rule = GUARD_KINDS[label as GuardKind];
    const takes = rule.takes ?? 0;
    return { ...source, ...rule, guards: takes, yields: yields ? takes & IS_TOR_EXIT : 0 };
  }
  const flag = flagOfLabel(label as Label);
  const adds = flag === undefined ? 0 : FLAG_BITS[flag];
  return { ...source, ...LABELS[label as Label], adds, weight, lineage };
}

/**
 * @param sources all that name the address; of a feed that lists the address and a network around it under one label,
 *   the former counts
 */
export function judge(sources: readonly Source[]): Verdict {
  const counted = sources.filter((source) => !isShadowed(source, sources));
  const isTorExit = independentWeight(counted.filter(({ adds }) => adds === IS_TOR_EXIT)) >= QUORUM;
  const flags = ADDRESS_FLAGS.map((flag) => judgeFlag(FLAG_BITS[flag], counted, isTorExit));
  const parts = sources.flatMap((source, index): Part[] => {
    const effect = counted.includes(source) ? effectOf(source, flags, isTorExit) : undefined;
    return effect === undefined ? [] : [{ index, ...effect }];
  });
  const guarded = counted.reduce((bits, { guards }) => bits | guards, 0);
  return {
    flags: bitsOf(flags.filter(({ isSet, isRemoved }) => isSet && !isRemoved)),
    guarded,
    overruled: bitsOf(flags.filter(({ isSet }) => isSet)) & guarded,
    parts: EFFECTS.flatMap((wanted) => parts.filter((p) => p.effect === wanted)),
  };
}

/** What the sources of an address come to for one flag. */
interface FlagVerdict {
  readonly bit: number;
  /** Of the lists that set it. */
  readonly weight: number;
  readonly isSet: boolean;
  /** Do lists that name the address itself weigh enough? */
  readonly isExact: boolean;
  /** Do lists set it that do not weigh enough beside a source that outweighs them? */
  readonly isOutweighed: boolean;
  readonly isRemoved: boolean;
}

function judgeFlag(bit: number, counted: readonly Source[], isTorExit: boolean): FlagVerdict {
  const lists = counted.filter(({ adds, traffic }) => adds === bit && !(isTorExit && traffic));
  const weight = independentWeight(lists);
  const isSet = weight >= QUORUM;
  const isExact = independentWeight(lists.filter(({ wide }) => !wide)) >= QUORUM;
  const isWeak = counted.some(({ doubts }) => has(doubts, bit)) && weight < 2 * QUORUM;
  const against = counted.some(({ outweighs }) => has(outweighs, bit));
  const close = against ? lists.filter(({ wide, traffic }) => !wide && !traffic) : lists;
  const isOutweighed = isSet && (independentWeight(close) < QUORUM || isWeak);
  const isTaken = counted.some(({ takes, yields }) => has(takes, bit) && !(isExact && has(yields, bit)));
  return { bit, weight, isSet, isExact, isOutweighed, isRemoved: isOutweighed || isTaken };
}

/** The part of a source; undefined if it is no evidence. */
function effectOf(
  source: Source,
  flags: readonly FlagVerdict[],
  isTorExit: boolean,
): Omit<Part, "index"> | undefined {
  const yielded = flags.filter(({ bit, isExact }) => isExact && has(source.yields, bit));
  const removed = flags.filter(
    (flag) =>
      (flag.isSet && has(source.takes, flag.bit) && !yielded.includes(flag)) ||
      (flag.isOutweighed && has(source.outweighs, flag.bit)),
  );
  const left = yielded.length === 0 ? {} : { why: YIELDS };
  if (removed.length > 0) return { effect: "removes", flags: flagsOf(bitsOf(removed)), ...left };
  if (yielded.length > 0) return { effect: "label", flags: [], ...left };
  if (source.label === "special_use" || source.outweighs !== 0) return undefined; // evidence only where it has an effect
  const set = flags.find(({ bit }) => bit === source.adds);
  if (set === undefined) return { effect: "label", flags: [] };
  if (isTorExit && source.traffic) return { effect: "label", flags: [], why: TOR_EXIT };
  if (set.isSet) return { effect: "sets", flags: flagsOf(set.bit) };
  return { effect: "label", flags: [], why: `${set.weight} of the ${QUORUM} that it takes` };
}

const has = (bits: number, bit: number) => (bits & bit) !== 0;
const bitsOf = (flags: readonly FlagVerdict[]) => flags.reduce((bits, { bit }) => bits | bit, 0);

/** Whether the same feed also lists the address itself, or a smaller network around it, under the same label. */
function isShadowed({ feed, label, wide, yields }: Source, sources: readonly Source[]): boolean {
  if (!wide) return false;
  return sources.some(
    (other) =>
      other.feed === feed && other.label === label && (!other.wide || (yields !== 0 && other.yields === 0)),
  );
}

const EFFECTS = ["sets", "removes", "label"] as const;
/** A Tor list is measured at the address, a CDN operator's /12 is what the registry gave it. */
const YIELDS = "is_tor_exit stays: a Tor list names this very address, and this network is wide";
/** 240 of the 14,217 addresses of ipsum-3 are exits, and there is a flag for that. */
const TOR_EXIT = "what comes from a Tor exit is its users' traffic";
