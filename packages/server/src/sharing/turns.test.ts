import { expect, test } from "bun:test";
import { TooManyWaiting, Turns } from "./turns.ts";

/** Work that runs until `end` is called. */
function piece() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}
const { signal } = new AbortController();
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

test("one caller's work never waits for more than one piece of another's", async () => {
  const turns = new Turns({ running: 2, waitingPerOwner: 3 });
  const started: string[] = [];
  const pieces = Array.from({ length: 5 }, piece);
  const flood = pieces.map(({ work }, i) =>
    turns.take("a", signal, () => {
      started.push(`a${i}`);
      return work();
    }),
  );
  const refused = await Promise.allSettled(flood.slice(4));
  expect((refused[0] as PromiseRejectedResult).reason).toBeInstanceOf(TooManyWaiting);
  await turns.take("b", signal, async () => void started.push("b"));
  expect(started).toEqual(["a0", "b"]);
  for (const { end } of pieces) end();
  await Promise.all(flood.slice(0, 4));
  expect(started).toEqual(["a0", "b", "a1", "a2", "a3"]);
});

test("who leaves gives up the place, and work that fails ends the turn", async () => {
  const turns = new Turns({ running: 1, waitingPerOwner: 1 });
  const { work, end } = piece();
  const first = turns.take("a", signal, work);
  const controller = new AbortController();
  const left = turns.take("b", controller.signal, async () => "never").catch((error: Error) => error.message);
  controller.abort(new Error("left"));
  expect(await left).toBe("left");
  const failing = turns.take("b", signal, async () => {
    throw new Error("broken");
  });
  failing.catch(() => {});
  await settle();
  end();
  await first;
  await expect(failing).rejects.toThrow("broken");
  expect(await turns.take("c", signal, async () => 1)).toBe(1);
});
