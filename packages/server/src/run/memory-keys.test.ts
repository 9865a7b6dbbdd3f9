import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { readMemoryKeys } from "./memory-keys.ts";

const MODULE = join(import.meta.dir, "memory-keys.ts");

test("servers that start at the same time on a new data folder use the same key", async () => {
  const folder = temporaryFolder();
  const go = join(temporaryFolder(), "go");
  const program = `
    import { existsSync } from "node:fs";
    const { readMemoryKeys } = await import(${JSON.stringify(MODULE)});
    process.stdout.write("ready");
    while (!existsSync(${JSON.stringify(go)}));
    console.log(...readMemoryKeys({ decisions: true, dataDir: ${JSON.stringify(folder)} }));
  `;
  const servers = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, "--no-install", "-e", program], { stdout: "pipe" }),
  );
  const outputs = servers.map(({ stdout }) => stdout.getReader());
  for (const output of outputs) await output.read(); // "ready"
  writeFileSync(go, "");
  const keys = await Promise.all(
    outputs.map(async (output) =>
      Buffer.from((await output.read()).value ?? [])
        .toString()
        .trim(),
    ),
  );
  const path = join(folder, "memory-key");
  const key = readFileSync(path, "utf8").trim();
  expect(keys).toEqual([key, key, key, key]);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["memory-key"]);
  expect(readMemoryKeys({ decisions: true, dataDir: folder, memoryKey: undefined })).toEqual([key]);
});

test("a server that stores no decisions creates no key", () => {
  const folder = temporaryFolder();
  expect(readMemoryKeys({ decisions: false, dataDir: folder, memoryKey: undefined })).toEqual([]);
  expect(existsSync(join(folder, "memory-key"))).toBe(false);
});
