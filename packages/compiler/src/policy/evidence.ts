// evidence.ts: creates the evidence for an address's flags, with entries from lists, guards and labels.
//
// An address has exactly the flags that its entries set and no entry removes.

import { type Effect, formatPrefix, type Prefix, prefixContains, type RangeColumns } from "@inkling/engine";
import type { Flag, NetworkLabel } from "../catalog/claims.ts";

export interface EvidenceEntry {
  /** A feed's id, or "special-use" for the registries' special-purpose networks. */
  readonly feed: string;
  readonly label: NetworkLabel | "special_use";
  /** The network on the list: the smallest one, if several contain the address, or the /64 if a rule widened it. */
  readonly network: Prefix;
  /** "label" describes the address and changes no flag. */
  readonly effect: "sets" | "removes" | "label";
  /** Empty for the effect "label". */
  readonly flags: readonly Flag[];
  readonly provider?: string | undefined;
  readonly first_seen?: string | undefined;
  /** The rule that made or widened the entry, or prevented its effect. */
  readonly why?: string;
}

/** An evidence entry in an answer. */
export interface EvidenceText {
  /** A feed's id, `special-use` or `inkling`. */
  readonly feed: string;
  readonly label: string;
  readonly effect: Effect;
  /** The flags that the entry sets or removes, or would set or remove if the rule in `why` did not apply. */
  readonly flags?: readonly string[];
  /** The fields that the entry filled in, as paths in the answer. */
  readonly fields?: readonly string[];
  /** The entry's weight, if it took part in a vote. */
  readonly weight?: number;
  /** The VPN, in ASCII. */
  readonly provider?: string | undefined;
  /** ISO date of the first copy that had the network. */
  readonly first_seen?: string | undefined;
  /** ASCII text. */
  readonly why?: string;
  /** Prefix length in bits, number of labels, or one of the engine's SPAN_… constants. */
  readonly span: number;
}

/** Covers each address space. A value of 0 means no evidence; a value n refers to `lists[n - 1]`. */
export interface EvidenceRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
  /** Each distinct list once, in the order in which addresses need them. */
  readonly lists: readonly (readonly EvidenceEntry[])[];
}

/**
 * Creates report lines about flags that lists set and guards removed. A guard may contain only part of the network.
 * @returns one line for each pair of list and guard, in address order
 */
export function overruledLines({ lists }: Pick<EvidenceRanges, "lists">): string[] {
  const found = new Map<string, Map<string, boolean>>();
  for (const entries of lists) {
    const guards = entries.filter(({ effect, label }) => effect === "removes" && label !== "relay");
    const setting = entries.filter(({ effect }) => effect === "sets");
    for (const list of setting)
      for (const guard of guards) if (shareFlag(list, guard)) add(found, list, guard);
  }
  return Array.from(found, ([pair, networks]) => {
    const [[example, isWhole]] = [...networks] as [[string, boolean]];
    return `${pair}: ${isWhole ? "" : "part of "}${example}${networks.size === 1 ? "" : ` and ${networks.size - 1} more`}`;
  });
}

const shareFlag = (a: EvidenceEntry, b: EvidenceEntry): boolean =>
  a.flags.some((flag) => b.flags.includes(flag));

/**
 * Adds the list's own network, because the ranges of the evidence may be parts of it, and whether the guard contains
 * all of it.
 */
function add(found: Map<string, Map<string, boolean>>, list: EvidenceEntry, guard: EvidenceEntry): void {
  const pair = `${list.feed} is overruled by ${guard.feed}`;
  const networks = found.get(pair) ?? new Map<string, boolean>();
  const network = formatPrefix(list.network);
  const isWhole = networks.get(network) === true || containsAll(guard.network, list.network);
  found.set(pair, networks.set(network, isWhole));
}

const containsAll = (outer: Prefix, inner: Prefix): boolean =>
  outer.bits <= inner.bits && prefixContains(outer, inner.address);
