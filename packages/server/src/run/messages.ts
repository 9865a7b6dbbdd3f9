// messages.ts: defines the messages between the primary and a worker.
//
// Messages are structured clones, which lose their classes. Settings, overrides, ruleset and release are each
// sent as a whole whenever they change, so a worker that starts later gets the same data. Of the keys, a worker first gets
// the table, and then the lines of changed keys. A worker gets only the settings that it reads. The only secrets among them are those of the Supabase hook.

import type { LogLevel, SettingsOf } from "@inkling/contract";
import type { Override } from "@inkling/engine";
import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import type { FromCollector, ToCollector } from "../decisions/collector.ts";
import type { MxReport } from "../mx/counts.ts";
import type { UpdateWithCells } from "./key-broadcaster.ts";
import type { Change, ServerOptions } from "./options.ts";
import { type ReleaseMessage, releaseMessage } from "./release-follower.ts";
import type { Services } from "./services.ts";
import type { SentTable, TableSender } from "./table-sender.ts";

/** Index of a worker, from 0. A replacement worker gets the index of the worker that it replaces. */
export type WorkerSlot = number & { readonly of?: "worker" };

/** What a worker needs to start. */
export interface WorkerStart extends Pick<ServerOptions, "version"> {
  readonly settings: SettingsOf<"worker">;
  readonly slot: WorkerSlot;
  /** The primary's LAYOUT (shared-memory.ts). */
  readonly layout: string;
  /** The shared memory's base time. */
  readonly base: EpochMs;
  /** Milliseconds by which the primary considers the machine's clock to be ahead (limits/steady-clock.ts). */
  readonly clockAheadMs: number;
  /** The key of the HMACs in the visitor counts. */
  readonly visitorKey: Uint8Array;
}

export interface KeysMessage {
  readonly type: "keys";
  readonly change: number;
  /** All keys, if the worker lacks them. */
  readonly table?: SentTable;
  /** What has changed since the last message. */
  readonly update?: UpdateWithCells;
  /** The keys that only this host refuses. */
  readonly refused: ReadonlySet<KeyId>;
  /** Number of cells in the shared memory. */
  readonly cells: number;
  /** Why the database is unreachable; undefined if it is reachable. */
  readonly away: string | undefined;
  /** Whether every key is refused because the database has been unreachable for too long. */
  readonly stale: boolean;
  /** Why this server should not receive requests; undefined if it is ready. */
  readonly unready: string | undefined;
  /** Problems that the operator should know about. */
  readonly warnings: readonly string[];
}

export type ToWorker =
  | { readonly type: "start"; readonly start: WorkerStart }
  | ReleaseMessage
  | { readonly type: "overrides"; readonly overrides: readonly Override[] }
  | { readonly type: "rulesets"; readonly ruleset: PublishedRuleset }
  | KeysMessage
  /** How far the clock is ahead of the database's, see {@link SteadyClock.offsetMs}. */
  | { readonly type: "clock"; readonly offsetMs: number }
  /** Sent after the first message of each kind above. */
  | { readonly type: "listen" }
  | ToCollector
  | { readonly type: "log-level"; readonly level: LogLevel }
  | { readonly type: "report" }
  /** The server will stop soon. It reports that it is not ready, but still answers. */
  | { readonly type: "drain" }
  | { readonly type: "stop" };

export interface WorkerReport {
  readonly mx: MxReport;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

export type FromWorker =
  | { readonly type: "listening" }
  /** The worker cannot open the release that the primary named. */
  | { readonly type: "release-failed" }
  /** The worker cannot start, and another attempt would not help. */
  | { readonly type: "failed"; readonly code: string; readonly message: string; readonly hint: string }
  /** The worker now uses the keys and cells of this change. */
  | { readonly type: "keys"; readonly change: number }
  | FromCollector
  | { readonly type: "report"; readonly report: WorkerReport };

/**
 * Returns the message that applies a change in a worker.
 * @param sentKeys the change of the keys that were last sent to this worker; 0 if there were none
 */
export function messageOf(
  change: Change,
  { releases, overrides, rulesets, keys, keyring, clock, log }: Services,
  sentKeys: number,
  { tables, cells }: { readonly tables: TableSender; readonly cells: number },
): ToWorker {
  switch (change) {
    case "release":
      return releaseMessage(releases);
    case "overrides":
      return { type: "overrides", overrides: overrides.current.all };
    case "rulesets":
      return { type: "rulesets", ruleset: rulesets.current };
    case "clock":
      return { type: "clock", offsetMs: clock.offsetMs };
    case "log-level":
      return { type: "log-level", level: log.level };
    case "keys": {
      const { lastError, stale = false, unready, warnings = [] } = keyring.state;
      const state = { away: lastError, stale, unready, warnings, refused: keyring.refused };
      const { table, update } = keys.since(sentKeys);
      const sent = table === undefined ? {} : { table: tables.send(table, keys.change) };
      return { type: "keys", change: keys.change, ...sent, ...(update && { update }), cells, ...state };
    }
  }
}
