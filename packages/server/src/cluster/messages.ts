// messages.ts: the messages between the primary and a worker.
//
// Messages are structured clones, which keep no classes. Each of settings, keys, overrides, ruleset and release is sent whole
// whenever it changes, so a worker that starts later gets the same. Of the settings a worker gets those that it reads:
// no credential is among them.

import type { SettingsOf } from "@inkling/contract";
import type { Override } from "@inkling/engine";
import type { FromCollector, ToCollector } from "../decisions/collector.ts";
import type { EpochMs, KeyId } from "../keys/key.ts";
import { type PlainKeys, plainKeys } from "../keys/snapshot.ts";
import type { CellKind } from "../limits/cell-memory.ts";
import type { CellIndex } from "../limits/cells.ts";
import type { MxReport } from "../mx/counts.ts";
import type { PublishedRuleset } from "../rulesets/record.ts";
import type { Change, ServerOptions } from "../serving/options.ts";
import { type ReleaseMessage, releaseMessage } from "../serving/release-follower.ts";
import type { Services } from "../serving/services.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";

/** Number of a worker, from 0; one that replaces another has its number. */
export type WorkerSlot = number & { readonly of?: "worker" };

/** What a worker starts with. */
export interface WorkerStart extends Pick<ServerOptions, "mode" | "version"> {
  readonly settings: SettingsOf<"worker">;
  readonly slot: WorkerSlot;
  /** LAYOUT of the primary's code. */
  readonly layout: string;
  /** Of the shared memory. */
  readonly base: EpochMs;
  /** By how much the primary holds the machine's clock to be ahead (limits/steady-clock.ts). */
  readonly clockAheadMs: number;
  readonly cells: CellKind;
  /** Of the counts of visitors. */
  readonly visitorKey: Uint8Array;
}

export interface KeysMessage {
  readonly type: "keys";
  readonly change: number;
  /** Undefined while keys were never read. */
  readonly keys: PlainKeys | undefined;
  readonly cells: ReadonlyMap<KeyId, CellIndex>;
  /** Why the database is unreachable. */
  readonly away: string | undefined;
  /** Whether every key is refused, because the database was unreachable for too long. */
  readonly stale: boolean;
  /** Why this server should get no requests. */
  readonly unready: string | undefined;
  /** What an operator should know. */
  readonly warnings: readonly string[];
}

export type ToWorker =
  | { readonly type: "start"; readonly start: WorkerStart }
  | ReleaseMessage
  | { readonly type: "overrides"; readonly overrides: readonly Override[] }
  | { readonly type: "rulesets"; readonly ruleset: PublishedRuleset }
  | KeysMessage
  /** Comes after one of each of the above. */
  | { readonly type: "listen" }
  | ToCollector
  | { readonly type: "settings"; readonly settings: SettingsOf<"worker"> }
  | { readonly type: "report" }
  /** The server stops soon: not ready any more, but answering. */
  | { readonly type: "drain" }
  | { readonly type: "stop" };

export interface WorkerReport {
  readonly mx: MxReport;
  readonly connections: MetricsSource["connections"];
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

export type FromWorker =
  | { readonly type: "listening" }
  /** The release that the primary named cannot be opened. */
  | { readonly type: "release-failed" }
  /** It cannot start, and another try would not help. */
  | { readonly type: "failed"; readonly code: string; readonly message: string; readonly hint: string }
  /** The keys of this change, and their cells, are in use. */
  | { readonly type: "keys"; readonly change: number }
  | FromCollector
  | { readonly type: "report"; readonly report: WorkerReport };

/** The message that applies a change in a worker. */
export function messageOf(
  change: Change,
  { releases, overrides, rulesets, keys, keyring }: Services,
): ToWorker {
  switch (change) {
    case "release":
      return releaseMessage(releases);
    case "overrides":
      return { type: "overrides", overrides: overrides.current.all };
    case "rulesets":
      return { type: "rulesets", ruleset: rulesets.current };
    case "keys": {
      const { change, snapshot, cells } = keys.current;
      const plain = snapshot && plainKeys(snapshot);
      const { lastError, stale = false, unready, warnings = [] } = keyring.state;
      return { type: "keys", change, keys: plain, cells, away: lastError, stale, unready, warnings };
    }
  }
}
