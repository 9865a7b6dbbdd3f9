// app.ts: implements the admin API as a function from a request to a response. It opens no socket.
//
// An unexpected error becomes a 500 without details, and the log gets its stack. If the database is unreachable or
// refuses this server, the response is a 503, and the log gets the reason. Source: docs/admin-api.md,
// docs/overrides.md.
//
// The app checks the token or session first, then path, method, role, parameters, author and body.
//
// A change applies in this thread before the response is sent, in workers at the same time, and on other hosts within a
// second. A client may repeat any write after a timeout: writes are idempotent, either by their content or by
// `Idempotency-Key`.

import { type AdminRole, hasRole, MAX_BODY_BYTES, MCP_PATH } from "@inkling/contract";
import { EmptyDatabaseError } from "@inkling/data";
import type { Noun } from "@inkling/operations";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import { StoreError } from "@inkling/store/error";
import { ADMIN_TOKEN_NAME } from "@inkling/store/keys/key-input";
import { AdminProblem, countProblem, PROBLEM_TYPE, problemBody } from "../http/problems.ts";
import { requestId, traceIdOf, traceparentOf } from "../http/request-id.ts";
import { PathTemplate, pathEnd, Router, targetOf } from "../http/router.ts";
import type { AdminContext, AdminRoute, Reply } from "./handler.ts";
import { admit } from "./login.ts";
import { Idempotency, problemOf, readAuthor, readBody, readBytes, readQuery } from "./request.ts";
import { ADMIN_ROUTES } from "./routes.ts";

/** A path and its operations. */
interface AdminPath {
  readonly path: PathTemplate;
  /** The path's operations by HTTP method. */
  readonly operations: ReadonlyMap<string, AdminRoute>;
}

/** Patterns that `{id}` must match, by the kind of object. A request with any other id returns PATH_NOT_FOUND. */
const ID_PATTERNS: Readonly<Record<Noun, string>> = {
  key: "key_[0-9A-Za-z]{16}",
  "admin token": ADMIN_TOKEN_NAME,
  override: "ovr_[0-9A-Za-z]{16}",
  ruleset: "[1-9]\\d{0,8}|newest|previous",
  decision: "asm_[0-9A-Za-z]{16}",
  webhook: "whk_[0-9A-Za-z]{16}",
  release: ".+", // an id or a name; the handler returns RELEASE_NOT_FOUND for any other text
};

function makeRouter(): Router<AdminPath> {
  const routes = new Map<string, { path: PathTemplate; operations: Map<string, AdminRoute> }>();
  for (const operation of ADMIN_ROUTES.values()) {
    const { path: text, names, method } = operation.row;
    const path = new PathTemplate(text, names === undefined ? undefined : ID_PATTERNS[names]);
    const route = routes.get(text) ?? { path, operations: new Map() };
    route.operations.set(method, operation);
    routes.set(text, route);
  }
  return new Router([...routes.values()]);
}

export class AdminApp {
  private readonly context: AdminContext;
  private readonly router = makeRouter();
  private readonly idempotency: Idempotency;

  constructor(context: AdminContext) {
    this.context = context;
    this.idempotency = new Idempotency(context.now);
  }

  async handle(request: Request): Promise<Response> {
    const { log, newRequestId } = this.context;
    const id = requestId(request.headers, newRequestId);
    const traceparent = traceparentOf(request.headers);
    const target = targetOf(request.url); // compared as sent, without decoding
    const end = pathEnd(target);
    const route = this.router.find(target.slice(0, end));
    const asked: Asked = { id, target, end, route };
    const response = await this.answer(request, asked).catch((error: unknown) =>
      this.refuse(request, error, id),
    );
    response.headers.set("Cache-Control", "no-store");
    response.headers.set("X-Request-Id", id);
    if (traceparent !== undefined) response.headers.set("traceparent", traceparent);
    const { method } = request;
    const { status } = response;
    const { author } = asked;
    const about = {
      method,
      route: route?.path.text ?? (target === MCP_PATH ? MCP_PATH : "none"),
      status,
      author,
      request_id: id,
      trace_id: traceIdOf(traceparent),
    };
    log.info("admin-request", about);
    return response;
  }

  private async answer(request: Request, asked: Asked): Promise<Response> {
    const { context } = this;
    const { target, end, route } = asked;
    const operation = route?.operations.get(request.method === "HEAD" ? "GET" : request.method);
    const { token, session } = operation?.row.isOpen ? NOBODY : await admit(request, context);
    asked.author = token?.name ?? session?.author;
    if (target === MCP_PATH && token !== undefined) return this.answerAgent(request, token, asked);
    if (route === undefined) throw new AdminProblem("PATH_NOT_FOUND");
    if (operation === undefined) throw methodProblem(route);
    const { row, handler } = operation;
    if (token !== undefined) requireRole(token.role, row.role);
    if (row.method !== "GET") requireDatabase(context);
    const query = readQuery(target.slice(end + 1), handler.query ?? {});
    const author = readAuthor(request, token, session);
    if (!row.isOpen) asked.author = author;
    const { body } = handler;
    const holder = token?.hash ?? "no token";
    const maxBytes = row.maxBodyBytes ?? MAX_BODY_BYTES;
    const bytes = body === undefined ? NO_BODY : await readBytes(context.bodies, request, holder, maxBytes);
    const work = async (): Promise<Reply> =>
      handler.run(context, {
        request,
        query,
        body: body === undefined ? undefined : readBody(bytes, body, maxBytes),
        id: route.path.valueOf({ target, pathEnd: end }),
        by: { author, source: session === undefined ? "api" : "console" },
        token,
        session,
      });
    const key = row.isIdempotent ? request.headers.get("idempotency-key") : null;
    const reply =
      key === null
        ? await work()
        : await this.idempotency.run(holder, key, digestOf(request.method, target, bytes), work);
    const { document, status = row.status ?? 200, headers } = reply;
    return send(request, status, "application/json", JSON.stringify(document), headers);
  }

  /** Answers an agent, which calls operations as tools. The token's role decides which ones. */
  private async answerAgent(request: Request, token: ValidAdminToken, asked: Asked): Promise<Response> {
    const { context } = this;
    const { answerTools, MAX_MESSAGE_BYTES, problemLines } = await import("./mcp.ts");
    const author = readAuthor(request, token, undefined);
    asked.author = author;
    const { method, url, headers, signal } = request;
    const body =
      method === "POST" ? await readBytes(context.bodies, request, token.hash, MAX_MESSAGE_BYTES) : undefined;
    return answerTools(new Request(url, { method, headers, signal, ...(body && { body }) }), {
      version: context.version,
      role: token.role,
      isServer: true,
      run: async (id, operation, input) => {
        if (!operation.route.startsWith("GET ")) requireDatabase(context);
        const { handler } = ADMIN_ROUTES.get(id)!; // every operation has a route
        const by = { author, source: "mcp" } as const;
        const call = {
          request,
          query: input,
          body: undefined,
          id: String(input.id),
          by,
          token,
          session: undefined,
        };
        return (await handler.run(context, call)).document;
      },
      explain: (error) => problemLines(this.problemFor(error, asked.id)),
    });
  }

  private refuse(request: Request, error: unknown, requestId: string): Response {
    // The client has left, which ended the work. Nobody reads this answer.
    if (request.signal.aborted && error === request.signal.reason) return new Response(null, { status: 499 });
    const problem = this.problemFor(error, requestId);
    const { status, headers } = problem;
    return send(request, status, PROBLEM_TYPE, problemBody(problem, requestId), headers);
  }

  /** Counts and logs a failure. */
  private problemFor(error: unknown, requestId: string): AdminProblem {
    const { log, adminProblems } = this.context;
    const problem = problemOf(error);
    countProblem(adminProblems, problem.code);
    if (problem.code === "INTERNAL") log.crash("admin-request-failed", error, [], { request_id: requestId });
    const cause = error instanceof AdminProblem ? error.cause : error;
    if (problem.status === 503 && cause instanceof StoreError) {
      const { message, hint } = cause;
      log.error("admin-database-failed", { reason: message, hint, request_id: requestId });
    }
    return problem;
  }
}

/** What a request asks for, and who sent it. */
interface Asked {
  readonly id: string;
  readonly target: string;
  /** Where the path ends in `target`. */
  readonly end: number;
  readonly route: AdminPath | undefined;
  /** Undefined if the operation needs no token, or if the request was refused before the author was known. */
  author?: string | undefined;
}

/** @throws AdminProblem if the token's role is too low */
function requireRole(held: AdminRole, needed: AdminRole): void {
  if (hasRole(held, needed)) return;
  throw new AdminProblem(
    "ROLE_REQUIRED",
    `This request needs an admin token with the role \`${needed}\`. This token has the role \`${held}\`.`,
  );
}

/**
 * A change to an empty database would replace the keys that this server has from the earlier one.
 * @throws AdminProblem
 */
function requireDatabase({ keyLoader }: AdminContext): void {
  if (!(keyLoader.state.error instanceof EmptyDatabaseError)) return;
  throw new AdminProblem(
    "DATABASE_UNREACHABLE",
    "The database is empty, but this server has keys of an earlier database, which still apply. Restore a backup. Nothing was changed.",
  );
}

const NO_BODY = new Uint8Array();
const NOBODY = { token: undefined, session: undefined };

function methodProblem({ operations }: AdminPath): AdminProblem {
  const methods = [...operations.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return new AdminProblem("METHOD_NOT_ALLOWED", undefined, [], { headers: { Allow: methods.join(", ") } });
}

function send(
  { method }: Request,
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  // HEAD returns the headers of GET but no body, so Content-Length must be set here
  const isHead = method === "HEAD";
  const length = isHead ? { "Content-Length": String(Buffer.byteLength(body)) } : {};
  return new Response(isHead ? null : body, {
    status,
    headers: { "Content-Type": type, ...length, ...headers },
  });
}

/** Returns the digest of everything that must be equal for two requests to count as the same request. */
function digestOf(method: string, target: string, body: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(`${method} ${target}\n`).update(body).digest("hex");
}
