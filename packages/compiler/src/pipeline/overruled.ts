// overruled.ts: creates report lines about flags that lists set and guards removed.
//
// A guard may contain only part of the network.

import { formatPrefix, type Prefix, prefixContains } from "@inkling/engine";
import type { EvidenceEntry, EvidenceRanges } from "../policy/evidence.ts";

/** @returns one line for each pair of list and guard, in address order */
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
