import { describe, expect, test } from "bun:test";
import { unlessAborted } from "./errors.ts";

describe("what is waited for is given up when the signal comes", () => {
  const never = new Promise<string>(() => {});
  const stopped = () => new Error("stopped");
  test("what is there is given", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve("value"), signal, stopped)).toBe("value");
  });
  test("before", async () => {
    await expect(unlessAborted(never, AbortSignal.abort(), stopped)).rejects.toThrow("stopped");
  });
  test("meanwhile", async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(never, controller.signal, stopped);
    controller.abort();
    await expect(waiting).rejects.toThrow("stopped");
  });
  test("an error of its own comes through", async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.reject(new Error("own")), signal, stopped)).rejects.toThrow("own");
  });
});
