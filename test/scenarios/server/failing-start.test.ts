// failing-start.test.ts: tests the message and the exit code of `inkling serve` if it cannot start.

import { afterAll, describe, expect, test } from "bun:test";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { MAIN } from "../../harness/bundled-program.ts";
import { freePort } from "../../harness/ports.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import { onStart } from "../../harness/thread-faults.ts";

const isLinux = process.platform === "linux";
const busy = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
afterAll(() => busy.stop(true));

/** Starts `inkling serve` with its own data folder. */
function serve(env: Record<string, string> = {}) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const child = Bun.spawn([process.execPath, ...BUN_FLAGS, MAIN, "serve"], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH ?? "",
      INKLING_DATA_DIR: dataDir,
      INKLING_PORT: String(freePort()),
      INKLING_ADMIN_PORT: String(freePort()),
      INKLING_OFFLINE: "1",
      INKLING_WORKERS: "2",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return child;
}

describe.if(isLinux)("a start that fails reports why", () => {
  type Row = [name: string, env: Record<string, string>, code: number, message: RegExp];
  const rows: Row[] = [
    ["a setting", { INKLING_PORT: "0" }, 2, /^Invalid settings:\n {2}INKLING_PORT must be a whole number/],
    ["a port in use", { INKLING_PORT: String(busy.port) }, 1, /^inkling: port \d+ on .* is in use by/],
    ["no database", { INKLING_DATABASE_URL: "sqlite:///dev/null/no.db" }, 1, /^inkling: sqlite:.*no.db/m],
    [
      "a thread that throws while it loads",
      onStart("throw new Error('odd module')"),
      1,
      /^inkling: worker 0 ended: .*odd module/m,
    ],
    [
      "a thread that throws once it runs",
      onStart("setTimeout(() => { throw new Error('odd timer'); }, 50)"),
      1,
      /odd timer[\s\S]*^inkling: worker 0 ended|^inkling: worker 0 ended: .*odd timer/m,
    ],
  ];
  test.each(rows)("%s", async (_, env, code, message) => {
    const child = serve(env);
    expect(await new Response(child.stderr).text()).toMatch(message);
    expect(await child.exited).toBe(code);
  });
});
