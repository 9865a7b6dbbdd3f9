// heap.ts: what a process allocates, by the state of its heap (peers/heap.ts) and the runtime's log of collections.

import { existsSync, readFileSync, rmSync } from "node:fs";

/** Types with fewer objects for each request are the runtime's own work. */
const LEAST = 0.05;
const LIMIT_MS = 10_000;

export interface Heap {
  readonly bytes: number;
  /** Objects by type. */
  readonly types: Readonly<Record<string, number>>;
}

/** The state of a process's heap, which it writes to a file. @throws Error when it does not within 10 s */
export async function heapOf(pid: number, file: string): Promise<Heap> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  for (const from = performance.now(); !existsSync(file); await Bun.sleep(5))
    if (performance.now() - from > LIMIT_MS) throw new Error(`${pid} does not write the state of its heap`);
  return JSON.parse(readFileSync(file, "utf8"));
}

/**
 * What was allocated for each of so many requests.
 * @param first one right before `before`: what writing the state allocates
 */
export function allocated(first: Heap, before: Heap, after: Heap, requests: number): Heap {
  const more = (of: (heap: Heap) => number) => (of(after) - of(before) - (of(before) - of(first))) / requests;
  const types = Object.keys(after.types).map(
    (type) => [type, more((heap) => heap.types[type] ?? 0)] as const,
  );
  const some = types.filter(([, count]) => count >= LEAST).toSorted(([, a], [, b]) => b - a);
  return { bytes: more(({ bytes }) => bytes), types: Object.fromEntries(some) };
}

/** Pauses of the collections in a log that BUN_JSC_logGC=1 made, in ms. */
export const collectionsIn = (log: string): number[] =>
  [...log.matchAll(/=> (?:Eden|Full)Collection.* p=([\d.]+)ms/g)].map(([, ms]) => Number(ms));
