// mounts.ts: what is mounted below a folder is found, the innermost first, and unmounted.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mountsIn, unmountAll } from "./mounts.ts";
import { temporaryFolder } from "./release.ts";

test("mounts at and below a folder, the innermost first; no neighbour", () => {
  const line = (point: string) => `36 35 98:0 / ${point} rw,noatime master:1 - ext3 /dev/root rw`;
  const lines = ["/", "/a", "/a/b c".replace(" ", "\\040"), "/ab", "/a/b\\040c/netns/default"].map(line);
  expect(mountsIn("/a", `${lines.join("\n")}\n`)).toEqual(["/a/b c/netns/default", "/a/b c", "/a"]);
});

const folder = temporaryFolder();
const mount = (point: string) =>
  process.platform === "linux" && Bun.spawnSync(["mount", "-t", "tmpfs", "tmpfs", point]).success;

test.if(mount(folder))("what is mounted is unmounted, with what is mounted in it", () => {
  const inner = join(folder, "exec-root");
  mkdirSync(inner);
  expect(mount(inner)).toBe(true);
  writeFileSync(join(inner, "file"), "");
  expect(mountsIn(folder)).toEqual([inner, folder]);
  unmountAll(folder);
  expect(mountsIn(folder)).toEqual([]);
  expect(existsSync(inner)).toBe(false);
});
