// proc.ts: runs processes, pins them to cores, and reads what the operating system records about them. It works only on
// Linux.

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

/** What a process, and children that it has waited for, have used. */
export interface Usage {
  /** User and system time of all threads, in µs. */
  readonly cpu: number;
  /** System time, in µs. */
  readonly system: number;
  readonly pageFaults: number;
}

/** Returns values that a contestant records, by measure and unit. */
export const usageValues = ({ cpu, system, pageFaults }: Usage) => ({
  "CPU, s": cpu / 1e6,
  "of this, the operating system, s": system / 1e6,
  "page faults, thousand": pageFaults / 1e3,
});

/** Parses the content of /proc/<pid>/stat. */
export function parseStat(text: string): Usage & { readonly parent: number } {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // the name in parentheses may contain spaces
  const total = (...places: number[]) => sum(places.map((i) => Number(fields[i])));
  const system = total(12, 14) * TICK_US;
  return {
    parent: total(1),
    cpu: total(11, 13) * TICK_US + system,
    system,
    pageFaults: total(7, 8, 9, 10),
  };
}

function stat(pid: number): ReturnType<typeof parseStat> | undefined {
  const text = read(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
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

/** Returns what a process and its present descendants have used. */
export function usageOf(pid: number): Usage {
  const all = processTree(pid).flatMap((one) => stat(one) ?? []);
  const total = (key: keyof Usage) => sum(all.map((usage) => usage[key]));
  return { cpu: total("cpu"), system: total("system"), pageFaults: total("pageFaults") };
}

/** Returns the user and system time of a process and its descendants, in µs. */
export const cpuMicroseconds = (pid: number): number => usageOf(pid).cpu;

/**
 * Returns the bytes that a process, and children that it has waited for, have read with system calls, including from
 * caches.
 */
export const bytesRead = (pid: number): number =>
  Number(/^rchar: (\d+)$/m.exec(read(`/proc/${pid}/io`) ?? "")?.[1] ?? 0);

/** Returns the number of open descriptors of a process; 0 if it has ended. */
export const descriptorsOf = (pid: number): number => entriesOf(`/proc/${pid}/fd`);

/** Returns the number of threads of a process; 0 if it has ended. */
export const threadsOf = (pid: number): number => entriesOf(`/proc/${pid}/task`);

function entriesOf(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

/** Memory in MB. */
export interface Memory {
  readonly resident: number;
  /** Resident memory, of which each of n processes that share a page counts one n-th. */
  readonly proportional: number;
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
    proportional: megabytes("Pss"),
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
