// supabase-hook.ts: POST /v1/hooks/supabase: may Supabase create this user?
//
// in   the hook "before user created": `metadata.ip_address` and `user.email`, signed by Standard Webhooks
// out  200 with {} where the user may be created, and with an `error` where not: Supabase shows its message, and takes a
//      response of another status for a failure of the hook
// err  problems: Supabase creates no user then
// src  docs/auth-hooks.md, https://www.standardwebhooks.com
//
// The signature admits the request, so there is no key and no quota. What is not signed costs one HMAC over at most
// 64 KiB. An assessment is counted in the metrics as one lookup of a live key.

import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../batch/body.ts";
import { type Problem, problem } from "../http/problems.ts";
import { PLAIN, type Question } from "../lookup/pipeline.ts";
import type { ApiContext, Handlings } from "./handler.ts";
import type { Exchange } from "./request-context.ts";

const MAX_BODY_BYTES = 64 * 1024;
/** How far the sender's clock may be from Inkling's. */
const TOLERANCE_SECONDS = 300;
const MESSAGE = "We cannot create this account. If that is a mistake, please contact us.";

const NO_HOOK = problem("PATH_NOT_FOUND", "This server has no hook: set INKLING_SUPABASE_HOOK_SECRET.");
const TOO_LARGE = problem(
  "CONTENT_TOO_LARGE",
  "The body of a hook has at most 64 KiB, as Content-Length says.",
);
const UNSIGNED = problem("SIGNATURE_INVALID");
const STALE = problem(
  "SIGNATURE_INVALID",
  "`webhook-timestamp` is more than five minutes from this server's clock.",
);
const CUT_SHORT = problem("BODY_INVALID", "The body ends early.");
const NO_USER = problem(
  "BODY_INVALID",
  'Send what Supabase sends to the hook "Before User Created": `metadata.name`, `metadata.ip_address` and `user.email`.',
);

const EVENT = "sign_up";
const text = z.string().optional().catch(undefined);
const HOOK = z.object({
  metadata: z.object({ name: z.literal("before-user-created"), ip_address: text }),
  user: z.object({ id: text, email: text }),
});

export const SUPABASE_HOOK_HANDLINGS = { supabase_hook: { handle: judgeUser } } satisfies Handlings;

async function judgeUser(exchange: Exchange, api: ApiContext): Promise<Response> {
  const { responses, hookSecrets } = api;
  const body = await readSigned(exchange, hookSecrets);
  if (!(body instanceof Uint8Array)) return responses.sendProblem(exchange, body);
  const hook = HOOK.safeParse(parseJson(body));
  if (!hook.success) return responses.sendProblem(exchange, NO_USER);
  const { metadata, user } = hook.data;
  const visitor = {
    event: EVENT,
    ...(user.email && { email: user.email }),
    ...(user.id && { ref: user.id.slice(0, 128) }),
  };
  const { server, decide } = await api.assessments();
  const question = questionOf(exchange);
  let decided = metadata.ip_address
    ? decide(server, { ...visitor, ip: metadata.ip_address }, question)
    : undefined;
  // Of a Supabase on this machine or behind a proxy that it does not know: what is left is the email address.
  if (decided === undefined || ("code" in decided && isNoVisitor(decided))) {
    if (decided !== undefined) api.counts.countProblem(decided.code);
    if (!user.email) return responses.sendJson(exchange, 200, {}); // there is nothing to assess
    decided = decide(server, visitor, question);
  }
  if ("code" in decided) return responses.sendProblem(exchange, decided);
  api.counts.countLookup("assess", "live", "single");
  const { action, id } = decided.answer;
  const answer = action === "deny" ? { error: { message: MESSAGE, http_code: 403 } } : {};
  const response = responses.sendJson(exchange, 200, answer);
  response.headers.set("Inkling-Action", action);
  response.headers.set("Inkling-Assessment", id);
  return response;
}

const isNoVisitor = ({ code }: Problem) => code === "IP_ADDRESS_RESERVED" || code === "IP_ADDRESS_INVALID";

function questionOf({ release, overrides, now, mode }: Exchange): Question {
  return { release, overrides, now, mode, isSandbox: false, wants: PLAIN, findCaller: () => undefined };
}

/** The body, if one of the secrets signed it. */
async function readSigned(
  { request, now }: Exchange,
  secrets: readonly string[],
): Promise<Uint8Array | Problem> {
  if (secrets.length === 0) return NO_HOOK;
  const { headers } = request;
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  const signature = headers.get("webhook-signature");
  if (id === null || timestamp === null || signature === null || !/^\d{1,12}$/.test(timestamp))
    return UNSIGNED;
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return STALE;
  const length = headers.get("content-length");
  if (length === null || Number(length) > MAX_BODY_BYTES) return TOO_LARGE;
  const body = await request.bytes().catch(() => CUT_SHORT);
  if (!(body instanceof Uint8Array)) return body;
  const isSigned = secrets.some((secret) => {
    const expected = createHmac("sha256", Buffer.from(secret, "base64"))
      .update(`${id}.${timestamp}.`)
      .update(body)
      .digest();
    return signature.split(" ").some((one) => matches(one, expected));
  });
  return isSigned ? body : UNSIGNED;
}

/** @param signature "v1,<base64>"; signatures of other versions are skipped */
function matches(signature: string, expected: Uint8Array): boolean {
  if (!signature.startsWith("v1,")) return false;
  const given = Buffer.from(signature.slice(3), "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
