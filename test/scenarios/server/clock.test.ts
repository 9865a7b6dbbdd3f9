// clock.test.ts: tests what is blocked, and what is granted twice, if the clock is wrong for a while and then right
// again.
//
// what                  while the clock is wrong                   once it is right
// rates                 unchanged                                  at worst an empty bucket, until it has refilled
// quotas                each day has its own                       today's, from the next flush with the store's
//                                                                  count for today
// expiry of keys        by the clock                               by the clock: an expired key works again
// overrides             by the clock, after the next check         read again at the next check
// usage days            under the clock's day                      counts keep the day under which they were added
// admin sessions        end when the clock leaves their time       sessions from before the jump are valid again
// ages of feeds         never below 0                              right

import { describe, expect, test } from "bun:test";
import { type FeedReport, feedAgeSeconds, type Override } from "@inkling/engine";
import { AssignedCells } from "../../../packages/server/src/limits/assigned-cells.ts";
import { LimitCells } from "../../../packages/server/src/limits/cells.ts";
import { KeyCells } from "../../../packages/server/src/limits/key-cells.ts";
import { Buckets } from "../../../packages/server/src/limits/token-bucket.ts";
import { UsageRecorder } from "../../../packages/server/src/limits/usage-recorder.ts";
import { DAY_MS, dayOf } from "../../../packages/store/src/keys/day.ts";
import type { Key } from "../../../packages/store/src/keys/key.ts";
import { Keyring } from "../../../packages/store/src/keys/keyring.ts";
import { hashToken } from "../../../packages/store/src/keys/token.ts";
import { liveKeys } from "../../../packages/store/src/live-keys.ts";
import { liveOverrides } from "../../../packages/store/src/live-overrides.ts";
import type { UsageBatch } from "../../../packages/store/src/usage.ts";
import { keyUpdate, updateOf } from "../../harness/key-updates.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { freshToken } from "../../harness/tokens.ts";

const NOON = Date.parse("2026-06-01T12:00:00Z");
const YEAR_MS = 365 * DAY_MS;

/** [name, by how much the clock is wrong for a while, was it already wrong at the start?] */
const CLOCKS: readonly [name: string, offMs: number, atStart: boolean][] = [
  ["a day ahead", DAY_MS, false],
  ["a day behind", -DAY_MS, false],
  ["two days ahead", 2 * DAY_MS, false],
  ["40 days ahead", 40 * DAY_MS, false],
  ["a year ahead", YEAR_MS, false],
  ["a year behind", -YEAR_MS, false],
  ["a day ahead at the start", DAY_MS, true],
  ["a year ahead at the start", YEAR_MS, true],
  ["a year behind at the start", -YEAR_MS, true],
  ["at 1970 at the start", -NOON, true],
];

const key: Key = {
  id: "key_a",
  name: "shop",
  mode: "live",
  hint: "",
  scopes: ["email"],
  networks: [],
  rate: 10,
  burst: 20,
  quota: 100,
  createdAt: 0,
  expiresAt: undefined,
  revokedAt: undefined,
};

/** Returns two workers with the same memory, and the primary, which sends usage to a store that has no clock. */
function server(clock: { now: number }) {
  const stored = new Map<string, number>();
  const memory = new LimitCells(clock.now);
  memory.grow();
  const keyring = new Keyring();
  const keys = new AssignedCells(memory, keyring);
  keys.take(updateOf("1", [key.id]));
  const recorder = new UsageRecorder({
    store: {
      add: async ({ entries }: UsageBatch) => {
        for (const { day, count } of entries) stored.set(day, (stored.get(day) ?? 0) + count);
        return true;
      },
      readQuotas: async (day: string) => new Map(stored.has(day) ? [[key.id, stored.get(day)!]] : []),
    },
    now: () => clock.now,
    cells: keys,
  });
  const workers = [0, 1].map(() => {
    const cells = new KeyCells(memory, keyring.cells);
    return { cells, buckets: new Buckets({ rate: 0, burst: 1 }, cells) };
  });
  /**
   * Lookups by both workers in turn, without the rate limit.
   * @returns how many the quota allowed
   */
  const lookUp = (count: number) => {
    let allowed = 0;
    for (let i = 0; i < count; i++) {
      const { cells } = workers[i % 2]!;
      if (cells.takeQuota(key, clock.now, 1) === 0) continue;
      cells.record(key.id, "email", clock.now);
      allowed++;
    }
    return allowed;
  };
  return { stored, recorder, workers, lookUp };
}

describe.each(CLOCKS)("a clock that was %s", (name, offMs, atStart) => {
  test("locks no quota, and gives none out twice after the next flush", async () => {
    const clock = { now: NOON + (atStart ? offMs : 0) };
    const { stored, recorder, lookUp } = server(clock);
    let before = 0;
    if (!atStart) {
      before = lookUp(30);
      await recorder.flush();
    }
    clock.now = NOON + offMs;
    await recorder.flush(); // the primary flushes each second
    expect(lookUp(150)).toBe(100); // the quota of another day
    await recorder.flush();
    clock.now = NOON + 60_000;
    expect(lookUp(1)).toBe(1);
    await recorder.flush();
    expect(lookUp(150)).toBe(99 - before);
    await recorder.flush();
    expect(lookUp(150)).toBe(0);
    clock.now = NOON + DAY_MS;
    const isTomorrow = offMs === DAY_MS; // what was counted under tomorrow belongs to tomorrow
    expect(lookUp(1)).toBe(1);
    await recorder.flush();
    expect(lookUp(150)).toBe(isTomorrow ? 0 : 99);
    await recorder.stop();
    expect(stored.get(dayOf(NOON))).toBe(100);
    expect(stored.get(dayOf(NOON + offMs))).toBe(isTomorrow ? 101 : 100);
    if (name === "40 days ahead")
      drilled(
        import.meta.path,
        "the clock jumps 40 days ahead, and back",
        "every lookup within the quota of the clock's day",
        "usage under the day on which the clock was; from the next flush after the correction, today's quota less what was used of it",
      );
  });

  test("empties a bucket at worst, and for no longer than it takes to fill", () => {
    const clock = { now: NOON + (atStart ? offMs : 0) };
    const { workers } = server(clock);
    const take = (count: number) =>
      Array.from({ length: count }, (_, i) => workers[i % 2]!.buckets.take(key, clock.now).allowed).filter(
        Boolean,
      ).length;
    if (!atStart) expect(take(30)).toBe(20);
    clock.now = NOON + offMs;
    expect(take(30)).toBeLessThanOrEqual(20);
    clock.now = NOON + 60_000;
    const taken = take(30);
    expect(taken).toBeLessThanOrEqual(20);
    clock.now += 2_000; // 20 tokens at 10 a second
    expect(take(30)).toBe(20);
  });

  test("expires keys and tokens as long as it is ahead", () => {
    const keyring = new Keyring();
    const [ending, replaced] = [freshToken(), freshToken()];
    const token = (
      text: string,
      id: string,
      expiresAt: number | undefined,
      validUntil: number | undefined,
    ) => ({
      hash: hashToken(text),
      key: { ...key, id, expiresAt },
      validUntil,
    });
    const soon = NOON + 3_600_000;
    const tokens = [token(ending, "key_b", soon, undefined), token(replaced, "key_c", undefined, soon)];
    keyring.replace(keyUpdate("", tokens));
    const works = (now: number) =>
      [ending, replaced].map((text) => keyring.authenticate(`Bearer ${text}`, now).ok);
    const isOver = offMs > 0;
    expect(works(NOON + offMs)).toEqual([!isOver, !isOver]);
    expect(works(NOON)).toEqual([true, true]);
    expect(works(soon)).toEqual([false, false]);
  });

  test("keeps neither keys nor overrides from being read anew", async () => {
    const clock = { now: NOON + (atStart ? offMs : 0) };
    const counts = { keys: 0, overrides: 0 };
    const loader = liveKeys({
      store: {
        database: { label: "a database" },
        readKeyStamp: async () => "same",
        loadKeys: async () => {
          counts.keys++;
          return keyUpdate("same", []);
        },
      },
      keyring: new Keyring(),
      now: () => clock.now,
    });
    const override = { expiresAt: NOON + 3_600_000 } as Override;
    const inForce = () => (override.expiresAt! > clock.now ? [override] : []);
    const cache = liveOverrides({
      store: {
        database: { label: "a database" },
        overrides: {
          readStamp: async () => "same",
          load: async () => {
            counts.overrides++;
            return { stamp: "same", overrides: inForce().map(() => FLAGGED) };
          },
        },
      },
      dataDir: temporaryFolder(),
      now: () => clock.now,
    });
    const check = async () => {
      await loader.refresh();
      await cache.refresh();
    };
    await check();
    clock.now = NOON + offMs;
    await check();
    expect(cache.current.all.length).toBe(offMs > 0 ? 0 : 1);
    clock.now = NOON + 1_000;
    const before = { ...counts };
    await check();
    if (offMs < 0) clock.now += 60_000; // the clock was behind, so the next check comes no sooner than usual
    await check();
    expect(counts.keys).toBeGreaterThan(before.keys);
    expect(counts.overrides).toBeGreaterThan(before.overrides);
    expect(cache.current.all.length).toBe(1);
    await cache.stop();
    await loader.stop();
  });

  test("shows no feed as younger than new", () => {
    const feed = { published_at: new Date(NOON - 3_600_000).toISOString() } as FeedReport;
    expect(feedAgeSeconds(feed, NOON + offMs)).toBe(Math.max(0, (offMs + 3_600_000) / 1000));
    expect(feedAgeSeconds(feed, NOON)).toBe(3600);
  });
});

const FLAGGED: Override = {
  id: "ovr_0123456789abcdef",
  kind: "address",
  value: "203.0.113.9",
  flag: "is_abuser",
  verdict: true,
  note: "x",
  author: "ada",
  createdAt: 0,
  expiresAt: undefined,
  removedAt: undefined,
};

describe("at midnight", () => {
  test.each([
    ["a step back of a second", 1_000],
    ["a request that began before it", 4_000],
  ])("%s gives no quota out twice", async (_, back) => {
    const midnight = Math.ceil(NOON / DAY_MS) * DAY_MS;
    const clock = { now: midnight + 10 };
    const { recorder, lookUp } = server(clock);
    expect(lookUp(60)).toBe(60);
    clock.now -= back;
    expect(lookUp(10)).toBe(10); // the quota of the new day
    await recorder.flush();
    clock.now = midnight + 2_000;
    expect(lookUp(150)).toBe(30);
    await recorder.stop();
  });
});
