// problem.ts: defines the refusal of an operation. The admin API sends it as a problem document; the command line
// prints it.

import { ADMIN_PROBLEMS, type AdminProblemCode, type ProblemRow } from "@inkling/contract";
import { StoreError } from "@inkling/store/error";
import { KeyInputError } from "@inkling/store/keys/key";

type Headers = Readonly<Record<string, string>>;

export class AdminProblem extends Error {
  override readonly name = "AdminProblem";
  readonly code: AdminProblemCode;
  readonly status: number;
  /** It may contain the override or feed that prevents the operation. */
  readonly detail: string;
  /** One line for each mistake. */
  readonly problems: readonly string[];
  readonly headers: Headers;

  /**
   * @param detail replaces the row's detail
   * @param more.cause an error with a text and a hint for the command line
   */
  constructor(
    code: AdminProblemCode,
    detail?: string,
    problems: readonly string[] = [],
    { headers, cause }: { readonly headers?: Headers; readonly cause?: Error } = {},
  ) {
    super(code, { cause });
    const row: ProblemRow = ADMIN_PROBLEMS[code];
    this.code = code;
    this.status = row.status;
    this.detail = detail ?? row.detail;
    this.problems = problems;
    this.headers = { ...row.headers, ...headers };
  }
}

/** Returns the problem for a body that is not valid for the path. */
export const bodyProblem = (problems: readonly string[]) =>
  new AdminProblem("BODY_INVALID", "The body is not valid for this path.", problems);

/** Returns the server that runs an operation. @throws AdminProblem on the command line */
export function running<T>(server: T | undefined): T {
  if (server === undefined) {
    const remedy = "Send the request to a running server's admin API, or use its console.";
    throw new AdminProblem("ACTION_REFUSED", "Only a running server can do this.", [remedy]);
  }
  return server;
}

/** Returns what only a server that builds releases has. @throws AdminProblem on other servers */
export function building<T>(value: T | undefined): T {
  if (value === undefined) {
    const remedy = "Run the command on the host that builds, such as `inkling data update`.";
    throw new AdminProblem("ACTION_REFUSED", "This server does not build releases.", [remedy]);
  }
  return value;
}

/** Returns `value`. @throws AdminProblem if it is undefined, because nothing has this id */
export function found<T>(value: T | undefined, code: AdminProblemCode): T {
  if (value === undefined) throw new AdminProblem(code);
  return value;
}

/** Runs `check` for a new or changed key or token. @throws AdminProblem that lists the mistakes */
export function checked<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof KeyInputError ? bodyProblem(error.problems) : error;
  }
}

/** Waits for a revocation. @throws AdminProblem if the host cannot write it to the file `revoked` */
export const written = <T>(revocation: Promise<T>): Promise<T> =>
  revocation.catch((error: unknown) => {
    const isUnwritten = error instanceof StoreError && error.code === "UNWRITTEN";
    throw isUnwritten ? new AdminProblem("REVOCATION_UNWRITTEN", undefined, [], { cause: error }) : error;
  });
