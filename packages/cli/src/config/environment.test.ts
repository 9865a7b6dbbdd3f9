import { expect, test } from "bun:test";
import { workerEnvironment } from "./environment.ts";

test("workers get no settings, and an allocator that keeps freed memory for a while", () => {
  const env = { PATH: "/bin", INKLING_API_KEY: "ink_live_x", DATABASE_PASSWORD: "secret" };
  expect(workerEnvironment(env)).toEqual({
    PATH: "/bin",
    MIMALLOC_PURGE_HOLES: "0",
    MIMALLOC_PURGE_DELAY: "10000",
  });
});

test("an operator's allocator options take precedence", () => {
  expect(workerEnvironment({ MIMALLOC_PURGE_DELAY: "-1" }).MIMALLOC_PURGE_DELAY).toBe("-1");
});
