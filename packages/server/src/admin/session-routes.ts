// session-routes.ts: log in to the admin API with its token, and out again.
//
// in   POST /admin/v1/session with {"token": "ink_admin_…"}
// out  a cookie and a secret (sessions.ts)
// src  docs/admin-api.md

import { z } from "zod";
import { MAX_AUTHOR } from "../overrides/override.ts";
import { oneLine } from "../text/fields.ts";
import { requireOwnPage, requireToken } from "./admission.ts";
import { type Operation, operation } from "./operation.ts";
import { DEFAULT_ACTOR } from "./request.ts";
import { text, time } from "./schemas.ts";
import { SESSION_MS, setCookie } from "./sessions.ts";

const loginBody = z
  .strictObject({
    token: z.string().max(200).meta({ description: "The admin token" }),
    author: oneLine(MAX_AUTHOR).optional().meta({ description: "Your name, for the audit trail" }),
  })
  .meta({ id: "Login" });

const sessionAnswer = z
  .strictObject({
    author: text,
    expires_at: time.nullable().meta({ description: "null where the token itself was sent" }),
  })
  .meta({ id: "Session" });

const loginAnswer = sessionAnswer
  .extend({
    secret: text.meta({ description: "Send it with the cookie, as the header `Inkling-Console`" }),
  })
  .meta({ id: "NewSession" });

const isoTime = (ms: number) => new Date(ms).toISOString();

export const SESSION_OPERATIONS: readonly Operation[] = [
  operation({
    id: "get_session",
    method: "GET",
    path: "session",
    tag: "Log in",
    summary: "The session's author and end",
    answer: sessionAnswer,
    run: (_, { by: { actor }, session }) => ({
      document: { author: actor, expires_at: session === undefined ? null : isoTime(session.expiresAt) },
    }),
  }),
  operation({
    id: "log_in",
    method: "POST",
    path: "session",
    tag: "Log in",
    summary: "Log in with the admin token: the answer sets a cookie, and holds the secret to send with it",
    isOpen: true,
    body: { schema: loginBody },
    answer: loginAnswer,
    status: 201,
    headers: ["Set-Cookie"],
    codes: ["TOKEN_INVALID", "TOKEN_REQUIRED", "CSRF_REJECTED"],
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
  operation({
    id: "log_out",
    method: "DELETE",
    path: "session",
    tag: "Log in",
    summary: "Log out",
    answer: z.strictObject({ logged_out: z.literal(true) }),
    headers: ["Set-Cookie"],
    run: ({ sessions }, { request, session }) => {
      if (session !== undefined) sessions.close(session);
      return { document: { logged_out: true }, headers: { "Set-Cookie": setCookie(request, "", 0) } };
    },
  }),
];
