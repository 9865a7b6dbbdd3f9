// request.ts: checks the parts of an admin API request, and prevents a request from running twice.

import { issueLines, whyUncheckable, whyUnstorable } from "@inkling/engine";
import { fromText } from "@inkling/operations/operation";
import { bodyProblem } from "@inkling/operations/problem";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import { StoreError } from "@inkling/store/error";
import { MAX_AUTHOR } from "@inkling/store/overrides/override";
import { oneLine } from "@inkling/store/text/fields";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import type { Bodies } from "../limits/memory.ts";
import type { Reply } from "./handler.ts";
import type { Session } from "./sessions.ts";

/** The author of a change if neither the token, the request nor the login has one. */
export const DEFAULT_AUTHOR = "admin API";

/** Parses a query strictly. @param search the query as sent, without "?" */
export function readQuery(search: string, query: z.ZodRawShape): Record<string, unknown> {
  const parameters = new URLSearchParams(search);
  const names = [...parameters.keys()];
  const allowed = Object.keys(query);
  const unknown = names.filter((name) => !allowed.includes(name));
  const repeated = names.filter((name, i) => allowed.includes(name) && names.indexOf(name) !== i);
  const given = [...parameters].map(([name, text]) => [
    name,
    allowed.includes(name) ? fromText(query[name] as z.ZodType, text) : text,
  ]);
  const read = z.object(query).safeParse(Object.fromEntries(given));
  const nul = [...parameters].flatMap(([name, text]) => {
    const why = allowed.includes(name) ? whyUnstorable(text) : undefined;
    return why === undefined ? [] : [`${name}: ${why}`];
  });
  if (unknown.length + repeated.length + nul.length === 0 && read.success) return read.data;
  const problems = [
    ...nul,
    ...unknown.map((name) => `${name.slice(0, 60)}: unknown parameter`),
    ...repeated.map((name) => `${name}: sent more than once`),
    ...(read.success ? [] : issueLines(read.error, "query", Object.fromEntries(parameters))),
  ];
  const detail =
    allowed.length === 0
      ? undefined
      : `Allowed here, each at most once: ${allowed.map((name) => `\`${name}\``).join(", ")}.`;
  throw new AdminProblem("PARAMETER_INVALID", detail, [...new Set(problems)]);
}

const author = oneLine(MAX_AUTHOR);

/**
 * Returns the author of a request: the token's name; otherwise the name in `Inkling-Author`, the name given at login,
 * or DEFAULT_AUTHOR.
 */
export function readAuthor(
  { headers }: Request,
  token: ValidAdminToken | undefined,
  session: Session | undefined,
): string {
  const header = headers.get("inkling-author");
  const parsed = header === null ? undefined : author.safeParse(header);
  if (parsed?.success === false) throw new AdminProblem("AUTHOR_INVALID");
  return authorOf(token, parsed?.data) ?? session?.author ?? DEFAULT_AUTHOR;
}

/**
 * Returns the author of a change. A named token allows only its own name.
 * @param given the author that the caller sent, if any
 * @throws AdminProblem if `given` differs from the token's name
 */
export function authorOf(token: ValidAdminToken | undefined, given: string | undefined): string | undefined {
  if (token?.name === undefined) return given;
  if (given === undefined || given === token.name) return token.name;
  throw new AdminProblem(
    "AUTHOR_INVALID",
    `Changes with this token have the author \`${token.name}\`. Send this author or none.`,
  );
}

/**
 * Reads a whole body.
 * @param holder whose share of the unfinished bodies it counts against
 * @throws AdminProblem if the body exceeds the limit, whether or not it declares its length, or if it is cut short
 */
export async function readBytes(
  bodies: Bodies,
  request: Request,
  holder: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const bytes = await bodies.read(request, { holder, maxBytes });
  if (bytes instanceof Uint8Array) return bytes;
  if (bytes === "too-many") throw new AdminProblem("RATE_LIMITED");
  if (bytes === "too-large")
    throw new AdminProblem("CONTENT_TOO_LARGE", `The body may have at most ${maxBytes} bytes.`);
  throw new AdminProblem("BODY_INVALID", "The connection closed before the whole body arrived.");
}

/** Maximum number of values per byte of a body's limit: 1,024 of 16 KiB. A key with 256 networks has about 300. */
const MAX_VALUES_PER_BYTE = 1 / 16;

export function readBody(bytes: Uint8Array, schema: z.ZodType, maxBytes: number): unknown {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AdminProblem("BODY_INVALID");
  }
  const why = whyUncheckable(json, maxBytes * MAX_VALUES_PER_BYTE) ?? whyUnstorable(json);
  if (why !== undefined) throw bodyProblem([`body: ${why}`]);
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  throw bodyProblem(issueLines(read.error, "body", json, 1));
}

/** Turns an error into a problem for the caller. An unexpected error becomes INTERNAL. */
export function problemOf(error: unknown): AdminProblem {
  if (error instanceof AdminProblem) return error;
  if (error instanceof StoreError && error.code !== "BROKEN") {
    return new AdminProblem("DATABASE_UNREACHABLE", databaseDetail(error));
  }
  return new AdminProblem("INTERNAL");
}

/**
 * Describes a database error without its own message, which contains hosts and paths. The caller may not have a token.
 */
function databaseDetail({ code, isReadOnly }: StoreError): string | undefined {
  const rest = "nothing was changed. Search the log for the request_id to find the cause.";
  if (isReadOnly) return `The database cannot be written; ${rest}`;
  if (code === "REFUSED" || code === "DAMAGED" || code === "NEWER")
    return `This server cannot use the database; ${rest}`;
  return undefined;
}

const KEEP_MS = 600_000;
const MAX_KEPT = 1_000;
const KEY = /^[\x21-\x7e]{1,200}$/;

interface Kept {
  readonly digest: string;
  readonly at: number;
  readonly reply: Promise<Reply>;
}

/**
 * Prevents a request that creates something, such as a key, from running twice with the same `Idempotency-Key`. The
 * first response remains in memory for ten minutes, because a client might retry during that time. The response may
 * contain a new token.
 */
export class Idempotency {
  private readonly kept = new Map<string, Kept>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * @param holder hash of the token; each token has its own keys, because a response may contain a secret
   * @param digest digest of method, path, query and body
   */
  async run(holder: string, key: string, digest: string, work: () => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(key)) throw new AdminProblem("IDEMPOTENCY_KEY_INVALID");
    this.removeExpired();
    const name = `${holder} ${key}`;
    const before = this.kept.get(name);
    if (before !== undefined && before.digest !== digest) {
      throw new AdminProblem(
        "IDEMPOTENCY_KEY_INVALID",
        "This `Idempotency-Key` was already sent with a different request.",
      );
    }
    if (before !== undefined) return before.reply;
    const reply = work();
    this.kept.set(name, { digest, at: this.now(), reply });
    reply.catch(() => this.kept.delete(name)); // a failed request may be retried
    return reply;
  }

  private removeExpired(): void {
    const now = this.now();
    for (const [key, { at }] of this.kept) {
      const isKept = at >= now - KEEP_MS && at <= now; // a clock that is set back must not keep responses longer
      if (isKept && this.kept.size < MAX_KEPT) return; // later entries are newer
      this.kept.delete(key);
    }
  }
}
