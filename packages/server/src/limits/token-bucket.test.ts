import { describe, expect, test } from "bun:test";
import type { Key } from "@inkling/store/keys/key";
import fc from "fast-check";
import { LimitCells } from "./cells.ts";
import { cellsOnDemand } from "./key-cells.testing.ts";
import { KeyCells } from "./key-cells.ts";
import { Buckets, limitsOf } from "./token-bucket.ts";

function key(limits: { rate?: number; burst?: number } = {}, id = "key_a"): Key {
  return {
    id,
    name: "test",
    mode: "live",
    hint: "",
    scopes: [],
    networks: [],
    rate: limits.rate,
    burst: limits.burst,
    quota: undefined,
    createdAt: 0,
    expiresAt: undefined,
    revokedAt: undefined,
  };
}

const NONE = { rate: undefined, burst: undefined };

describe("limits", () => {
  const defaults = { rate: 1_000, burst: 2_000 };
  const rows: [string, Pick<Key, "rate" | "burst">, { rate: number; burst: number }][] = [
    ["the server's", NONE, defaults],
    ["own rate: twice as burst", { ...NONE, rate: 5 }, { rate: 5, burst: 10 }],
    ["own rate below one a second: at least one", { ...NONE, rate: 0.1 }, { rate: 0.1, burst: 1 }],
    ["own burst", { ...NONE, burst: 7 }, { rate: 1_000, burst: 7 }],
    ["both", { rate: 5, burst: 7 }, { rate: 5, burst: 7 }],
  ];
  for (const [name, own, want] of rows) {
    test(name, () => {
      expect(limitsOf(own, defaults)).toEqual(want);
    });
  }
});

describe("bucket", () => {
  test.each([
    ["the least rate that a number can tell", { rate: 5e-324 }, 1, 1],
    ["a large burst at a rate of years", { rate: 1e-7, burst: 10_000_000 }, 100, 200],
    [
      "the largest burst at one in a quarter of an hour",
      { rate: 0.001, burst: 10_000_000 },
      1_000_000,
      2_000_000,
    ],
  ])("%s is a limit, too", (_, limits, least, most) => {
    const buckets = new Buckets({ rate: 1, burst: 1 }, cellsOnDemand());
    const k = key(limits);
    let given = 0;
    for (let i = 0; i < 100; i++) given += buckets.takeUpTo(k, i, Math.ceil(most / 100));
    expect(given).toBeGreaterThanOrEqual(least);
    expect(given).toBeLessThanOrEqual(most);
    const { allowed, windowSeconds, retryAfterSeconds } = buckets.take(k, 2_000, 1);
    expect([allowed, Number.isSafeInteger(windowSeconds), Number.isSafeInteger(retryAfterSeconds)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test("a new key may use its whole burst, then waits", () => {
    const buckets = new Buckets({ rate: 2, burst: 3 }, cellsOnDemand());
    const k = key();
    expect({ ...buckets.take(k, 0) }).toMatchObject({
      allowed: true,
      limit: 3,
      windowSeconds: 2,
      remaining: 2,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    });
    buckets.take(k, 0);
    buckets.take(k, 0);
    expect({ ...buckets.take(k, 0) }).toMatchObject({
      allowed: false,
      remaining: 0,
      resetSeconds: 2,
      retryAfterSeconds: 1,
    });
    expect(buckets.take(k, 499).allowed).toBe(false);
    expect(buckets.take(k, 500).allowed).toBe(true);
  });

  test("a long idle time fills it once, not more", () => {
    const buckets = new Buckets({ rate: 2, burst: 3 }, cellsOnDemand());
    const k = key();
    buckets.take(k, 0);
    expect(buckets.take(k, 1e12).remaining).toBe(2);
  });

  test("a clock that goes backwards grants nothing and blocks nobody", () => {
    const buckets = new Buckets({ rate: 1, burst: 1 }, cellsOnDemand());
    const k = key();
    expect(buckets.take(k, 3_600_000).allowed).toBe(true);
    expect(buckets.take(k, 0).allowed).toBe(false);
    expect(buckets.take(k, 1_000).allowed).toBe(true);
  });

  test("rate 0 is no limit", () => {
    const buckets = new Buckets({ rate: 0, burst: 1 }, cellsOnDemand());
    const k = key();
    for (let i = 0; i < 10; i++) expect({ ...buckets.take(k, 0) }).toMatchObject({ allowed: true, limit: 0 });
  });

  test("keys do not share", () => {
    const buckets = new Buckets({ rate: 1, burst: 1 }, cellsOnDemand());
    expect(buckets.take(key({}, "key_a"), 0).allowed).toBe(true);
    expect(buckets.take(key({}, "key_b"), 0).allowed).toBe(true);
    expect(buckets.take(key({}, "key_a"), 0).allowed).toBe(false);
  });

  test("a changed key gets its new limits; it keeps its debt, but owes at most a full bucket", () => {
    const buckets = new Buckets({ rate: 1, burst: 10 }, cellsOnDemand());
    const before = key();
    for (let i = 0; i < 9; i++) buckets.take(before, 0);
    expect(buckets.take(key({ rate: 1, burst: 12 }), 0).remaining).toBe(2);
    expect({ ...buckets.take(key({ rate: 0 }), 0) }).toMatchObject({ allowed: true, retryAfterSeconds: 0 });
    // The bucket owes 10 s. A bucket of 4 at 4 per second can owe at most 1 s.
    expect({ ...buckets.take(key({ rate: 4, burst: 4 }), 0) }).toMatchObject({
      allowed: false,
      remaining: 0,
    });
    expect(buckets.take(key({ rate: 4, burst: 4 }), 250).allowed).toBe(true);
  });

  test("a request that does not fit takes nothing", () => {
    const buckets = new Buckets({ rate: 1, burst: 10 }, cellsOnDemand());
    const k = key();
    expect({ ...buckets.take(k, 0, 11) }).toMatchObject({
      allowed: false,
      remaining: 10,
      retryAfterSeconds: 1,
    });
    expect(buckets.take(k, 0, 10).allowed).toBe(true);
    expect({ ...buckets.take(k, 0, 5) }).toMatchObject({ allowed: false, retryAfterSeconds: 5 });
  });

  test("as many as there are, up to so many", () => {
    const buckets = new Buckets({ rate: 1, burst: 10 }, cellsOnDemand());
    const k = key();
    expect(buckets.takeUpTo(k, 0, 4)).toBe(4);
    expect(buckets.takeUpTo(k, 0, 100)).toBe(6);
    expect(buckets.takeUpTo(k, 0, 100)).toBe(0);
    expect(buckets.takeUpTo(k, 2_500, 100)).toBe(2); // a fraction of a token remains
    expect(buckets.takeUpTo(k, 3_000, 100)).toBe(1);
    expect({ ...buckets.take(k, 3_000, 0) }).toMatchObject({ allowed: true, remaining: 0 });
    expect(buckets.takeUpTo(key({ rate: 0 }, "key_b"), 0, 1_000)).toBe(1_000);
  });

  test("a key without a cell gets nothing, and leaves nothing behind", () => {
    const cells = new LimitCells(0);
    cells.grow();
    const byKey = new Map([["key_a", 0]]);
    const buckets = new Buckets({ rate: 1, burst: 1 }, new KeyCells(cells, byKey));
    expect(buckets.take(key(), 0).allowed).toBe(true);
    expect({ ...buckets.take(key({}, "key_b"), 0) }).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    const unlimited = key({ rate: 0 }, "key_b");
    expect([buckets.take(unlimited, 0).allowed, buckets.takeUpTo(unlimited, 0, 5)]).toEqual([false, 0]);
    expect(buckets.size).toBe(1);
    byKey.clear();
    buckets.clear();
    expect(buckets.takeUpTo(key(), 10_000, 5)).toBe(0);
  });

  test("a key whose cell is in memory that a thread does not have yet has its limits once it has", () => {
    const k = key();
    const cells = new LimitCells(0);
    const buckets = new Buckets({ rate: 1, burst: 3 }, new KeyCells(cells, new Map([[k.id, 0]])));
    expect(buckets.take(k, 0).allowed).toBe(false);
    cells.grow();
    expect({ ...buckets.take(k, 0) }).toMatchObject({ allowed: true, limit: 3, remaining: 2 });
  });

  test("agrees with a token bucket in whole numbers", () => {
    let allowed = 0;
    let refused = 0;
    const step = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 4 }));
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 4, 5, 8, 10),
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        (quarters, burst, steps) => {
          // With rates that divide a second, and times in multiples of 4 ms, every number is exact in the bucket and in
          // the oracle.
          const rate = quarters * 250;
          const buckets = new Buckets({ rate, burst: burst * 100 }, cellsOnDemand());
          const k = key();
          let now = 1_000_000;
          let milli = burst * 100 * 1_000; // the oracle: thousandths of a lookup
          let last = now;
          for (const [delta, cost] of steps) {
            now += delta * 4;
            milli = Math.min(burst * 100_000, milli + Math.max(0, now - last) * rate);
            last = now;
            const want = milli >= cost * 60_000;
            if (want) milli -= cost * 60_000;
            const got = buckets.take(k, now, cost * 60);
            expect(got.allowed).toBe(want);
            expect(got.remaining).toBe(Math.floor(milli / 1_000));
            // The headers' promise holds: the request succeeds at that time, and not a second earlier.
            const fits = cost * 60 <= burst * 100;
            if (!want && fits) {
              expect(milli + got.retryAfterSeconds * 1_000 * rate).toBeGreaterThanOrEqual(cost * 60_000);
              if (got.retryAfterSeconds > 1) {
                expect(milli + (got.retryAfterSeconds - 1) * 1_000 * rate).toBeLessThan(cost * 60_000);
              }
            }
            expect(milli + got.resetSeconds * 1_000 * rate).toBeGreaterThanOrEqual(burst * 100_000);
            if (want) allowed++;
            else refused++;
          }
        },
      ),
      { numRuns: 1_000 },
    );
    expect(allowed).toBeGreaterThan(1_000);
    expect(refused).toBeGreaterThan(1_000);
  });

  test("gives out no more than burst and rate allow, whatever the rate and though clocks differ", () => {
    let atTheEdge = 0;
    const step = fc.tuple(fc.integer({ min: -40, max: 60 }), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0.3, max: 3_000, noNaN: true })),
        fc.integer({ min: 1, max: 50 }),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        (rate, burst, steps) => {
          const start = 1_700_000_000_000;
          const buckets = new Buckets({ rate, burst }, cellsOnDemand(start));
          const k = key();
          let now = start;
          let latest = start;
          let given = 0;
          for (const [delta, wanted] of steps) {
            now = Math.max(start, now + delta);
            latest = Math.max(latest, now);
            const isWhole = wanted % 2 === 0;
            given += isWhole
              ? buckets.takeUpTo(k, now, wanted)
              : buckets.take(k, now, wanted).allowed
                ? wanted
                : 0;
            const most = burst + (rate * (latest - start)) / 1_000;
            expect(given).toBeLessThanOrEqual(most * (1 + 1e-12));
            if (given > most - 2) atTheEdge++;
          }
        },
      ),
      { numRuns: 500 },
    );
    expect(atTheEdge).toBeGreaterThan(500);
  });
});
