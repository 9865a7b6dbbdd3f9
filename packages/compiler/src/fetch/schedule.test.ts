// Tests when a feed is requested again after successes, failures and Retry-After, and within budgets.

import { describe, expect, test } from "bun:test";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import type { Attempts } from "./feed-state.ts";
import {
  afterAbsence,
  afterFailure,
  afterSuccess,
  dueAt,
  findHold,
  recordRequest,
  untried,
} from "./next-state.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = new Date("2026-08-22T12:34:56.000Z");
const later = (ms: number) => new Date(NOW.getTime() + ms);
const row = (cadenceHours: number, more: Partial<Feed> = {}): Feed => ({
  ...FEEDS[0]!,
  cadenceHours,
  ...more,
});
const HOURLY = row(1);
const minutesUntil = (text: string | undefined) => (Date.parse(text!) - NOW.getTime()) / MINUTE;
const fail = (feed: Feed, attempts: Attempts, chance = 1, retryAfter?: string, now = NOW) =>
  afterFailure(feed, attempts, now, { error: "broken", retryAfter }, () => chance);

describe("after a success", () => {
  const cadences: readonly [name: string, hours: number, checkHours: number][] = [
    ["hourly", 1, 1],
    ["six hours", 6, 6],
    ["daily", 24, 24],
    ["monthly: checked daily", 720, 24],
  ];
  test.each(cadences)("%s: once in each interval, at any point of it", (_name, hours, checkHours) => {
    for (const spread of [0, 0.25, 0.5, 0.999]) {
      const feed = row(hours);
      let attempts = afterSuccess(
        feed,
        untried(() => spread),
        NOW,
      );
      const first = Date.parse(attempts.nextAt!) - NOW.getTime();
      expect(first).toBeGreaterThanOrEqual(0.5 * checkHours * HOUR);
      expect(first).toBeLessThanOrEqual(1.5 * checkHours * HOUR);
      // A late check does not move the feed's point within the interval.
      for (const lateBy of [0, 7 * MINUTE, 0.4 * checkHours * HOUR]) {
        const dueAt = Date.parse(attempts.nextAt!);
        attempts = afterSuccess(feed, attempts, new Date(dueAt + lateBy));
        expect(Date.parse(attempts.nextAt!) - dueAt).toBe(checkHours * HOUR);
      }
    }
  });
  test("feeds that were checked together are spread out", () => {
    let seed = 1;
    const chance = () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const minutes = new Set(
      Array.from({ length: 20 }, () =>
        Math.floor(minutesUntil(afterSuccess(HOURLY, untried(chance), NOW).nextAt)),
      ),
    );
    expect(minutes.size).toBeGreaterThan(10);
  });
  test("failures are reset", () => {
    const attempts = afterSuccess(
      HOURLY,
      fail(
        HOURLY,
        untried(() => 0),
        1,
        "60",
      ),
      NOW,
    );
    expect(attempts).toMatchObject({ failures: 0, okAt: NOW.toISOString() });
    expect(attempts).not.toHaveProperty("error");
    expect(attempts).not.toHaveProperty("waitUntil");
  });
});

test("a missing file is no failure, and is checked at the usual time", () => {
  const ok = afterSuccess(
    HOURLY,
    untried(() => 0.5),
    NOW,
  );
  const attempts = afterAbsence(HOURLY, ok, later(HOUR), "no file");
  expect(attempts).toMatchObject({ failures: 0, error: "no file", okAt: NOW.toISOString() });
  expect(attempts.nextAt).toBe(afterSuccess(HOURLY, ok, later(HOUR)).nextAt!);
});

describe("after failures", () => {
  test("exponential backoff up to the interval, with jitter", () => {
    const waits = (feed: Feed, chance: number) => {
      let attempts = untried(() => 0);
      return Array.from({ length: 12 }, () => {
        attempts = fail(feed, attempts, chance);
        return minutesUntil(attempts.nextAt);
      });
    };
    expect(waits(HOURLY, 1)).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, 60]);
    expect(waits(HOURLY, 0).slice(0, 5)).toEqual([2.5, 5, 10, 20, 30]);
    expect(waits(row(720), 1).slice(8)).toEqual([1_280, 1_440, 1_440, 1_440]);
  });
  test("they are counted, and the last success is kept", () => {
    const ok = afterSuccess(
      HOURLY,
      untried(() => 0),
      NOW,
    );
    const attempts = fail(HOURLY, fail(HOURLY, ok, 1, undefined, later(HOUR)), 1, undefined, later(2 * HOUR));
    expect(attempts).toMatchObject({ failures: 2, error: "broken", okAt: NOW.toISOString() });
  });
});

describe("Retry-After", () => {
  const DAY = 24 * 60;
  const rows: readonly [text: string, minutes: number | undefined][] = [
    ["3600", 60],
    ["0", undefined],
    ["Sat, 22 Aug 2026 14:34:56 GMT", 120],
    ["Sat, 22 Aug 2026 10:00:00 GMT", undefined],
    ["315360000", DAY],
    ["Sat, 22 Aug 2036 14:34:56 GMT", DAY],
    ["99999999999999999999", DAY],
    ["soon", undefined],
    ["-5", undefined],
    ["1.5", undefined],
    ["", undefined],
  ];
  test.each(rows)("%p", (text, minutes) => {
    const attempts = fail(
      HOURLY,
      untried(() => 0),
      1,
      text,
    );
    if (minutes === undefined) expect(attempts.waitUntil).toBeUndefined();
    else expect(minutesUntil(attempts.waitUntil)).toBe(minutes);
    for (const onlyDue of [true, false])
      expect(findHold(HOURLY, attempts, later(6 * MINUTE), { onlyDue })?.why).toBe(
        minutes ? "held" : undefined,
      );
    if (minutes)
      expect(findHold(HOURLY, attempts, later(minutes * MINUTE), { onlyDue: true })).toBeUndefined();
  });
});

describe("what is due", () => {
  test("a feed that was never checked", () => {
    expect(
      findHold(
        HOURLY,
        untried(() => 0.5),
        NOW,
        { onlyDue: true },
      ),
    ).toBeUndefined();
  });
  test("a manual build requests every feed", () => {
    const attempts = afterSuccess(
      HOURLY,
      untried(() => 0.5),
      NOW,
    );
    expect(findHold(HOURLY, attempts, later(1), { onlyDue: true })).toEqual({ why: "not due" });
    expect(findHold(HOURLY, attempts, later(1), { onlyDue: false })).toBeUndefined();
    expect(findHold(HOURLY, attempts, dueAt(HOURLY, attempts, NOW), { onlyDue: true })).toBeUndefined();
  });
  test("a build that waited for another requests only what that one did not", () => {
    const attempts = afterSuccess(
      HOURLY,
      untried(() => 0.5),
      NOW,
    );
    const since = (time: Date) => ({ onlyDue: false, since: time.toISOString() });
    expect(findHold(HOURLY, attempts, later(1), since(NOW))).toEqual({ why: "not due" });
    expect(findHold(HOURLY, attempts, later(2), since(later(1)))).toBeUndefined();
    expect(findHold(HOURLY, attempts, later(-1), since(later(-2)))).toBeUndefined();
    expect(findHold(HOURLY, fail(HOURLY, attempts), later(1), since(later(1)))).toBeUndefined();
  });
  test("a clock that was set back does not hold feeds", () => {
    const attempts = fail(
      HOURLY,
      untried(() => 0),
      1,
      "86400",
    );
    expect(findHold(HOURLY, attempts, later(-1), { onlyDue: true })).toBeUndefined();
    expect(dueAt(HOURLY, attempts, later(-1))).toEqual(later(-1));
  });
});

describe("budget", () => {
  const feed = row(1, { budgetPerDay: 3 });
  const used = (...hours: number[]) =>
    hours.reduce(
      (attempts, hour) => recordRequest(feed, attempts, later(hour * HOUR)),
      untried(() => 0),
    );
  test("of the last 24 hours", () => {
    expect(findHold(feed, used(0, 1), later(2 * HOUR), { onlyDue: false })).toBeUndefined();
    expect(findHold(feed, used(0, 1, 2), later(3 * HOUR), { onlyDue: false })).toMatchObject({ why: "held" });
    expect(findHold(feed, used(0, 1, 2), later(24 * HOUR - 1), { onlyDue: false })).toMatchObject({
      why: "held",
    });
    expect(findHold(feed, used(0, 1, 2), later(24 * HOUR), { onlyDue: false })).toBeUndefined();
    expect(dueAt(feed, used(0, 1, 2), later(3 * HOUR))).toEqual(later(24 * HOUR));
  });
  test("only the last day's requests are kept, through successes and failures", () => {
    const attempts = afterSuccess(feed, fail(feed, used(0, 1, 30)), later(30 * HOUR));
    expect(attempts.requests).toEqual([later(30 * HOUR).toISOString()]);
  });
  test("no requests are kept without a budget", () => {
    expect(
      recordRequest(
        HOURLY,
        untried(() => 0),
        NOW,
      ).requests,
    ).toBeUndefined();
  });
});
