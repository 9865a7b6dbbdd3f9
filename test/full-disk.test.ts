// full-disk.test.ts: `inkling data rollback`, `unpin` and a server where nothing can be written: what they report, and what
// is left.

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Seen } from "./full-disk.ts";
import { temporaryFolder } from "./release.ts";

const UNSHARE = ["unshare", "--map-root-user", "--mount"];
const canMount =
  process.platform === "linux" &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "mount", "-t", "tmpfs", "tmpfs", temporaryFolder()]).success;

describe.if(canMount)("a disk that cannot be written", () => {
  let seen: Seen;
  beforeAll(() => {
    const script = join(import.meta.dir, "full-disk.ts");
    const { stdout, stderr } = Bun.spawnSync([...UNSHARE, process.execPath, script, temporaryFolder()]);
    if (stdout.length === 0) throw new Error(stderr.toString());
    seen = JSON.parse(stdout.toString());
  });

  const rows: readonly (readonly [
    name: keyof Seen & ("full" | "readOnly"),
    message: RegExp,
    hint: string,
  ])[] = [
    ["full", /^inkling: cannot switch to release \w+-\w+: ENOSPC: no space left/, "make room on the disk of"],
    [
      "readOnly",
      /^inkling: cannot switch to release \w+-\w+: EROFS: read-only file system/,
      "is on a read-only file",
    ],
  ];
  test.each(rows)("%s: it reports why, switches nothing and leaves no file", (disk, message, hint) => {
    expect(seen[disk].map(({ args }) => args)).toEqual(["rollback", `rollback ${seen.names[2]}`, "unpin"]);
    for (const { exitCode, err, current, pinned, temporary } of seen[disk]) {
      expect(err).toMatch(message);
      expect(err).toContain(`hint: `);
      expect(err).toContain(hint);
      expect(err).toContain("Nothing was switched, and what is served goes on");
      expect(err).not.toContain("fault of Inkling");
      expect(exitCode).toBe(1);
      expect([current, pinned]).toEqual([seen.names[1], seen.names[1]]);
      expect(temporary).toEqual([]);
    }
  });

  test("a server on a full disk answers, reports, and stores what it counted when there is room", () => {
    const { statuses, ready, log, stored } = seen.whileFull;
    expect([...new Set(statuses), ready]).toEqual([200, 200]);
    expect(statuses.length).toBeGreaterThan(20);
    expect(log).toContain('"event":"usage-not-stored"');
    expect(stored).toBe(statuses.length);
  });

  test("a server verifies at each start what cannot be marked as verified, and serves it", () => {
    const { ready, log } = seen.served;
    expect(ready).toBe(200);
    expect(log).toMatch(/"release-unmarked","name":"\S+","reason":"EROFS: read-only file system/);
    expect(log).toContain(`"event":"release-serving","name":"${seen.names[1]}"`);
  });
});
