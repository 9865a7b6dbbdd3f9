import { describe, expect, test } from "bun:test";
import { HOUR_MS } from "@inkling/store/keys/day";
import { SCOPES } from "@inkling/store/keys/key";
import { Keyring } from "@inkling/store/keys/keyring";
import { sumTraffic } from "@inkling/store/traffic-counts";
import type { UsageBatch } from "@inkling/store/usage";
import fc from "fast-check";
import { updateOf } from "../../../../test/harness/key-updates.ts";
import { AssignedCells } from "./assigned-cells.ts";
import { LimitCells } from "./cells.ts";
import { KeyCells } from "./key-cells.ts";
import { UsageRecorder, type UsageStore } from "./usage-recorder.ts";

const MIDNIGHT = Date.UTC(2026, 5, 2);
const NOON = MIDNIGHT - 43_200_000;

/** A store in memory that can be unreachable, and that can lose its answer after it has counted. */
class FakeStore implements UsageStore {
  readonly counts = new Map<string, number>();
  readonly sequences = new Map<string, number>();
  readonly batches: UsageBatch[] = [];
  running = 0;
  overlaps = 0;
  mode: "up" | "unreachable" | "deaf" | "no totals" = "up";

  async add(batch: UsageBatch): Promise<boolean> {
    this.batches.push(batch);
    if (this.running++ > 0) this.overlaps++;
    await Promise.resolve();
    this.running--;
    if (this.mode === "unreachable") throw new Error("unreachable");
    const isNew = batch.sequence > (this.sequences.get(batch.recorder) ?? 0);
    if (isNew) {
      this.sequences.set(batch.recorder, batch.sequence);
      for (const { day, keyId, lookup, count } of batch.entries) {
        const name = `${day} ${keyId} ${lookup}`;
        this.counts.set(name, (this.counts.get(name) ?? 0) + count);
      }
    }
    if (this.mode === "deaf") throw new Error("timed out after its commit");
    return isNew;
  }

  async readQuotas(day: string): Promise<Map<string, number>> {
    await Promise.resolve();
    if (this.mode !== "up") throw new Error(this.mode);
    const totals = new Map<string, number>();
    for (const [name, count] of this.counts) {
      const [of, keyId] = name.split(" ");
      if (of === day) totals.set(keyId!, (totals.get(keyId!) ?? 0) + count);
    }
    return totals;
  }
}

function setUp(now = NOON) {
  const store = new FakeStore();
  const clock = { now };
  const recorder = new UsageRecorder({ store, now: () => clock.now, id: "r1" });
  return { store, clock, recorder };
}

const QUOTA = 1_000_000;

/** Does the same with cells, as in a server: each flush collects what the cells have counted. */
function setUpCells(now = NOON) {
  const store = new FakeStore();
  const clock = { now };
  const memory = new LimitCells(now);
  memory.grow();
  const keyring = new Keyring();
  const keys = new AssignedCells(memory, keyring);
  keys.take(updateOf("1", ["a", "b"]));
  const cells = new KeyCells(memory, keyring.cells);
  const recorder = new UsageRecorder({
    store,
    now: () => clock.now,
    id: "r1",
    cells: keys,
  });
  /** Makes one lookup, as a request does. */
  const lookUp = (keyId: string, lookup: (typeof SCOPES)[number], at = clock.now) => {
    expect(cells.takeQuota({ id: keyId, quota: QUOTA }, at, 1)).toBe(1);
    cells.record(keyId, lookup, at);
  };
  return { store, clock, cells, recorder, lookUp };
}

describe("usage recorder", () => {
  test("has the age of the oldest count that is not stored", async () => {
    const store = new FakeStore();
    const clock = { elapsed: 0 };
    const recorder = new UsageRecorder({
      store,
      now: () => NOON,
      elapsed: () => clock.elapsed,
    });
    expect(recorder.state.oldestMs).toBe(0);
    recorder.record("a", "email", NOON);
    store.mode = "unreachable";
    clock.elapsed = 1_000;
    await recorder.flush();
    expect(recorder.state.oldestMs).toBe(1_000);
    recorder.record("a", "rate_limited", NOON); // newer than the others; a refusal counts as well
    clock.elapsed = 5_000;
    await recorder.flush();
    expect(recorder.state.oldestMs).toBe(5_000);
    store.mode = "up";
    recorder.record("b", "email", NOON);
    clock.elapsed = 6_000;
    await recorder.flush();
    expect(recorder.state.oldestMs).toBe(0);
    recorder.record("b", "not_allowed", NOON);
    clock.elapsed = 6_500;
    expect(recorder.state.oldestMs).toBe(500);
  });

  test("counts by key, day and lookup", async () => {
    const { store, recorder } = setUp();
    recorder.record("a", "email", NOON);
    recorder.record("a", "email", NOON);
    recorder.record("a", "geolocate", NOON, 1_000);
    recorder.record("b", "reputation", MIDNIGHT);
    expect(recorder.state.pending).toBe(1_003);
    expect(await recorder.flush()).toBe(true);
    expect(store.counts).toEqual(
      new Map([
        ["2026-06-01 a geolocate", 1_000],
        ["2026-06-01 a email", 2],
        ["2026-06-02 b reputation", 1],
      ]),
    );
    expect(recorder.state).toEqual({
      pending: 0,
      oldestMs: 0,
      failures: 0,
      failuresInRow: 0,
      lastError: undefined,
      isReadOnly: false,
    });
  });

  test("nothing recorded, nothing sent", async () => {
    const { store, recorder } = setUp();
    await recorder.flush();
    expect(store.batches).toEqual([]);
  });

  test("an unreachable store gets the same batch again, and then what came since", async () => {
    const { store, recorder } = setUp();
    store.mode = "unreachable";
    recorder.record("a", "email", NOON);
    expect(await recorder.flush()).toBe(false);
    recorder.record("a", "email", NOON);
    expect(await recorder.flush()).toBe(false);
    expect(recorder.state).toMatchObject({
      pending: 2,
      failures: 2,
      failuresInRow: 2,
      lastError: "unreachable",
    });
    store.mode = "up";
    expect(await recorder.flush()).toBe(true);
    expect(store.batches.map(({ sequence, entries }) => [sequence, entries[0]?.count])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(store.counts.get("2026-06-01 a email")).toBe(2);
    expect(recorder.state).toMatchObject({ pending: 0, failures: 2, failuresInRow: 0 });
  });

  test("traffic goes with the batch, added up by hour; of a long time without the store the newest hours are kept", async () => {
    const { store, recorder } = setUp();
    const traffic = (requests: number) => ({ ...sumTraffic([]), requests });
    recorder.recordTraffic(traffic(1), NOON);
    recorder.recordTraffic(traffic(2), NOON + 1_000);
    recorder.recordTraffic(traffic(4), NOON + HOUR_MS);
    await recorder.flush();
    expect(store.batches[0]!.traffic).toEqual([
      { host: "r1", hour: "2026-06-01T12", counts: traffic(3) },
      { host: "r1", hour: "2026-06-01T13", counts: traffic(4) },
    ]);
    store.mode = "unreachable";
    recorder.record("key_a", "email", NOON);
    await recorder.flush();
    for (let hour = 0; hour < 60; hour++) recorder.recordTraffic(traffic(1), NOON + hour * HOUR_MS);
    store.mode = "up";
    await recorder.flush();
    const last = store.batches.at(-1)!.traffic!;
    expect(last).toHaveLength(48);
    expect(last.at(-1)!.hour).toBe("2026-06-03T23");
  });

  test("a store that counted but could not confirm it counts once", async () => {
    const { store, recorder } = setUp();
    store.mode = "deaf";
    recorder.record("a", "email", NOON);
    await recorder.flush();
    await recorder.flush();
    store.mode = "up";
    await recorder.flush();
    expect(store.counts.get("2026-06-01 a email")).toBe(1);
  });

  test("what is recorded while a flush is under way is not lost", async () => {
    const { store, recorder } = setUp();
    recorder.record("a", "email", NOON);
    const flush = recorder.flush();
    await Promise.resolve();
    recorder.record("a", "email", NOON);
    await flush;
    await recorder.flush();
    expect(store.counts.get("2026-06-01 a email")).toBe(2);
  });

  test("flushes that overlap wait for each other", async () => {
    const { store, recorder } = setUp();
    recorder.record("a", "email", NOON);
    const flushes = [recorder.flush(), recorder.flush(), recorder.flush()];
    recorder.record("a", "email", NOON);
    await Promise.resolve();
    recorder.record("a", "email", NOON);
    expect(await Promise.all([...flushes, recorder.flush()])).toEqual([true, true, true, true]);
    expect(store.overlaps).toBe(0);
    expect(store.counts.get("2026-06-01 a email")).toBe(3);
  });

  test("a day's counts are stored under its date, whenever they come", async () => {
    const { store, clock, recorder } = setUp();
    recorder.record("a", "email", MIDNIGHT);
    recorder.record("a", "email", MIDNIGHT - 1); // as if the clock was set back past midnight
    clock.now = MIDNIGHT;
    const flush = recorder.flush();
    while (store.running === 0) await Promise.resolve();
    expect(store.batches[0]!.entries).toHaveLength(2);
    recorder.record("a", "email", MIDNIGHT - 1); // during the flush after midnight
    recorder.record("a", "email", MIDNIGHT);
    await flush;
    await recorder.flush();
    expect(store.counts).toEqual(
      new Map([
        ["2026-06-02 a email", 2],
        ["2026-06-01 a email", 2],
      ]),
    );
  });

  describe("the quota of a day", () => {
    test("includes what was stored before the start and by other processes", async () => {
      const { store, cells, recorder, lookUp } = setUpCells();
      store.counts.set("2026-06-01 a email", 7);
      await recorder.start();
      expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(7);
      lookUp("a", "email");
      expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(8);
      store.counts.set("2026-06-01 a geolocate", 10); // as if another process counted it
      await recorder.flush();
      expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(18);
      await recorder.flush();
      expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(18);
      await recorder.stop();
    });

    test("begins again at midnight UTC, and the day before is still stored under its own date", async () => {
      const { store, clock, cells, recorder, lookUp } = setUpCells();
      lookUp("a", "email", MIDNIGHT - 1);
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT - 1)).toBe(1);
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT)).toBe(0);
      lookUp("a", "email", MIDNIGHT);
      clock.now = MIDNIGHT;
      await recorder.flush();
      expect(store.counts).toEqual(
        new Map([
          ["2026-06-01 a email", 1],
          ["2026-06-02 a email", 1],
        ]),
      );
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT)).toBe(1);
    });

    test.each(["unreachable", "deaf", "no totals"] as const)(
      "is not doubled by a store that is %s",
      async (mode) => {
        const { store, cells, recorder, lookUp } = setUpCells();
        store.mode = mode;
        lookUp("a", "email");
        expect(await recorder.flush()).toBe(false);
        lookUp("a", "geolocate");
        expect(await recorder.flush()).toBe(false);
        expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(2);
        expect(recorder.state.pending).toBe(mode === "no totals" ? 0 : 2);
        store.mode = "up";
        await recorder.flush();
        expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(2);
        expect(store.counts).toEqual(
          new Map([
            ["2026-06-01 a email", 1],
            ["2026-06-01 a geolocate", 1],
          ]),
        );
      },
    );

    test("is exhausted at its number, and what is given back can be taken again", () => {
      const { cells } = setUpCells();
      const key = { id: "a", quota: 5 };
      expect(cells.takeQuota(key, NOON, 3)).toBe(3);
      expect(cells.takeQuota(key, NOON, 3)).toBe(2);
      expect(cells.takeQuota(key, NOON, 1)).toBe(0);
      cells.giveQuotaBack(key, cells.chargedDay, 2);
      expect(cells.takeQuota(key, NOON, 9)).toBe(2);
      cells.giveQuotaBack(key, cells.chargedDay, 5);
      expect(cells.countToday({ id: "a", quota: undefined }, NOON)).toBe(0);
      expect(cells.takeQuota({ id: "a", quota: undefined }, NOON, 9)).toBe(9);
      expect(cells.takeQuota({ id: "gone", quota: 5 }, NOON, 1)).toBe(0);
    });

    test("what is given back after midnight goes to the day that it was taken from, or to none", () => {
      const { cells } = setUpCells();
      const key = { id: "a", quota: 10 };
      expect(cells.takeQuota(key, MIDNIGHT - 1, 8)).toBe(8);
      const { chargedDay } = cells;
      expect(cells.takeQuota(key, MIDNIGHT, 4)).toBe(4);
      cells.giveQuotaBack(key, chargedDay, 8);
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT)).toBe(4);
      // this request began before midnight, but a later request had already started the new day, so it took from the
      // new day
      expect(cells.takeQuota(key, MIDNIGHT - 1, 3)).toBe(3);
      cells.giveQuotaBack(key, cells.chargedDay, 2);
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT)).toBe(5);
    });

    test("yesterday's usage, read from the store at midnight, is not charged to the new day", async () => {
      const { store, clock, cells, recorder, lookUp } = setUpCells(MIDNIGHT - 1);
      for (let i = 0; i < 7; i++) lookUp("a", "email");
      await recorder.flush();
      const { readQuotas } = store;
      store.readQuotas = async (day) => {
        const totals = await readQuotas.call(store, day);
        clock.now = MIDNIGHT; // while the totals were read
        lookUp("a", "email");
        return totals;
      };
      lookUp("a", "email");
      await recorder.flush();
      expect(cells.countToday({ id: "a", quota: undefined }, MIDNIGHT)).toBe(1);
    });

    test("whatever fails, is what the store holds in the end, and lookups are stored under their day", async () => {
      let failed = 0;
      let foreign = 0;
      const mode = fc.constantFrom(
        "up" as const,
        "unreachable" as const,
        "deaf" as const,
        "no totals" as const,
      );
      const lookup = fc.constantFrom(...SCOPES);
      const step = fc.oneof(
        fc.record({ keyId: fc.constantFrom("a", "b"), lookup, isForeign: fc.boolean() }),
        fc.record({ mode, isNextDay: fc.boolean() }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          const { store, clock, cells, recorder, lookUp } = setUpCells();
          const want = new Map<string, number>();
          for (const one of steps) {
            if ("mode" in one) {
              store.mode = one.mode;
              if (!(await recorder.flush())) failed++;
              if (one.isNextDay) clock.now += 86_400_000; // after a flush, as in a server, which flushes every second
              continue;
            }
            const name = `${new Date(clock.now).toISOString().slice(0, 10)} ${one.keyId} ${one.lookup}`;
            want.set(name, (want.get(name) ?? 0) + 1);
            if (one.isForeign) {
              foreign++;
              store.counts.set(name, (store.counts.get(name) ?? 0) + 1);
            } else lookUp(one.keyId, one.lookup);
          }
          store.mode = "up";
          await recorder.flush();
          for (const keyId of ["a", "b"]) {
            // a host reads the usage of keys that it uses
            const name = `${new Date(clock.now).toISOString().slice(0, 10)} ${keyId} email`;
            want.set(name, (want.get(name) ?? 0) + 1);
            lookUp(keyId, "email");
          }
          expect(await recorder.stop()).toEqual({ lost: 0 });
          expect(store.counts).toEqual(want);
          const totals = await store.readQuotas(new Date(clock.now).toISOString().slice(0, 10));
          for (const [keyId, total] of totals)
            expect(cells.countToday({ id: keyId, quota: undefined }, clock.now)).toBe(total);
        }),
        { numRuns: 300 },
      );
      expect(failed).toBeGreaterThan(300);
      expect(foreign).toBeGreaterThan(300);
    });
  });

  test("start flushes in the background, stop flushes for the last time", async () => {
    const store = new FakeStore();
    const recorder = new UsageRecorder({ store, flushMs: 5 });
    await recorder.start();
    recorder.record("a", "email", Date.now());
    while (store.counts.size === 0) await Bun.sleep(1);
    recorder.record("b", "email", Date.now());
    expect(await recorder.stop()).toEqual({ lost: 0 });
    expect([...store.counts.values()]).toEqual([1, 1]);
  });

  test("stop returns what is lost if the store remains unreachable", async () => {
    const { store, recorder } = setUp();
    store.mode = "unreachable";
    recorder.record("a", "email", NOON);
    await recorder.flush();
    recorder.record("a", "email", NOON);
    expect(await recorder.stop()).toEqual({ lost: 2 });
  });

  test("whatever fails and whenever, everything is counted exactly once", async () => {
    let failed = 0;
    let crossed = 0;
    const mode = fc.constantFrom(
      "up" as const,
      "unreachable" as const,
      "deaf" as const,
      "no totals" as const,
    );
    const action = fc.oneof(
      fc.record({ keyId: fc.constantFrom("a", "b"), lookup: fc.constantFrom(...SCOPES), day: fc.nat(2) }),
      fc.record({ mode, flushFirst: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
        const { store, clock, recorder } = setUp();
        const want = new Map<string, number>();
        const flushes: Promise<boolean>[] = [];
        for (const step of actions) {
          if ("mode" in step) {
            store.mode = step.mode;
            flushes.push(recorder.flush());
            if (step.flushFirst) await flushes.at(-1);
            continue;
          }
          clock.now = NOON + step.day * 86_400_000;
          recorder.record(step.keyId, step.lookup, clock.now);
          const name = `${new Date(clock.now).toISOString().slice(0, 10)} ${step.keyId} ${step.lookup}`;
          want.set(name, (want.get(name) ?? 0) + 1);
          if (step.day > 0) crossed++;
        }
        store.mode = "up";
        expect(await recorder.stop()).toEqual({ lost: 0 });
        failed += (await Promise.all(flushes)).filter((isStored) => !isStored).length;
        expect(store.counts).toEqual(want);
      }),
      { numRuns: 300 },
    );
    expect(failed).toBeGreaterThan(300);
    expect(crossed).toBeGreaterThan(300);
  });
});
