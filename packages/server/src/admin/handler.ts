// handler.ts: defines what the handler of an admin operation receives and returns, and schemas that several handlers
// share.

import type { AdminOperationId, ServerSettings } from "@inkling/contract";
import type { HostReport } from "@inkling/data";
import type { AdminTokenStore, ValidAdminToken } from "@inkling/store/admin-token";
import type { Author } from "@inkling/store/author";
import type { LiveKeys } from "@inkling/store/keys/live-keys";
import type { LiveOverrides } from "@inkling/store/overrides/live-overrides";
import type { LiveRulesets } from "@inkling/store/rulesets/live-rulesets";
import type { Store } from "@inkling/store/store";
import type { z } from "zod";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { HostNames } from "../http/host-names.ts";
import type { Bodies } from "../limits/bodies.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { Releases } from "../releases/releases.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traffic } from "../telemetry/traffic.ts";
import type { AdminSessions, Session } from "./sessions.ts";

export { count, text, time } from "@inkling/operations/operation";

/** Facts about a feed that the host program provides, in addition to the feed's state. */
export interface FeedFacts {
  readonly id: string;
  readonly title: string;
  readonly homepage: string;
  /** Hours between two published versions of the feed. */
  readonly cadence_hours: number;
  /** The age in hours above which a copy is stale. */
  readonly stale_hours: number;
  /** Weight of the feed's claims if several lists must agree; undefined if the feed has no weight. */
  readonly weight: number | undefined;
  readonly sets: string;
  readonly licence: string;
  readonly on: boolean;
  /** True for the operator's own feed, false for a built-in feed. */
  readonly own: boolean;
  /** True if the operator must agree to the feed's terms first. */
  readonly needs_agreement: boolean;
}

/** The state of the current build, and the result of the last build. */
export interface UpdateState {
  readonly running: boolean;
  /** True if a build was requested but has not started yet. */
  readonly asked: boolean;
  /** The result of the last build; null if no build has ended since startup. */
  readonly last:
    | {
        readonly at: string;
        readonly release: string;
        readonly published: boolean;
        /** Feeds that are held, unreachable, expired or missing. */
        readonly failed: readonly string[];
        readonly seconds: number;
      }
    | { readonly at: string; readonly problem: string; readonly hint: string | null }
    | null;
}

/** Functions that only the host program can provide. Each throws an Error, with a `hint` if there is a remedy. */
export interface DataActions {
  /** Every feed, used or not. */
  readonly feeds: readonly FeedFacts[];
  /** Turns a feed on or off and then starts a build. */
  readonly chooseFeed: (id: string, on: boolean) => void;
  readonly update: () => UpdateState;
  /** @returns true if all feeds are being fetched, or will be soon */
  readonly isRequested: () => boolean;
  /** Fetches all feeds soon, after any build that is already running. @returns false if this was requested before */
  readonly updateNow: () => boolean;
}

export interface AdminAppOptions {
  readonly bodies: Bodies;
  readonly adminToken: Pick<AdminTokenStore, "find" | "recordUse">;
  readonly store: Store;
  readonly overrideCache: Pick<LiveOverrides, "refresh" | "current">;
  readonly rulesetCache: Pick<LiveRulesets, "refresh" | "current">;
  readonly decisions: Pick<DecisionRecorder, "label" | "flush">;
  /** The processes that answer requests. */
  readonly serving: { publish(change: "log-level"): void };
  readonly settings: Pick<ServerSettings, "decisions">;
  readonly keyLoader: Pick<LiveKeys, "refresh" | "state">;
  readonly releases: Pick<Releases, "current" | "open" | "check">;
  /** Reads a whole release. @throws ReleaseError if the release is unsound */
  readonly verify: (dataDir: string, name: string) => Promise<void>;
  readonly status: StatusSource;
  /** Returns this server's report about itself. */
  readonly report: () => HostReport;
  readonly dataDir: string;
  /** The host names of this listener. */
  readonly hostNames: HostNames;
  /** Called with the code of each problem. */
  readonly onProblem: (code: string) => void;
  /** The host program's actions on the data; undefined if this server does not build releases. */
  readonly actions: DataActions | undefined;
  readonly traffic: Pick<Traffic, "minutes">;
  /** Loads the generator of the OpenAPI document. It is loaded lazily, because it imports the handlers of `admin/`. */
  readonly documents: () => Promise<{ readonly adminOpenApi: (version: string) => unknown }>;
  readonly log: Log;
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
}

/** The options, and the state that all requests share. */
export interface AdminContext extends AdminAppOptions {
  readonly sessions: AdminSessions;
}

/** One authorized request. */
export interface Call<Query, Body> {
  readonly request: Request;
  readonly query: Query;
  readonly body: Body;
  /** The value of `{id}` in the path. */
  readonly id: string;
  /** The author of the change and how it was requested, for the audit trail. */
  readonly by: Author;
  /**
   * The token that the request sent or that its session was created with; undefined if the operation needs no token.
   */
  readonly token: ValidAdminToken | undefined;
  /** The request's session; undefined if the request sends the token itself, or if the operation needs no token. */
  readonly session: Session | undefined;
}

export interface Reply {
  readonly document: unknown;
  /** The status of the response, if it differs from the operation's usual status. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

type Query = Readonly<Record<string, z.ZodType>>;

/**
 * The parts of an operation that the contract's row does not define: the types of its query, body and answer, and the
 * code to run.
 */
export interface Handler<Q extends Query, B> {
  readonly query?: Q;
  readonly body?: BodyFormat<B>;
  /** The schema of the reply's document. */
  readonly answer: z.ZodType;
  /** Runs the operation for an authorized request. */
  run(context: AdminContext, call: Call<z.output<z.ZodObject<Q>>, B>): Promise<Reply> | Reply;
}

export interface BodyFormat<T> {
  readonly schema: z.ZodType<T>;
  /** The number of path members that a problem shows; by default all. */
  readonly depth?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: only the handler has the types of its query and body
export type AdminHandler = Handler<any, any>;

/** The handlers of some of the operations. */
export type AdminHandlers = Readonly<Partial<Record<AdminOperationId, AdminHandler>>>;

/** Derives the types of `run`'s arguments from the schemas of query and body. */
export function handler<Q extends Query = Record<never, never>, B = undefined>(
  of: Handler<Q, B>,
): AdminHandler {
  return of;
}
