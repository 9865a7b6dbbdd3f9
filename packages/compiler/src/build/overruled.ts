// overruled.ts: where a guard took a flag away that a list had set, for the operator to read.
//
// in   the evidence of a judgement
// out  a line for each list and guard that met, with the first network as an example

import { formatPrefix } from "@inkling/engine";
import type { EvidenceEntry, EvidenceRanges } from "../policy/evidence.ts";

interface Meeting {
  readonly example: string;
  count: number;
}

/** @returns one line for each list and guard, in the order of addresses */
export function overruledLines({ lists }: Pick<EvidenceRanges, "lists">): string[] {
  const meetings = new Map<string, Meeting>();
  for (const entries of lists) {
    const guards = entries.filter(({ effect, label }) => effect === "removes" && label !== "relay");
    const setting = entries.filter(({ effect }) => effect === "sets");
    for (const list of setting)
      for (const guard of guards) if (shareFlag(list, guard)) meet(meetings, list, guard);
  }
  return Array.from(meetings, ([who, { example, count }]) =>
    count === 1 ? `${who}: ${example}` : `${who}: ${example} and ${count - 1} more`,
  );
}

const shareFlag = (a: EvidenceEntry, b: EvidenceEntry): boolean =>
  a.flags.some((flag) => b.flags.includes(flag));

function meet(meetings: Map<string, Meeting>, list: EvidenceEntry, guard: EvidenceEntry): void {
  const who = `${list.feed} is overruled by ${guard.feed}`;
  const known = meetings.get(who);
  if (known === undefined) meetings.set(who, { example: formatPrefix(list.network), count: 1 });
  else known.count++;
}
