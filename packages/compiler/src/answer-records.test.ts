import { describe, expect, test } from "bun:test";
import { Answers } from "@inkling/engine";
import { AnswerRecords } from "./answer-records.ts";

const answersOf = (records: AnswerRecords) => new Answers(Buffer.from(Buffer.concat(records.section())));
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

  test("a standard answer is record 0, and what equals it is record 0 too", () => {
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
    expect(records.section().length).toBeGreaterThan(1); // more than one block
    answers.forEach((answer, i) => {
      expect(read(section, values[i]!)).toBe(answer);
    });
    const isStart = section.verify();
    expect(values.every(isStart)).toBe(true);
    expect(isStart(values[1]! + 1)).toBe(false);
  });
});
