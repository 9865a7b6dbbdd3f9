// fuzzer.ts: runs a target in its own process (process.ts), and keeps an input that makes it fail.

import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Order, Report } from "./process.ts";

/**
 * Inputs on which each target failed, in a folder with the target's name. They are part of the repository, so each
 * becomes a test.
 */
export const KEPT = join(import.meta.dir, "kept");
/** Maximum milliseconds for one case, on any machine. */
const HANG_MS = 120_000;
const ERROR_CHARACTERS = 3_000;

export interface FuzzOptions {
  readonly cases: number;
  readonly minutes: number;
  readonly seed: number;
  readonly kept?: string;
  readonly hangMs?: number;
}

export async function fuzz(
  module: string,
  { cases, minutes, seed, kept = KEPT, hangMs = HANG_MS }: FuzzOptions,
): Promise<Report> {
  const name = basename(module, ".ts");
  const folder = mkdtempSync(join(tmpdir(), "inkling-fuzz-"));
  const progress = join(folder, "progress");
  writeFileSync(progress, "");
  const order: Order = { module, seed, progress, kept: join(kept, name), cases, minutes };
  try {
    const { code, out, error } = await attempt(order, hangMs);
    if (code === 0) return JSON.parse(out);
    const number = caseIn(progress);
    const where =
      number === undefined || number < 0 ? earlier(order.kept, number) : await keep(order, number);
    throw new Error(
      `${name}, seed ${seed}, case ${number}: ${code}\n${error.slice(0, ERROR_CHARACTERS)}\n` +
        `the input: ${where}\nagain: npm ${name.endsWith(".data") ? "run test:data" : "test"} -- test/fuzz`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns exit code 0, or what ended the process */
async function attempt(order: Order, hangMs: number) {
  const script = join(import.meta.dir, "process.ts");
  const child = Bun.spawn([process.execPath, script, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let last: number | undefined;
  let since = performance.now();
  let isHung = false;
  const watch = setInterval(() => {
    const now = caseIn(order.progress);
    if (now !== last) [last, since] = [now, performance.now()];
    if (performance.now() - since < (now === undefined ? HANG_MS : hangMs)) return;
    isHung = true;
    child.kill("SIGKILL");
  }, 500);
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  clearInterval(watch);
  const ended = child.exitCode === 0 ? 0 : (child.signalCode ?? `exit code ${child.exitCode}`);
  return { code: isHung ? `no end within ${hangMs / 1000} s` : ended, out, error };
}

/**
 * Returns the number of the current case. A negative number is an earlier failure; undefined means that no case has
 * started.
 */
function caseIn(progress: string): number | undefined {
  const value = new Float64Array(1);
  const file = openSync(progress, "r");
  const length = readSync(file, value, 0, 8, 0);
  closeSync(file);
  return length === 8 ? value[0] : undefined;
}

const earlier = (kept: string, number: number | undefined) =>
  number === undefined
    ? "none: it ended before the first case"
    : join(kept, readdirSync(kept).sort()[-1 - number]!);

async function keep(order: Order, number: number): Promise<string> {
  mkdirSync(order.kept, { recursive: true });
  const file = join(order.kept, `${order.seed}-${number}.bin`);
  await attempt({ ...order, write: { number, file } }, HANG_MS);
  return file;
}
