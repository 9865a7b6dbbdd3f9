import { expect, test } from "bun:test";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "../terminal/errors.ts";
import { readArchive, tarHeader } from "./backup-archive.ts";

const GIB = 1 << 30;

test.each([0, 1, 512, 8 * GIB - 1, 9 * GIB])("tar finds a file of %p bytes", (size) => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-tar-"));
  const path = join(folder, "x.tar");
  const file = openSync(path, "w+");
  try {
    writeSync(file, tarHeader("big.db", size, 0));
    // a sparse file: its zeros take no space
    ftruncateSync(file, 512 + Math.ceil(size / 512) * 512 + 1_024);
    const { stdout, exitCode } = Bun.spawnSync(["tar", "-tvf", path]);
    expect([exitCode, stdout.toString()]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^-rw------- 0/0 +${size} .* big\\.db\n$`)),
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
    writeFileSync(path, Buffer.concat([tarHeader("manifest.json", -(8 ** 9), 0), Buffer.alloc(1_024)]));
    expect(() => readArchive(path, join(folder, "x.db"))).toThrow(
      new CliError(`${path} is not an Inkling backup`),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
