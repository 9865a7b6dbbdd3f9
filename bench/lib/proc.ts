// proc.ts: runs processes, pins them to cores, and reads what the operating system records about them. It works only on
// Linux.
//
// err  Error if a command that is run fails or ends early; a process that has ended counts as zero

import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { sum } from "./stats.ts";

/** Microseconds of one unit in /proc/<pid>/stat. USER_HZ is 100 on every Linux that Bun and Node run on. */
const TICK_US = 10_000;
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/**
 * Returns a command pinned to one core, counted from 0. On a machine with fewer cores, the command gets the last core.
 * Without taskset, the command is not pinned.
 */
export function pinned(core: number, command: readonly string[]): string[] {
  if (Bun.which("taskset") === null) return [...command];
  return ["taskset", "-c", String(Math.min(core, cpus().length - 1)), ...command];
}

interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The environment of everything that is measured, without settings from the caller's shell. */
export const BARE_ENV = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };

/** Runs a command to its end. @returns its standard output @throws Error with its last output if it fails */
export async function output(command: readonly string[], { cwd, env }: Surroundings = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    ...(cwd !== undefined && { cwd }),
    env: { ...BARE_ENV, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) === 0) return out;
  throw new Error(
    `${command.join(" ")} ended with ${child.exitCode ?? child.signalCode}: ${errors.slice(-2000)}`,
  );
}

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

/** @returns a function that reads the next line of a command's output @throws Error if the command has ended */
export function lineReader(
  child: Bun.Subprocess<Bun.SpawnOptions.Writable, "pipe">,
  command: readonly string[],
): () => Promise<string> {
  const lines = linesOf(child.stdout);
  return async () => {
    const line = await lines.next();
    if (line.done) throw new Error(`${command.join(" ")} ended with ${await child.exited}`);
    return line.value;
  };
}

/** Returns the CPU time of a process's main thread in ns. */
export const mainThreadNs = (pid: number): number =>
  Number(read(`/proc/${pid}/task/${pid}/schedstat`)?.split(" ")[0] ?? 0);

interface Stat {
  readonly parent: number;
  readonly ticks: number;
}

function stat(pid: number): Stat | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // the name in parentheses may contain spaces
  // user and system time, of the process and of children that it has waited for
  return { parent: Number(fields[1]), ticks: sum([11, 12, 13, 14].map((i) => Number(fields[i]))) };
}

/** Returns the process and all its present descendants. */
export function processTree(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), stat(Number(name))?.parent] as const);
  const found = [pid];
  for (const one of found)
    found.push(...parents.filter(([, parent]) => parent === one).map(([child]) => child));
  return found;
}

/** Returns the user and system time of a process and its descendants, including threads, in µs. */
export function cpuMicroseconds(pid: number): number {
  return sum(processTree(pid).map((one) => stat(one)?.ticks ?? 0)) * TICK_US;
}

/**
 * Returns the bytes that a process, and children that it has waited for, have read with system calls, including from
 * caches.
 */
export const bytesRead = (pid: number): number =>
  Number(/^rchar: (\d+)$/m.exec(read(`/proc/${pid}/io`) ?? "")?.[1] ?? 0);

/** Returns the number of open descriptors of a process; 0 if it has ended. */
export function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Memory in MB. */
export interface Memory {
  readonly resident: number;
  /** Resident memory that no other process shares, which is the cost of one more process. */
  readonly private: number;
  /** Resident memory without files, which is what the process allocated. */
  readonly anonymous: number;
}

/** Returns the memory of one process; zeros if it has ended. */
export function memoryOf(pid: number): Memory {
  const text = read(`/proc/${pid}/smaps_rollup`) ?? "";
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024) / 1e6;
  return {
    resident: megabytes("Rss"),
    private: megabytes("Private_Clean") + megabytes("Private_Dirty"),
    anonymous: megabytes("Anonymous"),
  };
}

/** Returns the memory of a process and its descendants that no other process shares, in MB. */
export const privateMemory = (pid: number): number =>
  sum(processTree(pid).map((one) => memoryOf(one).private));

/** Returns the peak resident memory of a process in MB; 0 if it has ended. */
export const peakOf = (pid: number): number =>
  (Number(/^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? 0) * 1024) / 1e6;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // the process has ended
  }
}
