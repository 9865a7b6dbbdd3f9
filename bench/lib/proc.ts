// proc.ts: processes: run them, on which core, and what the operating system accounts for them. Linux only.
//
// err  a process that has ended counts nothing

import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { sum } from "./stats.ts";

/** USER_HZ, the unit of /proc/<pid>/stat: 100 on every Linux that Bun and Node run on. */
const TICK_US = 10_000;
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** A command pinned to one core, counted from 0; with fewer cores it gets the last. */
export function pinned(core: number, command: readonly string[]): string[] {
  if (Bun.which("taskset") === null) return [...command];
  return ["taskset", "-c", String(Math.min(core, cpus().length - 1)), ...command];
}

interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The environment of everything that is measured: no setting of the caller's shell. */
export const BARE_ENV = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };

/** Runs a command to its end. @returns its standard output @throws Error when it fails, with its last words */
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

/** @returns reads the next line that a command prints @throws Error when it has ended */
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

/** CPU time of a process's main thread, in ns. */
export const mainThreadNs = (pid: number): number =>
  Number(read(`/proc/${pid}/task/${pid}/schedstat`)?.split(" ")[0] ?? 0);

interface Stat {
  readonly parent: number;
  readonly ticks: number;
}

function stat(pid: number): Stat | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  // user, system, and both of children that ended and were waited for
  return { parent: Number(fields[1]), ticks: sum([11, 12, 13, 14].map((i) => Number(fields[i]))) };
}

/** A process and all that it started, as they are now. */
export function processTree(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), stat(Number(name))?.parent] as const);
  const found = [pid];
  for (const one of found)
    found.push(...parents.filter(([, parent]) => parent === one).map(([child]) => child));
  return found;
}

/** User and system time of a process with all that it started, threads included, in µs. */
export function cpuMicroseconds(pid: number): number {
  return sum(processTree(pid).map((one) => stat(one)?.ticks ?? 0)) * TICK_US;
}

/** What a process, and those that it started and waited for, has read of files, from caches too. */
export const bytesRead = (pid: number): number =>
  Number(/^rchar: (\d+)$/m.exec(read(`/proc/${pid}/io`) ?? "")?.[1] ?? 0);

/** Open descriptors of a process; 0 when it has ended. */
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
  /** Resident and of no other process: what one process more costs. */
  readonly private: number;
  /** Resident and of no file: what the process allocated. */
  readonly anonymous: number;
}

/** Memory of a process only; zeros when it has ended. */
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

/** Memory that a process and all that it started share with no other, in MB. */
export const privateMemory = (pid: number): number =>
  sum(processTree(pid).map((one) => memoryOf(one).private));

/** The most memory that a process ever had resident, in MB; 0 when it has ended. */
export const peakOf = (pid: number): number =>
  (Number(/^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? 0) * 1024) / 1e6;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // the process has ended
  }
}
