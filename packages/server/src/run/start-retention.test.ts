// Tests what the server logs about rows that are deleted by age.

import { expect, test } from "bun:test";
import { StoreError } from "@inkling/store/error";
import type { DeletedRows, Retention } from "@inkling/store/retention";
import { until } from "../../../../test/harness/until.ts";
import { Log } from "../telemetry/log.ts";
import { startRetention } from "./start-retention.ts";

/** Returns the log lines of the first check. */
async function logged(result: DeletedRows | StoreError, aheadMs: number, overLimit = 0): Promise<string> {
  let checks = 0;
  let lines = "";
  const expire = async () => {
    checks++;
    if (result instanceof StoreError) throw result;
    return result;
  };
  const limitDecisions = async (maxBytes: number) => (maxBytes === 7_000_000 ? overLimit : 0);
  const retention = { expire, limitDecisions, aheadMs } as unknown as Retention;
  const log = new Log({ level: "info", write: (line) => (lines += line), now: Date.now });
  const poller = startRetention({ decisionsDays: 30, decisionsMaxMb: 7 }, { retention }, log);
  await until(() => checks > 0);
  await poller.stop();
  log.flush();
  return lines;
}

const failure = (code: "UNREACHABLE" | "BROKEN") => new StoreError(code, "database is locked", "try again");

test("decisions take too much space", async () => {
  expect(await logged({}, 0, 500)).toContain('"decisions-over-limit","deleted":500,"limit_mb":7');
});

test.each([
  ["nothing is too old", {}, 0, undefined],
  ["rows are too old", { decisions: 3, deliveries: 1 }, 0, '"rows-expired","decisions":3,"deliveries":1'],
  ["the clock is in doubt", {}, 3_456_000_000, '"expiry-held","ahead_seconds":3456000'],
  ["the database is unreachable", failure("UNREACHABLE"), 0, undefined],
  ["the database refuses", failure("BROKEN"), 0, '"rows-not-expired","reason":"database is locked'],
] as const)("%s", async (_, result, aheadMs, line) => {
  const lines = await logged(result, aheadMs);
  if (line === undefined) expect(lines).toBe("");
  else expect(lines).toContain(line);
});
