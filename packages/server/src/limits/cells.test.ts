import { expect, test } from "bun:test";
import { DAY_MS } from "@inkling/store/keys/day";
import { COUNTED } from "@inkling/store/keys/key";
import type { HammerOrder, HammerReport } from "../../../../test/harness/limit-hammer.ts";
import { CELL_COUNTS, countedAt, LimitCells } from "./cells.ts";

const NOON = Date.parse("2026-06-01T12:00:00Z");
const QUOTA = 3_000;

const memory = (base = NOON) => {
  const cells = new LimitCells(base);
  cells.grow();
  return cells;
};

test("memory that grows keeps what was counted, and other threads see it once they have the new block", () => {
  const cells = memory();
  const other = new LimitCells(NOON, cells.shared);
  const first = cells.size;
  cells.count(1, "email", NOON, 5);
  cells.grow();
  cells.count(first, "email", NOON, 7);
  other.count(1, "email", NOON, 2);
  expect([other.size, cells.size]).toEqual([first, 2 * first]);
  other.add(cells.shared.blocks.slice(1));
  const read = (cell: number) => {
    const seen = new Uint32Array(CELL_COUNTS);
    other.readCounts(cell, seen);
    return Math.max(...seen);
  };
  expect([read(1), read(first), other.size]).toEqual([7, 7, 2 * first]);
  const used: number[] = [];
  other.clearMarks(other.size, (cell) => void used.push(cell));
  expect(used).toEqual([1, first]);
});

test("four threads at one key get burst and rate together, the quota together, and lose no count", async () => {
  const cells = memory(Date.now());
  const rate = 2_000;
  const burst = 500;
  const each = 1e9 / rate;
  const { shared } = cells;
  const order: HammerOrder = { shared, milliseconds: 400, each, whole: burst * each, quota: QUOTA };
  const reports = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const thread = new Worker(new URL("../../../../test/harness/limit-hammer.ts", import.meta.url).href);
      const { promise, resolve, reject } = Promise.withResolvers<HammerReport>();
      thread.onmessage = ({ data }) => resolve(data);
      thread.onerror = ({ message }) => reject(new Error(message));
      thread.postMessage(order);
      return promise.finally(() => thread.terminate());
    }),
  );
  const sum = (name: "tokens" | "tries" | "quota") => reports.reduce((total, row) => total + row[name], 0);
  const ms = Math.max(...reports.map(({ last }) => last)) - Math.min(...reports.map(({ first }) => first));
  const most = burst + (rate * ms) / 1_000;
  expect(sum("tokens")).toBeLessThanOrEqual(most);
  // Every thread tried to take more than the limit, so together they have taken nearly all tokens.
  expect(sum("tokens")).toBeGreaterThan(burst);
  expect(sum("tries")).toBeGreaterThan(20_000);
  expect(sum("quota")).toBe(QUOTA);
  const seen = new Uint32Array(CELL_COUNTS);
  cells.readCounts(0, seen);
  expect(Math.max(...seen)).toBe(sum("tries"));
});

test.each(COUNTED)("a cell counts %s apart from all else, even and odd days apart", (counted) => {
  for (const day of [0, 1]) {
    const cells = memory();
    const now = NOON + day * DAY_MS;
    cells.count(0, counted, now, 3);
    const seen = new Uint32Array(CELL_COUNTS);
    cells.readCounts(0, seen);
    const place = seen.indexOf(3);
    expect(countedAt(place)).toEqual({ counted, isOdd: Math.floor(now / DAY_MS) % 2 === 1 });
    expect(seen.reduce((sum, n) => sum + n)).toBe(3);
    expect(cells.usedOfQuota(0, now)).toBe(0);
    cells.readCounts(1, seen);
    expect(Math.max(...seen)).toBe(0);
  }
});
