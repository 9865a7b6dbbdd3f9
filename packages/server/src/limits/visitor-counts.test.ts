import { describe, expect, test } from "bun:test";
import { VISITOR_COUNTS_BYTES, VisitorCounts } from "./visitor-counts.ts";

const NOON = Date.UTC(2026, 5, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KEY = new Uint8Array(32).fill(7);
const make = (memory?: SharedArrayBuffer) => new VisitorCounts(KEY, memory);

describe("counts of a subject", () => {
  const rows: [name: string, times: readonly number[], hour: number, day: number][] = [
    ["the first", [NOON], 1, 1],
    ["three in a minute", [NOON, NOON + 1, NOON + MINUTE], 3, 3],
    ["half of the hour before", [NOON, NOON + 1, NOON + 2, NOON + 3, NOON + 90 * MINUTE], 3, 5],
    ["two hours apart", [NOON, NOON + 2 * HOUR], 1, 2],
    ["23 hours apart, over midnight", [NOON, NOON + 23 * HOUR], 1, 2],
    ["a day apart", [NOON, NOON + 24 * HOUR], 1, 1],
    ["a week apart", [NOON, NOON + 7 * 24 * HOUR], 1, 1],
    ["over midnight", [NOON + 11.75 * HOUR, NOON + 12.25 * HOUR], 1, 2],
    ["a clock that is set back", [NOON + 3 * HOUR, NOON], 1, 1],
  ];
  test.each(rows)("%s", (_, times, hour, day) => {
    const counts = make();
    const last = times.map((now) => counts.add("network", "203.0.113.0/24", now)).at(-1);
    expect(last).toEqual({ hour, day });
  });

  test("are those of one kind and one value", () => {
    const counts = make();
    counts.add("domain", "example.com", NOON);
    expect(counts.add("mailbox", "example.com", NOON)).toEqual({ hour: 1, day: 1 });
    expect(counts.add("domain", "example.net", NOON)).toEqual({ hour: 1, day: 1 });
  });

  test("are shared by all who share the memory, and no other", () => {
    const memory = new SharedArrayBuffer(VISITOR_COUNTS_BYTES);
    make(memory).add("domain", "example.com", NOON);
    expect(make(memory).add("domain", "example.com", NOON).hour).toBe(2);
    expect(make().add("domain", "example.com", NOON).hour).toBe(1);
  });
});

test("the memory holds no value, and after a day not the same hash", () => {
  const memory = new SharedArrayBuffer(VISITOR_COUNTS_BYTES);
  make(memory).add("mailbox", "jane.doe@example.com", NOON);
  expect(Buffer.from(new Uint8Array(memory)).includes("jane")).toBe(false);
  const filled = (bytes: SharedArrayBuffer) => new Uint8Array(bytes).findIndex((byte) => byte !== 0);
  const later = new SharedArrayBuffer(VISITOR_COUNTS_BYTES);
  make(later).add("mailbox", "jane.doe@example.com", NOON + 24 * HOUR);
  expect(filled(later)).not.toBe(filled(memory));
});

test("more subjects than fit make room for themselves, and the newest are counted right", () => {
  const counts = make();
  for (let i = 0; i < 100_000; i++) counts.add("network", `network ${i}`, NOON + i);
  let right = 0;
  for (let i = 99_000; i < 100_000; i++)
    if (counts.add("network", `network ${i}`, NOON + HOUR / 2).hour === 2) right++;
  expect(right).toBeGreaterThan(900);
});
