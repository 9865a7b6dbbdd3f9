// Fuzzes files of `inkling overrides export`, and the data folder's copy of overrides. What is read is written and read
// again as the same; everything else is refused with an error that shows the place.

import {
  exportFile,
  importedOverrides,
  overrideFile,
  readSnapshot,
  snapshotText,
} from "../../../packages/store/src/overrides/file.ts";
import { OverrideInputError } from "../../../packages/store/src/overrides/override.ts";
import type { Target } from "../target.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const CONTEXT = { now: NOW, author: "ada" };
const ROWS = [
  { value: "81.2.69.142", flag: "is_tor_exit", verdict: false, note: "our office 東京" },
  { value: "2a02:8010::/48", flag: "is_proxy", verdict: true, note: "x", expires_at: "2027-01-01T00:00:00Z" },
  { value: "bücher.de", flag: "disposable", verdict: true, note: "n", author: "bob" },
  { value: "jane@gmail.com", flag: "disposable", verdict: true, note: "n", expires_at: null },
];
const FILE = { format: "inkling-overrides", version: 1, exported_at: "2026-05-01T00:00:00.000Z" };

const stored = (rows: readonly unknown[]) =>
  importedOverrides(rows, CONTEXT, false).overrides.map((one, i) =>
    Object.freeze({ ...one, id: `ovr_${i}`, createdAt: one.createdAt ?? NOW, removedAt: undefined }),
  );

export default function overrides(): Target {
  const files = [
    { ...FILE, overrides: ROWS },
    { ...FILE, overrides: ROWS.slice(1, 2) },
  ];
  const snapshot = snapshotText({ stamp: "x", overrides: stored(ROWS) as never });
  return {
    corpus: [...files.map((file) => JSON.stringify(file)), snapshot].map((text) => Buffer.from(text)),
    tokens: [
      '"value":"',
      '"expires_at":"',
      '"__proto__":{}',
      "0.0.0.0/0",
      "::/0",
      "com",
      "\\u0000",
      "\\ud800",
      "xn--",
      "null",
      "1e999",
      "},{",
      '"flag":"is_abuser"',
    ],
    check: (input) => {
      let value: unknown;
      try {
        value = JSON.parse(Buffer.from(input).toString("utf8"));
      } catch {
        return "no JSON";
      }
      const copy = copyOf(value);
      if (copy !== undefined) return copy;
      const file = overrideFile.safeParse(value);
      if (!file.success) return "no file";
      let found: ReturnType<typeof stored>;
      try {
        found = stored(file.data.overrides);
      } catch (error) {
        if (!(error instanceof OverrideInputError) || error.problems.length === 0) throw error;
        return "refused";
      }
      const again = exportFile(found as never, NOW);
      const rows = stored(again.overrides);
      const texts = (all: typeof found) =>
        all.map(({ id: _, ...one }) => JSON.stringify(one, Object.keys(one).sort())).sort();
      if (JSON.stringify(texts(rows)) !== JSON.stringify(texts(found)))
        throw new Error(`not read as written: ${JSON.stringify(again.overrides)}`);
      return "imported";
    },
  };
}

/** @returns the outcome if the value is a copy of a data folder */
function copyOf(value: unknown): string | undefined {
  if ((value as { format?: unknown } | null)?.format !== "inkling-override-snapshot") return undefined;
  let left = 0;
  let read: ReturnType<typeof readSnapshot>;
  try {
    read = readSnapshot(JSON.stringify(value), () => left++);
  } catch (error) {
    if ((error as Error).name !== "ZodError") throw error;
    return "no copy";
  }
  const again = readSnapshot(snapshotText(read));
  if (JSON.stringify(again) !== JSON.stringify(read)) throw new Error("the copy is not read as written");
  return left > 0 ? "copy in part" : "copy";
}
