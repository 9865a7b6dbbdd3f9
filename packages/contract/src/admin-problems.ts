// admin-problems.ts: every error code of the admin API.
//
// The server's problem documents (RFC 9457), the console's texts and the table of docs/admin-api.md derive from
// these rows. A code never changes its meaning or its status, but later versions may add codes.

import { PROBLEMS, type ProblemRow, UNCLEAR_PATH } from "./problems.ts";
import { keysOf } from "./tables.ts";

const ADMIN_CHALLENGE = 'Bearer realm="inkling admin"';
const INSUFFICIENT_ADMIN_SCOPE = { "WWW-Authenticate": `${ADMIN_CHALLENGE}, error="insufficient_scope"` };
const INVALID_ADMIN_TOKEN = { "WWW-Authenticate": `${ADMIN_CHALLENGE}, error="invalid_token"` };

/** The problems of the admin API. */
export const ADMIN_PROBLEMS = {
  BODY_INVALID: {
    status: 400,
    title: "Invalid request body",
    detail: "The body is not JSON in UTF-8.",
  },
  PATH_INVALID: {
    status: 400,
    title: "Invalid path",
    detail: UNCLEAR_PATH,
  },
  PARAMETER_INVALID: PROBLEMS.PARAMETER_INVALID,
  AUTHOR_INVALID: {
    status: 400,
    title: "Invalid author",
    detail: "`Inkling-Author` must have 1 to 100 printable characters.",
  },
  IDEMPOTENCY_KEY_INVALID: PROBLEMS.IDEMPOTENCY_KEY_INVALID,
  TOKEN_MISSING: {
    status: 401,
    title: "No admin token",
    detail:
      "Send an admin token as `Authorization: Bearer ink_admin_…`. Create one with `inkling admin-tokens create`.",
    headers: { "WWW-Authenticate": ADMIN_CHALLENGE },
  },
  TOKEN_INVALID: {
    status: 401,
    title: "Unknown admin token",
    detail:
      "No admin token on this server matches: the token was revoked, has expired, or was not copied correctly. Create one with `inkling admin-tokens create`.",
    headers: INVALID_ADMIN_TOKEN,
  },
  SESSION_ENDED: {
    status: 401,
    title: "Session ended",
    detail: "The session has expired, its token was revoked, or the server restarted. Log in again.",
    headers: INVALID_ADMIN_TOKEN,
  },
  TOKEN_REQUIRED: {
    status: 403,
    title: "Admin token required",
    detail:
      "The admin API takes an admin token, `ink_admin_…`, not an API key. Create one with `inkling admin-tokens create`.",
    headers: INSUFFICIENT_ADMIN_SCOPE,
  },
  ROLE_REQUIRED: {
    status: 403,
    title: "The admin token does not allow this",
    detail:
      "This request needs an admin token with a higher role. Create one with `inkling admin-tokens create`.",
    headers: INSUFFICIENT_ADMIN_SCOPE,
  },
  CSRF_REJECTED: {
    status: 403,
    title: "Request not from the console",
    detail:
      "A request with a cookie also needs the `Inkling-Console` header with the session's secret, and must come from a page of this listener.",
  },
  PATH_NOT_FOUND: {
    ...PROBLEMS.PATH_NOT_FOUND,
    detail: "The admin API has no such path. `/admin/v1/openapi.json` describes every path.",
  },
  OVERRIDE_NOT_FOUND: {
    status: 404,
    title: "No such override",
    detail: "No override has this id. `GET /admin/v1/overrides` lists the active overrides.",
  },
  KEY_NOT_FOUND: {
    status: 404,
    title: "No such key",
    detail: "No key has this id. `GET /admin/v1/keys` lists the keys.",
  },
  ADMIN_TOKEN_NOT_FOUND: {
    status: 404,
    title: "No such admin token",
    detail: "No admin token has this name. `GET /admin/v1/admin-tokens` lists the tokens.",
  },
  DECISION_NOT_FOUND: PROBLEMS.DECISION_NOT_FOUND,
  RULESET_NOT_FOUND: {
    status: 404,
    title: "No such ruleset",
    detail: "No ruleset has this number. `GET /admin/v1/rulesets` lists the rulesets.",
  },
  WEBHOOK_NOT_FOUND: {
    status: 404,
    title: "No such webhook",
    detail: "No webhook has this id. `GET /admin/v1/webhooks` lists the webhooks.",
  },
  RELEASE_NOT_FOUND: {
    status: 404,
    title: "No such release",
    detail: "No stored release has this id or name. `GET /admin/v1/data/releases` lists the stored releases.",
  },
  METHOD_NOT_ALLOWED: {
    ...PROBLEMS.METHOD_NOT_ALLOWED,
    detail: "`Allow` lists the methods of this path.",
  },
  KEY_REVOKED: {
    status: 409,
    title: "Key is revoked",
    detail: "A revoked key cannot be changed or restored. Create another key.",
  },
  ADMIN_TOKEN_EXISTS: {
    status: 409,
    title: "Admin token already exists",
    detail: "Choose another name, or revoke the existing token first.",
  },
  RELEASE_CONFLICT: {
    status: 409,
    title: "A different release is in use",
    detail: "Read the current state, then decide again. Nothing was changed.",
  },
  COPY_CONFLICT: {
    status: 409,
    title: "A different copy is held",
    detail: "Read the state of the feed, then decide again. Nothing was changed.",
  },
  RULESET_CONFLICT: {
    status: 409,
    title: "Another ruleset was published",
    detail: "Read the newest ruleset, then decide again. Nothing was changed.",
  },
  ACTION_REFUSED: { status: 409, title: "Action not possible now", detail: "Nothing was changed." },
  OVERRIDE_CONTRADICTS: {
    status: 409,
    title: "Contradicts another override",
    detail: "Remove one of the two overrides first.",
  },
  OVERRIDES_FULL: {
    status: 409,
    title: "Too many overrides",
    detail: "The maximum number of overrides is active. Remove some first.",
  },
  WEBHOOKS_FULL: {
    status: 409,
    title: "Too many webhooks",
    detail: "The server has the maximum number of webhooks. Remove one first.",
  },
  CONTENT_TOO_LARGE: PROBLEMS.CONTENT_TOO_LARGE,
  RATE_LIMITED: {
    ...PROBLEMS.RATE_LIMITED,
    detail: "Too many request bodies are arriving at the same time. Retry in a second.",
  },
  HOST_REFUSED: {
    status: 421,
    title: "Host name not allowed",
    detail:
      "The admin listener accepts addresses, localhost, names without a dot, and the names in INKLING_ADMIN_NAMES. Use one of these, or add the name to INKLING_ADMIN_NAMES.",
  },
  RULESET_INVALID: {
    status: 422,
    title: "The ruleset has mistakes",
    detail: "`problems` lists each mistake. Nothing was changed.",
  },
  WEBHOOK_URL_REFUSED: {
    status: 422,
    title: "Webhook address not allowed",
    detail: "A webhook needs an https address on the public internet, unless `allow_private` is true.",
  },
  OVERRIDE_TOO_WIDE: {
    status: 422,
    title: "Override is very broad",
    detail: "Set `force` to confirm it.",
  },
  INTERNAL: PROBLEMS.INTERNAL,
  DATA_NOT_LOADED: {
    ...PROBLEMS.DATA_NOT_LOADED,
    detail: "The server has no data release that it can use. Run `inkling doctor` to see why.",
  },
  REVOCATION_UNWRITTEN: {
    status: 503,
    title: "Revocation not written",
    detail:
      "The server cannot write the file `revoked` in its data folder. Nothing was revoked. Search the log for the request_id to find the cause.",
    headers: { "Retry-After": "5" },
  },
  DATABASE_UNREACHABLE: {
    status: 503,
    title: "Database unreachable",
    detail: "The database is unreachable. Nothing was changed, as far as this server can tell. Try again.",
    headers: { "Retry-After": "5" },
  },
} as const satisfies Record<string, ProblemRow>;

export type AdminProblemCode = keyof typeof ADMIN_PROBLEMS;
export const ADMIN_PROBLEM_CODES = keysOf(ADMIN_PROBLEMS);
