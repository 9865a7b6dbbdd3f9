// rollout.ts: reads what each server reports about a channel's release, and decides whether a promotion may follow.

import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "@inkling/contract";
import { readReports } from "@inkling/release-store";
import {
  type AgedReport,
  CHANNEL_FAULTS,
  type ChannelFault,
  hasFailed,
  isTooFew,
  isUntried,
  openStore,
  type Rollout,
  rolloutOf,
  type Statement,
} from "@inkling/release-store/channel";
import { HOST_SILENT_MS, listHosts } from "@inkling/server";
import { isSharedDatabase } from "@inkling/store/store";
import { CliError, EXIT } from "../terminal/errors.ts";
import { LiveLine } from "../terminal/progress.ts";
import { channelOf } from "./channel.ts";
import type { Context } from "./command.ts";
import { withExistingStore } from "./store.ts";

/** @throws CliError */
export function percentOf(text: string): number {
  const percent = Number(text);
  if (/^\d{1,3}$/.test(text) && percent <= 100) return percent;
  throw new CliError(`--percent must be a whole number from 0 to 100: it is ${text}`, undefined, EXIT.usage);
}

/** Milliseconds after which the report files of silent servers are removed. */
const FORGET_MS = 86_400_000;
const LOOK_MS = 2_000;

/**
 * Reads what a channel's servers report in PostgreSQL and next to the channel.
 * @throws StoreError, ChannelError
 */
export async function readRollout(
  settings: Settings,
  { env, stopper }: Pick<Context, "env" | "stopper">,
  statement: Statement,
): Promise<Rollout> {
  const { base, channel } = channelOf(settings);
  const reports: AgedReport[] = [];
  if (isSharedDatabase(settings.databaseUrl)) {
    const hosts = await withExistingStore(settings, (store) => listHosts(store.tables));
    for (const { report, ageMs } of hosts)
      if (report) reports.push({ report, ageMs, silentMs: HOST_SILENT_MS });
  }
  const store = openStore(base, env);
  if (store !== undefined) {
    const now = Date.now();
    const found = await readReports(store, channel, now - FORGET_MS, stopper.signal);
    for (const report of found) reports.push({ report, ageMs: now - Date.parse(report.at) });
  }
  return rolloutOf(statement, reports);
}

/** Returns a text such as "2 of 3 servers in the roll-out report the release ready; web-3:8080: not ready: …". */
export function rolloutText({ ready, failed, waiting, others: outside, next }: Rollout): string {
  const all = ready.length + failed.length + waiting.length;
  if (all === 0 && outside === 0) return "no server in the roll-out sends reports";
  if (all === 0)
    return `none of the ${outside} reporting servers is in this share: no server has tried the release; ${next} % is the smallest share that reaches a server`;
  const others = [...failed, ...waiting].map(({ name, why }) => `\n  ${name}: ${why}`);
  return `${ready.length} of ${all} servers in the roll-out report the release ready${others.join("")}`;
}

/**
 * Returns what to do if too few servers are ready. If servers cannot follow the channel, the remedies of their faults
 * come first, each with the names of the servers that have the fault.
 */
export function nextStep({ waiting }: Pick<Rollout, "waiting">, otherwise: string): string {
  const servers = new Map<string, string[]>();
  for (const { name, fault } of waiting) {
    if (fault === undefined || !isFault(fault)) continue;
    const { fix } = CHANNEL_FAULTS[fault];
    servers.set(fix, [...(servers.get(fix) ?? []), name]);
  }
  const fixes = [...servers].map(([fix, names]) => `for ${names.join(", ")}: ${fix}`);
  return [...fixes, otherwise].join("; or ");
}

const isFault = (text: string): text is ChannelFault => Object.hasOwn(CHANNEL_FAULTS, text);

/**
 * @param wanted the new percentage of servers
 * @throws CliError if too few of the servers that should have the release report it ready, or if no server has tried the
 *   release and the new share may reach more than one server
 */
export function requireReady(statement: Statement, rollout: Rollout, wanted: number): void {
  const { channel, release, percent } = statement;
  const { next, others } = rollout;
  const isFirst = next !== null && wanted <= next;
  const isUntriedByAny = isUntried(rollout) && others > 1 && !isFirst;
  if (!isUntriedByAny && !isTooFew(rollout)) return;
  const promote = `inkling channel promote ${channel}`;
  const anyway = `continue with \`${promote} --percent ${wanted} --force\``;
  throw new CliError(
    `halted, ${release.name} remains at ${percent} %: ${rolloutText(rollout)}`,
    isUntriedByAny
      ? `run \`${promote} --percent ${next} --watch\` first, or ${anyway}`
      : nextStep(rollout, `try again later, roll back with \`inkling channel rollback\`, or ${anyway}`),
  );
}

/**
 * Reads the reports until enough servers are ready, until too few can become ready, or until the time is up.
 * @returns undefined if `signal` was aborted first
 */
async function watchRollout(
  read: () => Promise<Rollout>,
  seconds: number,
  signal: AbortSignal,
  show: (rollout: Rollout, secondsLeft: number) => void,
): Promise<Rollout | undefined> {
  const end = performance.now() + seconds * 1_000;
  for (let failures = 0; ; ) {
    const rollout = await read().catch((error) => {
      if (!signal.aborted) throw error;
    });
    if (!rollout || signal.aborted) return undefined;
    const left = end - performance.now();
    // An isolated failure may just be a moment between two releases.
    failures = hasFailed(rollout) ? failures + 1 : 0;
    const isDone = rollout.waiting.length === 0 && !isTooFew(rollout); // also true if no server reports
    if (isDone || failures > 2 || left <= 0) return rollout;
    show(rollout, Math.ceil(left / 1_000));
    // if aborted, the next iteration ends the loop
    await sleep(Math.min(LOOK_MS, left), undefined, { signal }).catch(() => {});
  }
}

/** Reads the reports until enough servers are ready or the time is up. Returns undefined if the command was stopped. */
export async function watched(
  settings: Settings,
  context: Context,
  statement: Statement,
  seconds: number,
): Promise<Rollout | undefined> {
  const line = new LiveLine(context.terminal);
  try {
    return await watchRollout(
      () => readRollout(settings, context, statement),
      seconds,
      context.stopper.signal,
      ({ ready, failed, waiting }, left) =>
        line.show(
          `At ${statement.percent} %: ${ready.length} servers ready, ${waiting.length} waiting, ${failed.length} failed; ${left} s left`,
        ),
    );
  } finally {
    line.clear();
  }
}
