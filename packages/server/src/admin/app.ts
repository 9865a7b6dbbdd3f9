// app.ts: the admin API as a function of a request, routed by Hono. Knows no socket.
//
// in   a Request below /admin/v1/
// out  a Response; a problem document for everything that is wrong with the request
// err  none: an unexpected error becomes a 500 without details, and its stack goes to the log, as does the reason of one
//      of the database
// src  docs/admin-api.md, docs/overrides.md
//
// Order: token or session, path, method, parameters, author, body. A change is in force in this process before its
// answer goes out, in others within a second. Every write may be repeated after a timeout: it is idempotent by content,
// or by `Idempotency-Key`.

import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AdminProblem, PROBLEM_TYPE, problemBody } from "../http/problems.ts";
import { pathEnd, targetOf } from "../http/request-target.ts";
import { ReleaseComparisons } from "../releases/comparisons.ts";
import type { StoreError } from "../store/error.ts";
import { admit } from "./admission.ts";
import { ADMIN_PATH, MAX_BODY_BYTES } from "./constants.ts";
import type { AdminAppOptions, AdminContext } from "./context.ts";
import { Idempotency } from "./idempotency.ts";
import type { Operation, Reply } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import { problemOf, readActor, readBody, readBytes, readQuery } from "./request.ts";
import { AdminSessions, type Session } from "./sessions.ts";

export type { AdminAppOptions } from "./context.ts";

interface Env {
  Variables: {
    requestId: string;
    /** Template of the path, for the log. */
    route: string;
    session: Session | undefined;
    body: Uint8Array;
    query: Record<string, unknown>;
    actor: string;
  };
}
type Step = MiddlewareHandler<Env>;

export class AdminApp {
  private readonly app: Hono<Env>;

  constructor(options: AdminAppOptions) {
    this.app = createApp({
      ...options,
      sessions: new AdminSessions(options.randomBytes),
      comparisons: new ReleaseComparisons(options.dataDir, options.workerEnvironment),
    });
  }

  async handle(request: Request): Promise<Response> {
    return this.app.fetch(request);
  }
}

function createApp(context: AdminContext): Hono<Env> {
  // Paths are compared as they were sent, nothing decoded.
  const app = new Hono<Env>({ getPath: ({ url }) => targetOf(url).slice(0, pathEnd(targetOf(url))) });
  const admission: Step = async (c, next) => {
    c.set("session", await admit(c.req.raw, context));
    return next();
  };
  app.use(logRequest(context));
  app.onError((error, c) => sendProblem(c, error, context));
  const idempotency = new Idempotency(context.now);
  for (const [path, operations] of byPath()) {
    const template = setRoute(ADMIN_PATH + operations[0]!.path); // a group has at least one
    for (const operation of operations) {
      const { method, body, isOpen = false } = operation;
      const reading = body === undefined ? [] : [readWhole(body.maxBytes)];
      const steps = [...(isOpen ? [] : [admission]), readParameters(operation), ...reading];
      app.on(method, [path], template, ...steps, (c) => run(c, operation, context, idempotency));
    }
    app.all(path, template, admission, () => {
      const Allow = operations
        .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
        .join(", ");
      throw new AdminProblem("METHOD_NOT_ALLOWED", undefined, [], { Allow });
    });
  }
  app.all("*", admission, () => {
    throw new AdminProblem("PATH_NOT_FOUND");
  });
  return app;
}

/** Operations by their path, as Hono writes it. */
function byPath(): Map<string, Operation[]> {
  const groups = new Map<string, Operation[]>();
  for (const operation of OPERATIONS) {
    const path = (ADMIN_PATH + operation.path).replace("{id}", `:id{${operation.idPattern}}`);
    groups.set(path, [...(groups.get(path) ?? []), operation]);
  }
  return groups;
}

function logRequest({ log, newRequestId }: AdminContext): Step {
  return async (c, next) => {
    c.set("requestId", newRequestId());
    await next();
    c.header("Cache-Control", "no-store");
    c.header("X-Request-Id", c.get("requestId"));
    log.info("admin-request", {
      method: c.req.method,
      route: c.get("route") ?? "none",
      status: c.res.status,
      request_id: c.get("requestId"),
    });
  };
}

const setRoute =
  (template: string): Step =>
  (c, next) => {
    c.set("route", template);
    return next();
  };

const readParameters =
  ({ query = {} }: Operation): Step =>
  (c, next) => {
    c.set("query", readQuery(searchOf(c.req.raw), query));
    c.set("actor", readActor(c.req.raw, c.get("session")));
    return next();
  };

const readWhole =
  (most = MAX_BODY_BYTES): Step =>
  async (c, next) => {
    c.set("body", await readBytes(c.req.raw, most));
    return next();
  };

async function run(
  c: Context<Env>,
  operation: Operation,
  context: AdminContext,
  idempotency: Idempotency,
): Promise<Response> {
  const { body, isIdempotent = false, status = 200 } = operation;
  const work = async (): Promise<Reply> =>
    operation.run(context, {
      request: c.req.raw,
      query: c.get("query"),
      body: body === undefined ? undefined : readBody(c.get("body"), body),
      id: c.req.param("id") ?? "",
      by: { actor: c.get("actor"), way: c.get("session") === undefined ? "api" : "console" },
      session: c.get("session"),
    });
  const key = isIdempotent ? c.req.header("idempotency-key") : undefined;
  const reply = key === undefined ? await work() : await idempotency.run(key, digestOf(c), work);
  return send(c, reply.status ?? status, "application/json", JSON.stringify(reply.document), reply.headers);
}

function sendProblem(c: Context<Env>, error: Error, { log, onProblem }: AdminContext): Response {
  const id = c.get("requestId");
  const problem = problemOf(error);
  onProblem(problem.code);
  if (problem.code === "ADMIN_INTERNAL") log.crash("admin-request-failed", error, [], { request_id: id });
  if (problem.code === "DATABASE_AWAY") {
    const { message, hint } = error as StoreError; // problemOf gives this code to no other
    log.error("admin-database-failed", { reason: message, hint, request_id: id });
  }
  return send(c, problem.status, PROBLEM_TYPE, problemBody(problem, id), problem.headers);
}

function send(
  c: Context<Env>,
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  // Hono answers HEAD by GET, without the body: its length would be lost.
  const length = c.req.method === "HEAD" ? { "Content-Length": String(Buffer.byteLength(body)) } : {};
  return c.body(body, status as ContentfulStatusCode, { "Content-Type": type, ...length, ...headers });
}

/** Of method, path, query and body. */
function digestOf(c: Context<Env>): string {
  const hasher = new Bun.CryptoHasher("sha256").update(`${c.req.method} ${targetOf(c.req.url)}\n`);
  return hasher.update(c.get("body")).digest("hex");
}

function searchOf({ url }: Request): string {
  const target = targetOf(url);
  return target.slice(pathEnd(target) + 1);
}
