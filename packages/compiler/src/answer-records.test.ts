import { describe, expect, test } from "bun:test";
import { Answers } from "@inkling/engine";
import { AnswerRecords } from "./answer-records.ts";

const read = (records: AnswerRecords, value: number) => {
  const bytes = new Answers(records.section()).at(value);
  return bytes && new TextDecoder().decode(bytes);
};

describe("answer records", () => {
  test("the empty standard answer reads as none", () => {
    const records = new AnswerRecords("");
    records.add("x");
    expect(read(records, 0)).toBeUndefined();
  });

  test("a standard answer is record 0, and what equals it is record 0 too", () => {
    const records = new AnswerRecords('{"a":false}');
    expect(records.add('{"a":false}')).toBe(0);
    expect(read(records, 0)).toBe('{"a":false}');
  });

  test("20,000 answers, each given twice, are stored once and read back", () => {
    const records = new AnswerRecords("");
    const answers = Array.from({ length: 20_000 }, (_, i) =>
      `{"name":"São Tomé ${i}"}`.padEnd(20 + (i % 37), "ü"),
    );
    const values = answers.map((answer) => records.add(answer));
    expect(answers.map((answer) => records.add(answer))).toEqual(values);
    expect(records.size).toBe(new Set(answers).size + 1);
    answers.forEach((answer, i) => {
      expect(read(records, values[i]!)).toBe(answer);
    });
    const isStart = new Answers(records.section()).verify();
    expect(values.every(isStart)).toBe(true);
    expect(isStart(values[1]! + 1)).toBe(false);
  });
});
