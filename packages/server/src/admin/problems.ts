// problems.ts: everything that can be wrong with a request to the admin API.
//
// out  problem documents like the public API's; where several things are wrong at once, `problems` lists them
// src  docs/errors.md has a section for each code; a test keeps both alike
// note Unlike the public API's, these may name the override or feed that is in the way; never an email address or a
//      token.

import { KeyInputError } from "../keys/key.ts";
import { OverrideInputError } from "../overrides/override.ts";
import { StoreError } from "../store/error.ts";
import { OverrideConflictError } from "../store/overrides.ts";

type Headers = Readonly<Record<string, string>>;

const row = (status: number, title: string, detail: string, headers: Headers = {}) => ({
  status,
  title,
  detail,
  headers,
});

const CHALLENGE = 'Bearer realm="inkling admin"';

/** The closed list of codes. */
export const ADMIN_PROBLEMS = {
  BODY_INVALID: row(400, "Invalid request body", "The body is not JSON in UTF-8."),
  QUERY_INVALID: row(400, "Invalid query parameter", "This request takes no query parameters."),
  AUTHOR_INVALID: row(400, "Invalid author", "`Inkling-Author` holds 1 to 100 printable characters."),
  IDEMPOTENCY_KEY_INVALID: row(
    400,
    "Invalid Idempotency-Key",
    "`Idempotency-Key` holds 1 to 200 printable characters without spaces, new for each request.",
  ),
  TOKEN_MISSING: row(401, "No admin token", "Send the admin token as `Authorization: Bearer ink_admin_…`.", {
    "WWW-Authenticate": CHALLENGE,
  }),
  TOKEN_INVALID: row(
    401,
    "Unknown admin token",
    "This is not the admin token of this server; `inkling admin token rotate` makes a new one.",
    { "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"` },
  ),
  SESSION_ENDED: row(
    401,
    "Session ended",
    "The session expired, or ended with its token or with the server. Log in again.",
    { "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"` },
  ),
  TOKEN_REQUIRED: row(
    403,
    "Admin token required",
    "The admin API takes the admin token, `ink_admin_…`, not an API key.",
    { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope"` },
  ),
  FORGED: row(
    403,
    "Request not from the console",
    "With a cookie, a request needs the header `Inkling-Console` with the session's secret, sent by a page of this listener.",
  ),
  NO_SUCH_PATH: row(404, "No such path", "The admin API has no such path."),
  OVERRIDE_NOT_FOUND: row(404, "No such override", "No override has this id."),
  KEY_NOT_FOUND: row(404, "No such key", "No key has this id."),
  RELEASE_NOT_FOUND: row(404, "No such release", "No release of this name is kept; the newest five are."),
  METHOD_INVALID: row(405, "Method not allowed", "`Allow` lists the methods of this path."),
  KEY_REVOKED: row(409, "Key is revoked", "A revoked key cannot be changed or restored; make another one."),
  STALE_FORM: row(
    409,
    "Another release is in use",
    "Read the current state, then decide again. Nothing was changed.",
  ),
  ACTION_REFUSED: row(409, "Action not possible now", "Nothing was changed."),
  OVERRIDE_CONTRADICTS: row(409, "Contradicts another override", "Remove the other override first."),
  OVERRIDES_FULL: row(409, "Too many overrides", "No more overrides can be in force."),
  BODY_TOO_LARGE: row(413, "Request body too large", "The body is larger than this path takes."),
  HOST_REFUSED: row(
    421,
    "Host name not allowed",
    "The admin listener answers to addresses, localhost, names without a dot, and those in INKLING_ADMIN_NAMES.",
  ),
  OVERRIDE_TOO_WIDE: row(422, "Override is very wide", 'Send `"force": true` to confirm it.'),
  ADMIN_INTERNAL: row(
    500,
    "Internal error",
    "This is a fault of the server. The log has the cause under the request_id.",
  ),
  NO_RELEASE: row(503, "No data loaded", "The server has no release of data yet.", { "Retry-After": "10" }),
  DATABASE_AWAY: row(
    503,
    "Database unreachable",
    "The database is unreachable; as far as this server knows, nothing was changed. Try again.",
    { "Retry-After": "5" },
  ),
};

export type AdminProblemCode = keyof typeof ADMIN_PROBLEMS;
export const ADMIN_PROBLEM_CODES = Object.keys(ADMIN_PROBLEMS) as AdminProblemCode[];

/** A refusal on its way to the caller. */
export class AdminProblem extends Error {
  readonly code: AdminProblemCode;
  readonly detail: string;
  readonly problems: readonly string[];
  readonly headers: Headers;

  /** @param detail in place of the code's own */
  constructor(
    code: AdminProblemCode,
    detail: string = ADMIN_PROBLEMS[code].detail,
    problems: readonly string[] = [],
    headers: Headers = {},
  ) {
    super(code);
    this.name = "AdminProblem";
    this.code = code;
    this.detail = detail;
    this.problems = problems;
    this.headers = { ...ADMIN_PROBLEMS[code].headers, ...headers };
  }

  get status(): number {
    return ADMIN_PROBLEMS[this.code].status;
  }

  body(requestId: string): string {
    const { code, status, detail, problems } = this;
    return JSON.stringify({
      type: `/docs/errors#${code.toLowerCase()}`,
      title: ADMIN_PROBLEMS[code].title,
      status,
      detail,
      code,
      request_id: requestId,
      ...(problems.length === 0 ? {} : { problems }),
    });
  }
}

/** A body that the path does not take. */
export function bodyProblem(problems: readonly string[]): AdminProblem {
  return new AdminProblem("BODY_INVALID", "The body is not what this path takes.", problems);
}

/** An error as the caller's problem; ADMIN_INTERNAL for an unexpected one. */
export function problemOf(error: unknown): AdminProblem {
  if (error instanceof AdminProblem) return error;
  if (error instanceof KeyInputError) return bodyProblem(error.problems);
  if (error instanceof OverrideInputError) {
    if (error.code === "INVALID") return bodyProblem(error.problems);
    return new AdminProblem(`OVERRIDE_${error.code}`, undefined, error.problems);
  }
  if (error instanceof OverrideConflictError) {
    const code = error.why === "CONTRADICTS" ? "OVERRIDE_CONTRADICTS" : "OVERRIDES_FULL";
    return new AdminProblem(code, undefined, error.problems);
  }
  if (error instanceof StoreError && error.code !== "BROKEN") {
    return new AdminProblem("DATABASE_AWAY", databaseDetail(error));
  }
  return new AdminProblem("ADMIN_INTERNAL");
}

/** Without the error's own text, which names hosts and paths: a caller need not have the token. */
function databaseDetail({ code, isReadOnly }: StoreError): string | undefined {
  const rest = "nothing was changed. The log has the cause under the request_id.";
  if (isReadOnly) return `The database cannot be written to; ${rest}`;
  if (code === "REFUSED" || code === "NEWER") return `The database cannot be used by this server; ${rest}`;
  return undefined;
}
