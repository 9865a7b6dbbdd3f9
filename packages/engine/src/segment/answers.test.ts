import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "./answers.ts";
import { SECTION, SegmentFile } from "./segment.ts";

/** Returns answers with these texts as records, in the order of their numbers. */
function answersOf(texts: readonly string[]): Answers {
  const bytes = new TextEncoder().encode(texts.join(""));
  const starts = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => {
    starts[i + 1] = starts[i]! + text.length;
  });
  const whole = new Uint8Array(starts.byteLength + bytes.length);
  whole.set(new Uint8Array(starts.buffer));
  whole.set(bytes, starts.byteLength);
  const sections = new Map([
    [SECTION.answerStarts, { elementBytes: 4, offset: 0, length: starts.byteLength }],
    [SECTION.answers, { elementBytes: 1, offset: starts.byteLength, length: bytes.length }],
  ]);
  return new Answers(new SegmentFile(whole, "geo", sections));
}

test("each number has its own record, in any order of reads", () => {
  const COUNT = 100_000; // more records than views are kept
  const answers = answersOf(Array.from({ length: COUNT }, (_, i) => (i === 0 ? "" : `record ${i}`)));
  assert.equal(answers.count, COUNT);
  let kept = 0;
  for (let round = 0; round < 3; round++) {
    for (let k = 0; k < COUNT; k++) {
      const i = (k * 7919) % COUNT;
      const want = i === 0 ? undefined : `record ${i}`;
      const found = answers.at(i);
      assert.equal(found && new TextDecoder().decode(found), want);
      if (found !== undefined && answers.at(i) === found) kept++;
    }
  }
  assert.equal(kept, 3 * 32_767);
});

test("numbers out of bounds have no record, also when others are cached", () => {
  const answers = answersOf(["", "one"]);
  for (const number of [2, 3, 1e6, 2 ** 31 - 1, 2 ** 32 - 1]) assert.equal(answers.at(number), undefined);
});
