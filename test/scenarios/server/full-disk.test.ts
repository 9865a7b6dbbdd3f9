// full-disk.test.ts: tests what `inkling data rollback`, `unpin` and a server report when nothing can be written, and
// what remains.

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { drilled } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import type { Seen } from "./full-disk.ts";

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
    [
      "full",
      /^inkling: cannot switch to release \w+-\w+: ENOSPC: no space left/m,
      "free some disk space for",
    ],
    [
      "readOnly",
      /^inkling: cannot switch to release \w+-\w+: EROFS: read-only file system/m,
      "is on a read-only file",
    ],
  ];
  test.each(rows)("%s: it reports why, switches nothing and leaves no file", (disk, message, hint) => {
    expect(seen[disk].map(({ args }) => args)).toEqual(["rollback", `rollback ${seen.names[2]}`, "unpin"]);
    for (const { exitCode, err, current, pinned, temporary } of seen[disk]) {
      expect(err).toMatch(message);
      expect(err).toContain(`hint: `);
      expect(err).toContain(hint);
      expect(err).toContain("The release in use did not change");
      expect(err).not.toContain("fault of Inkling");
      expect(exitCode).toBe(1);
      expect([current, pinned]).toEqual([seen.names[1], seen.names[1]]);
      expect(temporary).toEqual([]);
    }
  });

  test("full, with the database in it: nothing is switched that cannot be recorded", () => {
    const { exitCode, err, current, pinned, temporary } = seen.withoutTrail;
    expect(err).toMatch(/database or disk is full/);
    expect([exitCode, current, pinned]).toEqual([1, seen.names[1], seen.names[1]]);
    expect(temporary).toEqual([]);
  });

  test("a server on a full disk answers, reports, and stores what it counted when there is room", () => {
    const { statuses, ready, warnings, log, stored } = seen.whileFull;
    expect([...new Set(statuses), ready]).toEqual([200, 200]);
    expect(statuses.length).toBeGreaterThan(20);
    expect(log).toContain('"event":"usage-not-stored"');
    expect(warnings).toEqual([
      expect.stringContaining("the database cannot be written, because its disk is full"),
    ]);
    expect(stored).toBe(statuses.length);
    drilled(
      import.meta.path,
      "the disk of the data folder and the database is full",
      "every lookup; `/readyz` has a warning",
      "no release is switched and no part of a file remains; usage waits, and is stored once there is room",
    );
  });

  test("a key cannot be revoked on a full disk: each way says so, and `--here` works once there is room", () => {
    const { revoked, statusOfRevoked } = seen.whileFull;
    expect(revoked).toEqual({
      out: expect.stringMatching(
        / --here` makes this host refuse the key|cannot write .*revoked: ENOSPC.*; nothing was revoked/,
      ),
      here: expect.stringMatching(
        /cannot write .*revoked: ENOSPC.*; the key is still accepted\nhint: free disk space/,
      ),
      answer: [
        503,
        expect.objectContaining({
          code: expect.stringMatching(/^(DATABASE_UNREACHABLE|REVOCATION_UNWRITTEN)$/),
        }),
      ],
    });
    expect(statusOfRevoked).toEqual([200, 401]);
  });

  test("a backup to a full disk leaves no file, and says so; with room, it is complete", () => {
    const failed = {
      exitCode: 1,
      err: expect.stringMatching(/^inkling: .*\/x\.backup: no space left on the disk\nhint: free space/),
      files: [],
      content: { integrity_check: "ok", usage: 40_000, keys: 1 },
    };
    expect(seen.backup).toMatchObject([
      ...[0, 0.5, 1.5].map((room) => ({ room, ...failed })),
      { room: 3, exitCode: 0, err: "", files: ["x.backup"], content: failed.content },
    ]);
    for (const { statuses } of seen.backup) expect(statuses).toEqual([200]);
    drilled(
      import.meta.path,
      "the disk is full when a backup writes its copy of the database, or the file",
      "every lookup",
      "no part of a file; the command says what is full, and succeeds once there is room",
    );
  });

  test("a restore on a full disk changes nothing, and says so; with room, it is complete", () => {
    const failed = (rows: object, what: string) => ({
      exitCode: 1,
      err: expect.stringMatching(new RegExp(`^inkling: .*${what}\n?.*hint: `, "s")),
      files: [],
      content: { integrity_check: "ok", ...rows },
    });
    const [before, emptied] = [
      { usage: 40_000, keys: 2 },
      { usage: 0, keys: 2 },
    ];
    expect(seen.restore).toMatchObject([
      { room: 0, ...failed(before, ": no space left on the disk") },
      { room: 0.5, ...failed(before, ": no space left on the disk") },
      { room: 1.5, ...failed(before, "/good.backup.before: no space left on the disk") },
      { room: 2.5, ...failed(before, "/good.backup.before: no space left on the disk") },
      // The old data was kept before rows were copied, so that file is complete.
      { room: 1.5, ...failed(emptied, "database or disk is full"), files: ["good.backup.before"] },
      { room: 8, exitCode: 0, content: { integrity_check: "ok", usage: 40_000, keys: 1 } },
    ]);
    for (const { statuses } of seen.restore) expect(statuses).toEqual([200]);
    drilled(
      import.meta.path,
      "the disk is full when a restore unpacks the backup, keeps the old data or copies rows",
      "every lookup",
      "all rows of before, and no part of a file; the command says what is full, and succeeds once there is room",
    );
  });

  test("a server on a read-only disk serves its release", () => {
    const { ready, log } = seen.served;
    expect(ready).toBe(200);
    expect(log).toContain(`"event":"release-serving","name":"${seen.names[1]}"`);
  });

  const finding = (json: string, check: string) =>
    (JSON.parse(json).checks as { check: string; state: string; found: string; fix?: string }[]).find(
      (one) => one.check === check,
    )!;

  test("doctor: a full disk of the database", () => {
    expect(finding(seen.whileFull.doctor, "database")).toMatchObject({
      state: "problem",
      found: expect.stringMatching(/inkling\.db: its disk has only .* free$/),
      fix: expect.stringMatching(/^free space on \/.*; the server then stores what waits$/),
    });
  });

  test("`inkling serve` serves a read-only folder whose database is elsewhere, and updates nothing", () => {
    const { statuses, log, exitCode, doctor, verify } = seen.serve;
    expect([statuses, exitCode]).toEqual([[200, 200], 0]);
    expect(log).toContain('"event":"data-folder-read-only"');
    expect(log).not.toContain("data-update");
    expect(finding(doctor, "data folder")).toMatchObject({
      state: "note",
      found: expect.stringContaining("read-only file system"),
      fix: expect.stringContaining("`inkling serve` serves the existing release"),
    });
    expect(finding(doctor, "release")).toMatchObject({ state: "ok" });
    expect(verify).toBe(0);
    expect(doctor).not.toMatch(/delete/i);
    drilled(
      import.meta.path,
      "the data folder is read-only",
      "every lookup",
      "the release in use; updates and changes are refused, with the reason",
    );
  });

  test("files that cannot be written are mapped all the same, until they are collected", () => {
    expect(seen.serve.mapped).toBeGreaterThan(2);
    expect(seen.seed).toMatchObject({ last: 7, mapped: 20 });
    expect(seen.seed.left).toBeLessThan(2); // the stack may still reference one
  });

  test("with the database in it, it names the setting that puts it elsewhere", () => {
    const hint = "or put the database elsewhere: INKLING_DATABASE_URL=";
    expect(seen.databaseInside.serve).toContain("is on a read-only file system");
    expect(seen.databaseInside.serve).toContain(hint);
    expect(finding(seen.databaseInside.doctor, "data folder")).toMatchObject({
      state: "problem",
      fix: expect.stringContaining(hint),
    });
  });
});
