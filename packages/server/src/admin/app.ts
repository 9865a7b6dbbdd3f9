// app.ts: the admin API as a function: a request in, a response out. Knows no socket.
//
// in   a Request under /admin/v1/
// out  a Response; a problem document for everything that is wrong with the request
// err  none: what nobody expected becomes 500 without words, and its stack goes to the log
// src  docs/admin-api.md, docs/overrides.md
//
// Order: token or session, path, method, author, parameters, body. A change is in force in this process before its answer
// goes out, in others within a second. Every write may be sent again after a time-out: it is idempotent by content, or
// by `Idempotency-Key`.

import { timingSafeEqual } from "node:crypto";
import { bearerToken } from "../http/bearer-token.ts";
import { pathEnd, targetOf } from "../http/request-target.ts";
import { oneLine } from "../keys/fields.ts";
import { KeyInputError } from "../keys/key.ts";
import type { KeyLoader } from "../keys/key-loader.ts";
import { hashToken, isWellFormedToken } from "../keys/token.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { OverrideCache } from "../overrides/cache.ts";
import { MAX_AUTHOR, type OverrideContext, OverrideInputError } from "../overrides/override.ts";
import type { Releases } from "../releases/follow.ts";
import { type AdminTokenStore, isAdminToken } from "../store/admin-token.ts";
import { StoreError } from "../store/error.ts";
import { OverrideConflictError, type OverrideStore } from "../store/overrides.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traffic } from "../telemetry/traffic.ts";
import {
  ADMIN_PATH,
  type AdminRoute,
  Body,
  bodyProblem,
  type Call,
  type Method,
  type Operation,
  type Reply,
  readQuery,
} from "./call.ts";
import { DATA_ROUTES, type DataActions } from "./data.ts";
import { Once } from "./idempotency.ts";
import { KEY_ROUTES } from "./keys.ts";
import { LOOKUP_ROUTES } from "./lookup.ts";
import { OVERRIDE_ROUTES } from "./overrides.ts";
import { AdminProblem } from "./problems.ts";
import { SESSION_ROUTES, SOMEBODY } from "./session-routes.ts";
import { AdminSessions, isFromConsole, type Session, sessionCookie } from "./sessions.ts";
import { TRAFFIC_ROUTES } from "./traffic.ts";

export interface AdminAppOptions {
  readonly overrides: OverrideStore;
  readonly adminToken: Pick<AdminTokenStore, "hash">;
  readonly store: Store;
  readonly book: Pick<OverrideCache, "refresh" | "current">;
  readonly keyring: Pick<KeyLoader, "refresh">;
  readonly releases: Pick<Releases, "current" | "check">;
  readonly status: StatusSource;
  readonly dataDir: string;
  /** What the program around the server can do with the data. */
  readonly actions: DataActions | undefined;
  readonly traffic: Pick<Traffic, "minutes">;
  /** Ids of the feeds of the release in use; undefined without one. */
  readonly feeds: () => OverrideContext["feeds"];
  readonly log: Log;
  /** Epoch ms. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
}

/** What the parts of the admin API work with. */
export interface AdminServer extends AdminAppOptions {
  readonly sessions: AdminSessions;
  /** The hash of the token in force. @throws AdminProblem when `token` is not that */
  requireToken(token: string): Promise<string>;
}

/** Every path of the admin API. */
export const ADMIN_ROUTES: readonly AdminRoute<AdminServer>[] = [
  ...SESSION_ROUTES,
  ...LOOKUP_ROUTES,
  ...DATA_ROUTES,
  ...KEY_ROUTES,
  ...OVERRIDE_ROUTES,
  ...TRAFFIC_ROUTES,
  {
    template: "/admin/v1/openapi.json",
    path: /^openapi\.json$/,
    methods: { GET: { id: "openapi", isOpen: true, run: describe } },
  },
];

/** Loaded with the first request for it: the start does not wait for it. */
async function describe({ status }: AdminServer): Promise<Reply> {
  const { adminOpenApi } = await import("../openapi/admin.ts");
  return { status: 200, document: adminOpenApi(status.version) };
}

/** Who was let in. */
interface Admission {
  readonly session: Session | undefined;
}

export class AdminApp {
  private readonly server: AdminServer;
  private readonly once: Once;

  constructor(options: AdminAppOptions) {
    this.server = {
      ...options,
      sessions: new AdminSessions(options.randomBytes),
      requireToken: (token) => requireToken(options.adminToken, token),
    };
    this.once = new Once(options.now);
  }

  async handle(request: Request): Promise<Response> {
    const { log, newRequestId } = this.server;
    const requestId = newRequestId();
    const target = targetOf(request.url);
    const end = pathEnd(target);
    const path = target.slice(ADMIN_PATH.length, end);
    const route = ADMIN_ROUTES.find((row) => row.path.test(path));
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
    route: AdminRoute<AdminServer> | undefined,
    path: string,
    query: string,
  ): Promise<Reply> {
    const method = request.method === "HEAD" ? "GET" : request.method;
    const operation = route?.methods[method as Method];
    const { session } = operation?.isOpen === true ? NOBODY : await this.admit(request);
    if (route === undefined) throw new AdminProblem("NO_SUCH_PATH");
    if (operation === undefined) {
      const methods = Object.keys(route.methods).flatMap((name) =>
        name === "GET" ? ["GET", "HEAD"] : [name],
      );
      throw new AdminProblem("METHOD_INVALID", undefined, [], { Allow: methods.join(", ") });
    }
    const body = new Body(request);
    const call: Call = {
      request,
      query: readQuery(query, operation.parameters),
      id: route.path.exec(path)?.[1] ?? "",
      actor: readActor(request, session),
      session,
      json: (most) => body.json(most),
    };
    return this.run(operation, call, `${method} ${path}?${query}`, body);
  }

  private async run(
    operation: Operation<AdminServer>,
    call: Call,
    target: string,
    body: Body,
  ): Promise<Reply> {
    const work = async () => operation.run(this.server, call);
    const key = operation.isOnce === true ? call.request.headers.get("idempotency-key") : null;
    if (key === null) return work();
    const digest = new Bun.CryptoHasher("sha256")
      .update(`${target}\n`)
      .update(await body.read())
      .digest("hex");
    return this.once.run(key, digest, work);
  }

  /** Lets the holder of the admin token in, and pages where one logged in. */
  private async admit(request: Request): Promise<Admission> {
    const { adminToken, sessions, now } = this.server;
    const token = bearerToken(request.headers.get("authorization"));
    if (token !== undefined) {
      await this.server.requireToken(token);
      return NOBODY;
    }
    const cookie = sessionCookie(request);
    if (cookie === undefined) throw new AdminProblem("TOKEN_MISSING");
    const session = sessions.find(cookie, await adminToken.hash(), now());
    if (session === undefined) throw new AdminProblem("SESSION_ENDED");
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (!isReading && !isFromConsole(request)) throw new AdminProblem("FORGED");
    return { session };
  }

  private problemOf(error: unknown, requestId: string): AdminProblem {
    if (error instanceof AdminProblem) return error;
    if (error instanceof KeyInputError) return bodyProblem(error.problems);
    if (error instanceof OverrideInputError) {
      return error.code === "INVALID"
        ? bodyProblem(error.problems)
        : new AdminProblem(`OVERRIDE_${error.code}`, undefined, error.problems);
    }
    if (error instanceof OverrideConflictError) {
      const code = error.why === "CONTRADICTS" ? "OVERRIDE_CONTRADICTS" : "OVERRIDES_FULL";
      return new AdminProblem(code, undefined, error.problems);
    }
    if (error instanceof StoreError && error.code !== "BROKEN") return new AdminProblem("DATABASE_AWAY");
    this.server.log.crash("admin-request-failed", error, [], { request_id: requestId });
    return new AdminProblem("ADMIN_INTERNAL");
  }
}

/** By the token alone, or not at all. */
const NOBODY: Admission = { session: undefined };

async function requireToken(tokens: Pick<AdminTokenStore, "hash">, token: string): Promise<string> {
  if (isWellFormedToken(token)) throw new AdminProblem("TOKEN_REQUIRED");
  if (!isAdminToken(token)) throw new AdminProblem("TOKEN_INVALID");
  const hash = await tokens.hash();
  if (hash === undefined || !timingSafeEqual(Buffer.from(hash), Buffer.from(hashToken(token)))) {
    throw new AdminProblem("TOKEN_INVALID");
  }
  return hash;
}

const author = oneLine(MAX_AUTHOR);

/** Who a request names, or who logged in. */
function readActor(request: Request, session: Session | undefined): string {
  const header = request.headers.get("inkling-author");
  if (header === null) return session?.author ?? SOMEBODY;
  const parsed = author.safeParse(header);
  if (!parsed.success) throw new AdminProblem("AUTHOR_INVALID");
  return parsed.data;
}
