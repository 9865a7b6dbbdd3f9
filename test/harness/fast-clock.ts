// fast-clock.ts: lets hours pass in a minute for a process, its threads and its children, or stops the process's
// clocks.
//
// A fast clock changes only Date. Time limits use performance.now, which keeps the machine's time, so no limit gets
// shorter. Long waits check Date every few seconds. A process and its children have the same time, because both count
// from the same moment.

import { join } from "node:path";

const HERE = JSON.stringify(import.meta.path);
const IN_THREADS = `import { preloadInThreads } from ${JSON.stringify(join(import.meta.dir, "preload-in-threads.ts"))};
preloadInThreads(import.meta.path);
`;

/** Returns a module that runs Date `factor` times as fast from `start` on. */
export function fastClock(start: number, factor: number): string {
  return `import { moveDate } from ${HERE};\nmoveDate(${start}, ${factor});\n${IN_THREADS}`;
}

/** Returns a module that stops Date at `start`, and stops performance.now. */
export function stoppedClock(start: number): string {
  return `import { stopClocks } from ${HERE};\nstopClocks(${start});\n${IN_THREADS}`;
}

/** Stops the clocks of this thread. */
export function stopClocks(start: number): void {
  moveDate(start, 0);
  const ticks = performance.now();
  performance.now = () => ticks;
}

export function moveDate(start: number, factor: number): void {
  const Machine = Date;
  const now = () => start + (Machine.now() - start) * factor;
  globalThis.Date = new Proxy(Machine, {
    construct: (target, args, asked) => Reflect.construct(target, args.length === 0 ? [now()] : args, asked),
    apply: () => new Machine(now()).toString(),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
}
