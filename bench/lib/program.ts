// program.ts: runs a program that looks up values on request (peers/reader.mjs, peers/libmaxminddb.c, peers/floor.c) on
// the server's core.

import { lineReader, pinned, SERVER_CORE } from "./proc.ts";
import type { Run } from "./record.ts";
import { sum } from "./stats.ts";

export interface Program {
  readonly pid: number;
  readonly version: string;
  /**
   * Looks up the first `count` values in one of the program's ways.
   * @returns ns per value: the mean of each block, and the mean of all blocks
   */
  lookUp(way: string, count: number, block: number): Promise<{ blocks: number[]; mean: number }>;
  stop(): Promise<void>;
}

/**
 * The environment of readers. A reader waits while others run. If its allocator returned its memory during that time,
 * its next lookups would cause page faults that those of a busy program do not cause.
 */
export const READER_ENV = { MIMALLOC_PURGE_HOLES: "0", MIMALLOC_PURGE_DELAY: "-1" };

/**
 * Starts a program and waits until it has read its data.
 * @param env variables in addition to this process's
 */
export async function startProgram(
  run: Run,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = Bun.spawn(pinned(SERVER_CORE, command), {
    env: { ...process.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const next = lineReader(child, command);
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  run.defer(stop);
  const version = (await next()).replace(/^ready /, "");
  const lookUp = async (way: string, count: number, block: number) => {
    child.stdin.write(`${way} ${count} ${block}\n`);
    await child.stdin.flush();
    const blocks: number[] = JSON.parse(await next());
    return { blocks, mean: sum(blocks) / blocks.length };
  };
  return { pid: child.pid, version, lookUp, stop };
}
