// texts.test.ts: tests that the error messages match the recorded ones, and that every code is caused, either
// here or in the named test.

import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_PROBLEM_CODES, PROBLEM_CODES } from "@inkling/contract";
import { ROOT } from "../harness/project-files.ts";
import { ELSEWHERE } from "./api.ts";
import { allTexts, RECORDED } from "./texts.ts";

setDefaultTimeout(600_000);
const recorded = readFileSync(RECORDED, "utf8");

test("texts are those on record; `npx bun test/texts/record.ts` records an intended change", async () => {
  expect(await allTexts()).toBe(recorded);
});

test.each([
  ["## API", PROBLEM_CODES],
  ["## admin API", ADMIN_PROBLEM_CODES],
])("%s: every code has a text", (title, codes) => {
  const section = recorded.split(`${title}\n`)[1]!.split("\n## ")[0]!;
  expect(codes.filter((code) => !section.includes(`\n${code}: `) && !Object.hasOwn(ELSEWHERE, code))).toEqual(
    [],
  );
});

test.each(Object.entries(ELSEWHERE))("%s is provoked in %s", (code, path) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toContain(code);
});
