import { describe, expect, test } from "bun:test";
import { Answers, openSegment, type SegmentFile } from "@inkling/engine";
import { AnswerRecords } from "./answer-records.ts";
import { type SectionData, writeSegment } from "./segment-writer.ts";

const segmentOf = (sections: readonly SectionData[]): SegmentFile =>
  openSegment(Uint8Array.from(writeSegment("geo", sections, {})), "geo");
const answersOf = (records: AnswerRecords) => new Answers(segmentOf(records.sections()));
const read = (answers: Answers, value: number) => {
  const bytes = answers.at(value);
  return bytes && new TextDecoder().decode(bytes);
};

describe("answer records", () => {
  test("the empty standard answer reads as none", () => {
    const records = new AnswerRecords("");
    records.add("x");
    expect(read(answersOf(records), 0)).toBeUndefined();
  });

  test("a standard answer is record 0, and equal answers are record 0 too", () => {
    const records = new AnswerRecords('{"a":false}');
    expect(records.add('{"a":false}')).toBe(0);
    expect(read(answersOf(records), 0)).toBe('{"a":false}');
  });

  test("60,000 answers, each given twice, are stored once and read back", () => {
    const records = new AnswerRecords("");
    const answers = Array.from({ length: 60_000 }, (_, i) =>
      `{"name":"São Tomé ${i}"}`.padEnd(40 + (i % 37), "ü"),
    );
    const values = answers.map((answer) => records.add(answer));
    expect(answers.map((answer) => records.add(answer))).toEqual(values);
    expect(records.size).toBe(new Set(answers).size + 1);
    const section = answersOf(records);
    answers.forEach((answer, i) => {
      expect(read(section, values[i]!)).toBe(answer);
    });
    const isRecord = section.verify();
    expect(values.every(isRecord)).toBe(true);
    expect(isRecord(records.size)).toBe(false);
  });

  test("records put first have the lowest numbers, and the others keep their order", () => {
    const records = new AnswerRecords("");
    const answers = ["", ...Array.from({ length: 120 }, (_, i) => String(i).repeat(100_000))]; // several blocks
    for (const [i, answer] of answers.entries()) records.add(answer, i % 3);
    const first = [0, 119, 3, 55, ...Array.from({ length: 30 }, (_, i) => 60 + i)];
    const numbers = records.putFirst(Uint32Array.from(first));
    const others = [...answers.keys()].filter((record) => !first.includes(record));
    expect([...first, ...others].map((record) => numbers[record])).toEqual([...answers.keys()]);
    const section = answersOf(records);
    section.verify();
    const notes = records.noteSection().data as Uint32Array;
    answers.forEach((answer, record) => {
      expect(read(section, numbers[record]!) ?? "").toBe(answer);
      expect(notes[numbers[record]!]).toBe(record % 3);
    });
    expect(records.add(answers[7]!, 1)).toBe(numbers[7]!);
    expect(records.add("new")).toBe(answers.length);
  });

  test("notes go with their records", () => {
    const records = new AnswerRecords("");
    expect([7, 8, 7].map((note) => records.add("x", note))).toEqual([1, 2, 1]);
    expect(records.noteSection().data).toEqual(Uint32Array.of(0, 7, 8));
  });

  test("an answer that no block could hold is refused", () => {
    expect(() => new AnswerRecords("").add("x".repeat(2_000_000))).toThrow(RangeError);
  });

  const refused: readonly [name: string, place: RegExp, starts: readonly number[], verified: boolean][] = [
    ["without a record", /^section answerStarts: has 1 entries, want at least 2/, [0], false],
    ["that end early", /^section answerStarts: ends at 2, answers has 3 bytes/, [0, 2], false],
    ["that begin late", /^answerStarts\[0\]: got 1, want 0/, [1, 3], true],
    ["that go back", /^answerStarts\[2\]: got 1, before 2/, [0, 2, 1, 3], true],
  ];
  test.each(refused)("starts %s are refused", (_, place, starts, isOpened) => {
    const open = () =>
      new Answers(
        segmentOf([
          { name: "answers", data: Uint8Array.of(1, 2, 3) },
          { name: "answerStarts", data: Uint32Array.from(starts) },
        ]),
      );
    if (isOpened) expect(() => open().verify()).toThrow(place);
    else expect(open).toThrow(place);
  });
});
