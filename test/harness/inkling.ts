// inkling.ts: runs the command line as a separate process, and reads its output, its log and its exit code.
//
// preload.ts kills a process that still runs after a file's tests.

import { resolve } from "node:path";
import { BUN_FLAGS } from "../../packages/cli/bin/launch.mjs";
import { until } from "./until.ts";

const CLI = resolve(import.meta.dir, "../../packages/cli");
/** Starts the command as npm does: Node, which starts Bun. */
export const LAUNCHER = ["node", resolve(CLI, "bin/inkling.mjs")];
/** Starts the command without the launcher. */
export const DIRECT = [process.execPath, ...BUN_FLAGS, resolve(CLI, "src/main.ts")];

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const running = new Set<Program>();
/** Kills the running programs and waits for their exit. */
export const endPrograms = () => Promise.all([...running].map((program) => program.stop("SIGKILL")));

export class Program {
  readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** The output so far. */
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

  /** Returns all log lines of an event. */
  events(name: string): Record<string, unknown>[] {
    return this.err
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line));
  }

  /** Waits for a condition. If the process exits first, fails with its output. */
  async until(what: string, isSo: () => unknown): Promise<void> {
    await until(async () => {
      if (await isSo()) return true;
      const { exitCode, signalCode } = this.child;
      if (exitCode === null && signalCode === null) return false;
      throw new Error(`exited with ${signalCode ?? exitCode} before ${what}:\n${this.out}\n${this.err}`);
    });
  }

  /** @returns the exit code, after all output has been read */
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

/** Runs `inkling ARGS` until it exits. */
export async function inkling(
  args: readonly string[],
  options?: ProgramOptions,
): Promise<{ code: number; out: string; err: string }> {
  const program = new Program([...LAUNCHER, ...args], options);
  const code = await program.end();
  return { code, out: program.out, err: program.err };
}
