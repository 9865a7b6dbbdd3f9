// Tests a feed's state after each outcome of a load.

import { describe, expect, test } from "bun:test";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import type { FeedCopy } from "./copy.ts";
import type { Attempts, FeedState, KeptCopy } from "./feed-state.ts";
import {
  afterAbsence,
  afterFailure,
  afterSuccess,
  type FeedAttempt,
  nextFeedState,
  type Outcome,
  planRequest,
  publishHeld,
  recordRequest,
  untried,
} from "./next-state.ts";

const NOW = new Date("2026-08-22T12:34:56.000Z");
const BEFORE = new Date("2026-08-21T12:34:56.000Z");
const FEED: Feed = { ...FEEDS[0]!, cadenceHours: 1 };
const MIRROR = "https://mirror.example/feeds";
const half = () => 0.5;
const at = (mirror?: string): FeedAttempt => ({ feed: FEED, mirror, now: NOW, chance: half });

const copy = (name: string): KeptCopy => ({
  file: `body-${name.repeat(16)}.txt`,
  format: "ip-lines",
  sha256: name.repeat(64),
  source: "fetched",
  fetchedAt: NOW.toISOString(),
  url: "https://publisher.example/list",
  etag: '"1"',
  lastModified: "yesterday",
});
/** A copy as it is fetched, before the state describes it. */
const fetched = ({ format, sha256, source, url, etag, lastModified }: KeptCopy): FeedCopy => ({
  ...{ format, sha256, source, fetchedAt: NOW, origin: { url: url!, etag, lastModified } },
  ...{ files: [], bytes: 0, licence: "CC0-1.0" },
});
const A = { ...copy("a"), entries: 5 };
const B = { ...copy("b"), entries: 5 };
const HELD = { ...copy("c"), why: "differs too much" };
const passed = (kept: KeptCopy) => ({ type: "passed", copy: fetched(kept), entries: 5 }) as const;
const FAILURE = { error: "publisher: broken", retryAfter: "7200" };
const wrong: Outcome = { type: "held", copy: fetched(HELD), why: HELD.why, failure: FAILURE };
const tried: Attempts = { ...afterSuccess(FEED, untried(half), BEFORE), failures: 2 };
const other: Attempts = { ...tried, failures: 7 };

const ok = afterSuccess(FEED, tried, NOW);
const bad = afterFailure(FEED, tried, NOW, FAILURE, half);
const none = afterAbsence(FEED, tried, NOW, FAILURE.error);
const full: FeedState = { copy: A, held: HELD, attempts: tried, mirror: { ...other, of: MIRROR } };
const mirror = full.mirror!;

const rows: readonly [name: string, before: FeedState, outcome: Outcome, after: FeedState][] = [
  [
    "passed: beside the last good copy, in the place of what was held",
    full,
    passed(B),
    { copy: A, held: B, attempts: ok, mirror },
  ],
  [
    "passed, with the content of the last good copy: confirms it, and nothing is held",
    full,
    passed({ ...A, etag: '"2"' }),
    { copy: { ...A, etag: '"2"' }, attempts: ok, mirror },
  ],
  [
    "passed, of a feed that was never asked",
    {},
    passed(B),
    { held: B, attempts: afterSuccess(FEED, untried(half), NOW) },
  ],
  [
    "passed, over a damaged state",
    { damage: "not JSON" },
    passed(B),
    { held: B, attempts: afterSuccess(FEED, untried(half), NOW) },
  ],
  [
    "held: beside the last good copy",
    { copy: A, attempts: tried },
    wrong,
    { copy: A, held: HELD, attempts: bad },
  ],
  [
    "held: in the place of what was held",
    { ...full, held: { ...B, why: "x" } },
    wrong,
    { ...full, attempts: bad },
  ],
  ["failed: copies stay", full, { type: "failed", failure: FAILURE }, { ...full, attempts: bad }],
  [
    "failed, over a damaged state",
    { damage: "not JSON" },
    { type: "failed", failure: FAILURE },
    { attempts: afterFailure(FEED, untried(half), NOW, FAILURE, half) },
  ],
  ["absent: no failure", full, { type: "absent", failure: FAILURE }, { ...full, attempts: none }],
  [
    "expired, and to be destroyed",
    full,
    { type: "not requested", destroy: true },
    { attempts: tried, mirror },
  ],
  [
    "expired, to be destroyed, and its publisher fails",
    full,
    { type: "failed", failure: FAILURE, destroy: true },
    { attempts: bad, mirror },
  ],
  ["passed, but expired already", full, { ...passed(B), destroy: true }, { attempts: ok, mirror }],
];

describe("after a load from the publisher", () => {
  test.each(rows)("%s", (_name, before, outcome, after) => {
    const frozen = structuredClone(before);
    expect(nextFeedState(before, outcome, at())).toEqual(after);
    expect(before).toEqual(frozen);
  });
  test("not requested: the same object, so that nothing is written", () => {
    expect(nextFeedState(full, { type: "not requested" }, at())).toBe(full);
  });
});

test("a held copy is the last good copy once a release contains it", () => {
  expect(publishHeld({ copy: A, held: B, attempts: ok })).toEqual({ copy: B, attempts: ok });
  const without = { copy: A, attempts: ok };
  expect(publishHeld(without)).toBe(without);
});

describe("after a load from a mirror", () => {
  const failedThere = { ...afterFailure(FEED, other, NOW, FAILURE, half), of: MIRROR };
  const failedFirst = { ...afterFailure(FEED, untried(half), NOW, FAILURE, half), of: "/mnt/mirror" };
  const outcome: Outcome = { type: "failed", failure: FAILURE };
  test("the publisher's attempts stay", () => {
    expect(nextFeedState(full, outcome, at(MIRROR))).toEqual({ ...full, mirror: failedThere });
  });
  test("another mirror has its own attempts", () => {
    expect(nextFeedState(full, outcome, at("/mnt/mirror"))).toEqual({ ...full, mirror: failedFirst });
  });
});

describe("a request that counts against a budget", () => {
  const feed: Feed = { ...FEED, budgetPerDay: 3 };
  const source = { ...at(), feed };
  test("is in the state before it is sent, and stays in it", () => {
    const { state: asking } = planRequest(full, source, { onlyDue: false, isReady: true });
    expect(asking).toEqual({ ...full, attempts: recordRequest(feed, tried, NOW) });
    expect(asking.attempts!.requests).toEqual([NOW.toISOString()]);
    const after = nextFeedState(asking, { type: "failed", failure: FAILURE }, source);
    expect(after.attempts!.requests).toEqual([NOW.toISOString()]);
  });
  test("changes nothing without a budget, without credentials, or before the feed is due", () => {
    expect(planRequest(full, at(), { onlyDue: false, isReady: true })).toEqual({
      hold: undefined,
      state: full,
    });
    expect(planRequest(full, source, { onlyDue: false, isReady: false }).state).toBe(full);
    const attempts = { ...tried, nextAt: new Date(NOW.getTime() + 1).toISOString() };
    const waiting = { ...full, attempts };
    const plan = planRequest(waiting, source, { onlyDue: true, isReady: true });
    expect(plan).toEqual({ hold: { why: "not due" }, state: waiting });
  });
});
