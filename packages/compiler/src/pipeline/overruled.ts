// overruled.ts: creates report lines about flags that lists set and guards removed.
//
// in   the evidence from a judgement
// out  a line for each pair of list and guard, with the first network as an example

import { formatPrefix } from "@inkling/engine";
import type { EvidenceEntry, EvidenceRanges } from "../policy/evidence.ts";

/** @returns one line for each pair of list and guard, in address order */
export function overruledLines({ lists }: Pick<EvidenceRanges, "lists">): string[] {
  const found = new Map<string, Set<string>>();
  for (const entries of lists) {
    const guards = entries.filter(({ effect, label }) => effect === "removes" && label !== "relay");
    const setting = entries.filter(({ effect }) => effect === "sets");
    for (const list of setting)
      for (const guard of guards) if (shareFlag(list, guard)) add(found, list, guard);
  }
  return Array.from(found, ([pair, networks]) => {
    const [example] = networks;
    return `${pair}: ${example}${networks.size === 1 ? "" : ` and ${networks.size - 1} more`}`;
  });
}

const shareFlag = (a: EvidenceEntry, b: EvidenceEntry): boolean =>
  a.flags.some((flag) => b.flags.includes(flag));

/** Adds the list's own network, because the ranges of the evidence may be parts of it. */
function add(found: Map<string, Set<string>>, list: EvidenceEntry, guard: EvidenceEntry): void {
  const pair = `${list.feed} is overruled by ${guard.feed}`;
  const networks = found.get(pair) ?? new Set();
  found.set(pair, networks.add(formatPrefix(list.network)));
}
