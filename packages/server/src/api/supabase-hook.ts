// supabase-hook.ts: decides whether Supabase may create a user (POST /v1/hooks/supabase).
//
// Both answers have status 200, and the body of a refusal contains `error`. Supabase treats any other status as a
// failure of the hook. Source: docs/auth-hooks.md, https://www.standardwebhooks.com.
//
// The signature authorizes the request, so there is no key and no quota. An unsigned request costs at most one HMAC
// over 64 KiB for each secret. Together, all unfinished bodies of the hook take up at most 32 MiB. The metrics count a
// decision as one lookup with a live key.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { DecisionAnswer } from "@inkling/contract";
import { z } from "zod";
import { parseJson } from "../batch/body.ts";
import { type Problem, problem } from "../http/problems.ts";
import type { Bodies } from "../limits/memory.ts";
import type { HookRequest } from "./assess-answers.ts";
import type { Api, Handlings } from "./handler.ts";
import type { Exchange } from "./request-context.ts";

const MAX_BODY_BYTES = 64 * 1024;
/** Maximum difference in seconds between the sender's clock and this server's clock. */
const TOLERANCE_SECONDS = 300;
const MESSAGE = "We cannot create this account. If you think this is a mistake, please contact us.";
const CHECK_EMAIL = "Please check the email address.";

const NO_HOOK = problem(
  "PATH_NOT_FOUND",
  "The hook is not configured on this server. Set INKLING_SUPABASE_HOOK_SECRET.",
);
const TOO_LARGE = problem(
  "CONTENT_TOO_LARGE",
  "A hook's body may be at most 64 KiB, and the request needs a `Content-Length` header.",
);
const UNSIGNED = problem("SIGNATURE_INVALID");
const STALE = problem(
  "SIGNATURE_INVALID",
  "`webhook-timestamp` differs from this server's clock by more than five minutes.",
);
const USED_ID = problem("SIGNATURE_INVALID", "This `webhook-id` was already used with a different body.");
const CUT_SHORT = problem("BODY_INVALID", "The body was cut short.");
const TOO_MANY = problem(
  "RATE_LIMITED",
  "Too many request bodies are arriving at this hook. Retry in a second; let only Supabase reach this path.",
);
const FAILURES = { "too-large": TOO_LARGE, "cut-short": CUT_SHORT, "too-many": TOO_MANY };
/** All bodies of the hook count against one share, because nobody knows their sender until they are complete. */
const HOLDER = "supabase hook";
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

async function judgeUser(exchange: Exchange, api: Api): Promise<Response> {
  const { responses, settings } = api;
  const signed = await readSigned(exchange, settings.supabaseHookSecret, api.memory.bodies);
  if ("code" in signed) return responses.sendProblem(exchange, signed);
  const hook = HOOK.safeParse(parseJson(signed.body));
  if (!hook.success) return responses.sendProblem(exchange, NO_USER);
  const { metadata, user } = hook.data;
  const visitor = {
    event: EVENT,
    ...(user.email && { email: user.email }),
    ...(user.id && { ref: user.id.slice(0, 128) }),
  };
  const decisionAnswers = await api.decisionAnswers();
  const question = exchange.questionAboutVisitor();
  let decided = metadata.ip_address
    ? await decisionAnswers.decide({ ...visitor, ip: metadata.ip_address }, question, signed)
    : undefined;
  // The address is unusable if Supabase runs on this machine, or behind a proxy that Supabase does not know about. The
  // email address can still be assessed.
  if (decided === undefined || ("code" in decided && isNoVisitor(decided))) {
    if (decided !== undefined) api.counts.countProblem(decided.code);
    // without a usable address and without an email address, there is nothing to assess
    if (!user.email) return responses.sendJson(exchange, 200, {});
    decided = await decisionAnswers.decide(visitor, question, signed);
  }
  if ("code" in decided) {
    const isOtherBody = decided.code === "IDEMPOTENCY_KEY_INVALID";
    return responses.sendProblem(exchange, isOtherBody ? USED_ID : decided);
  }
  api.counts.countLookup("assess", "live", "single");
  const { action, id } = decided;
  const answer = action === "deny" ? { error: refusal(decided) } : {};
  const response = responses.sendJson(exchange, 200, answer);
  response.headers.set("Inkling-Action", action);
  response.headers.set("Inkling-Decision", id);
  return response;
}

/** A typing mistake is not an attack, so its message states what to correct. */
function refusal({ did_you_mean, reasons }: DecisionAnswer) {
  if (did_you_mean !== undefined) return { message: `Did you mean ${did_you_mean}?`, http_code: 422 };
  return reasons.some(({ code }) => code === "invalid_email")
    ? { message: CHECK_EMAIL, http_code: 422 }
    : { message: MESSAGE, http_code: 403 };
}

const isNoVisitor = ({ code }: Problem) => code === "IP_ADDRESS_RESERVED" || code === "IP_ADDRESS_INVALID";

/** Reads the body, and returns it only if it was signed with one of the secrets. A copy returns the same result. */
async function readSigned(
  { request, now }: Exchange,
  secrets: readonly string[],
  bodies: Bodies,
): Promise<HookRequest | Problem> {
  if (secrets.length === 0) return NO_HOOK;
  const { headers } = request;
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  const signature = headers.get("webhook-signature");
  if (id === null || timestamp === null || signature === null || !/^\d{1,12}$/.test(timestamp))
    return UNSIGNED;
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return STALE;
  if (!headers.has("content-length")) return TOO_LARGE;
  const body = await bodies.read(request, { holder: HOLDER, maxBytes: MAX_BODY_BYTES });
  if (!(body instanceof Uint8Array)) return FAILURES[body];
  const secret = secrets.find((secret) => {
    const expected = createHmac("sha256", Buffer.from(secret, "base64"))
      .update(`${id}.${timestamp}.`)
      .update(body)
      .digest();
    return signature.split(" ").some((one) => matches(one, expected));
  });
  return secret === undefined ? UNSIGNED : { secret, id, body };
}

/** Compares a signature in constant time. @param signature "v1,<base64>"; other versions never match */
function matches(signature: string, expected: Uint8Array): boolean {
  if (!signature.startsWith("v1,")) return false;
  const given = Buffer.from(signature.slice(3), "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
