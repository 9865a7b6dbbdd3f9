// reputation-table.ts: builds the sections of the reputation segment from the flags of every address and their
// evidence.

import { IpAddress, prefixContains, RANGE_SECTIONS, RangeColumns, REPUTATION_ANSWERS } from "@inkling/engine";
import type { EvidenceEntry, EvidenceRanges } from "../policy/evidence.ts";
import type { Judgement } from "../policy/reputation.ts";
import { AnswerRecords } from "./answer-records.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import { rangeSections } from "./range-table.ts";
import type { SectionData } from "./segment-writer.ts";

/** @param judgement the coverings in `flags` have flag bits as values (policy/labels.ts) */
export function reputationSections({
  flags,
  evidence,
}: Pick<Judgement, "flags" | "evidence">): SectionData[] {
  const records = new AnswerRecords(REPUTATION_ANSWERS[0]!);
  const answer = (bits: number) => records.add(REPUTATION_ANSWERS[bits]!);
  return [
    ...rangeSections(withValues(flags.v4, answer)),
    ...rangeSections(withValues(flags.v6, answer)),
    ...records.sections(),
    ...evidenceSections(evidence),
  ];
}

/** @throws RangeError if a range has evidence from a network that does not contain it */
function evidenceSections({ v4, v6, lists }: EvidenceRanges): SectionData[] {
  const writer = new EvidenceWriter();
  const value = (number: number, start: IpAddress) => {
    const list = lists[number - 1] ?? [];
    const outside = list.find(({ network }) => !prefixContains(network, start));
    if (outside !== undefined) throw new RangeError(`evidence: ${outside.feed} has no network there`);
    return writer.add(list.map(withSpan));
  };
  return [
    ...rangeSections(withValues(v4, value), RANGE_SECTIONS.evidence),
    ...rangeSections(withValues(v6, value), RANGE_SECTIONS.evidence),
    ...writer.sections(),
  ];
}

function withSpan({ flags, network, ...entry }: EvidenceEntry) {
  return { ...entry, ...(flags.length > 0 && { flags }), span: network.bits };
}

function withValues(
  columns: RangeColumns,
  valueFor: (value: number, start: IpAddress) => number,
): RangeColumns {
  const { family, width, starts, values } = columns;
  const out = new RangeColumns(family, Math.max(columns.length, 1));
  const start = new IpAddress(family);
  const w = start.words;
  for (let i = 0; i < columns.length; i++) {
    for (let k = 0; k < width; k++) w[k] = starts[i * width + k]!;
    out.append(w[0]!, w[1]!, w[2]!, w[3]!, valueFor(values[i]!, start));
  }
  return out;
}
