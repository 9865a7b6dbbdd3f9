// overruled.ts: creates report lines about flags that lists set and guards removed.
//
// in   the evidence from a judgement
// out  a line for each pair of list and guard, with the first network as an example

import { formatPrefix } from "@inkling/engine";
import type { EvidenceEntry, EvidenceRanges } from "../policy/evidence.ts";

interface Overruling {
  readonly example: string;
  count: number;
}

/** @returns one line for each pair of list and guard, in address order */
export function overruledLines({ lists }: Pick<EvidenceRanges, "lists">): string[] {
  const found = new Map<string, Overruling>();
  for (const entries of lists) {
    const guards = entries.filter(({ effect, label }) => effect === "removes" && label !== "relay");
    const setting = entries.filter(({ effect }) => effect === "sets");
    for (const list of setting)
      for (const guard of guards) if (shareFlag(list, guard)) count(found, list, guard);
  }
  return Array.from(found, ([pair, { example, count }]) =>
    count === 1 ? `${pair}: ${example}` : `${pair}: ${example} and ${count - 1} more`,
  );
}

const shareFlag = (a: EvidenceEntry, b: EvidenceEntry): boolean =>
  a.flags.some((flag) => b.flags.includes(flag));

function count(found: Map<string, Overruling>, list: EvidenceEntry, guard: EvidenceEntry): void {
  const pair = `${list.feed} is overruled by ${guard.feed}`;
  const known = found.get(pair);
  if (known === undefined) found.set(pair, { example: formatPrefix(list.network), count: 1 });
  else known.count++;
}
