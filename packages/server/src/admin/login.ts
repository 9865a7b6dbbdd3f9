// login.ts: decides who may use the admin API: programs that send an admin token, and pages that have logged in with an
// admin token.
//
// Source: docs/admin-api.md.

import { ADMIN_PATH } from "@inkling/contract";
import { session as sessionSchema } from "@inkling/operations/answer-schemas";
import { text } from "@inkling/operations/operation";
import { isAdminToken, type ValidAdminToken } from "@inkling/store/admin-token";
import { StoreError } from "@inkling/store/error";
import { bearerToken, hashToken, isWellFormedToken } from "@inkling/store/keys/token";
import { MAX_AUTHOR } from "@inkling/store/overrides/override";
import { oneLine } from "@inkling/store/text/fields";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { type AdminContext, type AdminRoute, handler } from "./handler.ts";
import { authorOf, DEFAULT_AUTHOR } from "./request.ts";
import { CONSOLE_HEADER, SESSION_MS, type Session, sessionCookies, setCookie } from "./sessions.ts";

const loginBody = z
  .strictObject({
    token: z.string().max(200).meta({ description: "An admin token" }),
    author: oneLine(MAX_AUTHOR).optional().meta({
      description: "Your name, for the audit trail; with a named token, omit this or send the token's name",
    }),
  })
  .meta({ id: "Login" });

const loginAnswer = sessionSchema
  .extend({
    secret: text.meta({ description: "Send it with the cookie, in the `Inkling-Console` header" }),
  })
  .meta({ id: "NewSession" });

const isoTime = (ms: number) => new Date(ms).toISOString();

const row = { path: `${ADMIN_PATH}session`, tag: "Log in", role: "read", audits: [] } as const;

/** These are not rows of packages/operations, because cookies and the request's origin exist only over HTTP. */
export const SESSION_ROUTES: Readonly<Record<"get_session" | "log_in" | "log_out", AdminRoute>> = {
  get_session: {
    row: {
      ...row,
      method: "GET",
      summary: "The author, role and expiry of the session or token",
      docs: "author and expiry of the session; name and role of its token",
    },
    handler: handler({
      answer: sessionSchema,
      run: (_, { by: { author }, token, session }) => ({
        document: sessionJson(token!, author, session), // always set: this operation requires a token
      }),
    }),
  },
  log_in: {
    row: {
      ...row,
      method: "POST",
      summary:
        "Log in with an admin token. The answer sets a cookie and contains the secret to send with the cookie",
      docs: '201: logs in with `{"token":"ink_admin_…","author":"ada"}`, sets a cookie and returns a secret',
      isOpen: true,
      status: 201,
      headers: ["Set-Cookie"],
      problems: ["TOKEN_INVALID", "TOKEN_REQUIRED", "CSRF_REJECTED"],
    },
    handler: handler({
      body: loginBody,
      answer: loginAnswer,
      run: async (context, { request, body }) => {
        requireOwnPage(request, context);
        const token = await requireToken(body.token, context);
        const author = authorOf(token, body.author) ?? DEFAULT_AUTHOR;
        const { cookie, secret, session } = context.sessions.open(author, token.hash, context.now());
        return {
          document: { ...sessionJson(token, author, session), secret },
          headers: { "Set-Cookie": setCookie(request, cookie, SESSION_MS / 1000) },
        };
      },
    }),
  },
  log_out: {
    row: {
      ...row,
      method: "DELETE",
      summary: "Log out",
      docs: "logs out",
      headers: ["Set-Cookie"],
    },
    handler: handler({
      answer: z.strictObject({ logged_out: z.literal(true) }),
      run: ({ sessions }, { request, session }) => {
        if (session !== undefined) sessions.close(session);
        return { document: { logged_out: true }, headers: { "Set-Cookie": setCookie(request, "", 0) } };
      },
    }),
  },
};

function sessionJson({ role, name }: ValidAdminToken, author: string, session: Session | undefined) {
  const expires_at = session === undefined ? null : isoTime(session.expiresAt);
  return { author, role, token_name: name ?? null, expires_at };
}

/** The token and the session of an authorized request. */
interface Admitted {
  readonly token: ValidAdminToken;
  /** Undefined if the request carries the token itself. */
  readonly session: Session | undefined;
}

/** Checks the request's token or session. @throws AdminProblem if neither is valid */
export async function admit(request: Request, context: AdminContext): Promise<Admitted> {
  const text = bearerToken(request.headers.get("authorization"));
  if (text !== undefined) return { token: await requireToken(text, context), session: undefined };
  const cookies = sessionCookies(request);
  if (cookies.length === 0) throw new AdminProblem("TOKEN_MISSING");
  const secret = request.headers.get(CONSOLE_HEADER) ?? "";
  if (secret === "") throw new AdminProblem("CSRF_REJECTED");
  requireOwnPage(request, context);
  const session = context.sessions.find(cookies, secret, context.now());
  const token = session && (await context.store.adminToken.find(session.tokenHash));
  if (session === undefined || token === undefined) throw new AdminProblem("SESSION_ENDED");
  await recordUse(token, context);
  return { token, session };
}

/**
 * Refuses requests from pages of other origins. Requests from this listener's own pages may pass, as may requests from
 * programs other than browsers.
 */
function requireOwnPage({ headers }: Request, { hostNames }: AdminContext): void {
  const site = headers.get("sec-fetch-site");
  const isOwn = hostNames.isOwnOrigin(headers.get("origin"), headers.get("host"));
  if (isOwn && (site === null || site === "same-origin")) return;
  throw new AdminProblem(
    "CSRF_REJECTED",
    "The request came from a page of a different origin. Behind a proxy that changes `Host`, list the page's host in INKLING_ADMIN_NAMES.",
  );
}

/** Finds the token by its hash, so that the response time reveals nothing about stored tokens. Records its use. */
async function requireToken(text: string, context: AdminContext): Promise<ValidAdminToken> {
  if (isWellFormedToken(text)) throw new AdminProblem("TOKEN_REQUIRED");
  if (!isAdminToken(text)) throw new AdminProblem("TOKEN_INVALID");
  const token = await context.store.adminToken.find(hashToken(text));
  if (token === undefined) throw new AdminProblem("TOKEN_INVALID");
  await recordUse(token, context);
  return token;
}

/**
 * Records that a token was used. If the database cannot be written to, the request passes anyway, because operators
 * must be able to revoke keys while the disk is full.
 */
async function recordUse(token: ValidAdminToken, { store, log }: AdminContext): Promise<void> {
  try {
    await store.adminToken.recordUse(token);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.error("admin-database-failed", { reason: error.message, hint: error.hint });
  }
}
