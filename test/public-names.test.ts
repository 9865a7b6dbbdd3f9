// public-names.test.ts: tests that the names that users depend on match the recorded ones (docs/api.md#stability).

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { publicNames, RECORDED } from "./public-names.ts";

test("public names are those on record; `npx bun test/public-names.ts` records an intended change", async () => {
  const names = await publicNames();
  expect(names.split("\n").length).toBeGreaterThan(300);
  expect(names).toBe(readFileSync(RECORDED, "utf8"));
});
