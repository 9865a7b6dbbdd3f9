// evidence.ts: creates the evidence for an address's flags, with entries from lists, guards and labels.
//
// An address has exactly the flags that its entries set and no entry removes.

import type { Effect, Prefix, RangeColumns } from "@inkling/engine";
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
  /** The members that the entry filled in, as paths in the answer. */
  readonly members?: readonly string[];
  /** The entry's weight, if it took part in a vote. */
  readonly weight?: number;
  /** The VPN, in ASCII. */
  readonly provider?: string | undefined;
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

/** Collects evidence range by range and stores equal lists once. */
export class EvidenceLists {
  readonly lists: (readonly EvidenceEntry[])[] = [];
  private readonly numbers = new Map<string, number>();

  /**
   * Returns the value for a range.
   * @param key a text that is equal for equal lists, and different for different lists
   * @param list called once for each key; an empty list means no evidence
   */
  add(key: string, list: () => readonly EvidenceEntry[]): number {
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    const entries = list();
    const number = entries.length === 0 ? 0 : this.lists.push(entries);
    this.numbers.set(key, number);
    return number;
  }
}
