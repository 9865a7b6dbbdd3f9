import { expect, test } from "bun:test";
import { SQL } from "bun";
import { DUMPED, fits } from "./dump.ts";
import { MIGRATIONS } from "./migrations.ts";

/** Tables that each database creates itself, and tables that belong to running servers. */
const NOT_DUMPED = [
  "inkling_decisions",
  "inkling_deliveries",
  "inkling_domain_verdicts",
  "inkling_group_counts",
  "inkling_hosts",
  "inkling_key_changes",
  "inkling_key_stamp",
  "inkling_low_quotas",
  "inkling_override_stamp",
  "inkling_recorders",
  "inkling_retention",
  "inkling_traffic_hours",
  "inkling_webhook_watch",
];

test("every table of the migrations is kept with all its columns and its key, or named as one that is not", async () => {
  await using sql = new SQL({ adapter: "sqlite", filename: ":memory:" });
  for (const { statements } of MIGRATIONS) {
    for (const statement of statements)
      await sql.unsafe(typeof statement === "string" ? statement : statement.sqlite);
  }
  const tables: { name: string }[] = await sql`SELECT name FROM sqlite_master WHERE type = 'table'`;
  expect(tables.map(({ name }) => name).sort()).toEqual([...Object.keys(DUMPED), ...NOT_DUMPED].sort());
  for (const [table, { key, columns }] of Object.entries(DUMPED)) {
    const made: { name: string; type: string; notnull: number; pk: number }[] = await sql.unsafe(
      `PRAGMA table_info(${table})`,
    );
    const kinds = made.map(({ name, type, notnull, pk }) => {
      const kind = type === "TEXT" ? "text" : "number";
      return [name, notnull === 1 || pk > 0 ? kind : `${kind} or null`];
    });
    expect([table, columns]).toEqual([table, Object.fromEntries(kinds)]);
    const primary = made.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    expect([table, key]).toEqual([table, primary.map(({ name }) => name)]);
  }
});

test.each([
  ["text", "", true],
  ["text", 1, false],
  ["text", null, false],
  ["text or null", null, true],
  ["number", 0, true],
  ["number", "0", false],
  ["number", Number.NaN, false],
  ["number", undefined, false],
  ["number or null", null, true],
] as const)("a column of %s and the value %p: %p", (kind, value, isSo) =>
  expect(fits(kind, value)).toBe(isSo),
);
