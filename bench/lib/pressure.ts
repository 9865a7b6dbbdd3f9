// pressure.ts: measures contestants on a quiet machine and beside neighbours that use its caches, in alternating
// rounds.
//
// One neighbour (peers/neighbour.ts) runs on the server's core and one on the client's. On a host with several virtual
// machines, other tenants take turns on a core and its caches, and use the last-level cache and memory from other
// cores. The measure is CPU time, because it does not include the time in which a neighbour has the core.

import { join } from "node:path";
import { PEERS } from "./peers.ts";
import { BARE_ENV, CLIENT_CORE, lineReader, pinned, SERVER_CORE } from "./proc.ts";
import type { Run } from "./record.ts";
import { median, sum } from "./stats.ts";

/** MB that each neighbour streams through; 0 means no neighbours. */
const STRENGTHS = [0, 16, 64, 256];
/** The strength that the targets use. With --quick, only this strength and the quiet machine are measured. */
export const PRESSED_MB = 64;

const strengthName = (megabytes: number): string => (megabytes === 0 ? "quiet" : `${megabytes} MB`);
export const PRESSED = strengthName(PRESSED_MB);
/** Returns the question of a comparison beside neighbours. */
export const underPressure = (what: string): string => `${what}, beside neighbours`;

/**
 * Starts a neighbour and waits until it streams. Returns a function that stops the neighbour and returns the GB/s that
 * it read. The neighbour writes at the same rate.
 */
export async function startNeighbour(run: Run, core: number, megabytes: number) {
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
  /** The name of what is measured, a CPU time. */
  readonly measure: string;
  readonly unit: string;
  readonly contestants: readonly { readonly who: string; readonly measure: () => Promise<number> }[];
  readonly rounds: number;
  /**
   * Name of the plot for the medians by strength. Without a plot, only the quiet machine and the strength that the
   * targets use are measured.
   */
  readonly plot?: string;
}

/**
 * Records, for each strength, the contestants' cost and the memory traffic of the neighbours beside them. Contestants
 * must be warm.
 */
export async function compareUnderPressure(
  run: Run,
  { what, measure, unit, contestants, rounds, plot }: PressureOrder,
): Promise<void> {
  const strengths = run.isQuick || plot === undefined ? [0, PRESSED_MB] : STRENGTHS;
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
