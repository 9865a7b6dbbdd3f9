// process.ts: runs a fuzzer in its own process, so that a crash or a hang ends only this process, and its
// memory can be read.
//
// exit 1 with the error on standard error if a check threw
// The `progress` file has the number of the current case, so that the case that ended the process is known.

import { existsSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeCase, type Target } from "./target.ts";

export interface Order {
  /** Path of a module in targets/. Its default export creates a Target. */
  readonly module: string;
  readonly seed: number;
  readonly progress: string;
  /** Folder of earlier failures, all of which are checked first. */
  readonly kept: string;
  /** Minimum number of cases and of minutes. */
  readonly cases: number;
  readonly minutes: number;
  /** If set, only writes this case to a file. */
  readonly write?: { readonly number: number; readonly file: string };
}

export interface Report {
  readonly cases: number;
  readonly kept: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** The process's peak memory. */
  readonly peakBytes: number;
}

/**
 * Returns the process's peak memory. On Linux, `maxRSS` is unusable, because a child starts with its parent's value.
 */
function peakBytes(): number {
  const status = "/proc/self/status";
  const own = existsSync(status) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8")) : null;
  return (own === null ? process.resourceUsage().maxRSS : Number(own[1])) * 1024;
}

async function run(target: Target, { seed, progress, kept, cases, minutes }: Order): Promise<Report> {
  const outcomes: Record<string, number> = {};
  const file = openSync(progress, "w");
  const under = new Float64Array(1);
  const check = async (number: number, input: Uint8Array) => {
    under[0] = number;
    writeSync(file, under, 0, 8, 0);
    const found = target.check(input);
    const outcome = typeof found === "string" ? found : await found;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  const earlier = existsSync(kept) ? readdirSync(kept).sort() : [];
  for (const [i, name] of earlier.entries()) await check(-1 - i, readFileSync(join(kept, name)));
  for (const good of target.corpus) await target.check(good);
  const end = performance.now() + minutes * 60_000;
  let number = 0;
  for (; number < cases || performance.now() < end; number++)
    await check(number, makeCase(target, seed, number));
  await target.close?.();
  return { cases: number, kept: earlier.length, outcomes, peakBytes: peakBytes() };
}

if (import.meta.main) {
  const order: Order = JSON.parse(process.argv[2]!);
  try {
    const target: Target = await (await import(order.module)).default();
    if (order.write === undefined) process.stdout.write(JSON.stringify(await run(target, order)));
    else writeFileSync(order.write.file, makeCase(target, order.seed, order.write.number));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exit(1);
  }
}
