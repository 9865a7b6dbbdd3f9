// admission.ts: who may use the admin API: the holder of the admin token, and pages with a session.
//
// err  AdminProblem

import { timingSafeEqual } from "node:crypto";
import { AdminProblem } from "../http/problems.ts";
import { bearerToken } from "../keys/bearer-token.ts";
import { hashToken, isWellFormedToken } from "../keys/token.ts";
import { isAdminToken } from "../store/admin-token.ts";
import type { AdminContext } from "./context.ts";
import { CONSOLE_HEADER, type Session, sessionCookies } from "./sessions.ts";

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
export function requireOwnPage({ headers }: Request, { hostNames }: AdminContext): void {
  const site = headers.get("sec-fetch-site");
  const isOwn = hostNames.isOwnOrigin(headers.get("origin"), headers.get("host"));
  if (isOwn && (site === null || site === "same-origin")) return;
  throw new AdminProblem(
    "CSRF_REJECTED",
    "The browser names a page of another origin. Behind a proxy that changes `Host`, list the page's host in INKLING_ADMIN_NAMES.",
  );
}

/** @returns the hash of the token in force */
export async function requireToken(token: string, { adminToken }: AdminContext): Promise<string> {
  if (isWellFormedToken(token)) throw new AdminProblem("TOKEN_REQUIRED");
  if (!isAdminToken(token)) throw new AdminProblem("TOKEN_INVALID");
  const hash = await adminToken.hash();
  if (hash === undefined || !timingSafeEqual(Buffer.from(hash), Buffer.from(hashToken(token)))) {
    throw new AdminProblem("TOKEN_INVALID");
  }
  return hash;
}
