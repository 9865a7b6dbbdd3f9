// server.ts: starts the servers that are measured over HTTP, and waits until they answer.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDataFolder } from "@inkling/data";
import { newKeyToken } from "@inkling/store";
import { inkling, releaseFolder } from "./data.ts";
import { BARE_ENV, pinned, processTree } from "./proc.ts";
import type { Checkout, Run } from "./record.ts";

export interface Running {
  /** The server's process, not a launcher's. */
  readonly pid: number;
  readonly port: number;
  /** Path of the file with the server's standard error. */
  readonly errors: string;
  /** Stops the server and waits until it has ended. */
  readonly stop: () => Promise<void>;
}

/** A key that every server under measurement accepts. */
export const TOKEN = newKeyToken("live", (n) => crypto.getRandomValues(new Uint8Array(n)));
export const AUTHORIZED = { Authorization: `Bearer ${TOKEN}` };

/** Returns a port on which nothing listens at present. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

/** Creates a temporary folder that is removed when the part ends. */
export function temporaryFolder(run: Run, below = tmpdir()): string {
  const folder = mkdtempSync(join(below, "inkling-bench-"));
  run.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** If undefined, the system chooses the core. */
  readonly core?: number | undefined;
  readonly limitSeconds?: number;
  /** Pause between two probes, in milliseconds. */
  readonly probeMs?: number;
}

/** Starts a command and waits until a path on its port returns 200. */
export async function startServer(
  run: Run,
  command: readonly string[],
  port: number,
  path: string,
  { env, cwd, core, limitSeconds = 120, probeMs = 20 }: StartOptions = {},
): Promise<Running> {
  const errors = join(temporaryFolder(run), "stderr.txt");
  const child = Bun.spawn(core === undefined ? [...command] : pinned(core, command), {
    ...(cwd !== undefined && { cwd }),
    env: { ...BARE_ENV, ...env },
    stdout: "ignore",
    stderr: Bun.file(errors), // a file, as in production: a pipe would involve this process in the measurement
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await child.exited;
    clearTimeout(timer);
  };
  run.defer(stop);
  for (const from = performance.now(); ; await Bun.sleep(probeMs)) {
    const isLate = performance.now() - from > limitSeconds * 1000;
    if (isLate || child.exitCode !== null || child.signalCode !== null) {
      const last = readFileSync(errors, "utf8").slice(-2000);
      throw new Error(`${command.join(" ")} ${isLate ? "does not answer" : "ended"}: ${last}`);
    }
    const request = fetch(`http://127.0.0.1:${port}${path}`, { headers: AUTHORIZED, keepalive: false });
    const response = await request.catch(() => undefined); // not listening yet
    await response?.bytes();
    if (response?.status === 200) return { pid: child.pid, port, errors, stop };
  }
}

interface InklingOptions {
  /** Defaults to the folder of the checkout's release. */
  readonly dataDir?: string;
  readonly workers?: number;
  readonly core?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs `inkling serve` as in production, with keys, limits, usage, metrics and access log. Only the rate limit is
 * higher, and publishers are not contacted.
 */
export async function startInkling(run: Run, checkout: Checkout, options: InklingOptions = {}) {
  const { dataDir = releaseFolder(checkout), workers = 1, core, env } = options;
  // Takes the lock that builds take. Otherwise the server would rebuild old data a minute after its start, and the
  // build would disturb the measurement. A server that follows a channel builds nothing, and needs the lock itself.
  if (env?.INKLING_CHANNEL === undefined && !run.locked.has(dataDir)) {
    run.defer(lockDataFolder(dataDir));
    run.locked.add(dataDir);
  }
  const [port, adminPort] = [freePort(), freePort()];
  const settings = {
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(adminPort),
    INKLING_API_KEY: TOKEN,
    INKLING_OFFLINE: "1",
    INKLING_RATE: "100000000",
    INKLING_BURST: "100000000",
    INKLING_WORKERS: String(workers),
    INKLING_DATABASE_URL: `sqlite://${join(temporaryFolder(run), "inkling.db")}`,
    ...env,
  };
  const command = inkling(checkout.root, "serve");
  const running = await startServer(run, command, port, "/readyz", { env: settings, core });
  const [launcher, server] = processTree(running.pid); // the Node launcher only forwards signals
  return { ...running, adminPort, pid: server ?? launcher! };
}
