import { describe, expect, test } from "bun:test";
import { makeStopRule, unlessStopped } from "./stop.ts";

const rows: [name: string, times: number[], meanings: string[]][] = [
  ["one key press through npm, launcher and terminal", [0, 2, 5], ["first", "repeat", "repeat"]],
  ["two key presses", [0, 1_000], ["first", "again"]],
  [
    "two key presses, each heard three times",
    [0, 3, 5, 900, 902],
    ["first", "repeat", "repeat", "again", "again"],
  ],
];
test.each(rows)("%s", (_, times, meanings) => {
  const rule = makeStopRule();
  expect(times.map(rule) as string[]).toEqual(meanings);
});

describe("what is waited for is given up when the signal comes", () => {
  const never = new Promise<string>(() => {});
  const stopped = () => new Error("stopped");
  test("what is there is given", async () => {
    const { signal } = new AbortController();
    expect(await unlessStopped(Promise.resolve("value"), signal, stopped)).toBe("value");
  });
  test("before", async () => {
    await expect(unlessStopped(never, AbortSignal.abort(), stopped)).rejects.toThrow("stopped");
  });
  test("meanwhile", async () => {
    const controller = new AbortController();
    const waiting = unlessStopped(never, controller.signal, stopped);
    controller.abort();
    await expect(waiting).rejects.toThrow("stopped");
  });
  test("an error of its own comes through", async () => {
    const { signal } = new AbortController();
    await expect(unlessStopped(Promise.reject(new Error("own")), signal, stopped)).rejects.toThrow("own");
  });
});
