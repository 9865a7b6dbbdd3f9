// Who owns what root writes into another user's data folder, and what a user without access to the folder is told.

import { afterAll, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { smallRelease } from "../../../test/harness/release.ts";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { replaceFile } from "./atomic-file.ts";
import { PartFile } from "./channel/part-file.ts";
import { makeFolder } from "./layout.ts";
import { lockDataFolder } from "./lock.ts";
import { findDenied } from "./releases.ts";
import { requireCurrent } from "./servable.ts";
import { findRollback } from "./switch.ts";

const isRoot = process.geteuid?.() === 0;
const USER = 65_534;
/** The user may find every folder above the test's folder. */
const temp = temporaryFolder();
const open = (path: string) => chmodSync(path, 0o755);
const root = join(temp, "..");
const mode = statSync(root).mode;
if (isRoot) for (const path of [root, temp]) open(path);
afterAll(() => chmodSync(root, mode));

function folderOf(user: number, name: string): string {
  const folder = join(temp, name);
  mkdirSync(folder, { mode: 0o750 });
  chownSync(folder, user, user);
  return folder;
}

function asUser<T>(act: () => T): T {
  process.seteuid!(USER);
  try {
    return act();
  } finally {
    process.seteuid!(0);
  }
}

function messageAsUser(act: () => unknown): readonly unknown[] {
  try {
    asUser(act);
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    return [message, hint];
  }
  throw new Error("no error");
}

test.if(isRoot)("what root writes into a user's data folder belongs to that user", async () => {
  const folder = folderOf(USER, "a-users");
  smallRelease(folder, 1);
  makeFolder(join(folder, "feeds/ipsum-3"));
  (await PartFile.open(join(folder, "x.part"))).close();
  lockDataFolder(folder);
  const owners = Object.fromEntries(
    (readdirSync(folder, { recursive: true }) as string[]).map((path) => [
      path,
      statSync(join(folder, path)).uid,
    ]),
  );
  for (const path of ["current", "releases", "feeds/ipsum-3", "x.part", "build.lock"]) {
    expect([path, owners[path]]).toEqual([path, USER]);
  }
  expect(Object.entries(owners).filter(([, owner]) => owner !== USER)).toEqual([]);
});

test.if(isRoot)("a secret that root writes elsewhere remains root's", () => {
  const path = join(folderOf(USER, "of-a-user"), "channel-key.pem");
  replaceFile(path, ["secret"], { mode: 0o600, owner: "process" });
  expect(statSync(path).uid).toBe(0);
});

test.if(isRoot)("a folder that may not be read is not called empty", () => {
  const folder = folderOf(0, "of-root-only");
  smallRelease(folder, 1);
  chmodSync(folder, 0o700); // this process remains in root's group
  const denied = asUser(() => findDenied(folder));
  expect([denied?.message, denied?.hint]).toEqual([
    `the data folder ${folder}: permission denied`,
    `run as the user who owns ${folder} (user 0; this is user ${USER}), or run \`chown -R ${USER} ${folder}\` as root`,
  ]);
});

test.if(isRoot)("a file of root in the user's folder", () => {
  const folder = folderOf(USER, "with-a-file-of-root");
  smallRelease(folder, 1);
  chownSync(join(folder, "current"), 0, 0);
  chmodSync(join(folder, "current"), 0o600);
  expect(messageAsUser(() => requireCurrent(folder))).toEqual([
    `${join(folder, "current")}: permission denied`,
    expect.stringContaining(`run \`chown -R ${USER} ${folder} && chmod -R u+rwX ${folder}\` as root`),
  ]);
});

test("a missing folder, and one without a release", async () => {
  const missing = join(temp, "missing");
  expect(() => requireCurrent(missing)).toThrow(`${missing} does not exist`);
  await expect(findRollback(missing, "x", () => {})).rejects.toThrow(`${missing} does not exist`);
  mkdirSync(missing);
  expect(() => requireCurrent(missing)).toThrow(`there is no release in ${missing}`);
});
