// pressure.ts: contestants on a quiet machine and beside neighbours that use its caches, in alternating rounds.
//
// One neighbour (peers/neighbour.ts) runs on the server's core and one on the client's: where virtual machines share a
// host, others take turns on a core and its caches, and meanwhile use the last cache and the memory from other cores.
// Contestants are compared by CPU time, which leaves out the time that a neighbour has the core.

import { join } from "node:path";
import { PEERS } from "./peers.ts";
import { BARE_ENV, CLIENT_CORE, lineReader, pinned, SERVER_CORE } from "./proc.ts";
import type { Run } from "./record.ts";
import { median, sum } from "./stats.ts";

/** MB that each neighbour streams through; 0: without neighbours. */
const STRENGTHS = [0, 16, 64, 256];
/** The one that targets name, and with --quick the only one that is measured. */
const JUDGED = 64;

const strengthName = (megabytes: number): string => (megabytes === 0 ? "quiet" : `${megabytes} MB`);
export const PRESSED = strengthName(JUDGED);
/** The question of a comparison under pressure. */
export const underPressure = (what: string): string => `${what}, beside neighbours`;

/** Starts a neighbour and waits until it streams. @returns stops it; GB/s that it read, and wrote as many */
async function startNeighbour(run: Run, core: number, megabytes: number) {
  const command = [process.execPath, "--no-install", join(PEERS, "neighbour.ts"), String(megabytes)];
  const child = Bun.spawn(pinned(core, command), { env: BARE_ENV, stdout: "pipe", stderr: "inherit" });
  run.defer(async () => {
    child.kill();
    await child.exited;
  });
  const next = lineReader(child, command);
  await next();
  return async (): Promise<number> => {
    child.kill("SIGTERM");
    const { gigabytes, seconds } = JSON.parse(await next());
    await child.exited;
    return gigabytes / seconds;
  };
}

interface PressureOrder {
  readonly what: string;
  /** Of what is measured: CPU time. */
  readonly measure: string;
  readonly unit: string;
  readonly contestants: readonly { readonly who: string; readonly measure: () => Promise<number> }[];
  readonly rounds: number;
  /** Of the curve: the medians by strength; absent: none, and of the strengths only the one that is judged. */
  readonly plot?: string;
}

/**
 * Records, for each strength, what contestants take and how much memory traffic their neighbours have beside them.
 * Contestants are warm.
 */
export async function compareUnderPressure(
  run: Run,
  { what, measure, unit, contestants, rounds, plot }: PressureOrder,
): Promise<void> {
  const strengths = run.isQuick || plot === undefined ? [0, JUDGED] : STRENGTHS;
  const question = underPressure(what);
  const traffic: { megabytes: number; who: string; values: number[] }[] = [];
  const at = ({ who, measure: cost }: PressureOrder["contestants"][number], megabytes: number) => {
    const values: number[] = [];
    const cores = megabytes === 0 ? [] : [SERVER_CORE, CLIENT_CORE];
    if (cores.length > 0) traffic.push({ megabytes, who, values });
    return async () => {
      const stops = await Promise.all(cores.map((core) => startNeighbour(run, core, megabytes)));
      const found = { [`${measure}, ${strengthName(megabytes)}, ${unit}`]: await cost() };
      values.push(sum(await Promise.all(stops.map((stop) => stop()))));
      return found;
    };
  };
  const all = strengths.flatMap((megabytes) =>
    contestants.map((one) => ({ what: question, who: one.who, measure: at(one, megabytes) })),
  );
  await run.alternate(all, rounds, true);
  for (const { megabytes, who, values } of traffic)
    run.row(`${question}: what both neighbours read`, who, `${strengthName(megabytes)}, GB/s`, values);
  for (const { who } of plot === undefined ? [] : contestants) {
    const cost = (megabytes: number) =>
      median(run.values(question, who, `${measure}, ${strengthName(megabytes)}`));
    const points = strengths.map((megabytes) => [megabytes, cost(megabytes)] as const);
    run.add({ type: "series", plot: plot!, who, points });
  }
}
