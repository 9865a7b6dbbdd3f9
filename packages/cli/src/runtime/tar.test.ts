import { expect, test } from "bun:test";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTar, TAR_END, tarHeader } from "./tar.ts";

const GIB = 1 << 30;

test.each([0, 1, 512, 8 * GIB - 1, 9 * GIB])("tar and readTar find a file of %p bytes", (size) => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-tar-"));
  const path = join(folder, "x.tar");
  const file = openSync(path, "w+");
  try {
    const length = 512 + Math.ceil(size / 512) * 512 + TAR_END.length;
    writeSync(file, tarHeader("big.db", size, 0));
    ftruncateSync(file, length); // a sparse file: its zeros take no space
    expect(readTar(file, length)).toEqual([{ name: "big.db", offset: 512, size }]);
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
