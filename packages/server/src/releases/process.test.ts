import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ANSWERS, releaseName } from "@inkling/engine";
import { type ReleaseError, releaseId } from "@inkling/release-store";
import { moduleCommand } from "@inkling/release-store/program";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { ProcessFailed, runInProcess } from "./process.ts";
import { verifyInProcess } from "./verify.ts";

const temp = temporaryFolder();

function moduleOf(name: string, compute: string): string[] {
  const path = join(temp, `${name}.ts`);
  const library = JSON.stringify(join(import.meta.dir, "process.ts"));
  writeFileSync(path, `import { answerOnce } from ${library};\nanswerOnce((message) => { ${compute} });`);
  return moduleCommand(path);
}

describe("a computation in a process of its own", () => {
  test("answers, in the environment that it is given and not in that of the caller", async () => {
    const module = moduleOf("sound", "return [message, process.env.TZ, process.env.PATH ?? null];");
    const answer = await runInProcess<unknown>(module, new Map([[1, "x"]]), { TZ: "Asia/Tokyo" });
    expect(answer).toEqual([new Map([[1, "x"]]), "Asia/Tokyo", null]);
  });

  const endings: readonly (readonly [name: string, compute: string, message: RegExp])[] = [
    ["of a bus error, as of a file cut short", 'process.kill(process.pid, "SIGBUS");', /SIGBUS/],
    ["killed, as for want of memory", 'process.kill(process.pid, "SIGKILL");', /SIGKILL/],
    ["by an error", 'throw new Error("a defect");', /exit code 1 .*a defect/],
    ["without an answer", "process.exit(0);", /exit code 0/],
  ];
  test.each(endings)("that ends %s is a failure, and the caller goes on", async (name, compute, message) => {
    const failure: Error = await runInProcess<never>(
      moduleOf(name.slice(0, 9).replaceAll(" ", "-"), compute),
      1,
      {},
    ).catch((e) => e);
    expect(failure).toBeInstanceOf(ProcessFailed);
    expect(failure.message).toMatch(message);
  });

  test("ends when it is aborted", async () => {
    const controller = new AbortController();
    const running = runInProcess(moduleOf("endless", "for (;;);"), 1, {}, controller.signal).catch((e) => e);
    controller.abort();
    expect(await running).toBeInstanceOf(ProcessFailed);
  });
});

test("a release is not sound when its segment is gone, and not known to be while its manifest cannot be read", async () => {
  const sha256 = "a".repeat(64);
  const content = {
    format: 1 as const,
    created_at: "2026-06-01T00:00:00.000Z",
    code: sha256,
    segments: { geo: { sha256, bytes: 100, inputs: sha256 } },
    feeds: [],
    missing: [...ANSWERS],
    partial: [],
  };
  const release = { id: releaseId(content), ...content };
  const name = releaseName(release);
  for (const part of ["releases", "segments"]) mkdirSync(join(temp, part));
  writeFileSync(join(temp, `releases/${name}.json`), JSON.stringify(release));
  const errorOf = () => verifyInProcess({}, temp, name).catch((error: ReleaseError) => error);
  expect(await errorOf()).toMatchObject({
    isRetryable: false,
    message: expect.stringContaining("is missing"),
  });
  const path = join(temp, `segments/${sha256}.seg`);
  writeFileSync(path, new Uint8Array(100));
  expect(await errorOf()).toMatchObject({ isRetryable: false, damaged: [`segments/${sha256}.seg`] });
  rmSync(path);
  // Linux returns EIO for reading this file, as it does for a bad sector.
  symlinkSync("/proc/self/mem", path);
  writeFileSync(join(temp, `segments/${sha256}.verified`), "");
  if (process.platform === "linux") {
    const faults = { isRetryable: true, isUnreadable: true };
    expect(await errorOf()).toMatchObject({ ...faults, message: expect.stringContaining("EIO") });
    expect(existsSync(join(temp, `segments/${sha256}.verified`))).toBe(false);
  }
  const killed = await verifyInProcess({}, temp, name, {}, AbortSignal.abort()).catch(
    (error: ReleaseError) => error,
  );
  expect(killed).toMatchObject({ isRetryable: true, message: expect.stringContaining("cannot be verified") });
});
