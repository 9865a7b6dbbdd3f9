import { expect, test } from "bun:test";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "../terminal/errors.ts";
import { Archive, tarHeader, tarOf } from "./backup-archive.ts";

const GIB = 1 << 30;
/** The zeros at the end of a tar file. */
const END_BYTES = 1_024;

test.each([0, 1, 512, 8 * GIB - 1, 9 * GIB])("tar and Archive find a file of %p bytes", (size) => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-tar-"));
  const path = join(folder, "x.tar");
  const files = [{ name: "big.db", bytes: size, sha256: "" }];
  const head = { format: "inkling-backup", version: 1, created_at: new Date().toISOString(), program: "0" };
  const content = Buffer.from(JSON.stringify({ ...head, decisions: false, rows: {}, files }));
  const manifest = Buffer.concat([...tarOf([{ name: "manifest.json", content }], new Date(0))]);
  const file = openSync(path, "w+");
  try {
    writeSync(file, manifest.subarray(0, -END_BYTES));
    writeSync(file, tarHeader("big.db", size, 0));
    // a sparse file: its zeros take no space
    ftruncateSync(file, manifest.length + 512 + Math.ceil(size / 512) * 512);
    const archive = new Archive(path);
    expect(archive.has("big.db")).toBe(true);
    archive.close();
    const { stdout, exitCode } = Bun.spawnSync(["tar", "-tvf", path]);
    expect([exitCode, stdout.toString()]).toEqual([
      0,
      expect.stringMatching(new RegExp(`manifest\\.json\n-rw------- 0/0 +${size} .* big\\.db\n$`)),
    ]);
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
});

test("a header with a negative size is no backup", () => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-tar-"));
  const path = join(folder, "x.tar");
  try {
    writeFileSync(path, Buffer.concat([tarHeader("manifest.json", -(8 ** 9), 0), Buffer.alloc(END_BYTES)]));
    expect(() => new Archive(path)).toThrow(new CliError(`${path} is not an Inkling backup`));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
