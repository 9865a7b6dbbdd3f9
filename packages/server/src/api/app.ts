// app.ts: the HTTP API as a function: a request in, a response out. Knows no socket.
//
// in   a Request, and the address at the other end of its connection
// out  a Response; a problem document for everything that is wrong with the request
// err  none: what nobody expected becomes 500 without words, and its stack goes to the log
//
// Order: path, method, key, allowed network, scope, rate, quota; only then the value. A request takes the current
// release once, so no answer mixes two.

import {
  type IpAddress,
  type LoadedRelease,
  type Overrides,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  type Prefix,
  withAddressEvidence,
  withEmailEvidence,
} from "@inkling/engine";
import { answerBatch } from "../batch/batch.ts";
import { Arriving } from "../batch/body.ts";
import { bearerToken } from "../http/bearer-token.ts";
import { callerAddress } from "../http/client-address.ts";
import { callerEtag, matchesEtag, overriddenEtag } from "../http/etag.ts";
import { type Problem, problem, problemBody, scopeProblem } from "../http/problems.ts";
import { decodeSegment, pathEnd, targetOf } from "../http/request-target.ts";
import { type Counted, isSourceAllowed, type Key, type Refusal, type Scope } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import { RateHeaders, secondsToMidnight } from "../limits/rate-headers.ts";
import type { Buckets, Decision } from "../limits/token-bucket.ts";
import { lookUpAddress, lookUpEmail, type Mode, type Outcome, readSubject } from "../lookup/answer.ts";
import { type EmailChecks, isClearedBy, withMx } from "../lookup/mx.ts";
import { SANDBOX_ME, SANDBOX_VERSION, sandboxAddress, sandboxEmail } from "../lookup/sandbox.ts";
import type { StatusSource } from "../lookup/status.ts";
import { readiness, statusDocument } from "../lookup/status.ts";
import type { MxFinding } from "../mx/outcome.ts";
import type { Audience } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import { AnswerHeaders } from "./answer-headers.ts";
import type { ApiCounts } from "./counts.ts";
import { PLAIN, readParameters, WANTS } from "./parameters.ts";
import { findRoute, NO_ROUTE, type Route } from "./routes.ts";

/** Tells who is at the other end; a Bun server is one. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Sets after how long a connection is closed that does not get on. */
  timeout?(request: Request, seconds: number): void;
}

/** What the app needs of the usage recorder. */
export interface UsageCounter {
  record(keyId: string, counted: Counted, now: number, count?: number): void;
  countToday(keyId: string, now: number): number;
  /** Takes from the quota, so that nobody else gets the same. @returns how many; all where the key has none */
  takeQuota(key: Key, now: number, most: number): number;
  /** Gives back what was taken and is not recorded. */
  giveQuotaBack(key: Key, now: number, count: number): void;
}

export interface AppOptions extends StatusSource {
  readonly mode: Mode;
  readonly releases: StatusSource["releases"];
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly overrides: { readonly current: Overrides };
  readonly checks: Pick<EmailChecks, "mx">;
  readonly trustedProxies: readonly Prefix[];
  readonly counts: ApiCounts;
  readonly log: Log;
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds of a clock that only goes on. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  /** After how long a stream is closed that does not get on; for tests. */
  readonly streamIdleSeconds?: number;
}

const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";
const IP_CACHE = "private, max-age=300";
const NO_STORE = "no-store";
/** Where browsers are led that ask for "/". */
const START_PAGE = "/docs";
const DATA_STATE = "Inkling-Data-State";
/** How usage counts what a key was refused; all else is not allowed. */
const REFUSED_AS: Readonly<Record<string, Refusal>> = {
  RATE_LIMITED: "rate_limited",
  QUOTA_EXCEEDED: "quota_exceeded",
};
const NO_RELEASE_VERSION = "none";
const SANDBOX_ETAG = `"${SANDBOX_VERSION}"`;
/** Longest declared body of a request whose method takes none; larger ones are 413 before 405. */
const MAX_BODY_BYTES = 8 * 1024;
/** A body that nobody will read is let pass up to this; after that the connection is closed. */
const MAX_UNREAD_BYTES = 64 * 1024;

type HeaderFields = Record<string, string>;

/** What is known of one request while it is answered. */
class Exchange {
  readonly request: Request;
  readonly peers: Peers;
  readonly id: string;
  readonly now: number;
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  key: Key | undefined;
  rate: Decision | undefined;
  isLookup = false;
  /** What was asked for beyond the plain answer: bits of WANTS. */
  wants: number = PLAIN;
  /** Values of a batch; of a stream when it has ended. */
  values: number | Promise<number> | undefined;

  constructor(request: Request, peers: Peers, id: string, options: AppOptions) {
    this.request = request;
    this.peers = peers;
    this.id = id;
    this.now = options.now();
    this.release = options.releases.current;
    this.overrides = options.overrides.current;
  }

  get audience(): Audience {
    return this.key === undefined ? "none" : this.key.mode;
  }
}

export class App {
  private readonly options: AppOptions;
  private readonly arriving = new Arriving();
  private readonly rateHeaders = new RateHeaders();
  private templatesOf: LoadedRelease | undefined;
  private templates: Readonly<Record<Scope, AnswerHeaders>> | undefined;

  constructor(options: AppOptions) {
    this.options = options;
  }

  /** A promise only for `?checks=mx`, which may have to wait for DNS, and for batches. */
  handle(request: Request, peers: Peers): Response | Promise<Response> {
    const { options } = this;
    const started = options.elapsed();
    const exchange = new Exchange(request, peers, options.newRequestId(), options);
    const target = targetOf(request.url);
    const end = pathEnd(target);
    const route = findRoute(end === target.length ? target : target.slice(0, end));
    let response: Response | Promise<Response>;
    try {
      response =
        route === undefined
          ? this.refuse(exchange, problem("PATH_NOT_FOUND"))
          : this.answer(exchange, route, target, end);
    } catch (error) {
      response = this.crashed(exchange, route, error, target);
    }
    return response instanceof Promise
      ? response
          .catch((error) => this.crashed(exchange, route, error, target))
          .then((answered) => this.counted(exchange, route, answered, started))
      : this.counted(exchange, route, response, started);
  }

  private counted(
    exchange: Exchange,
    route: Route | undefined,
    response: Response,
    started: number,
  ): Response {
    const { values } = exchange;
    if (values instanceof Promise) {
      // A stream was answered when its last line was.
      void values.then((count) => {
        exchange.values = count;
        this.counted(exchange, route, response, started);
      });
      return response;
    }
    const { options } = this;
    const ms = options.elapsed() - started;
    const { status } = response;
    const { method } = exchange.request;
    // RFC 9110 6.6.1: a server with a clock sends it. Bun does, but not for HEAD.
    if (method === "HEAD") response.headers.set("Date", new Date(exchange.now).toUTCString());
    options.counts.recordAnswer((route ?? NO_ROUTE).index, status, exchange.audience, ms);
    if (options.log.hasAccess) {
      options.log.access({
        method,
        route: (route ?? NO_ROUTE).template,
        status,
        ms,
        keyId: exchange.key?.id,
        requestId: exchange.id,
        values,
      });
    }
    return response;
  }

  private answer(
    exchange: Exchange,
    route: Route,
    target: string,
    end: number,
  ): Response | Promise<Response> {
    const { method } = exchange.request;
    if (route.handler === "root") return this.root(exchange);
    if (route.handler === "batch" && method === "POST")
      return this.batch(exchange, route.lookup!, target, end);
    if (route.handler === "batch" || (method !== "GET" && method !== "HEAD")) {
      return this.refuse(exchange, methodProblem(exchange.request, route));
    }
    switch (route.handler) {
      case "healthz":
        return this.json(exchange, 200, { status: "alive" });
      case "readyz":
        return this.ready(exchange);
      case "status":
        return this.status(exchange, target, end);
      case "openapi":
      case "docs":
        return this.document(exchange, route, target.slice(route.prefix?.length ?? end, end));
      default:
        return this.lookUp(exchange, route.handler, target, target.slice(route.prefix!.length, end), end);
    }
  }

  /** Whoever types the server's name into a browser is led to what can be read there; for all others there is nothing. */
  private root(exchange: Exchange): Response {
    const { method, headers } = exchange.request;
    const isRead = method === "GET" || method === "HEAD";
    if (!isRead || !wantsPage(headers.get("accept"))) return this.refuse(exchange, problem("PATH_NOT_FOUND"));
    const { "Content-Type": _, ...kept } = this.headers(exchange, JSON_TYPE, NO_STORE);
    return new Response(null, { status: 302, headers: { ...kept, Location: START_PAGE } });
  }

  private ready(exchange: Exchange): Response {
    const reasons = readiness(this.options);
    return reasons.length === 0
      ? this.json(exchange, 200, { status: "ready" })
      : this.json(exchange, 503, { status: "not ready", reasons });
  }

  private status(exchange: Exchange, target: string, end: number): Response {
    const refusal = this.admit(exchange) ?? this.readWants(exchange, "status", target, end);
    if (refusal !== undefined) return this.refuse(exchange, refusal);
    return this.json(exchange, 200, statusDocument(this.options, exchange.now));
  }

  /** What this server tells about itself. Loaded with the first request for it: the start does not wait for it. */
  private async document(exchange: Exchange, { handler }: Route, name: string): Promise<Response> {
    const { docsPage, openApiDocument } = await import("../openapi/documents.ts");
    const document = handler === "openapi" ? openApiDocument(this.options.version) : docsPage(name);
    if (document === undefined) return this.refuse(exchange, problem("PATH_NOT_FOUND"));
    const { body, etag } = document;
    const headers = { ...this.headers(exchange, JSON_TYPE, "no-cache"), ...document.headers, ETag: etag };
    const condition = exchange.request.headers.get("if-none-match");
    if (condition === null || !matchesEtag(condition, etag)) return new Response(body, { headers });
    const { "Content-Type": _, ...kept } = headers as HeaderFields;
    return new Response(null, { status: 304, headers: kept });
  }

  private lookUp(
    exchange: Exchange,
    lookup: Scope,
    target: string,
    segment: string,
    end: number,
  ): Response | Promise<Response> {
    const refusal = this.admit(exchange, lookup) ?? this.readWants(exchange, lookup, target, end);
    if (refusal !== undefined) return this.refuse(exchange, refusal);
    const response =
      lookup === "email" ? this.email(exchange, segment) : this.address(exchange, lookup, segment);
    return response instanceof Promise
      ? response.then((answered) => this.charged(exchange, lookup, answered))
      : this.charged(exchange, lookup, response);
  }

  /** Many values at once. */
  private async batch(exchange: Exchange, lookup: Scope, target: string, end: number): Promise<Response> {
    const { options } = this;
    const { request, peers, now, release, overrides } = exchange;
    const refusal = this.admit(exchange, lookup) ?? this.readWants(exchange, lookup, target, end);
    if (refusal !== undefined) return this.refuse(exchange, refusal);
    const key = exchange.key!;
    const caller = this.callerOf(exchange);
    const answer = await answerBatch(options, {
      request,
      arriving: this.arriving,
      lookup,
      key,
      rate: exchange.rate!,
      now,
      release,
      overrides,
      withEvidence: (exchange.wants & WANTS.evidence) !== 0,
      ...((exchange.wants & WANTS.mx) !== 0 && { checked: (text) => this.checkedEmail(exchange, text) }),
      caller,
      readmit: () => this.readmit(request, lookup, caller),
      onLife: (seconds) => peers.timeout?.(request, seconds),
      onCrash: (error, value) => this.logCrash(exchange, target.slice(0, end), error, [value]),
    });
    if ("code" in answer) return this.refuse(exchange, answer);
    exchange.values = answer.values;
    exchange.rate = options.buckets.take(key, now, 0); // what the other values left
    const headers = this.headers(exchange, answer.type, NO_STORE);
    if (key.mode === "live") this.tellState(exchange, lookup, headers);
    if (answer.isGzip) headers["Content-Encoding"] = "gzip";
    return new Response(answer.body, { headers });
  }

  /** May the key that a request came with go on? */
  private readmit(request: Request, lookup: Scope, caller: IpAddress | undefined): Key | Problem {
    const token = bearerToken(request.headers.get("authorization"));
    const result = this.options.keyring.authenticate(token ?? "", this.options.now());
    if (!result.ok) return problem(result.code);
    const { key } = result;
    if (key.networks.length > 0 && (caller === undefined || !isSourceAllowed(key, caller))) {
      return problem("SOURCE_NOT_ALLOWED");
    }
    return key.scopes.includes(lookup) ? key : scopeProblem(lookup);
  }

  private charged(exchange: Exchange, lookup: Scope, response: Response): Response {
    // What was refused as bad input is not a look-up that somebody is charged for.
    if (exchange.isLookup) {
      const { key, now } = exchange;
      // Others may have taken the last one since this key was admitted.
      if (this.options.usage.takeQuota(key!, now, 1) === 0) {
        this.options.usage.record(key!.id, "quota_exceeded", now);
        return this.refuse(exchange, quotaProblem(now));
      }
      this.options.usage.record(key!.id, lookup, now);
      this.options.counts.countLookup(lookup, key!.mode);
    }
    return response;
  }

  /** @param end where the path ends in the target; a bare "?" is no query */
  private readWants(
    exchange: Exchange,
    route: Route["handler"],
    target: string,
    end: number,
  ): Problem | undefined {
    if (end >= target.length - 1) return undefined;
    const wants = readParameters(target.slice(end + 1), route);
    if (typeof wants !== "number") return wants;
    exchange.wants = wants;
    return undefined;
  }

  /** Finds the key, and asks whether it may do this now; what it may not is counted as refused. */
  private admit(exchange: Exchange, scope?: Scope): Problem | undefined {
    const refusal = this.judge(exchange, scope);
    if (refusal === undefined || exchange.key === undefined) return refusal;
    this.options.usage.record(exchange.key.id, REFUSED_AS[refusal.code] ?? "not_allowed", exchange.now);
    return refusal;
  }

  private judge(exchange: Exchange, scope: Scope | undefined): Problem | undefined {
    const { options } = this;
    const { request, now } = exchange;
    const token = bearerToken(request.headers.get("authorization"));
    if (token === undefined) return problem("KEY_MISSING");
    const result = options.keyring.authenticate(token, now);
    if (!result.ok) {
      if (result.code === "KEY_EXPIRED") options.usage.record(result.key.id, "not_allowed", now);
      return problem(result.code);
    }
    const { key } = result;
    exchange.key = key;
    if (key.networks.length > 0) {
      const caller = this.callerOf(exchange);
      if (caller === undefined || !isSourceAllowed(key, caller)) {
        exchange.rate = options.buckets.take(key, now, 0); // a stolen key must not use up its owner's rate
        return problem("SOURCE_NOT_ALLOWED");
      }
    }
    exchange.rate = options.buckets.take(key, now);
    if (scope !== undefined && !key.scopes.includes(scope)) return scopeProblem(scope);
    if (!exchange.rate.allowed) {
      return problem("RATE_LIMITED", undefined, { "Retry-After": String(exchange.rate.retryAfterSeconds) });
    }
    if (
      scope !== undefined &&
      key.quota !== undefined &&
      options.usage.countToday(key.id, now) >= key.quota
    ) {
      return quotaProblem(now);
    }
    return undefined;
  }

  private callerOf(exchange: Exchange): IpAddress | undefined {
    const { request, peers } = exchange;
    const { trustedProxies } = this.options;
    const forwardedFor = trustedProxies.length === 0 ? null : request.headers.get("x-forwarded-for");
    return callerAddress(peers.requestIP(request)?.address, forwardedFor, trustedProxies);
  }

  private address(exchange: Exchange, lookup: "geolocate" | "reputation", segment: string): Response {
    const isSandbox = exchange.key!.mode === "test";
    const subject = readSubject(isSandbox && segment === "me" ? SANDBOX_ME : segment, () =>
      this.callerOf(exchange),
    );
    if ("code" in subject) return this.refuse(exchange, subject);
    const { release } = exchange;
    const wantsEvidence = (exchange.wants & WANTS.evidence) !== 0;
    const outcome = isSandbox
      ? sandboxAddress(lookup, subject.address, wantsEvidence)
      : lookUpAddress(lookup, subject, release, this.options.mode);
    if (!(outcome instanceof Uint8Array)) return this.lookupProblem(exchange, outcome);
    exchange.isLookup = true;
    const { overrides, now } = exchange;
    const overridden =
      lookup === "reputation" && overrides.hasAddresses && !isSandbox
        ? overrideReputation(outcome, subject.address, release!, overrides, now)
        : undefined;
    const isOwn = overridden !== undefined && (overridden.isChanged || wantsEvidence);
    const isCommon = !isSandbox && !subject.isCaller && !isOwn;
    const plainEtag = isSandbox
      ? SANDBOX_ETAG
      : subject.isCaller
        ? callerEtag(release!, subject.address)
        : release!.etag;
    const etag = isOwn ? overriddenEtag(plainEtag, overridden, wantsEvidence) : plainEtag;
    const plain = overridden?.body ?? outcome;
    if (!isSandbox) this.options.counts.countFlags(lookup, plain, now);
    const entries = wantsEvidence && overridden !== undefined ? overrideEntries(overridden.verdict) : [];
    const body =
      wantsEvidence && !isSandbox
        ? withAddressEvidence(plain, lookup, subject.address, release!, entries)
        : plain;
    const condition = exchange.request.headers.get("if-none-match");
    if (isCommon && condition === null) return this.common(exchange, lookup, body);
    const headers = this.headers(exchange, JSON_TYPE, IP_CACHE);
    headers.ETag = etag;
    headers.Vary = "Authorization";
    if (!isSandbox) this.tellState(exchange, lookup, headers);
    if (condition !== null && matchesEtag(condition, etag)) {
      delete headers["Content-Type"];
      return new Response(null, { status: 304, headers });
    }
    return new Response(body as Uint8Array<ArrayBuffer>, { headers });
  }

  private email(exchange: Exchange, segment: string): Response | Promise<Response> {
    const text = decodeSegment(segment);
    if (text === undefined) return this.refuse(exchange, problem("PATH_INVALID"));
    const { wants } = exchange;
    const isSandbox = exchange.key!.mode === "test";
    const outcome: Outcome = isSandbox
      ? sandboxEmail(text, (wants & WANTS.evidence) !== 0, (wants & WANTS.mx) !== 0)
      : lookUpEmail(text, exchange.release, this.options.mode);
    if (!(outcome instanceof Uint8Array)) return this.lookupProblem(exchange, outcome);
    exchange.isLookup = true;
    if (isSandbox) {
      const headers = this.headers(exchange, JSON_TYPE, NO_STORE);
      return new Response(outcome as Uint8Array<ArrayBuffer>, { headers });
    }
    const answered = (found?: MxFinding) =>
      this.common(exchange, "email", this.emailBody(exchange, text, outcome, found));
    if ((wants & WANTS.mx) === 0) return answered();
    const finding = this.options.checks.mx(text);
    return finding instanceof Promise ? finding.then(answered) : answered(finding);
  }

  /** With `checks=mx`, of a body's value. */
  private async checkedEmail(exchange: Exchange, text: string): Promise<Outcome> {
    if (exchange.key!.mode === "test") {
      return sandboxEmail(text, (exchange.wants & WANTS.evidence) !== 0, true);
    }
    const outcome = lookUpEmail(text, exchange.release, this.options.mode);
    if (!(outcome instanceof Uint8Array)) return outcome;
    return this.emailBody(exchange, text, outcome, await this.options.checks.mx(text));
  }

  /** What the lists say, then the operator, then DNS. */
  private emailBody(exchange: Exchange, text: string, listed: Uint8Array, finding?: MxFinding): Uint8Array {
    const { overrides, now } = exchange;
    const release = exchange.release!;
    const wantsEvidence = (exchange.wants & WANTS.evidence) !== 0;
    const overridden = overrides.hasEmail ? overrideEmail(listed, text, release, overrides, now) : undefined;
    const plain = overridden?.body ?? listed;
    this.options.counts.countFlags("email", plain, now);
    if (finding === undefined && !wantsEvidence) return plain;
    const entries = overridden === undefined ? [] : overrideEntries(overridden.verdict);
    const reasoned = (body: Uint8Array) => withEmailEvidence(body, text, release, entries);
    if (finding === undefined) return reasoned(plain);
    const { body, entry } = withMx(plain, finding, () => isClearedBy(reasoned(plain)));
    if (entry !== undefined) entries.push(entry);
    return wantsEvidence ? reasoned(body) : body;
  }

  /** The answer of nearly every request: its headers are kept from one to the next. */
  private common(exchange: Exchange, lookup: Scope, body: Uint8Array): Response {
    if (exchange.release !== this.templatesOf) {
      this.templatesOf = exchange.release;
      this.templates = answerTemplates(exchange.release!);
    }
    const { key, rate } = exchange;
    const policy = this.rateHeaders.policy(key!, rate!);
    const left = policy === undefined ? "" : this.left(exchange);
    const headers = this.templates![lookup].fill(exchange.id, policy, left);
    return new Response(body as Uint8Array<ArrayBuffer>, { headers });
  }

  /** What is left of the key's rate and quota, this answer already counted. */
  private left({ key, rate, now, isLookup }: Exchange): string {
    const counted = key!.quota === undefined ? 0 : this.options.usage.countToday(key!.id, now);
    return this.rateHeaders.left(key!, rate!, counted + (isLookup ? 1 : 0), now);
  }

  private tellState(exchange: Exchange, lookup: Scope, headers: HeaderFields): void {
    const state = exchange.release!.states[lookup].header;
    if (state !== undefined) headers[DATA_STATE] = state;
  }

  /** "We looked, and there is nothing" is a look-up too. */
  private lookupProblem(exchange: Exchange, outcome: Problem): Response {
    exchange.isLookup = outcome.code === "IP_ADDRESS_NOT_FOUND";
    return this.refuse(exchange, outcome);
  }

  private refuse(exchange: Exchange, refusal: Problem): Response {
    this.options.counts.countProblem(refusal.code);
    const headers = Object.assign(this.headers(exchange, PROBLEM_TYPE, NO_STORE), refusal.headers);
    if (hasLongBody(exchange.request)) headers.Connection = "close";
    return new Response(problemBody(refusal, exchange.id), { status: refusal.status, headers });
  }

  private json(exchange: Exchange, status: number, document: unknown): Response {
    const headers = this.headers(exchange, JSON_TYPE, NO_STORE);
    return new Response(JSON.stringify(document), { status, headers });
  }

  /** The headers that every answer has. */
  private headers(exchange: Exchange, type: string, cache: string): HeaderFields {
    const { key, rate } = exchange;
    const headers: HeaderFields = {
      "Content-Type": type,
      "Cache-Control": cache,
      "Inkling-Data-Version":
        key?.mode === "test" ? SANDBOX_VERSION : (exchange.release?.manifest.id ?? NO_RELEASE_VERSION),
      "X-Request-Id": exchange.id,
    };
    if (key === undefined || rate === undefined) return headers;
    const policy = this.rateHeaders.policy(key, rate);
    if (policy !== undefined) {
      headers["RateLimit-Policy"] = policy;
      headers.RateLimit = this.left(exchange);
    }
    return headers;
  }

  private crashed(exchange: Exchange, route: Route | undefined, error: unknown, target: string): Response {
    const value = target.slice(route?.prefix?.length ?? 0);
    this.logCrash(exchange, (route ?? NO_ROUTE).template, error, [value, decodeSegment(value) ?? ""]);
    exchange.key = undefined; // what failed may lie in there
    return this.refuse(exchange, problem("INTERNAL"));
  }

  private logCrash(exchange: Exchange, route: string, error: unknown, secrets: readonly string[]): void {
    this.options.log.crash("request-failed", error, secrets, { route, request_id: exchange.id });
  }
}

/** What the answers of a release have in common, by look-up. */
function answerTemplates({ manifest, states, etag }: LoadedRelease): Readonly<Record<Scope, AnswerHeaders>> {
  const template = (lookup: Scope) => {
    const state = states[lookup].header;
    return new AnswerHeaders({
      "Content-Type": JSON_TYPE,
      "Inkling-Data-Version": manifest.id,
      ...(lookup === "email"
        ? { "Cache-Control": NO_STORE }
        : { "Cache-Control": IP_CACHE, ETag: etag, Vary: "Authorization" }),
      ...(state === undefined ? {} : { [DATA_STATE]: state }),
    });
  };
  return {
    geolocate: template("geolocate"),
    reputation: template("reputation"),
    email: template("email"),
  };
}

/** A browser names HTML itself; programs send any type, JSON or nothing. */
function wantsPage(accept: string | null): boolean {
  return accept !== null && /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(accept);
}

const ONLY_BATCHES = problem("METHOD_NOT_ALLOWED", "This path answers POST, with many values in its body.", {
  Allow: "POST",
});

function methodProblem(request: Request, route: Route): Problem {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > MAX_BODY_BYTES) return problem("CONTENT_TOO_LARGE");
  return route.handler === "batch" ? ONLY_BATCHES : problem("METHOD_NOT_ALLOWED");
}

/** Is there a body that nobody has read, long or of unknown length? GET and HEAD have none that counts. */
function hasLongBody({ method, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > MAX_UNREAD_BYTES;
}

function quotaProblem(now: number): Problem {
  return problem("QUOTA_EXCEEDED", undefined, { "Retry-After": String(secondsToMidnight(now)) });
}
