import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decisionId, decisionRow } from "../../../test/harness/decision-rows.ts";
import { openStore } from "./store.ts";

test("a new table is part of backups, unless copy.ts lists it as one of running servers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-copy-"));
  const store = await openStore(`sqlite://${join(folder, "inkling.db")}`);
  try {
    const copy = join(folder, "copy.db");
    writeFileSync(copy, "");
    const rows = await store.copy.writeTo(copy, true);
    expect(Object.keys(rows).sort()).toEqual([
      "inkling_admin_tokens",
      "inkling_audit",
      "inkling_decision_counts",
      "inkling_decisions",
      "inkling_keys",
      "inkling_named_admin_tokens",
      "inkling_overrides",
      "inkling_rulesets",
      "inkling_tokens",
      "inkling_traffic_hours",
      "inkling_usage",
      "inkling_usage_hours",
      "inkling_webhooks",
    ]);
    expect(await store.copy.filled()).toEqual([]);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ["keeps the counts of decisions that remain", 1, [{ fraud: 1, decisions: 2 }]],
  ["brings the counts of decisions that are gone", 0, [{ fraud: 0, decisions: 1 }]],
])("a backup without decisions %s", async (_, remaining, expected) => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-copy-"));
  const store = await openStore(`sqlite://${join(folder, "inkling.db")}`);
  const by = { author: "ada", source: "cli" } as const;
  try {
    const now = Date.now();
    await store.decisions.add([decisionRow(1, now)]);
    const from = join(folder, "copy.db");
    writeFileSync(from, "");
    await store.copy.writeTo(from, false);
    await store.decisions.add([decisionRow(2, now)]);
    await store.decisions.label(decisionId(2), "fraud");
    if (remaining === 0) await store.decisions.delete({ before: now + 1 }, by);
    await store.copy.take({ from, restore: { decisions: false }, by, about: {} });
    const { tallies } = await store.decisions.tallies(now - 7_200_000);
    expect(tallies.map(({ fraud, decisions }) => ({ fraud, decisions }))).toEqual(expected);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});
