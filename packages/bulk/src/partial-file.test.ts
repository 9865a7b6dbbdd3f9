// Tests what remains of a file if its process dies while writing, and who may read the finished file.

import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryPath } from "@inkling/release-store";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { notWritten, PartialFile } from "./partial-file.ts";

const temp = temporaryFolder();

const rows: [name: string, ending: string, content: string][] = [
  ["finished", "file.finish()", "half"],
  ["stopped at once", "", "before"],
  ["discarded", "file.discard()", "before"],
];
test.each(rows)("%s", (name, ending, content) => {
  const folder = temporaryFolder();
  const target = join(folder, "out");
  writeFileSync(target, "before");
  const code = `import { PartialFile } from ${JSON.stringify(join(import.meta.dir, "partial-file.ts"))};
    const file = new PartialFile(${JSON.stringify(target)}); file.write("half"); ${ending}; process.exit(130);`;
  const script = join(temp, `${name.replaceAll(" ", "-")}.ts`);
  writeFileSync(script, code);
  expect(Bun.spawnSync([process.execPath, script]).exitCode).toBe(130);
  expect(readdirSync(folder)).toEqual(["out"]);
  expect(readFileSync(target, "utf8")).toBe(content);
});

test.each(["a link to another file", "a link to none"])(
  "%s that waits under its passing name is not followed",
  (what) => {
    const folder = temporaryFolder();
    const other = join(folder, "other");
    if (what === "a link to another file") writeFileSync(other, "before");
    symlinkSync(other, temporaryPath(join(folder, "out")));
    const file = new PartialFile(join(folder, "out"));
    file.write("rows");
    file.finish();
    expect(readFileSync(join(folder, "out"), "utf8")).toBe("rows");
    expect(readdirSync(folder).sort()).toEqual(
      what === "a link to another file" ? ["other", "out"] : ["out"],
    );
    if (what === "a link to another file") expect(readFileSync(other, "utf8")).toBe("before");
  },
);

test.each<[before: string, mode: number | undefined, after: number]>([
  ["no file", undefined, 0o644],
  ["a file of its owner", 0o600, 0o600],
  ["one of its group", 0o640, 0o640],
  ["one that all may change", 0o666, 0o644],
])("in place of %s it is readable for no more users", (_, mode, after) => {
  const path = join(temporaryFolder(), "out");
  if (mode !== undefined) {
    writeFileSync(path, "before");
    chmodSync(path, mode);
  }
  const file = new PartialFile(path);
  file.write("rows");
  file.finish();
  expect(readFileSync(path, "utf8")).toBe("rows");
  expect(statSync(path).mode & 0o777).toBe(after & ~process.umask());
});

test("notWritten names the file, and an earlier version of it", () => {
  expect(notWritten(join(temp, "none"))).toBe(`${join(temp, "none")} was not written`);
  expect(notWritten(temp)).toBe(`${temp} was not written; the existing file is unchanged`);
});
