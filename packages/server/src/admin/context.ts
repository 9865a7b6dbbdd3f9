// context.ts: what the operations of the admin API work with.

import type { HostReport } from "@inkling/release-store";
import type { HostNames } from "../http/host-names.ts";
import type { KeyLoader } from "../keys/key-loader.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Revocations } from "../keys/revocations.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { OverrideCache } from "../overrides/cache.ts";
import type { ReleaseComparisons } from "../releases/comparisons.ts";
import type { Releases } from "../releases/follow.ts";
import type { ProcessEnvironment } from "../releases/process.ts";
import type { AdminTokenStore } from "../store/admin-token.ts";
import type { DatabaseHistory } from "../store/history.ts";
import type { OverrideStore } from "../store/overrides.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traffic } from "../telemetry/traffic.ts";
import type { AdminSessions } from "./sessions.ts";

/** What is known of a feed beyond its state. */
export interface FeedFacts {
  readonly id: string;
  readonly title: string;
  readonly homepage: string;
  /** How often its publisher makes a new one. */
  readonly cadence_hours: number;
  /** Older than this it is stale. */
  readonly stale_hours: number;
}

/** State of the builds. */
export interface UpdateState {
  readonly running: boolean;
  /** Requested, and not begun yet. */
  readonly asked: boolean;
  /** The last one that ended. */
  readonly last:
    | {
        readonly at: string;
        readonly release: string;
        readonly published: boolean;
        /** Feeds that were refused or not reached, or are missing. */
        readonly failed: readonly string[];
        /** What was built waits for the operator: why, and how to accept it. */
        readonly held: { readonly why: string; readonly hint: string } | null;
        readonly seconds: number;
      }
    | { readonly at: string; readonly problem: string; readonly hint: string | null }
    | null;
}

/** What only the program around the server can do. Each throws an Error, with a `hint` where there is one. */
export interface DataActions {
  readonly feeds: readonly FeedFacts[];
  readonly update: () => UpdateState;
  /** Are all feeds being fetched, or about to be? */
  readonly isRequested: () => boolean;
  /** Fetches all feeds soon, after a build that is under way. @returns false where that was requested already */
  readonly updateNow: () => boolean;
}

interface DatabaseGuardView {
  readonly history: Pick<DatabaseHistory, "wentBack" | "revoked">;
  readonly revocations: Pick<Revocations, "pending" | "revoke">;
}

export interface AdminAppOptions {
  readonly overrides: OverrideStore;
  readonly adminToken: Pick<AdminTokenStore, "hash">;
  readonly store: Store;
  readonly overrideCache: Pick<OverrideCache, "refresh" | "current">;
  readonly keyLoader: Pick<KeyLoader, "refresh">;
  readonly keyring: Pick<Keyring, "find">;
  /** The database's history, and revocations that it could not take. */
  readonly guard: DatabaseGuardView;
  readonly releases: Pick<Releases, "current" | "check" | "verify">;
  readonly status: StatusSource;
  /** What this server reports of itself. */
  readonly report: () => HostReport;
  readonly dataDir: string;
  readonly workerEnvironment: ProcessEnvironment;
  /** The names of this listener. */
  readonly hostNames: HostNames;
  /** Called with the code of each problem. */
  readonly onProblem: (code: string) => void;
  /** What the program around the server can do with the data. */
  readonly actions: DataActions | undefined;
  readonly traffic: Pick<Traffic, "minutes">;
  /** Loads the maker of the OpenAPI document, which reads the rows of `admin/`. */
  readonly documents: () => Promise<{ readonly adminOpenApi: (version: string) => unknown }>;
  readonly log: Log;
  /** Epoch ms. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
}

/** The options, and what requests share. */
export interface AdminContext extends AdminAppOptions {
  readonly sessions: AdminSessions;
  readonly comparisons: ReleaseComparisons;
}
