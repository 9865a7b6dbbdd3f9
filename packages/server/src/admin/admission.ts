// admission.ts: who may use the admin API: the holder of the admin token, and pages with a session's cookie.
//
// err  AdminProblem

import { timingSafeEqual } from "node:crypto";
import { bearerToken } from "../http/bearer-token.ts";
import { hashToken, isWellFormedToken } from "../keys/token.ts";
import { isAdminToken } from "../store/admin-token.ts";
import type { AdminContext } from "./context.ts";
import { AdminProblem } from "./problems.ts";
import { isFromConsole, type Session, sessionCookie } from "./sessions.ts";

/** @returns the session, or undefined where the request carries the token itself */
export async function admit(request: Request, context: AdminContext): Promise<Session | undefined> {
  const token = bearerToken(request.headers.get("authorization"));
  if (token !== undefined) {
    await requireToken(token, context);
    return undefined;
  }
  const cookie = sessionCookie(request);
  if (cookie === undefined) throw new AdminProblem("TOKEN_MISSING");
  const session = context.sessions.find(cookie, await context.adminToken.hash(), context.now());
  if (session === undefined) throw new AdminProblem("SESSION_ENDED");
  const isReading = request.method === "GET" || request.method === "HEAD";
  if (!isReading && !isFromConsole(request)) throw new AdminProblem("FORGED");
  return session;
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
