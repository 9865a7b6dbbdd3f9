// fast-clock.ts: lets hours pass in a minute for a process and for all that it starts, or stops its clocks.
//
// in   when the other time begins (epoch ms, as the machine's clock has it), how many times as fast it runs
// out  the text of a module to preload (`BUN_OPTIONS=--preload …`), or {@link stopClocks} for this process
// note a fast clock moves Date alone: time limits count performance.now, which stays the machine's, so none is shortened;
//      long waits check Date every few seconds. A process and those that it starts agree: they count from one moment

const HERE = JSON.stringify(import.meta.path);

/** Runs Date `factor` times as fast from `start`. */
export function fastClock(start: number, factor: number): string {
  return `import { moveDate } from ${HERE};\nmoveDate(${start}, ${factor});\n`;
}

/** Stops Date at `start`, and performance.now. */
export function stoppedClock(start: number): string {
  return `import { stopClocks } from ${HERE};\nstopClocks(${start});\n`;
}

/** For this process. */
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
