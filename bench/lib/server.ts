// server.ts: starts what is measured over HTTP, each pinned to the server's core, and waits until it answers.
//
// err  Error when it ends, or has not answered within the limit; with its last words

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDataFolder } from "@inkling/release-store";
import { newKeyToken } from "@inkling/server";
import { ROOT } from "./data.ts";
import { pinned, SERVER_CORE } from "./proc.ts";

export interface Running {
  readonly pid: number;
  readonly port: number;
  readonly adminPort?: number;
  stop(): Promise<void>;
}

/** A key that every server under measurement takes. */
export const TOKEN = newKeyToken("live", (n) => crypto.getRandomValues(new Uint8Array(n)));
const START_LIMIT_MS = 30_000;
const LAST_WORDS = 2_000;

/** A port that nothing listens on now. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** A folder that goes away with this process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-bench-"));
  process.on("exit", () => Bun.spawnSync(["rm", "-r", folder]));
  return folder;
}

/**
 * Starts a command and waits until a path of its port answers with 200.
 * @param core absent: wherever the system puts it
 */
export async function startServer(
  command: readonly string[],
  port: number,
  probe: { readonly path: string; readonly headers?: Record<string, string> },
  options: { readonly env?: Record<string, string>; readonly core?: number; readonly cwd?: string } = {},
): Promise<Running> {
  const log = join(temporaryFolder(), "stderr.txt");
  const child = Bun.spawn(options.core === undefined ? [...command] : pinned(options.core, command), {
    cwd: options.cwd ?? ROOT,
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...options.env },
    stdout: "ignore",
    stderr: Bun.file(log), // a file, as in production: a pipe would make this process part of the measurement
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await child.exited;
    clearTimeout(timer);
  };
  const from = performance.now();
  for (;;) {
    const late = performance.now() - from > START_LIMIT_MS;
    if (late || child.exitCode !== null || child.signalCode !== null) {
      await stop();
      throw new Error(`${command.join(" ")} ${late ? "does not answer" : "ended"}: ${lastWords(log)}`);
    }
    const answer = await fetch(`http://127.0.0.1:${port}${probe.path}`, {
      ...(probe.headers && { headers: probe.headers }),
      keepalive: false,
    }).catch(() => undefined); // not listening yet
    await answer?.bytes();
    if (answer?.status === 200) return { pid: child.pid, port, stop };
    await Bun.sleep(20);
  }
}

const lastWords = (path: string) => readFileSync(path, "utf8").slice(-LAST_WORDS);

export interface InklingOptions {
  readonly dataDir: string;
  readonly workers?: number;
  readonly core?: number | undefined;
  readonly env?: Record<string, string>;
}

const held = new Set<string>();

/**
 * Takes a data folder for this program, as a build does: a server that finds its data old builds it anew a minute after
 * its start, which would take the core, the memory and the processor time that are being measured.
 */
function holdDataFolder(dataDir: string): void {
  if (held.has(dataDir)) return;
  process.on("exit", lockDataFolder(dataDir));
  held.add(dataDir);
}

/** `inkling serve` as in production: keys, limits, usage, metrics and the access log are on; the limit is just high. */
export async function startInkling({ dataDir, workers = 1, core, env }: InklingOptions): Promise<Running> {
  holdDataFolder(dataDir);
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
    INKLING_DATABASE_URL: `sqlite://${join(temporaryFolder(), "inkling.db")}`,
    ...env,
  };
  const command = [process.execPath, "--no-install", join(ROOT, "packages/cli/src/main.ts"), "serve"];
  const running = await startServer(
    command,
    port,
    { path: "/readyz" },
    { env: settings, ...(core !== undefined && { core }) },
  );
  return { ...running, adminPort };
}

export const AUTHORIZED = { Authorization: `Bearer ${TOKEN}` };
export { SERVER_CORE };
