// services.ts: defines what the primary owns, and how it controls the threads that answer requests, which are the primary
// itself or its workers.

import type { ServerSettings } from "@inkling/contract";
import type { FeedTable, Updates } from "@inkling/operations";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { LiveKeys } from "@inkling/store/live-keys";
import type { LiveOverrides } from "@inkling/store/live-overrides";
import type { LiveRulesets } from "@inkling/store/live-rulesets";
import type { NoticeListener } from "@inkling/store/notices";
import type { Store } from "@inkling/store/store";
import type { LivePrecisions } from "../decisions/live-precisions.ts";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { Effects } from "../http/effects.ts";
import type { AssignedCells } from "../limits/assigned-cells.ts";
import type { LimitCells } from "../limits/cells.ts";
import type { GroupExchange } from "../limits/group-exchange.ts";
import type { QuotaClock } from "../limits/key-cells.ts";
import type { Bodies } from "../limits/memory.ts";
import type { UsageRecorder } from "../limits/usage-recorder.ts";
import type { Releases } from "../releases/releases.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { WebhookSender } from "../webhooks/sender.ts";

/** What only the program that starts the server can do, because it needs the compiler. */
export interface DataActions {
  readonly feeds: FeedTable;
  readonly updates: Updates;
}

export const BYTES_PER_MB = 1_000_000;

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

/** What a server has before it opens its database. */
export interface Foundation extends Effects {
  readonly version: string;
  readonly settings: ServerOptions;
  readonly log: Log;
  readonly cells: LimitCells;
  readonly bodies: Bodies;
  /** See run/memory-keys.ts. */
  readonly memoryKeys: readonly string[];
  /** The number of problems of the admin API by code. */
  readonly adminProblems: Map<string, number>;
}

/** Everything that the primary owns. */
export interface Services extends Foundation {
  readonly serving: Serving;
  readonly releases: Releases;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly keyLoader: LiveKeys;
  readonly keyCells: AssignedCells;
  readonly usage: UsageRecorder;
  /** Decides the current day for quotas and usage. */
  readonly clock: QuotaClock;
  readonly decisions: DecisionRecorder;
  readonly overrides: LiveOverrides;
  readonly rulesets: LiveRulesets;
  readonly precisions: LivePrecisions;
  readonly notices: NoticeListener;
  readonly webhooks: WebhookSender;
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
export interface Serving {
  readonly counts: Counts;
  /** Number of threads that answer requests, by state. */
  readonly workers: { readonly states: ReadonlyMap<string, number>; readonly restarts: number };
  /** Starts answering requests from the services' state. @returns the port. @throws StartError */
  listen(services: Services): Promise<number>;
  /**
   * Tells the threads that the services have changed. Changed keys are published just before they become active here.
   * Does nothing before `listen`.
   */
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
