import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DAY_MS } from "@inkling/store/keys/day";
import { COUNTED } from "@inkling/store/keys/key";
import type { HammerOrder, HammerReport } from "../../../../test/harness/limit-hammer.ts";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { CELL_BYTES, CELL_COUNTS, countedAt, LimitCells } from "../limits/cells.ts";
import { UsageCollector } from "../limits/usage-collector.ts";
import { SharedMemory, SharedView } from "./shared-memory.ts";

const NOON = Date.parse("2026-06-01T12:00:00Z");
const QUOTA = 3_000;

describe("shared memory", () => {
  test("has no name that could be left behind", () => {
    const folder = temporaryFolder();
    const count = () => ["/dev/shm", folder].flatMap((place) => readdirSync(place)).filter(isOurs).length;
    const isOurs = (name: string) => name.startsWith(`inkling-${process.pid}-`);
    const memory = new SharedMemory(2, folder, NOON);
    expect(count()).toBe(0);
    memory.close();
  });

  test("grows, and what was counted stays, for those who saw it before, too", () => {
    const memory = new SharedMemory(2, temporaryFolder(), NOON);
    memory.reserve(2);
    const before = memory.view;
    before.cells.count(1, "email", NOON, 5);
    memory.reserve(1_000);
    expect(memory.view.cells.size).toBe(1_000);
    before.cells.count(1, "email", NOON, 2);
    const seen = new Uint32Array(CELL_COUNTS);
    memory.view.cells.readCounts(1, seen);
    expect(Math.max(...seen)).toBe(7);
    memory.close();
  });

  test("a worker goes on with the counts of the one before it", () => {
    const memory = new SharedMemory(2, temporaryFolder(), NOON);
    memory.view.countsOf(1).countProblem("INTERNAL");
    const other = new SharedView(memory.descriptor, 2, NOON);
    other.countsOf(1).countProblem("INTERNAL");
    expect(new Map(memory.view.countsOf(1).problemRows()).get("INTERNAL")).toBe(2);
    expect(new Map(memory.view.countsOf(0).problemRows()).get("INTERNAL")).toBe(0);
    memory.close();
  });

  test("four processes at one key get burst and rate together, the quota together, and lose no count", async () => {
    const memory = new SharedMemory(4, temporaryFolder(), Date.now());
    memory.reserve(1);
    const rate = 2_000;
    const burst = 500;
    const each = 1e9 / rate;
    const order: HammerOrder = {
      workers: 4,
      base: memory.base,
      milliseconds: 400,
      each,
      whole: burst * each,
      quota: QUOTA,
    };
    const hammer = join(import.meta.dir, "../../../../test/harness/limit-hammer.ts");
    const reports = await Promise.all(
      Array.from({ length: 4 }, async (): Promise<HammerReport> => {
        const child = Bun.spawn([process.execPath, hammer, JSON.stringify(order)], {
          stdio: ["ignore", "pipe", "inherit", memory.descriptor],
        });
        return JSON.parse(await new Response(child.stdout as ReadableStream).text());
      }),
    );
    const sum = (name: "tokens" | "tries" | "quota") => reports.reduce((total, row) => total + row[name], 0);
    const ms = Math.max(...reports.map(({ last }) => last)) - Math.min(...reports.map(({ first }) => first));
    const most = burst + (rate * ms) / 1_000;
    expect(sum("tokens")).toBeLessThanOrEqual(most);
    // Every process tried to take more than the limit, so together they have taken nearly all tokens.
    expect(sum("tokens")).toBeGreaterThan(burst);
    expect(sum("tries")).toBeGreaterThan(20_000);
    expect(sum("quota")).toBe(QUOTA);
    const seen = new Uint32Array(CELL_COUNTS);
    memory.view.cells.readCounts(0, seen);
    expect(Math.max(...seen)).toBe(sum("tries"));
    memory.close();
  });
});

test.each(COUNTED)("a cell counts %s apart from all else, even and odd days apart", (counted) => {
  for (const day of [0, 1]) {
    const cells = new LimitCells(new Uint8Array(2 * CELL_BYTES), NOON);
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

describe("usage in shared memory", () => {
  const memory = () => {
    const made = new SharedMemory(1, temporaryFolder(), NOON);
    made.reserve(2);
    return made.view.cells;
  };

  test("is collected once, on the day of the lookup", () => {
    const cells = memory();
    const collector = new UsageCollector();
    const recorded: unknown[] = [];
    const recorder = { record: (...row: unknown[]) => recorded.push(row) };
    collector.add("a", 1);
    const lastMinute = NOON - (NOON % DAY_MS) + DAY_MS - 1;
    cells.count(1, "geolocate", lastMinute, 3);
    cells.count(1, "email", lastMinute + 2, 1);
    collector.collect(cells, recorder, lastMinute + 500);
    collector.collect(cells, recorder, lastMinute + 600);
    expect(recorded).toHaveLength(2);
    expect(recorded).toContainEqual(["a", "geolocate", lastMinute + 500 - DAY_MS, 3]);
    expect(recorded).toContainEqual(["a", "email", lastMinute + 500, 1]);
    cells.count(1, "email", lastMinute + 700, 4);
    collector.remove(1, cells, recorder, lastMinute + 800);
    expect(recorded.at(-1)).toEqual(["a", "email", lastMinute + 800, 4]);
  });

  test("what other machines used counts against the quota, once", () => {
    const cells = memory();
    const collector = new UsageCollector();
    collector.add("a", 0);
    const use = (stored: number, foreign: number) =>
      collector.takeForeign(0, { now: NOON, stored, foreign }, cells);
    expect(cells.takeQuota(0, NOON, 100, 10)).toBe(10);
    use(30, 30); // this host's own lookups are not in the store yet
    expect(cells.usedOfQuota(0, NOON)).toBe(40);
    use(40, 30);
    expect(cells.usedOfQuota(0, NOON)).toBe(40);
    use(45, 35);
    expect(cells.usedOfQuota(0, NOON)).toBe(45);
    expect(cells.takeQuota(0, NOON, 100, 100)).toBe(55);
    expect(cells.takeQuota(0, NOON + DAY_MS, 100, 100)).toBe(100);
  });

  test("a key that is given its quota in the course of the day has used what is in the store", () => {
    const cells = memory();
    const collector = new UsageCollector();
    collector.add("a", 0);
    collector.takeForeign(0, { now: NOON, stored: 70, foreign: 0 }, cells);
    expect(cells.takeQuota(0, NOON, 100, 100)).toBe(30);
  });
});
