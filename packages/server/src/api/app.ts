// app.ts: implements the HTTP API as a function from a request to a response. It opens no socket.
//
// An unexpected error becomes a 500 without details, and the log gets its stack.
//
// The app checks Host, path, method, key, the key's networks, scope, rate, quota and parameters, in this order. Then it
// reads the value. It takes a rate token before it checks the scope (admission.ts).

import { isReadableHost } from "../http/host-names.ts";
import { loadOnce } from "../http/load-once.ts";
import { type Problem, problem } from "../http/problems.ts";
import { traceIdOf } from "../http/request-id.ts";
import { decodeSegment, pathEnd, targetOf } from "../http/router.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import { Admission } from "./admission.ts";
import type { Api, Route } from "./handler.ts";
import { Exchange, type Peers } from "./request-context.ts";
import { Responses } from "./responses.ts";
import { findRoute, UNCLEAR } from "./routes.ts";
import { KeyTrace } from "./trace.ts";

/**
 * Maximum declared body size, in bytes, for which a request with the wrong method returns 405. A longer body returns
 * 413.
 */
const MAX_BODY_BYTES = 8 * 1024;

const HOST_INVALID = problem("HOST_INVALID");
const TOO_LARGE = problem("CONTENT_TOO_LARGE");
const INTERNAL = problem("INTERNAL");
const ONLY_READ = problem("METHOD_NOT_ALLOWED");
const ONLY_BATCHES = problem(
  "METHOD_NOT_ALLOWED",
  "This path takes a batch with POST. To look up one value, send a GET request to this path followed by `/` and the value.",
  {
    Allow: "POST",
  },
);

export class App {
  private readonly api: Api;
  private readonly trace: KeyTrace;
  /** The last valid Host header. Nearly every request has the same header, so it is not checked again. */
  private lastHost = "";

  constructor(services: ThreadServices) {
    this.api = {
      ...services,
      admission: new Admission(services),
      responses: new Responses(services),
      decisionAnswers: loadOnce(async () => {
        const { DecisionAnswers } = await import("./assess-answers.ts");
        return new DecisionAnswers(services);
      }),
      isDraining: false,
    };
    this.trace = new KeyTrace(services.log);
  }

  /** Makes `/readyz` return 503. */
  drain(): void {
    this.api.isDraining = true;
  }

  /**
   * Answers a request. Returns a promise only for batches, decisions, outcomes, hooks, documents, and lookups with
   * `?checks=mx` that query DNS.
   * @param isUnclear whether a proxy in front may have read another path. Such a request is refused.
   */
  handle(request: Request, peers: Peers, isUnclear = false): Response | Promise<Response> {
    const started = this.api.elapsed();
    const target = targetOf(request.url);
    const end = pathEnd(target);
    const route = isUnclear ? UNCLEAR : findRoute(end === target.length ? target : target.slice(0, end));
    const exchange = new Exchange(request, peers, target, end, this.api);
    let response: Response | Promise<Response>;
    try {
      response = this.answer(exchange, route);
    } catch (error) {
      response = this.reportCrash(exchange, route, error);
    }
    // The trace is recorded here, because the peer's address is no longer available after a stream has ended.
    if (exchange.key?.tracedUntil !== undefined)
      this.trace.record(exchange.key, exchange, route.isForProxies);
    return response instanceof Promise
      ? response
          .catch((error) => this.reportCrash(exchange, route, error))
          .then((late) => this.record(exchange, route, late, started))
      : this.record(exchange, route, response, started);
  }

  private answer(exchange: Exchange, route: Route): Response | Promise<Response> {
    const { request } = exchange;
    const refusal = this.hostProblem(request) ?? methodProblem(request, route) ?? this.admit(exchange, route);
    if (refusal !== undefined) return this.refuse(exchange, route, refusal);
    const response = route.handle(exchange, this.api, route);
    return response instanceof Promise
      ? response.then((late) => this.charge(exchange, route, late))
      : this.charge(exchange, route, response);
  }

  private hostProblem({ headers }: Request): Problem | undefined {
    const host = headers.get("host");
    if (host === this.lastHost) return undefined;
    if (!isReadableHost(host)) return HOST_INVALID;
    this.lastHost = host ?? "";
    return undefined;
  }

  private admit(exchange: Exchange, route: Route): Problem | undefined {
    const { isOpen, parameters } = route;
    if (isOpen) return undefined;
    const refusal = this.api.admission.admit(exchange, route);
    if (refusal !== undefined) return refusal;
    const { target, pathEnd } = exchange;
    if (pathEnd >= target.length - 1) return undefined; // a bare "?" is an empty query
    const wants = parameters.read(target.slice(pathEnd + 1));
    if (typeof wants !== "number") return wants;
    exchange.wants = wants;
    return undefined;
  }

  /** Charges a lookup to the quota. Invalid input is free. */
  private charge(exchange: Exchange, route: Route, response: Response): Response {
    const { scope } = route;
    if (!exchange.isLookup || scope === undefined) return response;
    const refusal = this.api.admission.chargeQuota(exchange, scope);
    return refusal === undefined ? response : this.refuse(exchange, route, refusal);
  }

  private refuse(exchange: Exchange, { sendProblem }: Route, problem: Problem): Response {
    const { api } = this;
    return sendProblem?.(exchange, api, problem) ?? api.responses.sendProblem(exchange, problem);
  }

  /** Counts and logs a response. For a stream, it waits until the last line was sent. */
  private record(exchange: Exchange, route: Route, response: Response, started: number): Response {
    const { values } = exchange;
    if (values instanceof Promise) {
      void values.then((count) => {
        exchange.values = count;
        this.record(exchange, route, response, started);
      });
      return response;
    }
    const { counts, elapsed, log } = this.api;
    const ms = elapsed() - started;
    const { status } = response;
    const { method } = exchange.request;
    // A server with a clock must send Date (RFC 9110 6.6.1). Bun does, except for HEAD.
    if (method === "HEAD") response.headers.set("Date", new Date(exchange.now).toUTCString());
    counts.recordAnswer(route.slot, status, exchange.audience, ms);
    exchange.span?.end(method, route.path.text, status, exchange.code, exchange.id);
    if (log.hasAccess) {
      const { key, id: requestId, code } = exchange;
      const traceId = traceIdOf(exchange.traceparent);
      log.access({
        method,
        route: route.path.text,
        status,
        code,
        ms,
        keyId: key?.id,
        requestId,
        traceId,
        values,
      });
    }
    return response;
  }

  private reportCrash(exchange: Exchange, route: Route, error: unknown): Response {
    const { path } = route;
    const value = exchange.target.slice(path.suffix === undefined ? 0 : path.prefix.length);
    const context = { route: path.text, ...exchange.ids };
    this.api.log.crash("request-failed", error, [value, decodeSegment(value) ?? ""], context);
    exchange.setKey(undefined); // the error may come from the key's rate or quota, which the response would read again
    return this.refuse(exchange, route, INTERNAL);
  }
}

function methodProblem(request: Request, { method }: Route): Problem | undefined {
  if (method === "ANY" || request.method === method) return undefined;
  if (method === "GET" && request.method === "HEAD") return undefined;
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > MAX_BODY_BYTES) return TOO_LARGE;
  return method === "POST" ? ONLY_BATCHES : ONLY_READ;
}
