// What is written is read by hyparquet, which has no code in common with the encoders here.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import type { Member, Value } from "../members.ts";
import { CodedColumn, hybrid, TextColumn } from "./parquet-columns.ts";
import { ParquetFile } from "./parquet-file.ts";

type Known = Exclude<Value, undefined>;
const MEMBERS: readonly { name: string; type: Member["type"]; any: fc.Arbitrary<Known> }[] = [
  { name: "place", type: "text", any: fc.string({ unit: "grapheme" }) },
  { name: "code", type: "text", any: fc.constantFrom("", "DE", "é", "\u{1f600}", "\uffff") },
  { name: "degrees", type: "number", any: fc.double({ noNaN: true }).map((n) => n + 0) },
  { name: "radius", type: "integer", any: fc.integer() },
  { name: "flag", type: "boolean", any: fc.boolean() },
];
type Row = Record<string, Value>;
const anyAnswer = fc.record(
  Object.fromEntries(MEMBERS.map(({ name, any }) => [name, fc.option(any, { nil: undefined })])),
) as fc.Arbitrary<Row>;
/** Answers and how often each comes in a row: runs are written in another way than single values. */
const anyRuns = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 40 })), {
  minLength: 1,
  maxLength: 40,
});

/** The bytes of a file with these groups of rows; `key` is the text of each row. */
function fileOf(answers: readonly Row[], groups: readonly (readonly number[])[]): ArrayBuffer {
  const key = new TextColumn("key");
  const members = MEMBERS.map(({ name, type }) => {
    const seen = [...new Set(answers.map((answer) => answer[name]))].filter((value) => value !== undefined);
    return new CodedColumn(
      { name, type },
      seen,
      Int32Array.from(answers, (a) => seen.indexOf(a[name]!)),
    );
  });
  const file = new ParquetFile([key, ...members], [{ key: "inkling", value: "from X" }]);
  const pieces: Uint8Array[] = [];
  for (const rows of groups) {
    for (const [i, row] of rows.entries()) {
      if (i % 2 === 0) key.appendAscii(keyOf(i, row));
      else key.append(new TextEncoder().encode(keyOf(i, row)));
    }
    file.endGroup(Uint32Array.from(rows));
    pieces.push(file.take());
  }
  file.finish();
  return new Uint8Array(Buffer.concat([...pieces, file.take()])).buffer;
}

const keyOf = (i: number, row: number) => `${(i * 7919) % 101}/${row}`;
const read = (file: ArrayBuffer) =>
  parquetReadObjects({ file, compressors: { ZSTD: (data) => Bun.zstdDecompressSync(data) } });

test("rows of any values come back", async () => {
  let runs = 0;
  let unknown = 0;
  const anyAnswers = fc.array(anyAnswer, { minLength: 1, maxLength: 30 });
  const anyGroups = fc.array(anyRuns, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(anyAnswers, anyGroups, async (answers, some) => {
      const groups = some.map((group) =>
        group.flatMap(([answer, times]) => new Array<number>(times).fill(answer % answers.length)),
      );
      const expected = groups.flatMap((rows) =>
        rows.map((row, i) => ({
          key: keyOf(i, row),
          ...Object.fromEntries(MEMBERS.map(({ name }) => [name, answers[row]![name] ?? null])),
        })),
      );
      expect(await read(fileOf(answers, groups))).toEqual(expected);
      if (some.flat().some(([, times]) => times > 8)) runs++;
      if (answers.some((answer) => Object.values(answer).includes(undefined))) unknown++;
    }),
    { numRuns: 100 },
  );
  expect(Math.min(runs, unknown)).toBeGreaterThan(50);
});

test("each group has the bounds of its values, in byte order, and its unknown ones counted", () => {
  const answers: Row[] = [
    { place: "\u{1f600}", degrees: 0 },
    { place: "\uffff", degrees: 7.5, radius: -3, flag: true },
    {},
  ];
  const { row_groups, key_value_metadata } = parquetMetadata(fileOf(answers, [[0, 1, 2], [2]]));
  const bounds = row_groups.map(({ columns }) =>
    columns.map(({ meta_data }) => {
      const { min_value, max_value, null_count } = meta_data!.statistics!;
      return [min_value, max_value, Number(null_count)];
    }),
  );
  expect(bounds).toEqual([
    [
      ["0/0", "82/2", 0],
      ["\uffff", "\u{1f600}", 1], // U+FFFF sorts first in UTF-8, and last in JavaScript
      [undefined, undefined, 3],
      [-0, 7.5, 1],
      [-3, -3, 2],
      [true, true, 2],
    ],
    [["0/2", "0/2", 0], ...MEMBERS.map(() => [undefined, undefined, 1])],
  ]);
  expect(key_value_metadata).toEqual([{ key: "inkling", value: "from X" }]);
});

describe("runs and packed groups, as the format describes them", () => {
  test.each<[what: string, values: number[], width: number, bytes: number[]]>([
    ["a run", new Array(200).fill(5), 3, [0x90, 0x03, 5]],
    ["the example of the format", [0, 1, 2, 3, 4, 5, 6, 7], 3, [3, 0b10001000, 0b11000110, 0b11111010]],
    ["a group that is not full", [1, 0, 1], 1, [3, 0b101]],
    ["no bits", [0, 0], 0, [3]],
    ["a group, then a run", [1, ...new Array(20).fill(0)], 1, [3, 1, 26, 0]],
  ])("%s", (_, values, width, bytes) => {
    expect([...hybrid(Uint32Array.from(values), width)]).toEqual(bytes);
  });
});
