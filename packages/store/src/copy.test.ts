import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
