// Tests what remains of a file if its process dies while writing, and who may read the finished file.

import { expect, test } from "bun:test";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryPath } from "@inkling/data";
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

test.each(["a link to a file", "a link to none", "a link to a link in another folder"])(
  "%s remains, and its target is written",
  (what) => {
    const folder = temporaryFolder();
    const [target, link] = [join(folder, "target"), join(folder, "link")];
    if (what === "a link to a file") writeFileSync(target, "before", { mode: 0o600 });
    if (what.endsWith("folder")) {
      mkdirSync(join(folder, "inner"));
      symlinkSync("../target", join(folder, "inner", "link"));
      symlinkSync("inner/link", link);
    } else symlinkSync("target", link);
    const file = new PartialFile(link);
    file.write("rows");
    file.finish();
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(lstatSync(target).isFile()).toBe(true);
    expect(readFileSync(target, "utf8")).toBe("rows");
    if (what === "a link to a file") expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.startsWith(".tmp-"))).toEqual([]);
  },
);

const special: [what: string, make: (path: string) => boolean][] = [
  ["a FIFO", (path) => Bun.spawnSync(["mkfifo", path]).success],
  // Only root may create a device.
  ["a device", (path) => process.getuid?.() === 0 && Bun.spawnSync(["mknod", path, "c", "1", "3"]).success],
  [
    "a link to a FIFO",
    (path) => {
      symlinkSync(`${path}.fifo`, path);
      return Bun.spawnSync(["mkfifo", `${path}.fifo`]).success;
    },
  ],
  [
    "a link to a file that a process has open",
    (path) => {
      if (process.platform !== "linux") return false;
      symlinkSync(`/proc/self/fd/${openSync(`${path}.open`, "a")}`, path);
      return true;
    },
  ],
];
test.each(special)("%s is refused, and remains", (_, make) => {
  const folder = temporaryFolder();
  const path = join(folder, "out");
  if (!make(path)) return;
  const before = [lstatSync(path).mode, readdirSync(folder)];
  expect(() => new PartialFile(path)).toThrow(
    expect.objectContaining({
      message: `${path} is not a regular file`,
      hint: `use --out - and redirect it: … > ${path}`,
      isUsage: true,
    }),
  );
  expect([lstatSync(path).mode, readdirSync(folder)]).toEqual(before);
});

test("what a process that was killed hours ago left of this file is removed, and nothing else", () => {
  const folder = temporaryFolder();
  const others = [".tmp-2147483646.1-other", `.tmp-${process.ppid}-out`, "tmp-2147483646.1-out"];
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  for (const name of [".tmp-2147483646.1-out", ".tmp-2147483645-out", ...others]) {
    writeFileSync(join(folder, name), "half");
    utimesSync(join(folder, name), hoursAgo, hoursAgo);
  }
  others.push(".tmp-2147483644.1-out"); // of a process in another container, which may still write
  writeFileSync(join(folder, others.at(-1)!), "half");
  const file = new PartialFile(join(folder, "out"));
  file.finish();
  expect(readdirSync(folder).sort()).toEqual([...others, "out"].sort());
});

test("notWritten names the file, and an earlier version of it", () => {
  expect(notWritten(join(temp, "none"))).toBe(`${join(temp, "none")} was not written`);
  expect(notWritten(temp)).toBe(`${temp} was not written; the existing file is unchanged`);
});
