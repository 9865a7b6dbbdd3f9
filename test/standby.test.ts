// The worker that `inkling serve` starts before it has read its settings: it is used, or gone, however the start ends.

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { StandbyWorker } from "../packages/server/src/cluster/standby.ts";
import { fetch } from "./checked-fetch.ts";
import { freePort } from "./ports.ts";
import { smallRelease, temporaryFolder } from "./release.ts";

const MAIN = resolve(import.meta.dir, "../packages/cli/src/main.ts");
const isLinux = process.platform === "linux";
const busy = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
afterAll(() => busy.stop(true));

/** Workers whose environment holds this text, whoever their parent is now. */
function workersOf(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");
        return read("cmdline").includes("worker-main") && read("environ").includes(mark);
      } catch {
        return false; // it has ended meanwhile
      }
    })
    .map(Number);
}

async function until(isSo: () => unknown): Promise<void> {
  while (!(await isSo())) await Bun.sleep(10);
}

interface Serve {
  readonly child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  readonly dataDir: string;
  readonly port: number;
}

/** `inkling serve` with a data folder of its own, which is the mark of its workers, too. */
function serve(env: Record<string, string> = {}, args: readonly string[] = [], hasRelease = true): Serve {
  const dataDir = temporaryFolder();
  if (hasRelease) smallRelease(dataDir, 1);
  const port = freePort();
  const child = Bun.spawn([process.execPath, "--no-install", "--no-env-file", MAIN, "serve", ...args], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH ?? "",
      INKLING_DATA_DIR: dataDir,
      INKLING_PORT: String(port),
      INKLING_ADMIN_PORT: String(freePort()),
      INKLING_OFFLINE: "1",
      INKLING_WORKERS: "2",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { child, dataDir, port };
}

async function answers({ port }: Serve): Promise<void> {
  await until(() =>
    fetch(`http://127.0.0.1:${port}/livez`, { keepalive: false }).then(
      () => true,
      () => false,
    ),
  );
}

describe.if(isLinux)("a start that fails leaves no worker behind, and says what is wrong", () => {
  type Row = [name: string, env: Record<string, string>, hasRelease: boolean, code: number, said: RegExp];
  const rows: Row[] = [
    ["a setting", { INKLING_PORT: "0" }, true, 2, /^Cannot start:\n {2}INKLING_PORT must be a whole number/],
    ["no release", {}, false, 1, /^inkling: there is no release in /],
    ["a port in use", { INKLING_PORT: String(busy.port) }, true, 1, /^inkling: port \d+ on .* is in use by/],
    [
      "no database",
      { INKLING_DATABASE_URL: "sqlite:///dev/null/no.db" },
      true,
      1,
      /^inkling: sqlite:.*no.db/m,
    ],
  ];
  test.each(rows)("%s", async (_, env, hasRelease, code, said) => {
    const { child, dataDir } = serve(env, [], hasRelease);
    expect(await new Response(child.stderr).text()).toMatch(said);
    expect(await child.exited).toBe(code);
    await until(() => workersOf(dataDir).length === 0);
  });

  test("a release that does not open", async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    const folder = join(dataDir, "segments");
    for (const file of readdirSync(folder)) writeFileSync(join(folder, file), "not a segment");
    const { child } = serve({ INKLING_DATA_DIR: dataDir }, [], false);
    expect(await new Response(child.stderr).text()).toMatch(/^inkling: release .*\nhint: /m);
    expect(await child.exited).toBe(1);
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

describe.if(isLinux)("a start that succeeds", () => {
  test("takes it as its first worker", async () => {
    const server = serve();
    await until(() => workersOf(server.dataDir).length === 1);
    const [first] = workersOf(server.dataDir);
    await answers(server);
    await until(() => workersOf(server.dataDir).length === 2);
    expect(workersOf(server.dataDir)).toContain(first!);
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    expect(workersOf(server.dataDir)).toEqual([]);
  });

  test("starts another one when it died before it was needed", async () => {
    const server = serve();
    await until(() => workersOf(server.dataDir).length === 1);
    process.kill(workersOf(server.dataDir)[0]!, "SIGKILL");
    await answers(server);
    await until(() => workersOf(server.dataDir).length === 2);
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
  });

  test("dismisses it where a flag asks for one process", async () => {
    const server = serve({}, ["--workers", "1"]);
    await answers(server);
    await until(() => workersOf(server.dataDir).length === 0);
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
  });
});

describe.if(isLinux)("StandbyWorker", () => {
  const events = { message: () => {}, ended: () => {} };

  test("is taken once", () => {
    const standby = new StandbyWorker();
    const child = standby.take(events);
    expect(child?.pid).toBeGreaterThan(0);
    expect(standby.take(events)).toBeUndefined();
    standby.dismiss(); // no longer its business
    expect(child?.killed).toBe(false);
    child?.kill("SIGKILL");
  });

  test("is not there to be taken once it is dismissed", () => {
    const standby = new StandbyWorker();
    standby.dismiss();
    standby.dismiss();
    expect(standby.take(events)).toBeUndefined();
  });
});
