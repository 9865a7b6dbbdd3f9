// evidence.ts: the entries of lists, guards and labels behind an address's flags.
//
// out  ranges in the form of flag ranges; a value is the number of a list of entries, 0 for none
// An address has exactly the flags that its entries set and no entry removes.

import type { Effect, Prefix, RangeColumns } from "@inkling/engine";
import type { Flag, NetworkLabel } from "../catalog/claims.ts";

export interface EvidenceEntry {
  /** A feed's id; "special-use" for the registries' special-purpose networks. */
  readonly feed: string;
  readonly label: NetworkLabel | "special_use";
  /** As the list has it; of several that hold the address the smallest. The /64 where a rule widened it. */
  readonly network: Prefix;
  /** "label": describes the address and changes no flag. */
  readonly effect: "sets" | "removes" | "label";
  /** Empty for the effect "label". */
  readonly flags: readonly Flag[];
  /** The rule that prevented its effect, or widened it. */
  readonly why?: string;
}

/** An entry of evidence in an answer. */
export interface EvidenceText {
  /** A feed's id, or `special-use`, `inkling`. */
  readonly feed: string;
  readonly label: string;
  readonly effect: Effect;
  /** What it sets or removes, or would without the rule of `why`. */
  readonly flags?: readonly string[];
  /** What it filled in, as paths of the answer. */
  readonly members?: readonly string[];
  /** In a vote. */
  readonly weight?: number;
  /** ASCII. */
  readonly why?: string;
  /** Prefix bits, labels, or a SPAN_… of the engine. */
  readonly span: number;
}

/** A covering of each address space: value 0 = no evidence, n = `lists[n - 1]`. */
export interface EvidenceRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
  /** Each different list once, in the order in which addresses need them. */
  readonly lists: readonly (readonly EvidenceEntry[])[];
}

/** Evidence gathered range by range; equal lists become one. */
export class EvidenceLists {
  readonly lists: (readonly EvidenceEntry[])[] = [];
  private readonly numbers = new Map<string, number>();

  /**
   * The value of a range.
   * @param key equal for equal lists and for no others
   * @param list called once for each key; an empty list is "no evidence"
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
