// session-routes.ts: log in to the admin API with its token, and out again.
//
// in   POST /admin/v1/session with {"token": "ink_admin_…"}
// out  a cookie (admin-sessions.ts)
// src  docs/admin-api.md

import { z } from "zod";
import { oneLine } from "../keys/fields.ts";
import { MAX_AUTHOR } from "../overrides/override.ts";
import type { AdminServer } from "./app.ts";
import { type AdminRoute, bodyProblem, type Call, type Reply } from "./call.ts";
import { AdminProblem } from "./problems.ts";
import { SESSION_MS, sessionCookie, setCookie } from "./sessions.ts";

export const loginBody = z
  .strictObject({
    token: z.string().max(200).meta({ description: "The admin token" }),
    author: oneLine(MAX_AUTHOR).optional().meta({ description: "Who you are, for the audit trail" }),
  })
  .meta({ id: "Login" });

export const SESSION_ROUTES: readonly AdminRoute<AdminServer>[] = [
  {
    template: "/admin/v1/session",
    path: /^session$/,
    methods: {
      GET: { id: "get_session", run: show },
      POST: { id: "log_in", isOpen: true, run: logIn },
      DELETE: { id: "log_out", run: logOut },
    },
  },
];

/** Who an admin is when nobody says so. */
export const SOMEBODY = "admin API";

async function logIn(server: AdminServer, { request, json }: Call): Promise<Reply> {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") throw new AdminProblem("FORGED");
  const read = loginBody.safeParse(await json());
  if (!read.success) {
    throw bodyProblem(
      read.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`),
    );
  }
  const { token, author = SOMEBODY } = read.data;
  const hash = await server.requireToken(token);
  const { cookie, session } = server.sessions.open(author, hash, server.now());
  return {
    status: 201,
    document: { author, expires_at: new Date(session.expiresAt).toISOString() },
    headers: { "Set-Cookie": setCookie(request, cookie, SESSION_MS / 1000) },
  };
}

/** @returns null where it is the token itself that was sent */
function show(_: AdminServer, { actor, session }: Call): Reply {
  const expires_at = session === undefined ? null : new Date(session.expiresAt).toISOString();
  return { status: 200, document: { author: actor, expires_at } };
}

function logOut({ sessions }: AdminServer, { request }: Call): Reply {
  const cookie = sessionCookie(request);
  if (cookie !== undefined) sessions.close(cookie);
  return {
    status: 200,
    document: { logged_out: true },
    headers: { "Set-Cookie": setCookie(request, "", 0) },
  };
}
