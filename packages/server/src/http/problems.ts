// problems.ts: creates the problem documents of the public API and of the admin API.
//
// A problem of the public API is a value, not an exception, because creating a stack trace for each request of a flood
// would be expensive. The detail never quotes a value from the request, because the client might log an email address
// or a key.
//
// A problem of the admin API is thrown. It may name the override or feed that prevents the operation, and lists each
// mistake in `problems`.

import {
  ADMIN_PROBLEMS,
  INSUFFICIENT_SCOPE,
  PROBLEMS,
  type ProblemCode,
  type ProblemRow,
} from "@inkling/contract";
import { AdminProblem } from "@inkling/operations/problem";

export { AdminProblem, type ProblemCode };
export const PROBLEM_TYPE = "application/problem+json";

type Headers = Readonly<Record<string, string>>;
const NO_HEADERS: Headers = {};

export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string;
  readonly headers: Headers;
}

/**
 * Creates a problem of the public API.
 * @param detail for the caller; by default the row's detail. It must not quote any value from the request.
 * @param headers override the row's headers of the same name
 */
export function problem(code: ProblemCode, detail?: string, headers?: Headers): Problem {
  const row: ProblemRow = PROBLEMS[code];
  const { status, headers: own = NO_HEADERS } = row;
  return {
    code,
    status,
    detail: detail ?? row.detail,
    headers: headers === undefined ? own : { ...own, ...headers },
  };
}

/** Creates SCOPE_REQUIRED, with the missing scope in the detail and in the challenge (RFC 6750 3.1). */
export function scopeProblem(scope: string): Problem {
  return problem("SCOPE_REQUIRED", `This operation needs a key with the "${scope}" scope.`, {
    "WWW-Authenticate": `${INSUFFICIENT_SCOPE}, scope="${scope}"`,
  });
}

/** Counts a problem of the admin API. */
export function countProblem(counts: Map<string, number>, code: string): void {
  counts.set(code, (counts.get(code) ?? 0) + 1);
}

/**
 * Returns the JSON of a problem document.
 * @param requestId undefined for a value of a batch, whose response already carries the id
 */
export function problemBody(problem: Problem | AdminProblem, requestId?: string): string {
  const { code, status, detail } = problem;
  const { title } = problem instanceof AdminProblem ? ADMIN_PROBLEMS[problem.code] : PROBLEMS[problem.code];
  return JSON.stringify({
    // A relative link works for every name of the server. It points to the code's section of docs/errors.md.
    type: `/docs/errors#${code.toLowerCase()}`,
    title,
    status,
    detail,
    code,
    request_id: requestId,
    ...(problem instanceof AdminProblem && problem.problems.length > 0 && { problems: problem.problems }),
  });
}
