import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "./answers.ts";

/** Records, each at the next multiple of 8. @returns the section, and the value of each record */
function section(texts: readonly string[]): [Uint8Array, number[]] {
  const words: number[] = [];
  const values = texts.map((text) => {
    const value = words.length / 2;
    const bytes = new Uint8Array(Math.ceil(text.length / 4) * 4);
    bytes.set(new TextEncoder().encode(text));
    words.push(text.length, ...new Uint32Array(bytes.buffer));
    if (words.length % 2 === 1) words.push(0);
    return value;
  });
  return [new Uint8Array(new Uint32Array(words).buffer), values];
}

test("each value has its own record, however often and in whichever order they are asked for", () => {
  const COUNT = 50_000; // more than views are kept
  const [bytes, values] = section(["", ...Array.from({ length: COUNT - 1 }, (_, i) => `record ${i + 1}`)]);
  const answers = new Answers(bytes);
  const out = new Uint8Array(32);
  let kept = 0;
  for (let round = 0; round < 3; round++) {
    for (let k = 0; k < COUNT; k++) {
      const i = (k * 7919) % COUNT;
      const want = i === 0 ? undefined : `record ${i}`;
      const found = answers.at(values[i]!);
      assert.equal(found && new TextDecoder().decode(found), want);
      if (found !== undefined && answers.at(values[i]!) === found) kept++;
      assert.equal(answers.copyInto(values[i]!, out, 1), want?.length ?? 0);
    }
  }
  assert.equal(kept, 3 * (COUNT - 1)); // the one that was asked for last is always kept
});

test("values out of bounds have no record, also when others are kept", () => {
  const answers = new Answers(section(["", "one"])[0]);
  for (const value of [2, 3, 1e6, 2 ** 31 - 1, 2 ** 32 - 1]) assert.equal(answers.at(value), undefined);
  assert.equal(answers.copyInto(1, new Uint8Array(2), 0), -1);
});
