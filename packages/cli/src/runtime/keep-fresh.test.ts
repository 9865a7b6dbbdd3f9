// Simulates hours of updates, and what can go wrong in them, within milliseconds. The tests supply the clock and the
// random numbers.

import { describe, expect, test } from "bun:test";
import type { FeedReport } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { CliError } from "../terminal/errors.ts";
import { BuildBusy, BuildInterrupted, type BuildResult } from "./build.ts";
import { FreshData, LONGEST_PAUSE_MS, pauseMs, SHORTEST_PAUSE_MS } from "./keep-fresh.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-08-22T10:00:00Z");

describe("how long until the next build", () => {
  const cases: [name: string, dueIn: number | undefined, failures: number, chance: number, want: number][] = [
    ["until a feed is due", 10 * MINUTE, 0, 0, 10 * MINUTE],
    ["a little later by chance", 10 * MINUTE, 0, 1, 11 * MINUTE],
    ["a minute at least", 0, 0, 0, SHORTEST_PAUSE_MS],
    ["also when a feed is long overdue", -HOUR, 0, 0, SHORTEST_PAUSE_MS],
    ["an hour at most", 30 * HOUR, 0, 0, LONGEST_PAUSE_MS],
    ["spread below the hour by chance", 30 * HOUR, 0, 1, 54 * MINUTE],
    ["an hour when nothing is ever due", undefined, 0, 0, LONGEST_PAUSE_MS],
    ["a minute after a failure", 30 * HOUR, 1, 0, MINUTE],
    ["then twice as long each time", undefined, 4, 0, 8 * MINUTE],
    ["up to an hour", undefined, 60, 0, LONGEST_PAUSE_MS],
    ["also after failures without end", undefined, 5_000, 0.5, LONGEST_PAUSE_MS * 0.95],
  ];
  test.each(cases)("%s", (_name, dueIn, failures, chance, want) => {
    expect(pauseMs(START, dueIn === undefined ? undefined : START + dueIn, failures, chance)).toBe(want);
  });
});

const report = (id: string, error?: string): FeedReport => ({
  id,
  sets: "is_abuser",
  source: "fetched",
  state: "loaded",
  entries: 1,
  licence: "",
  ...(error !== undefined && { error }),
});

/** The result of one build. */
type Step = { dueIn?: number; feeds?: BuildResult["feeds"]; published?: boolean } | Error;
interface Seen {
  readonly at: readonly number[];
  readonly log: readonly (readonly [level: string, event: string, fields: Record<string, unknown>])[];
}

const { signal: SIGNAL } = new AbortController();
/** Has no choice of feeds. */
const FOLDER = temporaryFolder();

/** The clock of a test. */
class Clock {
  now = START;
  /** Checks once a second for `ms` milliseconds. */
  async run(data: FreshData, ms: number, user: Parameters<FreshData["check"]>[0]): Promise<void> {
    for (const end = this.now + ms; this.now < end; this.now += 1_000) await data.check(user, SIGNAL);
  }
}

/** Simulates `hours`, with one step for each build. The last step repeats forever. */
async function simulate(steps: readonly Step[], hours: number, firstMs = 0): Promise<Seen> {
  const clock = new Clock();
  const at: number[] = [];
  const log: [string, string, Record<string, unknown>][] = [];
  const keep =
    (level: string) =>
    (event: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void log.push([level, event, fields]);
  const data = new FreshData(
    FOLDER,
    async () => {
      at.push((clock.now - START) / MINUTE);
      const step = steps[Math.min(at.length, steps.length) - 1]!;
      if (step instanceof Error) throw step;
      const { dueIn, feeds = [], published = false } = step;
      const nextDue = dueIn === undefined ? undefined : new Date(clock.now + dueIn).toISOString();
      clock.now += 1_000; // a build takes time
      const done = {
        published,
        name: "n",
        held: feeds.filter((feed) => feed.held).map(({ id }) => id),
        failed: feeds
          .filter(({ id, held, error }) => id !== "free-mail" && !held && error)
          .map(({ id }) => id),
        expired: [],
        unreached: [],
        missing: [],
        seconds: 1,
        peakBytes: 1,
        nextDue,
      };
      return { done, feeds, conflicts: [] } as unknown as BuildResult;
    },
    firstMs,
    () => clock.now,
    () => 0,
  );
  await clock.run(data, hours * HOUR, { log: { info: keep("info"), error: keep("error") } });
  return { at, log };
}

const events = ({ log }: Seen) => log.map(([, event]) => event);

test("an hour of feeds that are due every ten minutes: six builds, each logged", async () => {
  const seen = await simulate([{ dueIn: 10 * MINUTE, published: true }], 1);
  expect(seen.at).toEqual([0, 10, 20, 30, 40, 50]);
  expect(new Set(events(seen))).toEqual(new Set(["data-update-done"]));
  expect(seen.log[0]![2]).toEqual({
    published: true,
    failed: 0,
    name: "n",
    seconds: 1,
    next_due: "2026-08-22T10:10:00.000Z",
  });
});

test("a day in which nothing is due: one check an hour", async () => {
  const { at } = await simulate([{}], 24);
  expect(at.length).toBe(24);
});

test("the first build waits as long as it should", async () => {
  expect((await simulate([{}], 1, 5 * MINUTE)).at[0]).toBe(5);
});

test("a build that fails is tried again, later each time, and at the usual pace once it works", async () => {
  const failure = new CliError("the disk is full", "free some space");
  const seen = await simulate([failure, failure, failure, { dueIn: 30 * MINUTE }], 1);
  expect(seen.at).toEqual([0, 1, 3, 7, 37]);
  expect(seen.log[1]).toEqual([
    "error",
    "data-update-failed",
    { reason: "the disk is full", hint: "free some space", failures: 2 },
  ]);
  expect(events(seen)).toEqual([
    "data-update-failed",
    "data-update-failed",
    "data-update-failed",
    "data-update-done",
    "data-update-done",
  ]);
});

describe("another build at work", () => {
  const busy = new BuildBusy("any message");
  test("is not an error, and is retried each minute, however often", async () => {
    const seen = await simulate([busy, busy, busy, busy, {}], 0.5);
    const expected = [...Array(4).fill("info data-update-busy"), "info data-update-done"];
    expect(seen.log.map(([level, event]) => `${level} ${event}`)).toEqual(expected);
    expect(seen.at).toEqual([0, 1, 2, 3, 4]);
  });
  test("neither adds to failures nor forgets them", async () => {
    const seen = await simulate([new CliError("m"), new CliError("m"), busy, new CliError("m"), {}], 0.5);
    expect(seen.log.map(([, event, { failures }]) => [event, failures])).toEqual([
      ["data-update-failed", 1],
      ["data-update-failed", 2],
      ["data-update-busy", undefined],
      ["data-update-failed", 3],
      ["data-update-done", undefined],
    ]);
    expect(seen.at).toEqual([0, 1, 3, 5, 9]);
  });
  test("is known by its code, not by its message", async () => {
    const seen = await simulate([new CliError("another build is running in data (process 7)"), {}], 0.1);
    expect(events(seen)[0]).toBe("data-update-failed");
  });
});

test("a poisoned feed in the middle is logged once with its reason, and once more when it works again", async () => {
  const good = { dueIn: 10 * MINUTE, feeds: [report("ipsum-3"), report("free-mail")] };
  const bad = { ...good, feeds: [report("ipsum-3", "publisher: has 0 entries"), report("free-mail")] };
  const other = { ...good, feeds: [report("ipsum-3", "publisher: answered 500"), report("free-mail")] };
  const seen = await simulate([good, bad, bad, other, good, good], 1);
  expect(seen.log.filter(([, event]) => event !== "data-update-done")).toEqual([
    [
      "error",
      "feed-not-updated",
      { feed: "ipsum-3", state: "loaded", source: "fetched", reason: "publisher: has 0 entries" },
    ],
    [
      "error",
      "feed-not-updated",
      { feed: "ipsum-3", state: "loaded", source: "fetched", reason: "publisher: answered 500" },
    ],
    ["info", "feed-updated-again", { feed: "ipsum-3", source: "fetched" }],
  ]);
});

test("a feed that a mirror does not have is logged, not as an error", async () => {
  const lacking = { dueIn: 10 * MINUTE, feeds: [report("free-mail", "mirror: has no file free-mail.*")] };
  const { log } = await simulate([lacking], 1);
  expect(log.filter(([, event]) => event === "feed-not-updated").map(([level]) => level)).toEqual(["info"]);
});

test("a held copy is an error with the command that accepts it, once for each reason", async () => {
  const held = (why: string) => ({ ...report("ipsum-3", why), held: { sha256: "0".repeat(64), why } });
  const step = (why?: string) => ({ dueIn: 5 * MINUTE, feeds: why === undefined ? [] : [held(why)] });
  const { log } = await simulate([step("a"), step("a"), step("b"), step(), step("b"), step()], 1);
  const lines = log.filter(([, event]) => event === "feed-held");
  const hint = "if they are right, `inkling data update --accept ipsum-3@000000000000` uses them";
  expect(lines.map(([level, , fields]) => [level, fields.reason, fields.hint])).toEqual(
    ["a", "b", "b"].map((why) => ["error", why, hint]),
  );
});

test("publishers that cannot be reached are one short line, once", async () => {
  const ids = ["ipsum-3", "free-mail", "tor-bulk-exits", "spamhaus-drop", "cins-army"];
  const unreached = (id: string, why: string) => ({
    ...report(id, "not shown"),
    trouble: { why, rest: "" },
  });
  const unreachable = ids.map((id) => unreached(id, "host not found"));
  const slow = unreached("feodo", "connection refused");
  const seen = await simulate([{ dueIn: 10 * MINUTE, feeds: [...unreachable, slow] }], 1);
  const hint = "run `inkling data status` to see all";
  expect(seen.log.filter(([, event]) => event !== "data-update-done")).toEqual([
    ["error", "feeds-not-reached", { count: 5, feeds: ids.slice(0, 3), reason: "host not found", hint }],
    ["error", "feeds-not-reached", { count: 1, feeds: ["feodo"], reason: "connection refused" }],
  ]);
});

test("a build that a stop interrupts leaves no log line", async () => {
  expect((await simulate([new BuildInterrupted()], 0.1)).log).toEqual([]);
});

describe("a pause", () => {
  /** No feed is ever due, so each pause lasts an hour. */
  function setUp() {
    const clock = new Clock();
    const builds: number[] = [];
    const lost = { is: false, repairedBy: Number.POSITIVE_INFINITY };
    const build = async () => {
      builds.push(clock.now);
      if (builds.length >= lost.repairedBy) lost.is = false;
      const done = { held: [], expired: [], failed: [], unreached: [], missing: [] };
      return { done, feeds: [], conflicts: [] } as unknown as BuildResult;
    };
    const data = new FreshData(
      FOLDER,
      build,
      0,
      () => clock.now,
      () => 0,
    );
    const user = {
      log: { info: () => {}, error: () => {} },
      get hasRelease() {
        return !lost.is;
      },
    };
    const minutes = () => builds.map((at) => (at - START) / MINUTE);
    const run = (ms: number) => clock.run(data, ms, user);
    const check = () => data.check(user, SIGNAL);
    return { clock, builds, minutes, lost, data, run, check };
  }

  test("ends when a build is asked for", async () => {
    const { builds, data, run } = setUp();
    await run(10 * MINUTE);
    data.request();
    await run(10 * MINUTE);
    expect(builds).toEqual([START, START + 10 * MINUTE]);
  });

  test("ends when no intact release is left, and one build repairs it", async () => {
    const { minutes, lost, run } = setUp();
    await run(10 * MINUTE);
    lost.is = true;
    lost.repairedBy = 2;
    await run(HOUR);
    expect(minutes()).toEqual([0, 10]);
  });

  test("ends later each time while builds repair nothing, as after failed builds", async () => {
    const { minutes, lost, run } = setUp();
    await run(10 * MINUTE);
    lost.is = true;
    await run(50 * MINUTE);
    expect(minutes()).toEqual([0, 10, 11, 13, 17, 25, 41]);
  });

  test("is not shorter when a repaired release is damaged again immediately", async () => {
    const { minutes, lost, run } = setUp();
    await run(10 * MINUTE);
    lost.repairedBy = 2; // each build repairs the release
    for (let second = 0; second < 7 * 60; second++) {
      lost.is = true;
      await run(1_000);
    }
    expect(minutes()).toEqual([0, 10, 11, 13]);
  });

  test("counts hours in which the machine slept, and is not longer where the clock is set back", async () => {
    const { clock, builds, run, check } = setUp();
    await check();
    clock.now += 2 * HOUR;
    await check();
    expect(builds.length).toBe(2);
    clock.now -= 5 * HOUR;
    await run(HOUR);
    expect(builds.length).toBe(2);
    await check();
    expect(builds.length).toBe(3);
  });
});
