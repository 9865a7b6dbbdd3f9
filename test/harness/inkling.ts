// inkling.ts: the command line as a process of its own: what it writes, what it logs, and its end.
//
// A process that still runs after the tests of a file is killed (preload.ts).

import { resolve } from "node:path";
import { BUN_FLAGS } from "../../packages/cli/bin/launch.mjs";
import { fetch } from "./checked-fetch.ts";
import { until } from "./until.ts";

const CLI = resolve(import.meta.dir, "../../packages/cli");
/** As npm starts it: Node, which starts Bun. */
export const LAUNCHER = ["node", resolve(CLI, "bin/inkling.mjs")];
/** Without the launcher in between. */
export const DIRECT = [process.execPath, ...BUN_FLAGS, resolve(CLI, "src/main.ts")];

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const running = new Set<Program>();
/** Kills what runs, and waits for it. */
export const endPrograms = () => Promise.all([...running].map((program) => program.stop("SIGKILL")));

export class Program {
  readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** What was written so far. */
  out = "";
  err = "";
  private readonly read: Promise<unknown>;

  constructor(command: readonly string[], { cwd, env = process.env }: ProgramOptions = {}) {
    this.child = Bun.spawn([...command], {
      ...(cwd !== undefined && { cwd }),
      env: { ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(this);
    void this.child.exited.then(() => running.delete(this));
    const follow = async (name: "out" | "err", stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) this[name] += decoder.decode(chunk, { stream: true });
    };
    this.read = Promise.all([follow("out", this.child.stdout), follow("err", this.child.stderr)]);
  }

  /** All log lines of one event. */
  events(name: string): Record<string, unknown>[] {
    return this.err
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line));
  }

  /** Waits for a state of things; fails with what was written when the process exits before. */
  async until(what: string, isSo: () => unknown): Promise<void> {
    await until(async () => {
      if (await isSo()) return true;
      const { exitCode, signalCode } = this.child;
      if (exitCode === null && signalCode === null) return false;
      throw new Error(`exited with ${signalCode ?? exitCode} before ${what}:\n${this.out}\n${this.err}`);
    });
  }

  /** @returns the exit code, once all that it wrote is here */
  async end(): Promise<number> {
    const code = await this.child.exited;
    await this.read;
    return code;
  }

  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    this.child.kill(signal);
    return this.child.exited;
  }
}

/** Enough new connections to reach every worker. */
const CONNECTIONS = 12;

/** A program that serves the API and the admin API. */
export class ServerProgram extends Program {
  port: number;
  adminPort: number;
  readonly token: string;

  constructor(
    command: readonly string[],
    at: { readonly port: number; readonly adminPort: number; readonly token: string },
    options?: ProgramOptions,
  ) {
    super(command, options);
    this.port = at.port;
    this.adminPort = at.adminPort;
    this.token = at.token;
  }

  /** On a connection of its own. */
  get(path: string, token = this.token): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, {
      headers: { Authorization: `Bearer ${token}`, Connection: "close" },
      keepalive: false,
    });
  }

  /** The status of a path; undefined where there is no answer. */
  async status(path = "/readyz", token = this.token): Promise<number | undefined> {
    try {
      const response = await this.get(path, token);
      await response.arrayBuffer();
      return response.status;
    } catch {
      return undefined;
    }
  }

  /** Waits until the response on each of many connections passes: then it does for every worker. */
  async everywhere(path: string, isSo: (response: Response) => unknown, token = this.token): Promise<void> {
    const isSoOnce = async () => isSo(await this.get(path, token));
    const isSoEach = async () =>
      (await Promise.all(Array.from({ length: CONNECTIONS }, isSoOnce))).every(Boolean);
    await this.until(`${path} passed on every worker`, isSoEach);
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)).text();
  }

  /** The sum of a metric's rows; -1 where there is no answer. */
  async metric(name: string, labels = ""): Promise<number> {
    const text = await this.metrics().catch(() => undefined);
    if (text === undefined) return -1;
    return text
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter((line) => line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
}

/** Runs `inkling ARGS` to its end. */
export async function inkling(
  args: readonly string[],
  options?: ProgramOptions,
): Promise<{ code: number; out: string; err: string }> {
  const program = new Program([...LAUNCHER, ...args], options);
  const code = await program.end();
  return { code, out: program.out, err: program.err };
}
