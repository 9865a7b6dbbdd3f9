// rollout.ts: did the servers that take part in a roll-out take the release, and are they ready? Pure.
//
// in   what the channel states, reports of servers, how old each is
// out  Rollout; whether it has to stop
//
// A server that was killed by the release reports nothing more: so silence counts as not ready, until the server is
// held to be gone.

import { GONE_MS, type HostReport } from "./host-report.ts";
import { releaseFor, type Statement } from "./statement.ts";

/** Longer than the minute after which a server writes its file again. */
const SILENT_MS = 150_000;
/** Of the servers in the roll-out: fewer that are ready stop it. */
const MIN_READY = 0.9;

export interface AgedReport {
  readonly report: HostReport;
  readonly ageMs: number;
  /** After so long it is silent; by default that of servers that write a file once a minute. */
  readonly silentMs?: number;
}

interface Troubled {
  readonly name: string;
  readonly why: string;
}

export interface Rollout {
  /** Names of servers that have taken the release, and are ready. */
  readonly ready: readonly string[];
  /** Those that are not ready, silent, or refuse it. */
  readonly failed: readonly Troubled[];
  /** Those that have not taken it yet. */
  readonly waiting: readonly Troubled[];
  /** How many others of the channel report: they are not in the roll-out. */
  readonly others: number;
}

export function rolloutOf(statement: Statement, reports: readonly AgedReport[]): Rollout {
  const ready: string[] = [];
  const failed: Troubled[] = [];
  const waiting: Troubled[] = [];
  let others = 0;
  for (const { report, ageMs, silentMs = SILENT_MS } of newest(reports)) {
    const { name, channel, refused, reasons, server_id } = report;
    if (server_id === null || channel?.name !== statement.channel || ageMs > GONE_MS) continue;
    const release = statement.release.name;
    if (releaseFor(statement, server_id).name !== release) {
      others++;
      continue;
    }
    const isTaken = channel.release === release && (report.pinned || report.release?.name === release);
    if (ageMs > silentMs) {
      failed.push({ name, why: `no report for ${Math.round(ageMs / 1_000)} s` });
    } else if (refused === release) failed.push({ name, why: "refuses it as unsound" });
    else if (!report.ready) failed.push({ name, why: `not ready: ${reasons.join("; ")}` });
    else if (isTaken) ready.push(name);
    else {
      // A fault may be of an attempt from before the statement: it is tried again within a minute.
      const { fault } = channel;
      const why = fault === null ? "does not answer from it yet" : `does not follow the channel: ${fault}`;
      waiting.push({ name, why });
    }
  }
  return { ready, failed, waiting, others };
}

/** Of each server the last. */
function newest(reports: readonly AgedReport[]): Iterable<AgedReport> {
  const byId = new Map<string | null, AgedReport>();
  for (const each of reports) {
    const known = byId.get(each.report.server_id);
    if (known === undefined || each.ageMs < known.ageMs) byId.set(each.report.server_id, each);
  }
  return byId.values();
}

/** Are too few of them ready? With none in the roll-out there is nothing to go by. */
export function isTooFew({ ready, failed, waiting }: Omit<Rollout, "others">): boolean {
  return ready.length < Math.ceil(MIN_READY * (ready.length + failed.length + waiting.length));
}

/** Can no server that still waits change that? */
export function hasFailed({ failed, ...rest }: Rollout): boolean {
  return isTooFew({ ready: [...rest.ready, ...rest.waiting.map(({ name }) => name)], waiting: [], failed });
}
