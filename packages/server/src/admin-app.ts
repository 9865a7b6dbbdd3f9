// admin-app.ts: the admin API as a function: a request in, a response out. Knows no socket.
//
// in   a Request under /admin/v1/
// out  a Response; a problem document for everything that is wrong with the request
// err  none: what nobody expected becomes 500 without words, and its stack goes to the log
// src  docs/overrides.md
//
// Order: token, path, method, author, parameters, body. A change is in force in this process before its answer goes
// out, in others within a second. Every write is idempotent by content, so it may be sent again after a time-out.

import { timingSafeEqual } from "node:crypto";
import { AdminProblem } from "./admin-problems.ts";
import { type AdminTokenStore, isAdminToken } from "./admin-token.ts";
import { bearerToken } from "./authorization.ts";
import { hashToken, isWellFormedToken } from "./key-format.ts";
import type { Log } from "./log.ts";
import {
  MAX_AUTHOR,
  type OverrideContext,
  OverrideInputError,
  oneLine,
  overrideJson,
  parseNewOverride,
} from "./override.ts";
import type { OverrideBook } from "./override-book.ts";
import { exportFile, readFile } from "./override-file.ts";
import { pathEnd, targetOf } from "./request-target.ts";
import { StoreError } from "./store-error.ts";
import {
  auditJson,
  isAuditCursor,
  isOverrideCursor,
  MAX_PAGE,
  OverrideConflictError,
  type OverrideStore,
} from "./store-overrides.ts";

export const ADMIN_PATH = "/admin/v1/";
/** One override. */
const MAX_BODY_BYTES = 16 * 1024;
/** A file of as many overrides as there may be; the listener takes no more. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;
const DEFAULT_PAGE = 100;

export interface AdminAppOptions {
  readonly overrides: OverrideStore;
  readonly adminToken: AdminTokenStore;
  readonly book: Pick<OverrideBook, "refresh">;
  /** Ids of the feeds of the release in use; undefined without one. */
  readonly feeds: () => OverrideContext["feeds"];
  readonly log: Log;
  /** Epoch ms. */
  readonly now: () => number;
  readonly newRequestId: () => string;
}

/** One request that was let in. */
interface Call {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** What stands for `{id}` in the path. */
  readonly id: string;
  readonly actor: string;
}

interface Reply {
  readonly status: number;
  readonly document: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Route {
  readonly template: string;
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "DELETE", Operation>>>;
}

interface Operation {
  /** Query parameters, and what each may be. */
  readonly parameters: Readonly<Record<string, RegExp>>;
  readonly run: (app: AdminApp, call: Call) => Promise<Reply>;
}

const LIMIT = /^[1-9]\d{0,3}$/;
const ANY = /^.+$/;
const BOOLEAN = /^(true|false)$/;

const ROUTES: readonly Route[] = [
  {
    template: "/admin/v1/overrides",
    path: /^overrides$/,
    methods: {
      GET: {
        parameters: { limit: LIMIT, cursor: ANY, ended: BOOLEAN },
        run: (app, call) => app.list(call),
      },
      POST: { parameters: {}, run: (app, call) => app.create(call) },
    },
  },
  {
    template: "/admin/v1/overrides/export",
    path: /^overrides\/export$/,
    methods: { GET: { parameters: {}, run: (app) => app.export() } },
  },
  {
    template: "/admin/v1/overrides/import",
    path: /^overrides\/import$/,
    methods: { POST: { parameters: { force: BOOLEAN }, run: (app, call) => app.import(call) } },
  },
  {
    template: "/admin/v1/overrides/{id}",
    path: /^overrides\/(ovr_[0-9A-Za-z]{16})$/,
    methods: {
      GET: { parameters: {}, run: (app, call) => app.find(call) },
      DELETE: { parameters: {}, run: (app, call) => app.remove(call) },
    },
  },
  {
    template: "/admin/v1/audit",
    path: /^audit$/,
    methods: { GET: { parameters: { limit: LIMIT, cursor: ANY }, run: (app, call) => app.audit(call) } },
  },
];

export class AdminApp {
  private readonly options: AdminAppOptions;

  constructor(options: AdminAppOptions) {
    this.options = options;
  }

  async handle(request: Request): Promise<Response> {
    const { log, newRequestId } = this.options;
    const requestId = newRequestId();
    const target = targetOf(request.url);
    const end = pathEnd(target);
    const path = target.slice(ADMIN_PATH.length, end);
    const route = ROUTES.find((row) => row.path.test(path));
    const common = { "Cache-Control": "no-store", "X-Request-Id": requestId };
    let response: Response;
    try {
      const { status, document, headers } = await this.answer(request, route, path, target.slice(end + 1));
      response = new Response(JSON.stringify(document), {
        status,
        headers: { ...common, "Content-Type": "application/json", ...headers },
      });
    } catch (error) {
      const problem = this.problemOf(error, requestId);
      response = new Response(problem.body(requestId), {
        status: problem.status,
        headers: { ...common, "Content-Type": "application/problem+json", ...problem.headers },
      });
    }
    log.info("admin-request", {
      method: request.method,
      route: route?.template ?? "none",
      status: response.status,
      request_id: requestId,
    });
    return response;
  }

  private async answer(
    request: Request,
    route: Route | undefined,
    path: string,
    query: string,
  ): Promise<Reply> {
    await this.admit(request);
    if (route === undefined) throw new AdminProblem("NO_SUCH_PATH");
    const method = request.method === "HEAD" ? "GET" : request.method;
    const operation = route.methods[method as keyof Route["methods"]];
    if (operation === undefined) {
      const methods = Object.keys(route.methods).flatMap((name) =>
        name === "GET" ? ["GET", "HEAD"] : [name],
      );
      throw new AdminProblem("METHOD_INVALID", undefined, [], { Allow: methods.join(", ") });
    }
    const call: Call = {
      request,
      query: readQuery(query, operation.parameters),
      id: route.path.exec(path)?.[1] ?? "",
      actor: readActor(request),
    };
    return operation.run(this, call);
  }

  /** Lets only the holder of the admin token in. */
  private async admit(request: Request): Promise<void> {
    const token = bearerToken(request.headers.get("authorization"));
    if (token === undefined) throw new AdminProblem("TOKEN_MISSING");
    if (isWellFormedToken(token)) throw new AdminProblem("TOKEN_REQUIRED");
    if (!isAdminToken(token)) throw new AdminProblem("TOKEN_INVALID");
    const hash = await this.options.adminToken.hash();
    if (hash === undefined || !timingSafeEqual(Buffer.from(hash), Buffer.from(hashToken(token)))) {
      throw new AdminProblem("TOKEN_INVALID");
    }
  }

  async list({ query }: Call): Promise<Reply> {
    const page = await this.options.overrides.list(
      readPage(query, isOverrideCursor),
      query.get("ended") === "true",
    );
    return {
      status: 200,
      document: { overrides: page.items.map(overrideJson), next_cursor: page.next ?? null },
    };
  }

  async create({ request, actor }: Call): Promise<Reply> {
    const input = await readJson(request, MAX_BODY_BYTES);
    const wanted = parseNewOverride(input, this.context(actor));
    const [write] = await this.options.overrides.put([wanted], actor);
    await this.options.book.refresh();
    const { override, outcome } = write!;
    const isNew = outcome === "added";
    return {
      status: isNew ? 201 : 200,
      document: { ...overrideJson(override), outcome },
      ...(isNew ? { headers: { Location: `${ADMIN_PATH}overrides/${override.id}` } } : {}),
    };
  }

  async find({ id }: Call): Promise<Reply> {
    const override = await this.options.overrides.find(id);
    if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
    return { status: 200, document: overrideJson(override) };
  }

  async remove({ id, actor }: Call): Promise<Reply> {
    const override = await this.options.overrides.remove(id, actor);
    if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
    await this.options.book.refresh();
    return { status: 200, document: overrideJson(override) };
  }

  async export(): Promise<Reply> {
    const { overrides } = await this.options.overrides.load();
    return {
      status: 200,
      document: exportFile(overrides, this.options.now()),
      headers: { "Content-Disposition": 'attachment; filename="inkling-overrides.json"' },
    };
  }

  async import({ request, query, actor }: Call): Promise<Reply> {
    const input = await readJson(request, MAX_IMPORT_BYTES);
    const file = readFile(input, this.context(actor), query.get("force") === "true");
    const writes = await this.options.overrides.put(file.overrides, actor);
    await this.options.book.refresh();
    const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
    return {
      status: 200,
      document: {
        added: count("added"),
        changed: count("changed"),
        unchanged: count("unchanged"),
        expired: file.expired,
        warnings: file.warnings,
      },
    };
  }

  async audit({ query }: Call): Promise<Reply> {
    const page = await this.options.overrides.audit(readPage(query, isAuditCursor));
    return { status: 200, document: { entries: page.items.map(auditJson), next_cursor: page.next ?? null } };
  }

  private context(author: string): OverrideContext {
    return { now: this.options.now(), author, feeds: this.options.feeds() };
  }

  private problemOf(error: unknown, requestId: string): AdminProblem {
    if (error instanceof AdminProblem) return error;
    if (error instanceof OverrideInputError) {
      return error.code === "INVALID"
        ? new AdminProblem("BODY_INVALID", "The body is not what this path takes.", error.problems)
        : new AdminProblem(`OVERRIDE_${error.code}`, undefined, error.problems);
    }
    if (error instanceof OverrideConflictError) {
      const code = error.why === "CONTRADICTS" ? "OVERRIDE_CONTRADICTS" : "OVERRIDES_FULL";
      return new AdminProblem(code, undefined, error.problems);
    }
    if (error instanceof StoreError && error.code !== "BROKEN") return new AdminProblem("DATABASE_AWAY");
    this.options.log.crash("admin-request-failed", error, [], { request_id: requestId });
    return new AdminProblem("ADMIN_INTERNAL");
  }
}

const author = oneLine(MAX_AUTHOR);
/** Who an admin is when nobody says so. */
const SOMEBODY = "admin API";

function readActor(request: Request): string {
  const header = request.headers.get("inkling-author");
  if (header === null) return SOMEBODY;
  const parsed = author.safeParse(header);
  if (!parsed.success) throw new AdminProblem("AUTHOR_INVALID");
  return parsed.data;
}

function readQuery(text: string, parameters: Readonly<Record<string, RegExp>>): URLSearchParams {
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

function readPage(query: URLSearchParams, isCursor: (text: string) => boolean) {
  const limit = Number(query.get("limit") ?? DEFAULT_PAGE);
  const cursor = query.get("cursor") ?? undefined;
  if (limit > MAX_PAGE) throw new AdminProblem("QUERY_INVALID", `\`limit\` is at most ${MAX_PAGE}.`);
  if (cursor !== undefined && !isCursor(cursor)) {
    throw new AdminProblem("QUERY_INVALID", "`cursor` is what the page before gave as `next_cursor`.");
  }
  return { limit, cursor };
}

/** The JSON of a body, of whatever shape. Stops reading as soon as it is too long. */
async function readJson(request: Request, most: number): Promise<unknown> {
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
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new AdminProblem("BODY_INVALID");
  }
}
