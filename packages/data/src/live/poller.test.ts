import { expect, test } from "bun:test";
import { Poller } from "./poller.ts";

/** Creates a poller whose checks end only when the test calls `ends`. */
function held() {
  const ends: (() => void)[] = [];
  const check = () => new Promise<void>((resolve) => void ends.push(resolve));
  return { ends, checks: new Poller({ check, waitMs: () => 1e6 }) };
}

test("asked for during a check, checks once more after it, for all who ask", async () => {
  const { ends, checks } = held();
  const first = checks.now();
  await Bun.sleep(0);
  const others = [checks.now(), checks.now()];
  expect(ends.length).toBe(1);
  ends[0]!();
  await first;
  await Bun.sleep(0);
  expect(ends.length).toBe(2);
  ends[1]!();
  await Promise.all(others);
  expect(ends.length).toBe(2);
});

test("begins no check after stop, not even one that was asked for before", async () => {
  const { ends, checks } = held();
  const first = checks.now();
  await Bun.sleep(0);
  const second = checks.now();
  let isStopped = false;
  const stopped = checks.stop().then(() => {
    isStopped = true;
  });
  await Bun.sleep(0);
  expect(isStopped).toBe(false); // the running check has not ended
  ends[0]!();
  await Promise.all([first, second, stopped, checks.now()]);
  expect(ends.length).toBe(1);
});

test("runs until the signal is aborted, and ends when the check under way has; not at all after it", async () => {
  const { ends, checks } = held();
  const controller = new AbortController();
  let isOver = false;
  const running = checks.runUntil(controller.signal).then(() => {
    isOver = true;
  });
  await Bun.sleep(0);
  controller.abort();
  await Bun.sleep(0);
  expect([ends.length, isOver]).toEqual([1, false]);
  ends[0]!();
  await running;
  const second = held();
  await second.checks.runUntil(controller.signal);
  expect(second.ends.length).toBe(0);
});
