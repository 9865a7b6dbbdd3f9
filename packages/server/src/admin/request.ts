// request.ts: the parts of a request to the admin API, checked; and requests that must not be done twice.
//
// err  AdminProblem

import { issueLines } from "@inkling/engine";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { KeyInputError } from "../keys/key.ts";
import { MAX_AUTHOR, OverrideInputError } from "../overrides/override.ts";
import type { ValidAdminToken } from "../store/admin-token.ts";
import { StoreError } from "../store/error.ts";
import { OverrideConflictError } from "../store/overrides.ts";
import { oneLine } from "../text/fields.ts";
import type { BodyFormat, Reply } from "./handler.ts";
import type { Session } from "./sessions.ts";

/** The actor where a request names none. */
export const DEFAULT_ACTOR = "admin API";

/** @param search the query, as sent, without its "?" */
export function readQuery(search: string, query: z.ZodRawShape): Record<string, unknown> {
  const parameters = new URLSearchParams(search);
  const names = [...parameters.keys()];
  const allowed = Object.keys(query);
  const unknown = names.filter((name) => !allowed.includes(name));
  const repeated = names.filter((name, i) => allowed.includes(name) && names.indexOf(name) !== i);
  const read = z.object(query).safeParse(Object.fromEntries(parameters));
  if (unknown.length + repeated.length === 0 && read.success) return read.data;
  const problems = [
    ...unknown.map((name) => `${name.slice(0, 60)}: unknown parameter`),
    ...repeated.map((name) => `${name}: given more than once`),
    ...(read.success ? [] : issueLines(read.error, "query", Object.fromEntries(parameters))),
  ];
  const detail =
    allowed.length === 0
      ? undefined
      : `Allowed here, each at most once: ${allowed.map((name) => `\`${name}\``).join(", ")}.`;
  throw new AdminProblem("QUERY_INVALID", detail, [...new Set(problems)]);
}

const author = oneLine(MAX_AUTHOR);

/** The token's name, the name in `Inkling-Author`, or the one given at the login. */
export function readActor(
  { headers }: Request,
  token: ValidAdminToken | undefined,
  session: Session | undefined,
): string {
  const header = headers.get("inkling-author");
  const parsed = header === null ? undefined : author.safeParse(header);
  if (parsed?.success === false) throw new AdminProblem("AUTHOR_INVALID");
  return authorOf(token, parsed?.data) ?? session?.author ?? DEFAULT_ACTOR;
}

/** @param given by the request, if it names an author. @throws AdminProblem for another name than that of a named token */
export function authorOf(token: ValidAdminToken | undefined, given: string | undefined): string | undefined {
  if (token?.name === undefined) return given;
  if (given === undefined || given === token.name) return token.name;
  throw new AdminProblem(
    "AUTHOR_INVALID",
    `This token names its author, \`${token.name}\`: send no other author.`,
  );
}

/**
 * Reads a whole body.
 * @throws AdminProblem where it has more bytes, announced or not, or ends before its end
 */
export async function readBytes({ body, headers }: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new AdminProblem("BODY_TOO_LARGE", `The body may have ${most} bytes.`);
  if (Number(headers.get("content-length")) > most) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > most) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AdminProblem) throw error;
    throw new AdminProblem("BODY_INVALID", "The connection ended before the body did.");
  }
  return Buffer.concat(chunks);
}

export function readBody<T>(bytes: Uint8Array, { schema, isRaw = false }: BodyFormat<T>): unknown {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AdminProblem("BODY_INVALID");
  }
  if (isRaw) return json;
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  throw bodyProblem(issueLines(read.error, "body", json));
}

/** A body that the path does not take. */
function bodyProblem(problems: readonly string[]): AdminProblem {
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

const KEEP_MS = 600_000;
const MAX_KEPT = 1_000;
const KEY = /^[\x21-\x7e]{1,200}$/;

interface Kept {
  readonly digest: string;
  readonly at: number;
  readonly reply: Promise<Reply>;
}

/**
 * Requests that must not be done twice, such as creating a key, by their `Idempotency-Key`. The reply to the first request
 * with a key is kept in memory for ten minutes, a new token in it included, for as long as a client might retry.
 */
export class Idempotency {
  private readonly kept = new Map<string, Kept>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** @param digest of method, path, query and body */
  async run(key: string, digest: string, work: () => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(key)) throw new AdminProblem("IDEMPOTENCY_KEY_INVALID");
    this.removeExpired();
    const before = this.kept.get(key);
    if (before !== undefined && before.digest !== digest) {
      throw new AdminProblem(
        "IDEMPOTENCY_KEY_INVALID",
        "This `Idempotency-Key` was sent before with another request.",
      );
    }
    if (before !== undefined) return before.reply;
    const reply = work();
    this.kept.set(key, { digest, at: this.now(), reply });
    reply.catch(() => this.kept.delete(key)); // what failed may be tried again
    return reply;
  }

  private removeExpired(): void {
    const now = this.now();
    for (const [key, { at }] of this.kept) {
      const isKept = at >= now - KEEP_MS && at <= now; // a clock that was set back keeps nothing for longer
      if (isKept && this.kept.size < MAX_KEPT) return; // the rest is younger
      this.kept.delete(key);
    }
  }
}
