// handler.ts: defines a route of the admin API, and what its handler receives and returns.

import type { ADMIN_TAGS, AdminRole } from "@inkling/contract";
import type { HostReport, Verify } from "@inkling/data";
import type { AnyOperation, Noun } from "@inkling/operations";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import type { Author } from "@inkling/store/audit";
import type { z } from "zod";
import type { HostNames } from "../http/host-names.ts";
import type { DataActions, Services } from "./services.ts";
import type { AdminSessions, Session } from "./sessions.ts";
import type { Traffic } from "./traffic.ts";

/** The server's services, and what only the admin API needs. */
export interface AdminContext extends Services {
  /** Reads a whole release. @throws ReleaseError if the release is unsound */
  readonly verify: Verify;
  /** Has this server's report about itself. */
  readonly reporter: { readonly current: HostReport };
  readonly hostNames: HostNames;
  readonly traffic: Pick<Traffic, "minutes">;
  readonly sessions: AdminSessions;
  /** Undefined if this server does not build releases. */
  readonly actions: DataActions | undefined;
}

/** One authorized request. */
export interface Call<Query = unknown, Body = unknown> {
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

/** A route of the admin API. Most derive from an operation, and the fields that both have mean the same. */
export interface AdminRow
  extends Required<Pick<AnyOperation, "summary" | "docs" | "audits">>,
    Pick<AnyOperation, "status" | "isIdempotent" | "maxBodyBytes" | "problems"> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** What `{id}` in the path identifies. */
  readonly names?: Noun;
  readonly tag: keyof typeof ADMIN_TAGS;
  readonly role: AdminRole;
  /** True if the operation needs neither a token nor a session. */
  readonly isOpen?: boolean;
  /** A second success status, which has the same answer. */
  readonly otherStatus?: number;
  /**
   * Headers of the answer in addition to the headers of every answer. A header marked with "?" is not always present.
   */
  readonly headers?: readonly string[];
}

/** The types of a route's query, body and answer, and the code to run. */
export interface Handler<Q extends Query, B> {
  readonly query?: Q;
  readonly body?: z.ZodType<B>;
  /** The schema of the reply's document. */
  readonly answer: z.ZodType;
  /** Runs the operation for an authorized request. */
  run(context: AdminContext, call: Call<z.output<z.ZodObject<Q>>, B>): Promise<Reply> | Reply;
}

// biome-ignore lint/suspicious/noExplicitAny: only the handler has the types of its query and body
export type AdminHandler = Handler<any, any>;

export interface AdminRoute {
  readonly row: AdminRow;
  readonly handler: AdminHandler;
}

/** Derives the types of `run`'s arguments from the schemas of query and body. */
export const handler = <Q extends Query = Record<never, never>, B = undefined>(
  of: Handler<Q, B>,
): AdminHandler => of;
