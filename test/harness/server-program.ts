// server-program.ts: starts `inkling serve` as a service manager does: the real entry point in a separate process.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUN_FLAGS } from "../../packages/cli/bin/launch.mjs";
import { MAIN } from "./bundled-program.ts";
import { fetch } from "./checked-fetch.ts";
import { Program } from "./inkling.ts";
import { freePort } from "./ports.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { freshToken } from "./tokens.ts";

export interface ServerProgramOptions {
  /** A folder with a release. The default is a new folder with small release 1. */
  readonly dataDir?: string;
  /** An API key with all scopes. */
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A program to run instead of Bun. */
  readonly program?: string;
  /** A command that starts the server's command. */
  readonly prefix?: readonly string[];
  /** The address at which tests reach the server. */
  readonly host?: string;
}

/** Enough new connections to reach every worker. The chance that a worker is missed is 1 in 2^31. */
const CONNECTIONS = 32;

/** A server that is offline, with two workers, no rate limit, and a log at level info. */
export class ServerProgram extends Program {
  readonly token: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly port: number;
  readonly adminPort: number;
  private readonly host: string;
  private readonly workerCount: number;

  constructor(options: ServerProgramOptions = {}) {
    const { env = {}, program = process.execPath, prefix = [], host = "127.0.0.1" } = options;
    const { token = freshToken(), dataDir = temporaryFolder() } = options;
    if (options.dataDir === undefined) smallRelease(dataDir, 1);
    const settings = {
      INKLING_DATA_DIR: dataDir,
      INKLING_PORT: String(freePort()),
      INKLING_ADMIN_PORT: String(freePort()),
      INKLING_API_KEY: token,
      INKLING_RATE: "0",
      INKLING_OFFLINE: "1",
      INKLING_WORKERS: "2",
      INKLING_LOG_LEVEL: "info",
      ...env,
    };
    super([...prefix, program, ...BUN_FLAGS, MAIN, "serve"], {
      cwd: dataDir,
      env: { PATH: process.env.PATH, ...settings },
    });
    this.token = token;
    this.dataDir = dataDir;
    this.databaseUrl = env.INKLING_DATABASE_URL ?? `sqlite://${join(dataDir, "inkling.db")}`;
    this.port = Number(settings.INKLING_PORT);
    this.adminPort = Number(settings.INKLING_ADMIN_PORT);
    this.host = host;
    this.workerCount = Number(settings.INKLING_WORKERS);
  }

  /** Sends a GET request on a new connection. */
  get(path: string, token = this.token): Promise<Response> {
    return this.send("GET", path, token);
  }

  /**
   * Sends a POST request on a new connection.
   * @param body sent as JSON
   */
  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.send("POST", path, this.token, {
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  }

  private send(
    method: string,
    path: string,
    token: string,
    { headers, body }: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    return fetch(`http://${this.host}:${this.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, Connection: "close", ...headers },
      keepalive: false,
      ...(body !== undefined && { body }),
    });
  }

  /** Returns the status of a path, or undefined if there is no answer. */
  async status(path = "/readyz", token = this.token): Promise<number | undefined> {
    try {
      const response = await this.get(path, token);
      await response.arrayBuffer();
      return response.status;
    } catch {
      return undefined;
    }
  }

  /**
   * Waits until the responses on many connections all satisfy the condition, which then holds for every
   * worker.
   */
  async everywhere(path: string, isSo: (response: Response) => unknown, token = this.token): Promise<void> {
    const isSoOnce = async () => isSo(await this.get(path, token));
    const isSoEach = async () =>
      (await Promise.all(Array.from({ length: CONNECTIONS }, isSoOnce))).every(Boolean);
    await this.until(`${path} passed on every worker`, isSoEach);
  }

  /** Waits until every worker serves. If the server exits first, fails with its log. */
  async ready(): Promise<this> {
    const isReady = async () => (await this.metric("inkling_workers", 'state="serving"')) >= this.workerCount;
    await this.until("it was ready", isReady);
    return this;
  }

  /** Returns the sum of a metric's rows, or -1 if there is no answer. */
  async metric(name: string, labels = ""): Promise<number> {
    try {
      const text = await (await fetch(`http://${this.host}:${this.adminPort}/metrics`)).text();
      return text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .filter((line) => line.includes(labels))
        .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    } catch {
      return -1;
    }
  }

  async kill(): Promise<void> {
    signal(this.child.pid, "SIGKILL");
    await this.child.exited;
  }
}

/** @returns false if the process has already exited */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Returns the text of a file in /proc, or "" if the process has exited. */
export function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
