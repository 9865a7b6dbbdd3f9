// reputation-table.ts: the flags of every address -> the sections of the reputation segment.

import { AnswerRecords } from "./answer-records.ts";
import { FLAG_BITS } from "./policy/flags.ts";
import type { Judgement } from "./policy/reputation.ts";
import { RangeColumns } from "./range-columns.ts";
import { rangeSections } from "./range-table.ts";
import type { SectionData } from "./segment-writer.ts";

/** @param judgement the coverings of `flags` have flag bits as values (policy/flags.ts) */
export function reputationSections({ flags }: Judgement): SectionData[] {
  const records = new AnswerRecords(reputationAnswer(0));
  const values = (columns: RangeColumns) => {
    const out = new RangeColumns(columns.family, Math.max(columns.length, 1));
    for (let i = 0; i < columns.length; i++) {
      const s = columns.starts;
      const at = i * columns.width;
      out.append(
        s[at]!,
        s[at + 1] ?? 0,
        s[at + 2] ?? 0,
        s[at + 3] ?? 0,
        records.add(reputationAnswer(columns.values[i]!)),
      );
    }
    return out;
  };
  return [
    ...rangeSections(values(flags.v4)),
    ...rangeSections(values(flags.v6)),
    { name: "answers", data: records.section() },
  ];
}

/** The answer as it goes out (DESIGN.md section 4): exactly these members, in this order. */
export function reputationAnswer(bits: number): string {
  const is = (flag: keyof typeof FLAG_BITS) => (bits & FLAG_BITS[flag]) !== 0;
  return JSON.stringify({
    is_abuser: is("is_abuser"),
    is_proxy: is("is_proxy"),
    is_tor_exit: is("is_tor_exit"),
  });
}
