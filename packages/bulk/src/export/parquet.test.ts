// Reads the exported files with hyparquet.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import type { Field, Value } from "../fields.ts";
import { ParquetRows } from "./parquet.ts";

type Known = Exclude<Value, undefined>;
const FIELDS: readonly { name: string; type: Field["type"]; any: fc.Arbitrary<Known> }[] = [
  { name: "place", type: "text", any: fc.string({ unit: "grapheme" }) },
  { name: "code", type: "text", any: fc.constantFrom("", "DE", "é", "\u{1f600}", "\uffff") },
  { name: "degrees", type: "number", any: fc.double({ noNaN: true }).map((n) => n + 0) },
  { name: "radius", type: "integer", any: fc.integer() },
  { name: "flag", type: "boolean", any: fc.boolean() },
];
type Row = Record<string, Value>;
const anyAnswer = fc.record(
  Object.fromEntries(FIELDS.map(({ name, any }) => [name, fc.option(any, { nil: undefined })])),
) as fc.Arbitrary<Row>;
/** Answers, and how often each repeats. Runs are encoded differently from single values. */
const anyRuns = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 40 })), {
  minLength: 1,
  maxLength: 40,
});

/** Writes a file with these groups of rows. `key` is the text of each row. */
function fileOf(answers: readonly Row[], groups: readonly (readonly number[])[]): ArrayBuffer {
  const file = new ParquetRows([{ name: "key", type: "text" }, ...FIELDS], "from X");
  const pieces: Uint8Array[] = [];
  for (const rows of groups) {
    for (const [i, row] of rows.entries())
      file.addRow([keyOf(i, row), ...FIELDS.map(({ name }) => answers[row]![name])]);
    file.endGroup();
    pieces.push(file.take().data as Uint8Array);
  }
  return new Uint8Array(Buffer.concat([...pieces, file.end().data as Uint8Array])).buffer;
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
          ...Object.fromEntries(FIELDS.map(({ name }) => [name, answers[row]![name] ?? null])),
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
    [["0/2", "0/2", 0], ...FIELDS.map(() => [undefined, undefined, 1])],
  ]);
  expect(key_value_metadata).toEqual([{ key: "inkling", value: "from X" }]);
});
