// login.ts: who may use the admin API: the holder of the admin token, and pages that have logged in with it.
//
// in   the token; or the cookie and the secret (sessions.ts) that a login with the token returns
// err  AdminProblem
// src  docs/admin-api.md

import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { bearerToken } from "../keys/bearer-token.ts";
import { hashToken, isWellFormedToken } from "../keys/token.ts";
import { MAX_AUTHOR } from "../overrides/override.ts";
import { isAdminToken } from "../store/admin-token.ts";
import { oneLine } from "../text/fields.ts";
import { type AdminContext, type AdminHandlers, handler, text, time } from "./handler.ts";
import { DEFAULT_ACTOR } from "./request.ts";
import { CONSOLE_HEADER, SESSION_MS, type Session, sessionCookies, setCookie } from "./sessions.ts";

const loginBody = z
  .strictObject({
    token: z.string().max(200).meta({ description: "The admin token" }),
    author: oneLine(MAX_AUTHOR).optional().meta({ description: "Your name, for the audit trail" }),
  })
  .meta({ id: "Login" });

const sessionAnswer = z
  .strictObject({
    author: text,
    expires_at: time.nullable().meta({ description: "Null if the request has the token itself" }),
  })
  .meta({ id: "Session" });

const loginAnswer = sessionAnswer
  .extend({
    secret: text.meta({ description: "Send it with the cookie, as the header `Inkling-Console`" }),
  })
  .meta({ id: "NewSession" });

const isoTime = (ms: number) => new Date(ms).toISOString();

export const SESSION_HANDLERS = {
  get_session: handler({
    answer: sessionAnswer,
    run: (_, { by: { actor }, session }) => ({
      document: { author: actor, expires_at: session === undefined ? null : isoTime(session.expiresAt) },
    }),
  }),
  log_in: handler({
    body: { schema: loginBody },
    answer: loginAnswer,
    run: async (context, { request, body }) => {
      const { token, author = DEFAULT_ACTOR } = body;
      requireOwnPage(request, context);
      const hash = await requireToken(token, context);
      const { cookie, secret, session } = context.sessions.open(author, hash, context.now());
      return {
        document: { author, expires_at: isoTime(session.expiresAt), secret },
        headers: { "Set-Cookie": setCookie(request, cookie, SESSION_MS / 1000) },
      };
    },
  }),
  log_out: handler({
    answer: z.strictObject({ logged_out: z.literal(true) }),
    run: ({ sessions }, { request, session }) => {
      if (session !== undefined) sessions.close(session);
      return { document: { logged_out: true }, headers: { "Set-Cookie": setCookie(request, "", 0) } };
    },
  }),
} satisfies AdminHandlers;

/** @returns the session, or undefined where the request carries the token itself */
export async function admit(request: Request, context: AdminContext): Promise<Session | undefined> {
  const token = bearerToken(request.headers.get("authorization"));
  if (token !== undefined) {
    await requireToken(token, context);
    return undefined;
  }
  const cookies = sessionCookies(request);
  if (cookies.length === 0) throw new AdminProblem("TOKEN_MISSING");
  const secret = request.headers.get(CONSOLE_HEADER) ?? "";
  if (secret === "") throw new AdminProblem("CSRF_REJECTED");
  requireOwnPage(request, context);
  const session = context.sessions.find(cookies, secret, await context.adminToken.hash(), context.now());
  if (session === undefined) throw new AdminProblem("SESSION_ENDED");
  return session;
}

/** Only a page of this listener, or a program that is no browser, can have sent this. */
function requireOwnPage({ headers }: Request, { hostNames }: AdminContext): void {
  const site = headers.get("sec-fetch-site");
  const isOwn = hostNames.isOwnOrigin(headers.get("origin"), headers.get("host"));
  if (isOwn && (site === null || site === "same-origin")) return;
  throw new AdminProblem(
    "CSRF_REJECTED",
    "The browser names a page of another origin. Behind a proxy that changes `Host`, list the page's host in INKLING_ADMIN_NAMES.",
  );
}

/** @returns the hash of the token in force */
async function requireToken(token: string, { adminToken }: AdminContext): Promise<string> {
  if (isWellFormedToken(token)) throw new AdminProblem("TOKEN_REQUIRED");
  if (!isAdminToken(token)) throw new AdminProblem("TOKEN_INVALID");
  const hash = await adminToken.hash();
  if (hash === undefined || !timingSafeEqual(Buffer.from(hash), Buffer.from(hashToken(token)))) {
    throw new AdminProblem("TOKEN_INVALID");
  }
  return hash;
}
