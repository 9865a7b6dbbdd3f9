// failing-start.test.ts: tests the message and the exit code of `inkling serve` if workers cannot start or if it is
// killed while it starts, and that no process is left behind.

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { MAIN } from "../../harness/bundled-program.ts";
import { freePort } from "../../harness/ports.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import { isWorker } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

const isLinux = process.platform === "linux";
const busy = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
afterAll(() => busy.stop(true));

/** Returns the workers, including orphans, whose environment contains this text. */
function workersOf(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return isWorker(Number(pid)) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
      } catch {
        return false; // the process has already exited
      }
    })
    .map(Number);
}

/**
 * Starts `inkling serve` with its own data folder. The folder also identifies its workers, which get it in a
 * variable.
 */
function serve(env: Record<string, string> = {}) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const child = Bun.spawn([process.execPath, ...BUN_FLAGS, MAIN, "serve"], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH ?? "",
      INKLING_DATA_DIR: dataDir,
      BUN_TEST_MARK: dataDir,
      INKLING_PORT: String(freePort()),
      INKLING_ADMIN_PORT: String(freePort()),
      INKLING_OFFLINE: "1",
      INKLING_WORKERS: "2",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { child, dataDir };
}

describe.if(isLinux)("a start that fails leaves no worker behind, and reports why", () => {
  type Row = [name: string, env: Record<string, string>, code: number, message: RegExp];
  const rows: Row[] = [
    ["a setting", { INKLING_PORT: "0" }, 2, /^Cannot start:\n {2}INKLING_PORT must be a whole number/],
    ["a port in use", { INKLING_PORT: String(busy.port) }, 1, /^inkling: port \d+ on .* is in use by/],
    ["no database", { INKLING_DATABASE_URL: "sqlite:///dev/null/no.db" }, 1, /^inkling: sqlite:.*no.db/m],
  ];
  test.each(rows)("%s", async (_, env, code, message) => {
    const { child, dataDir } = serve(env);
    expect(await new Response(child.stderr).text()).toMatch(message);
    expect(await child.exited).toBe(code);
    await until(() => workersOf(dataDir).length === 0);
  });

  test("killed while it loads", async () => {
    const { child, dataDir } = serve();
    await until(() => workersOf(dataDir).length > 0);
    child.kill("SIGKILL");
    await child.exited;
    await until(() => workersOf(dataDir).length === 0);
  });
});
