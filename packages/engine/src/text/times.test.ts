import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTime } from "./times.ts";

const rows: [string, string | undefined][] = [
  ["2026-01-31", "2026-01-31T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2026-01-31T12:34:56Z", "2026-01-31T12:34:56.000Z"],
  ["2026-01-31T12:34:56.789123Z", "2026-01-31T12:34:56.789Z"],
  ["2026-01-31T12:34", "2026-01-31T12:34:00.000Z"],
  ["2026-01-31 12:34:56", "2026-01-31T12:34:56.000Z"],
  ["2026-01-31 12:34:56 UTC", "2026-01-31T12:34:56.000Z"],
  ["2026-01-31T00:30:00+01:00", "2026-01-30T23:30:00.000Z"],
  ["2026-01-31T00:30:00-0530", "2026-01-31T06:00:00.000Z"],
  ["2026-02-31", undefined],
  ["2026-02-29", undefined],
  ["2026-02-31T00:00:00Z", undefined],
  ["2026-13-01", undefined],
  ["2026-00-01", undefined],
  ["2026-01-00", undefined],
  ["2026-01-01T24:00:00Z", undefined],
  ["2026-01-01T12:60:00Z", undefined],
  ["2026-01-01T12:00:00+24:00", undefined],
  ["1969-12-31", undefined],
  ["2026-1-1", undefined],
  ["20260101", undefined],
  ["2026-01-01T", undefined],
  ["2026-01-01Z", undefined],
  ["2026-01-01 morning", undefined],
  ["", undefined],
];
for (const [text, expected] of rows) {
  test(`${JSON.stringify(text)}: ${expected ?? "no time"}`, () => {
    const at = parseTime(text);
    assert.equal(at === undefined ? undefined : new Date(at).toISOString(), expected);
  });
}
