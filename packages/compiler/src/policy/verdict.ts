// verdict.ts: derives the flags of one address, and the effect of each source, from its lists, labels and guards.
//
// The rules (docs/policy.md gives the reasons):
//   1 a flag is set if the lists that claim it together reach the weight QUORUM (labels.ts); copies count once
//   (lineage.ts)
//   2 for a Tor exit, lists about traffic do not count
//   3 a relay never has is_proxy or is_abuser
//   4 a guarded address never has the flags that the guard's kind removes. Some kinds only remove flags that were set
//   by less specific lists, or by a single list. A wide guard keeps is_tor_exit if a Tor list contains the address
//   itself
//   5 a special-use address has no flags

import { flagOfLabel } from "@inkling/contract";
import { ADDRESS_FLAGS, SPECIAL_USE } from "@inkling/engine";
import type { GuardKind, Label, NetworkClaims } from "../catalog/claims.ts";
import type { EvidenceEntry } from "./evidence.ts";
import {
  ALL_FLAGS,
  FLAG_BITS,
  flagsOf,
  GUARD_KINDS,
  IS_TOR_EXIT,
  LABELS,
  QUORUM,
  weightOfList,
} from "./labels.ts";
import { independentWeight, type WeightedList } from "./lineage.ts";

/** A set of networks that all have the same effect: those of a feed under one label, or the special-use networks. */
export interface EvidenceSource extends Pick<EvidenceEntry, "feed" | "label" | "provider">, WeightedList {
  /** Bit of the flag that the source sets, or 0 for none. */
  readonly adds: number;
  /** Bits of the flags that the source removes. */
  readonly takes: number;
  /** For a guard: bits of the flags that it removes; 0 for other sources. */
  readonly guards: number;
  /**
   * Bits of the flags that the guard removes if they were set only by lists about traffic, or by lists of a surrounding
   * network.
   */
  readonly outweighs: number;
  /**
   * Bits of the flags in `outweighs` that the source removes unless the lists that set them weigh twice {@link QUORUM}.
   */
  readonly doubts: number;
  readonly traffic: boolean;
  /** Whether the source contains a network around the address rather than the address itself. */
  readonly wide: boolean;
  /** Bits of the flags in `takes` that the guard leaves if lists contain the address itself. */
  readonly yields: number;
}

/** The effect of one source. */
export interface Part extends Pick<EvidenceEntry, "effect" | "flags" | "why"> {
  /** The index of the source among the sources passed to {@link judge}. */
  readonly index: number;
}

export interface Verdict {
  /** Bits of the flags that the parts set, minus the flags that they remove. */
  readonly flags: number;
  /** Bits of the flags in `takes` of the guards of this address, including flags that a wide guard leaves. */
  readonly guarded: number;
  /** Bits of the flags in `guarded` that lists set. */
  readonly overruled: number;
  /** Entries that set flags come first, then entries that remove flags, then all others. */
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

export const SPECIAL_USE_SOURCE: EvidenceSource = {
  ...NO_EFFECT,
  feed: "special-use",
  label: "special_use",
  takes: ALL_FLAGS,
  wide: true,
};
export const SPECIAL_USE_NETWORKS = SPECIAL_USE.map((row) => row.prefix);

/**
 * @param wide true for the networks in the claim, false for its individual addresses
 * @param yields true for networks of a guard that are wider than {@link EXACT_GUARD_BITS}
 */
export function sourceOf(
  { feed, subject, label, lineage, provider, weight = weightOfList(feed) }: NetworkClaims,
  wide: boolean,
  yields = false,
): EvidenceSource {
  const source = { ...NO_EFFECT, feed, label, provider, wide };
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
 * @param sources all sources that contain the address. If a feed lists both the address and a surrounding network under
 *   one label, only its entry for the address counts
 */
export function judge(sources: readonly EvidenceSource[]): Verdict {
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

/** What the sources of an address together state about one flag. */
interface FlagVerdict {
  readonly bit: number;
  /** Combined weight of the lists that set the flag. */
  readonly weight: number;
  readonly isSet: boolean;
  /** Whether the lists that contain the address itself weigh enough. */
  readonly isExact: boolean;
  /** Whether lists set the flag, but weigh too little against a source that outweighs them. */
  readonly isOutweighed: boolean;
  readonly isRemoved: boolean;
}

function judgeFlag(bit: number, counted: readonly EvidenceSource[], isTorExit: boolean): FlagVerdict {
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

/** Returns the evidence from one source, or undefined if the source is not evidence. */
function effectOf(
  source: EvidenceSource,
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
  // These sources are evidence only if they have an effect.
  if (source.label === "special_use" || source.outweighs !== 0) return undefined;
  const set = flags.find(({ bit }) => bit === source.adds);
  if (set === undefined) return { effect: "label", flags: [] };
  if (isTorExit && source.traffic) return { effect: "label", flags: [], why: TOR_EXIT };
  if (set.isSet) return { effect: "sets", flags: flagsOf(set.bit) };
  return { effect: "label", flags: [], why: `${set.weight} of the ${QUORUM} that it takes` };
}

const has = (bits: number, bit: number) => (bits & bit) !== 0;
const bitsOf = (flags: readonly FlagVerdict[]) => flags.reduce((bits, { bit }) => bits | bit, 0);

/**
 * Returns whether the same feed also lists the address itself, or a smaller network around it, under the same label. A
 * VPN network is also shadowed by a list of the VPN's servers.
 */
function isShadowed(
  { feed, label, provider, wide, yields }: EvidenceSource,
  sources: readonly EvidenceSource[],
): boolean {
  if (!wide) return false;
  return sources.some(
    (other) =>
      (other.feed === feed &&
        other.label === label &&
        (!other.wide || (yields !== 0 && other.yields === 0))) ||
      (label === "vpn_network" && other.provider === provider && !other.wide),
  );
}

const EFFECTS = ["sets", "removes", "label"] as const;
/**
 * A Tor list is based on measurements of the address itself, while a CDN operator's /12 is just what a registry
 * allocated.
 */
const YIELDS = "is_tor_exit is kept: a Tor list has this exact address, and this network is wide";
/** 241 of the 14,217 addresses in ipsum-3 are Tor exits, which already have a flag. */
const TOR_EXIT = "traffic from a Tor exit comes from its users";
