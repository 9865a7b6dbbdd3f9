// call.ts: what the parts of the admin API share: rows of routes, a request that was let in, an answer.
//
// in   the query and body of a request
// out  values that were checked
// err  AdminProblem

import { MAX_PAGE, type PageRequest } from "../store/tables.ts";
import { AdminProblem } from "./problems.ts";
import type { Session } from "./sessions.ts";

export const ADMIN_PATH = "/admin/v1/";
/** A body of anything but a file of overrides. */
export const MAX_BODY_BYTES = 16 * 1024;
/** A file of as many overrides as there may be; the listener takes no more. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;
const DEFAULT_PAGE = 100;

/** One request that was let in. */
export interface Call {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** What stands for `{id}` in the path. */
  readonly id: string;
  /** Who is behind it, for the audit trail. */
  readonly actor: string;
  /** The log-in that let it in; undefined where the token itself did. */
  readonly session: Session | undefined;
  /** The JSON of its body, of whatever shape. @throws AdminProblem */
  readonly json: (most?: number) => Promise<unknown>;
}

export interface Reply {
  readonly status: number;
  readonly document: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const METHODS = ["GET", "POST", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** One method of one path, for a server `T`. */
export interface Operation<T> {
  /** Names it in the OpenAPI document. */
  readonly id: string;
  /** Query parameters, and what each may be. */
  readonly parameters?: Readonly<Record<string, RegExp>>;
  /** Answers callers without a token, too. */
  readonly isOpen?: boolean;
  /** Done once for each `Idempotency-Key`. */
  readonly isOnce?: boolean;
  readonly run: (server: T, call: Call) => Promise<Reply> | Reply;
}

export interface AdminRoute<T> {
  readonly template: string;
  /** Of what follows ADMIN_PATH; the first group is `{id}`. */
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<Method, Operation<T>>>>;
}

export const LIMIT = /^[1-9]\d{0,3}$/;
export const ANY = /^.+$/;
export const BOOLEAN = /^(true|false)$/;

export function readQuery(text: string, parameters: Readonly<Record<string, RegExp>> = {}): URLSearchParams {
  const query = new URLSearchParams(text);
  const names = [...query.keys()];
  for (const [name, value] of query) {
    const isTwice = names.indexOf(name) !== names.lastIndexOf(name);
    if (!Object.hasOwn(parameters, name) || isTwice || !parameters[name]!.test(value)) {
      throw new AdminProblem("QUERY_INVALID", allowed(parameters));
    }
  }
  return query;
}

function allowed(parameters: Readonly<Record<string, RegExp>>): string | undefined {
  const words = Object.entries(parameters).map(([name, pattern]) => {
    if (pattern === LIMIT) return `\`${name}\` (1 to ${MAX_PAGE})`;
    return pattern === BOOLEAN ? `\`${name}\` (true or false)` : `\`${name}\``;
  });
  return words.length === 0 ? undefined : `Allowed here, each at most once: ${words.join(", ")}.`;
}

export function readPage(query: URLSearchParams, isCursor: (text: string) => boolean): PageRequest {
  const limit = Number(query.get("limit") ?? DEFAULT_PAGE);
  const cursor = query.get("cursor") ?? undefined;
  if (limit > MAX_PAGE) throw new AdminProblem("QUERY_INVALID", `\`limit\` is at most ${MAX_PAGE}.`);
  if (cursor !== undefined && !isCursor(cursor)) {
    throw new AdminProblem("QUERY_INVALID", "`cursor` is what the page before gave as `next_cursor`.");
  }
  return { limit, cursor };
}

/** Reads a body once. Stops as soon as it is too long. */
export class Body {
  private readonly request: Request;
  private bytes: Promise<Uint8Array> | undefined;

  constructor(request: Request) {
    this.request = request;
  }

  read(most = MAX_BODY_BYTES): Promise<Uint8Array> {
    this.bytes ??= readBytes(this.request, most);
    return this.bytes;
  }

  async json(most?: number): Promise<unknown> {
    const bytes = await this.read(most);
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      throw new AdminProblem("BODY_INVALID");
    }
  }
}

async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  const tooLarge = () => new AdminProblem("BODY_TOO_LARGE", `The body may have ${most} bytes.`);
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (request.body !== null) {
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > most) throw tooLarge();
      chunks.push(chunk);
    }
  }
  return Buffer.concat(chunks);
}

/** A body that is not what the path takes. */
export function bodyProblem(problems: readonly string[]): AdminProblem {
  return new AdminProblem("BODY_INVALID", "The body is not what this path takes.", problems);
}
