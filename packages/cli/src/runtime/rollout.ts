// rollout.ts: the share of servers that take a release of a channel: what each reports, and what a promotion makes of it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "@inkling/contract";
import { readReports } from "@inkling/release-store";
import {
  type AgedReport,
  hasFailed,
  isTooFew,
  openStore,
  type Rollout,
  rolloutOf,
  type Statement,
} from "@inkling/release-store/channel";
import { HOST_SILENT_MS, listHosts } from "@inkling/server";
import { isSharedDatabase } from "@inkling/server/store";
import { CliError, EXIT } from "../terminal/errors.ts";
import { LiveLine } from "../terminal/progress.ts";
import { channelOf } from "./channel.ts";
import type { Context } from "./command.ts";
import { withExistingStore } from "./store.ts";

/** @throws CliError */
export function percentOf(text: string): number {
  const percent = Number(text);
  if (/^\d{1,3}$/.test(text) && percent <= 100) return percent;
  throw new CliError(`--percent is a whole number from 0 to 100: it is ${text}`, undefined, EXIT.usage);
}

/** Files of servers that are gone for so long are removed. */
const FORGET_MS = 86_400_000;
const LOOK_MS = 2_000;

/** What the servers of a channel report, in PostgreSQL and beside the channel. @throws StoreError, ChannelError */
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

/** "2 of 3 servers report it ready; web-3:8080: not ready: …" */
export function rolloutText({ ready, failed, waiting, others: outside }: Rollout): string {
  const all = ready.length + failed.length + waiting.length;
  if (all === 0 && outside === 0) return "no server of the roll-out reports";
  if (all === 0)
    return `none of the ${outside} servers that report is in this share: nobody has tried the release`;
  const others = [...failed, ...waiting].map(({ name, why }) => `\n  ${name}: ${why}`);
  return `${ready.length} of ${all} servers of the roll-out report it ready${others.join("")}`;
}

/** @throws CliError when too few of the servers that should have the release report it ready */
export function requireReady(statement: Statement, rollout: Rollout): void {
  if (!isTooFew(rollout)) return;
  const { release, percent } = statement;
  throw new CliError(
    `halted, ${release.name} stays at ${percent} %: ${rolloutText(rollout)}`,
    "try again later; `npx @inkling/cli channel rollback` goes back; `npx @inkling/cli channel promote --force` goes on",
  );
}

/**
 * Looks at the reports until enough servers are ready, or too few can become so, or the time is over.
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
    // Once may be a moment between two releases.
    failures = hasFailed(rollout) ? failures + 1 : 0;
    const isDone = rollout.waiting.length === 0 && !isTooFew(rollout); // also where no server reports
    if (isDone || failures > 2 || left <= 0) return rollout;
    show(rollout, Math.ceil(left / 1_000));
    await sleep(Math.min(LOOK_MS, left), undefined, { signal }).catch(() => {}); // aborted: the next read ends it
  }
}

/** Reads the reports, until enough are ready or the time is over; undefined if it was stopped. */
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
