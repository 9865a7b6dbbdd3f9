import { expect, test } from "bun:test";
import { workerEnvironment } from "./environment.ts";

test("workers get the runtime's variables, but no settings", () => {
  const runtime = { PATH: "/bin", MIMALLOC_PURGE_HOLES: "0" };
  const env = { ...runtime, INKLING_API_KEY: "ink_live_x", DATABASE_PASSWORD: "secret" };
  expect(workerEnvironment(env)).toEqual(runtime);
});
