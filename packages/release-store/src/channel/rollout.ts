// rollout.ts: checks whether the servers in a roll-out have taken the release and are ready. Its functions have no side
// effects.
//
// in   the channel's statement, the servers' reports and their ages
// out  a Rollout, and whether it has to stop
//
// If the release has killed a server, that server sends no more reports. So a silent server counts as not ready, until
// it counts as gone.

import { GONE_MS, type HostReport } from "./host-report.ts";
import { releaseFor, rolloutSlot, type Statement } from "./statement.ts";

/**
 * Milliseconds without a report after which a server counts as silent. Servers write their report file once a minute.
 */
const SILENT_MS = 150_000;
/** Minimum share of servers in the roll-out that must be ready. Below this share, the roll-out stops. */
const MIN_READY = 0.9;

export interface AgedReport {
  readonly report: HostReport;
  readonly ageMs: number;
  /**
   * Milliseconds after which the server counts as silent; the default is for servers that write a file once a minute.
   */
  readonly silentMs?: number;
}

interface Troubled {
  readonly name: string;
  readonly why: string;
  /** Why the server does not follow the channel, if it said so. */
  readonly fault?: string;
}

export interface Rollout {
  /** Names of servers that have taken the release and are ready. */
  readonly ready: readonly string[];
  /** Servers that are not ready, are silent, or refuse the release. */
  readonly failed: readonly Troubled[];
  /** Servers that have not taken the release yet. */
  readonly waiting: readonly Troubled[];
  /** Number of servers that report to the channel but are not in the roll-out. */
  readonly others: number;
  /** The smallest percentage at which one of the others takes the release; null if there are no others. */
  readonly next: number | null;
}

export function rolloutOf(statement: Statement, reports: readonly AgedReport[]): Rollout {
  const ready: string[] = [];
  const failed: Troubled[] = [];
  const waiting: Troubled[] = [];
  let others = 0;
  let next: number | null = null;
  for (const { report, ageMs, silentMs = SILENT_MS } of newest(reports)) {
    const { name, channel, refused, reasons, server_id } = report;
    if (server_id === null || channel?.name !== statement.channel || ageMs > GONE_MS) continue;
    const release = statement.release.name;
    if (releaseFor(statement, server_id).name !== release) {
      others++;
      next = Math.min(next ?? 100, rolloutSlot(server_id) + 1);
      continue;
    }
    const isTaken = channel.release === release && (report.pinned || report.release?.name === release);
    if (ageMs > silentMs) {
      failed.push({ name, why: `no report for ${Math.round(ageMs / 1_000)} s` });
    } else if (refused === release) failed.push({ name, why: "refuses it as unsound" });
    else if (!report.ready) failed.push({ name, why: `not ready: ${reasons.join("; ")}` });
    else if (isTaken) ready.push(name);
    else {
      // The fault may date from an attempt before the statement. The server retries within a minute.
      const { fault } = channel;
      const why = fault === null ? "does not use it yet" : `does not follow the channel: ${fault}`;
      waiting.push({ name, why, ...(fault !== null && { fault }) });
    }
  }
  return { ready, failed, waiting, others, next };
}

/** Returns the newest report of each server. */
function newest(reports: readonly AgedReport[]): Iterable<AgedReport> {
  const byId = new Map<string | null, AgedReport>();
  for (const each of reports) {
    const known = byId.get(each.report.server_id);
    if (known === undefined || each.ageMs < known.ageMs) byId.set(each.report.server_id, each);
  }
  return byId.values();
}

/** Returns whether no reporting server has tried the release, although some report to the channel. */
export const isUntried = ({ ready, failed, waiting, others }: Rollout): boolean =>
  others > 0 && ready.length + failed.length + waiting.length === 0;

/** Returns whether too few servers are ready; false if no server is in the roll-out. */
export function isTooFew({ ready, failed, waiting }: Pick<Rollout, "ready" | "failed" | "waiting">): boolean {
  return ready.length < Math.ceil(MIN_READY * (ready.length + failed.length + waiting.length));
}

/** Returns whether too few servers are ready even if all waiting servers become ready. */
export function hasFailed({ failed, ...rest }: Rollout): boolean {
  return isTooFew({ ready: [...rest.ready, ...rest.waiting.map(({ name }) => name)], waiting: [], failed });
}
