// Tests what the decision recorder logs if old decisions cannot be deleted.

import { expect, test } from "bun:test";
import { decisionRow } from "../../../../test/harness/decision-rows.ts";
import { until } from "../../../../test/harness/until.ts";
import { SteadyClock } from "../limits/steady-clock.ts";
import { StoreError } from "../store/error.ts";
import type { Store } from "../store/store.ts";
import { Log } from "../telemetry/log.ts";
import { startDecisions } from "./start-decisions.ts";

/** Returns the log lines of a recorder whose store fails to delete. */
async function logged(code: "AWAY" | "BROKEN", records: boolean): Promise<string> {
  let attempts = 0;
  let lines = "";
  const expire = async () => {
    attempts++;
    throw new StoreError(code, "database is locked", "try again");
  };
  const decisions = { add: async () => {}, expire };
  const store = { decisions, readClock: async () => undefined, tables: { isShared: false } };
  const log = new Log({ level: "error", write: (line) => (lines += line), now: Date.now });
  const recorder = startDecisions(
    { decisionsDays: 30, workers: 1 } as Parameters<typeof startDecisions>[0],
    store as unknown as Store,
    new SteadyClock({ onJump: () => {} }),
    { log, closers: [] },
  );
  if (records) recorder.record(decisionRow(1, Date.now()));
  await until(() => attempts > 0);
  await recorder.stop();
  log.flush();
  return lines;
}

test.each([
  ["the database is away, and none was stored", "AWAY", false, false],
  ["the database is away, and some were stored", "AWAY", true, true],
  ["the database refuses", "BROKEN", false, true],
] as const)("decisions that are not deleted: %s", async (_, code, records, isLogged) => {
  expect((await logged(code, records)).includes("decisions-not-expired")).toBe(isLogged);
});
