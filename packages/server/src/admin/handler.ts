// handler.ts: what the handler of an admin operation gets and returns, and parts that descriptions of bodies share.

import type { AdminOperationId } from "@inkling/contract";
import type { HostReport } from "@inkling/release-store";
import { z } from "zod";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { HostNames } from "../http/host-names.ts";
import type { Actor } from "../keys/actor.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { LiveKeys } from "../keys/live-keys.ts";
import type { Revocations } from "../keys/revocations.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { LiveOverrides } from "../overrides/live-overrides.ts";
import type { ReleaseComparisons } from "../releases/comparisons.ts";
import type { Releases } from "../releases/follow.ts";
import type { ProcessEnvironment } from "../releases/process.ts";
import type { LiveRulesets } from "../rulesets/live-rulesets.ts";
import type { AdminTokenStore, ValidAdminToken } from "../store/admin-token.ts";
import type { DatabaseHistory } from "../store/history.ts";
import type { OverrideStore } from "../store/overrides.ts";
import type { Store } from "../store/store.ts";
import { MAX_PAGE } from "../store/tables.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traffic } from "../telemetry/traffic.ts";
import type { AdminSessions, Session } from "./sessions.ts";

/** What is known of a feed beyond its state. */
export interface FeedFacts {
  readonly id: string;
  readonly title: string;
  readonly homepage: string;
  /** How often its publisher makes a new one. */
  readonly cadence_hours: number;
  /** Older than this it is stale. */
  readonly stale_hours: number;
  readonly sets: string;
  readonly licence: string;
  readonly on: boolean;
  /** Of the operator, not built in. */
  readonly own: boolean;
  /** Has the operator to agree to its terms first? */
  readonly needs_agreement: boolean;
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
  /** Every feed that there is. */
  readonly feeds: readonly FeedFacts[];
  /** Turns a feed on or off; a build follows. */
  readonly chooseFeed: (id: string, on: boolean) => void;
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
  readonly adminToken: Pick<AdminTokenStore, "find" | "recordUse">;
  readonly store: Store;
  readonly overrideCache: Pick<LiveOverrides, "refresh" | "current">;
  readonly rulesetCache: Pick<LiveRulesets, "refresh" | "current">;
  readonly decisions: Pick<DecisionRecorder, "label" | "flush">;
  /** The setting, as last reloaded. */
  readonly storesDecisions: () => boolean;
  readonly keyLoader: Pick<LiveKeys, "refresh">;
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
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
}

/** The options, and what requests share. */
export interface AdminContext extends AdminAppOptions {
  readonly sessions: AdminSessions;
  readonly comparisons: ReleaseComparisons;
}

/** One authorized request. */
export interface Call<Query, Body> {
  readonly request: Request;
  readonly query: Query;
  readonly body: Body;
  /** The value of `{id}` in the path. */
  readonly id: string;
  /** For the audit trail. */
  readonly by: Actor;
  /** Of the request or its session; undefined for an open operation. */
  readonly token: ValidAdminToken | undefined;
  /** Undefined if the request has the token itself. */
  readonly session: Session | undefined;
}

export interface Reply {
  readonly document: unknown;
  /** Unless it is the operation's own. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

type Query = Readonly<Record<string, z.ZodType>>;

/** What an operation's row of the contract leaves open: the types of query, body and answer, and what it does. */
export interface Handler<Q extends Query, B> {
  readonly query?: Q;
  readonly body?: BodyFormat<B>;
  /** What the reply's document holds. */
  readonly answer: z.ZodType;
  /** A method, so that handlers of all types fit {@link AdminHandler}. */
  run(context: AdminContext, call: Call<z.output<z.ZodObject<Q>>, B>): Promise<Reply> | Reply;
}

export interface BodyFormat<T> {
  readonly schema: z.ZodType<T>;
  /** Passes the JSON on unchecked: `run` gives it to a function of `keys/` or `overrides/`, which reports its own errors. */
  readonly isRaw?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the type of query and body is known to the handler alone
export type AdminHandler = Handler<any, any>;

/** The handlers of some operations. */
export type AdminHandlers = Readonly<Partial<Record<AdminOperationId, AdminHandler>>>;

/** Ties the types that `run` gets to the schemas of query and body. */
export function handler<Q extends Query = Record<never, never>, B = undefined>(
  of: Handler<Q, B>,
): AdminHandler {
  return of;
}

/** A body that is described here, and checked by what `run` calls. */
export const rawBody = (schema: z.ZodType): BodyFormat<unknown> => ({ schema, isRaw: true });

export const text = z.string().min(1);
export const time = z.iso.datetime();
export const count = z.int().nonnegative();

export const nextCursor = {
  next_cursor: text.nullable().meta({ description: "`cursor` of the next page; null after the last" }),
};

const DEFAULT_PAGE = 100;
const LIMIT = `must be a whole number from 1 to ${MAX_PAGE}`;

/** Query parameters of a list in pages. */
export function pageQuery(isCursor: (text: string) => boolean) {
  return {
    limit: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, LIMIT)
      .transform(Number)
      .pipe(z.int(LIMIT).min(1, LIMIT).max(MAX_PAGE, LIMIT))
      .default(DEFAULT_PAGE)
      .meta({ description: "Rows of a page" }),
    cursor: z
      .string()
      .refine(isCursor, "must be the `next_cursor` of the previous page")
      .optional()
      .meta({ description: "`next_cursor` of the previous page" }),
  };
}

export function booleanQuery(description: string) {
  return z
    .stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive", error: "must be true or false" })
    .default(false)
    .meta({ description });
}
