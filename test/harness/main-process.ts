// main-process.ts: `inkling serve` as a service manager starts it: the real entry point, in a process of its own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BUN_FLAGS } from "../../packages/cli/bin/launch.mjs";
import { MAIN } from "./bundled-program.ts";
import { fetch } from "./checked-fetch.ts";
import { freePort } from "./ports.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { freshToken } from "./tokens.ts";
import { until } from "./until.ts";

interface MainOptions {
  /** Of one that was started before. */
  readonly dataDir?: string;
  readonly token?: string;
  readonly env?: Record<string, string>;
  readonly program?: string;
  /** A command that starts it. */
  readonly prefix?: readonly string[];
}

export class MainProcess {
  readonly token: string;
  readonly dataDir: string;
  readonly port = freePort();
  readonly adminPort = freePort();
  readonly child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  log = "";

  constructor({ env = {}, program = process.execPath, prefix = [], dataDir, token }: MainOptions = {}) {
    this.token = token ?? freshToken();
    this.dataDir = dataDir ?? temporaryFolder();
    if (dataDir === undefined) smallRelease(this.dataDir, 1);
    const command = [program, ...BUN_FLAGS, MAIN, "serve"];
    this.child = Bun.spawn([...prefix, ...command], {
      cwd: this.dataDir,
      env: {
        PATH: process.env.PATH ?? "",
        INKLING_DATA_DIR: this.dataDir,
        INKLING_PORT: String(this.port),
        INKLING_ADMIN_PORT: String(this.adminPort),
        INKLING_API_KEY: this.token,
        INKLING_RATE: "0",
        INKLING_OFFLINE: "1",
        INKLING_WORKERS: "2",
        INKLING_LOG_LEVEL: "info",
        ...env,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    void this.readLog();
  }

  private async readLog(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stderr) this.log += decoder.decode(chunk, { stream: true });
  }

  /** All log lines of one event. */
  events(name: string): Record<string, unknown>[] {
    return this.log
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line));
  }

  /** The status of a path, on a connection of its own; undefined where there is no answer. */
  async status(path = "/readyz", token = this.token): Promise<number | undefined> {
    try {
      const headers = { Authorization: `Bearer ${token}`, Connection: "close" };
      const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers, keepalive: false });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return undefined;
    }
  }

  async ready(): Promise<void> {
    await until(async () => {
      if (this.child.exitCode !== null) throw new Error(`it ended with ${this.child.exitCode}: ${this.log}`);
      return (await this.metric("inkling_workers", 'state="serving"')) >= this.workers;
    });
  }

  private get workers(): number {
    return childrenOf(this.child.pid).length || 1;
  }

  /** The sum of a metric's rows; -1 where there is no answer. */
  async metric(name: string, labels = ""): Promise<number> {
    try {
      const text = await (await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)).text();
      return text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .filter((line) => line.includes(labels))
        .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    } catch {
      return -1;
    }
  }

  /** Ends whatever is left of it. */
  async end(): Promise<void> {
    const left = [this.child.pid, ...childrenOf(this.child.pid)];
    for (const pid of left) signal(pid, "SIGKILL");
    await this.child.exited;
    await until(() => !left.some(isAlive));
  }
}

/** @returns false where it has ended meanwhile */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Whether a process is a worker, of a clone or of a bundle. */
export const isWorker = (pid: number) =>
  /\/worker(-main\.ts|\.js)\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));

/** Workers of a primary. */
export function childrenOf(pid: number): number[] {
  const children: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      if (parent === pid && isWorker(Number(name))) children.push(Number(name));
    } catch {
      // it has ended meanwhile
    }
  }
  return children;
}

/** Whether it runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat[stat.lastIndexOf(")") + 2] !== "Z";
  } catch {
    return false;
  }
}

export const databaseOf = ({ dataDir }: MainProcess) => `sqlite://${join(dataDir, "inkling.db")}`;
