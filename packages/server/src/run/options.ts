// options.ts: defines a server's options, its services, the interface of a running server, and how the primary controls
// the threads that answer requests, which are the primary itself or its workers.

import type { ServerSettings } from "@inkling/contract";
import type { HostReport } from "@inkling/data";
import { type Prefix, parsePeerPrefix } from "@inkling/engine";
import type { HostEntry } from "@inkling/store/audit";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { LiveKeys } from "@inkling/store/keys/live-keys";
import type { NoticeListener } from "@inkling/store/notices";
import type { LiveOverrides } from "@inkling/store/overrides/live-overrides";
import type { LiveRulesets } from "@inkling/store/rulesets/live-rulesets";
import type { Store } from "@inkling/store/store";
import type { DataActions } from "../admin/handler.ts";
import type { LivePrecisions } from "../decisions/live-precisions.ts";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { AssignedCells } from "../limits/assigned-cells.ts";
import type { LimitCells } from "../limits/cells.ts";
import type { GroupExchange } from "../limits/group-exchange.ts";
import type { QuotaClock } from "../limits/key-cells.ts";
import type { Bodies } from "../limits/memory.ts";
import type { UsageRecorder } from "../limits/usage-recorder.ts";
import type { Releases } from "../releases/releases.ts";
import type { Log } from "../telemetry/log.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { RevokedKeys } from "./revoked-keys.ts";

/** The settings, and what the program that starts the server adds to them. */
export interface ServerOptions extends ServerSettings {
  readonly version: string;
  /**
   * Milliseconds between two checks for changes. It replaces the defaults of 1,000 for keys, 500 for overrides and
   * rulesets, and those of the other checks, such as revocations and webhooks.
   */
  readonly checkMs?: number;
  /** Serves the operators' web pages on the admin listener. */
  readonly console?: (request: Request, path: string) => Promise<Response | undefined>;
  /** Loaded at the first request to the admin API. */
  readonly actions?: () => Promise<DataActions>;
  /** Writes log lines; by default to standard error. */
  readonly writeLog?: (lines: string) => void;
}

/**
 * Parses the networks in a setting.
 * @throws Error if a text is not a network, which cannot happen because settings are checked when they are read
 */
export function networksOf(texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePeerPrefix(text);
    if (prefix === undefined) throw new Error(`${JSON.stringify(text)} in a setting is not a network`);
    return prefix;
  });
}

export interface RunningServer {
  readonly port: number;
  readonly adminPort: number;
  readonly log: Pick<Log, "info" | "error">;
  /** False while there is no intact release. The server then refuses lookups. */
  readonly hasRelease: boolean;
  /** This server's current report about itself. */
  report(): HostReport;
  /**
   * Records a change of this host in the audit trail, and then makes the change.
   * @throws StoreError if the entry cannot be recorded, in which case nothing changes; also the errors of `change`
   */
  audited<T>(entry: HostEntry, change: () => Promise<T>): Promise<T>;
  /**
   * Logs an uncaught error, because the process is about to exit. Other threads may lose access lines of 0.2 seconds.
   * @param secrets texts that must not appear in the log
   */
  crash(error: unknown, secrets: readonly string[]): void;
  /**
   * Drains for `drainSeconds`, then accepts no more requests, finishes those in progress (within 10 s) and stores
   * usage. Safe to call twice.
   */
  stop(): Promise<void>;
}

/** What a server has before it opens its services. */
export interface Foundation {
  readonly log: Log;
  readonly cells: LimitCells;
  readonly bodies: Bodies;
  /** See memory-keys.ts. */
  readonly memoryKeys: readonly string[];
  /** The number of problems of the admin API by code. */
  readonly adminProblems: Map<string, number>;
}

/** The state that the primary owns. */
export interface Services extends Foundation {
  /** Learns of each change. Of changed keys, it learns just before they become active here. */
  readonly serving: Serving;
  readonly releases: Releases;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly keyLoader: LiveKeys;
  readonly keys: AssignedCells;
  readonly usage: UsageRecorder;
  /** Decides the current day for quotas and usage. */
  readonly clock: QuotaClock;
  readonly decisions: DecisionRecorder;
  readonly overrides: LiveOverrides;
  readonly rulesets: LiveRulesets;
  readonly precisions: LivePrecisions;
  readonly revoked: RevokedKeys;
  readonly notices: NoticeListener;
  /** Undefined if the database cannot be shared by several hosts. */
  readonly group: GroupExchange | undefined;
}

/** The kinds of changes that must reach the threads that answer requests. */
export const CHANGES = [
  "release",
  "overrides",
  "rulesets",
  "precisions",
  "clock",
  "log-level",
  "keys",
] as const;
export type Change = (typeof CHANGES)[number];

/** The threads that answer requests. The numbers for metrics are added up over all of them. */
export interface Serving extends Pick<MetricsSource, "counts" | "workers"> {
  /** Starts answering requests from the services' state. @returns the port. @throws StartError */
  listen(services: Services): Promise<number>;
  /** Tells the threads that the services have changed. Does nothing before `listen`. */
  publish(change: Change): void;
  /** Adds the numbers up again. */
  refresh(): void;
  /** Makes `/readyz` return 503. Requests are still answered until `stop`. */
  drain(): void;
  readonly isDraining: boolean;
  /** Answers the connections in the queue and finishes requests in progress, within 10 s. */
  stop(): Promise<void>;
  /** Stops immediately, after a failed start. */
  kill(): unknown;
}

/**
 * Functions that undo the steps of a start, in the order of those steps. They run when the start fails or the server
 * stops.
 */
export type Closers = (() => unknown)[];

/** Calls the closers one at a time, last one first, even if some of them throw. */
export async function closeAll(closers: Closers, onError: (error: unknown) => void): Promise<void> {
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      onError(error);
    }
  }
}
