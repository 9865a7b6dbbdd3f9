// messages.ts: defines the messages between the primary and a worker.
//
// Messages are structured clones, which lose their classes. Settings, overrides, ruleset and release are each
// sent as a whole whenever they change, so a worker that starts later gets the same data. Keys, limits and counts are
// in memory that the threads share, so messages only report that they have changed, or hand over new memory.

import type { LogLevel, SettingsOf } from "@inkling/contract";
import type { Override } from "@inkling/engine";
import type { Precisions } from "@inkling/engine/assess";
import type { KeyId } from "@inkling/store/keys/key";
import type { KeyMemory } from "@inkling/store/keys/key-table";
import type { KeyringState } from "@inkling/store/keys/keyring";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import type { Change, ServerOptions, Services } from "../admin/services.ts";
import type { FromCollector, ToCollector } from "../decisions/collector.ts";
import type { SharedCells } from "../limits/cells.ts";
import { type ReleaseMessage, releaseMessage } from "./release-follower.ts";

export interface WorkerStart extends Pick<ServerOptions, "version"> {
  readonly settings: SettingsOf<"worker">;
  /** Index of the worker, from 0. A replacement gets the index and the counts of the worker that it replaces. */
  readonly slot: number;
  readonly counts: SharedArrayBuffer;
  readonly cells: SharedCells;
  readonly visits: SharedArrayBuffer;
  /** The key of the HMACs in the visitor counts. */
  readonly visitorKey: Uint8Array;
  /** See memory-keys.ts. */
  readonly memoryKeys: readonly string[];
}

export interface KeysMessage {
  readonly type: "keys";
  readonly change: number;
  /** The memory of all keys, if the worker does not have it. */
  readonly table: KeyMemory | undefined;
  /** The blocks of cells that the worker does not have. */
  readonly blocks: SharedCells["blocks"];
  /** The keys that only this host refuses. */
  readonly refused: ReadonlySet<KeyId>;
  readonly state: KeyringState;
}

export type ToWorker =
  | { readonly type: "start"; readonly start: WorkerStart }
  | ReleaseMessage
  | { readonly type: "overrides"; readonly overrides: readonly Override[] }
  | { readonly type: "rulesets"; readonly ruleset: PublishedRuleset }
  | { readonly type: "precisions"; readonly precisions: Precisions }
  | KeysMessage
  /** How far the clock is ahead of the database's, see {@link QuotaClock.offsetMs}. */
  | { readonly type: "clock"; readonly offsetMs: number }
  /** Sent after the first message of each kind above. */
  | { readonly type: "listen" }
  | ToCollector
  | { readonly type: "log-level"; readonly level: LogLevel }
  /** The server will stop soon. It reports that it is not ready, but still answers. */
  | { readonly type: "drain" }
  | { readonly type: "stop" };

export type FromWorker =
  | { readonly type: "listening" }
  /** Sent every second. */
  | { readonly type: "alive" }
  /** The worker cannot open the release in the primary's message. */
  | { readonly type: "release-failed" }
  /** The worker cannot start, and another attempt would not help. */
  | { readonly type: "failed"; readonly code: string; readonly message: string; readonly hint: string }
  /** The worker now uses the keys of this change. */
  | { readonly type: "keys"; readonly change: number }
  | FromCollector;

export interface KnownMemory {
  readonly table: KeyMemory | undefined;
  /** Number of blocks of cells. */
  readonly blocks: number;
}

/** Returns the message that applies a change in a worker. */
export function changeMessage(
  change: Change,
  { releases, overrides, rulesets, precisions, keyCells, keyring, cells, clock, log }: Services,
  known: KnownMemory,
): ToWorker {
  switch (change) {
    case "release":
      return releaseMessage(releases);
    case "overrides":
      return { type: "overrides", overrides: overrides.current.all };
    case "rulesets":
      return { type: "rulesets", ruleset: rulesets.current };
    case "precisions":
      return { type: "precisions", precisions: precisions.current };
    case "clock":
      return { type: "clock", offsetMs: clock.offsetMs };
    case "log-level":
      return { type: "log-level", level: log.level };
    case "keys": {
      const { refused, state, table } = keyring;
      const { memory } = table;
      const isKnown = memory.slots === known.table?.slots && memory.bytes === known.table.bytes;
      const missing = {
        table: isKnown ? undefined : memory,
        blocks: cells.shared.blocks.slice(known.blocks),
      };
      return { type: "keys", change: keyCells.change, ...missing, refused, state };
    }
  }
}
