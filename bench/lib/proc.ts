// proc.ts: what the operating system knows of a process: CPU time and memory, and where it may run. Linux only.
//
// err  a process that is gone counts nothing

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, setPriority } from "node:os";

/** USER_HZ: what /proc/<pid>/stat counts in; 100 on every Linux that Bun and Node run on. */
const TICK_US = 10_000;

interface Stat {
  readonly parent: number;
  readonly ticks: number;
}

function stat(pid: number): Stat | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  // user, system, and both of children that ended and were waited for
  const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
  return { parent: Number(fields[1]), ticks };
}

/** A process and all that it started, as they are now. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = stat(Number(name))?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [pid];
  for (let i = 0; i < found.length; i++) found.push(...(children.get(found[i]!) ?? []));
  return found;
}

/** User and system time of a process with all that it started, threads included, in µs. */
export function cpuMicroseconds(pid: number): number {
  return processTree(pid).reduce((sum, one) => sum + (stat(one)?.ticks ?? 0), 0) * TICK_US;
}

export interface Memory {
  /** Resident, shared pages included; bytes. */
  readonly resident: number;
  /** Resident and no one else's: what one process more costs; bytes. */
  readonly private: number;
  /** Resident, each shared page divided by those who share it; bytes. */
  readonly proportional: number;
  /** Resident and of no file: what the process allocated; bytes. */
  readonly anonymous: number;
}

/** Memory of one process alone; undefined when it is gone. */
export function memoryOf(pid: number): Memory | undefined {
  const text = read(`/proc/${pid}/smaps_rollup`);
  if (text === undefined || text === "") return undefined;
  const kB = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;
  return {
    resident: kB("Rss"),
    private: kB("Private_Clean") + kB("Private_Dirty"),
    proportional: kB("Pss"),
    anonymous: kB("Anonymous"),
  };
}

/** The most memory that a process ever had resident, in bytes; undefined when it is gone. */
export function peakOf(pid: number): number | undefined {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? "");
  return found === null ? undefined : Number(found[1]) * 1024;
}

/**
 * A command that runs on one core alone. With fewer cores than asked for, they share the last.
 * @param core counted from 0: the server's is 0, the client's 1
 */
export function pinned(core: number, command: readonly string[]): string[] {
  if (Bun.which("taskset") === null) return [...command];
  return ["taskset", "-c", String(Math.min(core, cpus().length - 1)), ...command];
}

export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** What a process has that others on the machine have to wait for, as nice(1) counts. */
export const AHEAD = -15;

/**
 * Sets how nice processes are, with all their threads. Linux counts a thread's niceness within its session alone where
 * sessions are scheduled as groups (sched_autogroup_enabled), so the session's is set too.
 * @returns false, with nothing changed, when that is not allowed
 */
export function setNiceness(pids: readonly number[], niceness: number): boolean {
  try {
    for (const pid of pids) {
      for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
      if (existsSync(`/proc/${pid}/autogroup`)) writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
    }
    return true;
  } catch {
    return false; // only root may go ahead of others
  }
}

/** Time that the main threads of processes were ready to run, and had no core. */
export function readyMs(pids: readonly number[]): number {
  const waited = (pid: number) => Number(read(`/proc/${pid}/task/${pid}/schedstat`)?.split(" ")[1] ?? 0);
  return pids.reduce((sum, pid) => sum + waited(pid), 0) / 1e6;
}

function read(path: string): string | undefined {
  try {
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  } catch {
    return undefined; // it ended between two questions
  }
}
