// fast-clock.ts: lets hours pass in a minute for a process, and for all that it starts.
//
// in   when the fast time begins (epoch ms, as the machine's clock has it), how many times as fast it runs
// out  the text of a module to preload (`BUN_OPTIONS=--preload …`); it moves Date and performance.now and nothing else
// note timers keep the machine's time: time limits of requests are not shortened, and long waits check the clock every few
//      seconds. A process and those that it starts agree, because they count from one moment

export function fastClock(start: number, factor: number): string {
  return `import { pass } from ${JSON.stringify(import.meta.path)};\npass(${start}, ${factor});\n`;
}

/** Replaces the clocks of this process. */
export function pass(start: number, factor: number): void {
  const Machine = Date;
  const ticks = performance.now.bind(performance);
  const now = () => start + (Machine.now() - start) * factor;
  const begun = ticks();
  globalThis.Date = new Proxy(Machine, {
    construct: (target, args, asked) => Reflect.construct(target, args.length === 0 ? [now()] : args, asked),
    apply: () => new Machine(now()).toString(),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  performance.now = () => begun + (ticks() - begun) * factor;
}
