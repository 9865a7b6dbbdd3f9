// Tests which servers count in a roll-out, when it stops, and which reports are read.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { FolderObjects } from "./folder-objects.ts";
import { type HostReport, readHostReport, readReports, writeReport } from "./host-report.ts";
import { hasFailed, isTooFew, rolloutOf } from "./rollout.ts";
import { rolloutSlot, type Statement } from "./statement.ts";

const NEW = "20260102T000000000Z-000000000002";
const OLD = "20260101T000000000Z-000000000001";
const ref = (name: string) => ({ name, sha256: "0".repeat(64) });
const statement: Statement = {
  format: 1,
  channel: "stable",
  version: 2,
  published_at: "2026-01-02T00:00:00.000Z",
  expires_at: "2026-01-09T00:00:00.000Z",
  release: ref(NEW),
  percent: 50,
  previous: ref(OLD),
  kept: [ref(NEW), ref(OLD)],
};
const AT = "2026-01-02T00:01:00.000Z";

/** Ids of servers, some inside the roll-out and some outside. */
const ids = Array.from(
  { length: 400 },
  (_, i) => `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`,
);
const inside = ids.filter((id) => rolloutSlot(id) < statement.percent);
const outside = ids.filter((id) => rolloutSlot(id) >= statement.percent);

function report(server_id: string, over: Partial<HostReport> = {}): HostReport {
  return {
    server_id,
    name: server_id.slice(0, 8),
    version: "0.1.0",
    at: AT,
    ready: true,
    reasons: [],
    warnings: [],
    release: { name: NEW, created_at: AT },
    pinned: false,
    refused: null,
    channel: { name: "stable", version: 2, release: NEW, fault: null },
    requests_per_second: 0,
    clock_offset_seconds: null,
    ...over,
  };
}
const old = { name: OLD, created_at: AT };
const channel = { name: "stable", version: 1, release: OLD, fault: null };
const rollout = (...rows: [over: Partial<HostReport>, ageSeconds?: number][]) =>
  rolloutOf(
    statement,
    rows.map(([over, age = 1], i) => ({ report: report(inside[i]!, over), ageMs: age * 1_000 })),
  );

test("counts the servers of the roll-out, each by its last report", () => {
  const all = [...inside.slice(0, 4), ...outside.slice(0, 4)].map((id) => ({ report: report(id), ageMs: 0 }));
  const before = { report: report(inside[0]!, { ready: false }), ageMs: 5 };
  const next = Math.min(...outside.slice(0, 4).map(rolloutSlot)) + 1;
  expect(rolloutOf(statement, [before, ...all])).toMatchObject({ ready: { length: 4 }, others: 4, next });
  const { previous: _, ...whole } = statement;
  expect(rolloutOf(whole, all).ready).toHaveLength(8);
  expect(
    rollout([{ channel: { ...channel, name: "canary" } }], [{ channel: null }], [{ server_id: null }]),
  ).toEqual({
    ready: [],
    failed: [],
    waiting: [],
    others: 0,
    next: null,
  });
});

test.each<[string, Partial<HostReport>, number, "ready" | "failed" | "waiting" | "none", string?]>([
  ["has it and is ready", {}, 1, "ready"],
  [
    "has it, and has lost the store since",
    { channel: { ...channel, release: NEW, fault: "unreachable" } },
    1,
    "ready",
  ],
  ["has it, and is pinned to another", { release: old, pinned: true }, 1, "ready"],
  [
    "is not ready",
    { ready: false, reasons: ["no release", "silent"] },
    1,
    "failed",
    "not ready: no release; silent",
  ],
  ["is not ready after a rollback", { ready: false, release: null, channel }, 1, "failed", "not ready: "],
  ["refuses it", { refused: NEW, release: old }, 1, "failed", "refuses it as unsound"],
  [
    "cannot take it",
    { release: old, channel: { ...channel, fault: "unsound" } },
    1,
    "waiting",
    "does not follow the channel: unsound",
  ],
  ["has not taken it", { release: old, channel }, 1, "waiting", "does not use it yet"],
  ["has not switched yet", { release: old }, 1, "waiting", "does not use it yet"],
  ["is silent", {}, 200, "failed", "no report for 200 s"],
  ["is silent for little more than its interval", {}, 100, "ready"],
  ["is gone", { ready: false }, 601, "none"],
  ["has a clock ahead", {}, -3_600, "ready"],
])("a server that %s", (_, over, age, state, ...why) => {
  const found = rollout([over, age]);
  const { ready, failed, waiting } = found;
  expect({ ready: ready.length, failed: failed.length, waiting: waiting.length }).toEqual({
    ready: 0,
    failed: 0,
    waiting: 0,
    ...(state !== "none" && { [state]: 1 }),
  });
  expect([...failed, ...waiting].map((each) => each.why)).toEqual(why as string[]);
});

test("a server that reports more often is silent sooner", () => {
  const aged = { report: report(inside[0]!), ageMs: 12_000 };
  expect(rolloutOf(statement, [aged]).ready).toHaveLength(1);
  expect(rolloutOf(statement, [{ ...aged, silentMs: 10_000 }]).failed).toHaveLength(1);
});

describe("stops", () => {
  const of = (ready: number, failed: number, waiting: number) => {
    const some = (n: number) => Array.from({ length: n }, () => ({ name: "a", why: "b" }));
    const names = some(ready).map(({ name }) => name);
    return { ready: names, failed: some(failed), waiting: some(waiting), others: 3, next: 50 };
  };
  test.each([
    [0, 0, 0, false, false],
    [1, 0, 0, false, false],
    [0, 1, 0, true, true],
    [0, 0, 1, true, false],
    [2, 1, 0, true, true],
    [9, 1, 0, false, false],
    [9, 2, 0, true, true],
    [90, 10, 0, false, false],
    [89, 0, 11, true, false],
  ])("with %i ready, %i failed, %i waiting: %p, for good: %p", (ready, failed, waiting, stops, forGood) => {
    expect([isTooFew(of(ready, failed, waiting)), hasFailed(of(ready, failed, waiting))]).toEqual([
      stops,
      forGood,
    ]);
  });
});

test("a file counts for the server of its name alone; what is none, too long or old does not count", async () => {
  const folder = temporaryFolder();
  const store = new FolderObjects(folder);
  const { signal } = new AbortController();
  const write = (id: string, over = {}) =>
    writeReport(store, "stable", { ...report(id), ...over, server_id: id }, signal);
  const read = () => readReports(store, "stable", Date.parse(AT) - 1_000, signal);
  expect(await read()).toEqual([]);
  await write(ids[0]!);
  await write(ids[1]!, { at: "2026-01-01T00:00:00.000Z" });
  const file = (id: string) => join(folder, `reports/stable/${id}.json`);
  writeFileSync(file(ids[2]!), JSON.stringify(report(ids[3]!)));
  writeFileSync(file(ids[4]!), "{");
  writeFileSync(file("notes"), "not a report");
  writeFileSync(file(ids[5]!), JSON.stringify(report(ids[5]!)).padEnd(9_000));
  expect((await read()).map(({ server_id }) => server_id)).toEqual([ids[0]!]);
  expect(await store.size(`reports/stable/${ids[1]}.json`, signal)).toBeUndefined();
  expect(await store.size("reports/stable/notes.json", signal)).toBeGreaterThan(0);
});

test("texts are cut, and have no control characters", () => {
  const hostile = report(ids[0]!, {
    name: "a\u001b[2J\n\u202eb",
    reasons: Array.from({ length: 99 }, () => "y".repeat(999)),
  });
  const read = readHostReport(JSON.stringify(hostile))!;
  expect(read.name).toBe("a\ufffd[2J\ufffd\ufffdb");
  expect([read.reasons.length, read.reasons[0]!.length]).toEqual([10, 200]);
});
