import { expect, test } from "bun:test";
import { loadOnce } from "./load-once.ts";

test("loads once for all who ask, and again after a failure", async () => {
  const loads: ReturnType<typeof Promise.withResolvers<string>>[] = [];
  const get = loadOnce(() => {
    const load = Promise.withResolvers<string>();
    loads.push(load);
    return load.promise;
  });
  expect(loads.length).toBe(0);
  const failing = Promise.allSettled([get(), get()]);
  expect(loads.length).toBe(1);
  loads[0]!.reject(new Error("EMFILE"));
  expect((await failing).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const working = Promise.all([get(), get()]);
  expect(loads.length).toBe(2);
  loads[1]!.resolve("loaded");
  expect([...(await working), await get()]).toEqual(["loaded", "loaded", "loaded"]);
  expect(loads.length).toBe(2);
});
