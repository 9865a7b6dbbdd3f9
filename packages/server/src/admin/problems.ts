// problems.ts: everything that can be wrong with a request to the admin API.
//
// out  problem documents like the public API's; where several things are wrong at once, `problems` lists them
// src  docs/errors.md has a section for each code; a test keeps both alike
// note Unlike the public API's, these may name the override or feed that is in the way; never an e-mail address or
//      a token.

export interface AdminProblemRow {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CHALLENGE = 'Bearer realm="inkling admin"';

/** The closed list of codes. */
export const ADMIN_PROBLEMS = {
  BODY_INVALID: {
    status: 400,
    title: "The body cannot be used",
    detail: "The body is not JSON in UTF-8.",
  },
  QUERY_INVALID: {
    status: 400,
    title: "Unknown parameter",
    detail: "This request takes no query parameters.",
  },
  AUTHOR_INVALID: {
    status: 400,
    title: "The author cannot be read",
    detail: "`Inkling-Author` holds 1 to 100 printable characters.",
  },
  IDEMPOTENCY_KEY_INVALID: {
    status: 400,
    title: "The Idempotency-Key cannot be used",
    detail: "`Idempotency-Key` holds 1 to 200 printable characters without spaces, new for each request.",
  },
  TOKEN_MISSING: {
    status: 401,
    title: "No admin token",
    detail: "Send the admin token as `Authorization: Bearer ink_admin_…`.",
    headers: { "WWW-Authenticate": CHALLENGE },
  },
  TOKEN_INVALID: {
    status: 401,
    title: "Unknown admin token",
    detail: "This is not the admin token of this server; `inkling admin token rotate` makes a new one.",
    headers: { "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"` },
  },
  SESSION_ENDED: {
    status: 401,
    title: "Not logged in any more",
    detail: "The session has expired, or ended with its token or with the server. Log in again.",
    headers: { "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"` },
  },
  TOKEN_REQUIRED: {
    status: 403,
    title: "An API key is no admin token",
    detail: "The admin API takes the admin token, `ink_admin_…`. Applications have no place here.",
    headers: { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope"` },
  },
  FORGED: {
    status: 403,
    title: "This did not come from the console",
    detail:
      "With a cookie, whatever changes something needs the header `Inkling-Console`, from a page of this server.",
  },
  NO_SUCH_PATH: {
    status: 404,
    title: "No such path",
    detail: "There is nothing at this path of the admin API.",
  },
  OVERRIDE_NOT_FOUND: {
    status: 404,
    title: "No such override",
    detail: "There never was an override with this id.",
  },
  KEY_NOT_FOUND: {
    status: 404,
    title: "No such key",
    detail: "There never was a key with this id.",
  },
  RELEASE_NOT_FOUND: {
    status: 404,
    title: "No such release",
    detail: "There is no release of this name, or no more: the newest five are kept.",
  },
  METHOD_INVALID: {
    status: 405,
    title: "Method not allowed",
    detail: "`Allow` names the methods that this path has.",
  },
  KEY_REVOKED: {
    status: 409,
    title: "The key was revoked",
    detail: "A revoked key neither changes nor comes back; make another one.",
  },
  STALE_FORM: {
    status: 409,
    title: "Another release is in use by now",
    detail: "Look at the data again, then decide. Nothing was changed.",
  },
  ACTION_REFUSED: {
    status: 409,
    title: "This cannot be done now",
    detail: "Nothing was changed.",
  },
  OVERRIDE_CONTRADICTS: {
    status: 409,
    title: "Another override says the opposite",
    detail: "Remove the other override first.",
  },
  OVERRIDES_FULL: {
    status: 409,
    title: "Too many overrides",
    detail: "No more overrides can be in force.",
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: "Request body too large",
    detail: "The body is larger than this path takes.",
  },
  OVERRIDE_TOO_WIDE: {
    status: 422,
    title: "The override is very wide",
    detail: 'Send `"force": true` if this is meant.',
  },
  ADMIN_INTERNAL: {
    status: 500,
    title: "Internal error",
    detail: "This is our fault. The log has the cause under the request_id.",
  },
  NO_RELEASE: {
    status: 503,
    title: "No data yet",
    detail: "The server has no release of data yet.",
    headers: { "Retry-After": "10" },
  },
  DATABASE_AWAY: {
    status: 503,
    title: "Database away",
    detail: "The database cannot be reached now; nothing was changed as far as this server knows. Try again.",
    headers: { "Retry-After": "5" },
  },
} as const satisfies Record<string, AdminProblemRow>;

export type AdminProblemCode = keyof typeof ADMIN_PROBLEMS;
export const ADMIN_PROBLEM_CODES = Object.keys(ADMIN_PROBLEMS) as AdminProblemCode[];

/** A refusal on its way to the caller. */
export class AdminProblem extends Error {
  readonly code: AdminProblemCode;
  readonly detail: string;
  readonly problems: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: AdminProblemCode,
    detail?: string,
    problems: readonly string[] = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(code);
    this.name = "AdminProblem";
    const row: AdminProblemRow = ADMIN_PROBLEMS[code];
    this.code = code;
    this.detail = detail ?? row.detail;
    this.problems = problems;
    this.headers = { ...row.headers, ...headers };
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
