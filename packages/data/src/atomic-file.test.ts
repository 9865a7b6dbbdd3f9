import { expect, test } from "bun:test";
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { prepareOutput } from "./atomic-file.ts";

/** The prefix of a process that has exited. */
const GONE = ".tmp-999999999.1-";

test("what a killed process left of a file, and of its temporary files, is removed once it is old", () => {
  const folder = temporaryFolder();
  const [left, other] = [
    [`${GONE}x.db`, `${GONE}${GONE}x.db`],
    [`${GONE}y.db`, ".tmp-999999998.1-x.db"],
  ];
  for (const name of [...left, ...other]) writeFileSync(join(folder, name), "half");
  const old = Date.now() / 1_000 - 7_200;
  for (const name of [...left, other[0]!]) utimesSync(join(folder, name), old, old);
  expect(prepareOutput(join(folder, "x.db"))).toBe(join(folder, "x.db"));
  expect(readdirSync(folder).sort()).toEqual(other.sort());
});
