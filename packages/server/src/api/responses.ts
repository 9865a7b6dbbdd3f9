// responses.ts: builds responses, with their headers: answers from a release, other JSON, and problem documents.
//
// Source: RFC 9457 (problems), RFC 9110 13.1.2 (If-None-Match); the RateLimit headers: limits/rate-headers.ts.

import { recordOf } from "@inkling/contract";
import {
  formatIp,
  type IpAddress,
  LOOKUPS,
  type LoadedRelease,
  type Lookup,
  type Overridden,
  type StateHeader,
  StateHeaders,
} from "@inkling/engine";
import { PROBLEM_TYPE, type Problem, problemBody } from "../http/problems.ts";
import { RateHeaders } from "../limits/rate-headers.ts";
import { WANTS } from "../lookup/pipeline.ts";
import { SANDBOX_VERSION } from "../lookup/sandbox.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { Exchange } from "./request-context.ts";

export const JSON_TYPE = "application/json";
/** Values of `Cache-Control`. A "private" response depends on the key, whose scopes and networks may change. */
const CACHE_CONTROL = { private: "private, max-age=300", "no-cache": "no-cache", "no-store": "no-store" };
type Caching = keyof typeof CACHE_CONTROL;
const DATA_STATE = "Inkling-Data-State";
const DATA_VERSION = "Inkling-Data-Version";

const NO_RELEASE_VERSION = "none";
/** Maximum size, in bytes, of an unread body after which the connection remains open. */
const MAX_UNREAD_BYTES = 64 * 1024;

type HeaderFields = Record<string, string>;

/**
 * Headers of a lookup's answer, most of which do not change between requests. Reusing one Headers object and changing
 * two of its fields takes 560 ns. Creating a Response from an object with eight headers takes 950 ns.
 */
export class AnswerHeaders {
  private readonly headers: Headers;
  private policy: string | undefined;
  private left = "";
  private hasTrace = false;

  constructor(fixed: Readonly<Record<string, string>>) {
    this.headers = new Headers(fixed);
  }

  /**
   * @param policy undefined if there is no key, or if the key has no limits
   * @returns the same object on each call: pass it to a Response before the next call
   */
  fill(
    { id, traceparent }: Pick<Exchange, "id" | "traceparent">,
    policy: string | undefined,
    left: string,
  ): Headers {
    const { headers } = this;
    headers.set("X-Request-Id", id);
    if (traceparent !== undefined) headers.set("traceparent", traceparent);
    else if (this.hasTrace) headers.delete("traceparent");
    this.hasTrace = traceparent !== undefined;
    if (policy !== this.policy) this.changePolicy(policy);
    if (policy !== undefined && left !== this.left) {
      this.left = left;
      headers.set("RateLimit", left);
    }
    return headers;
  }

  private changePolicy(policy: string | undefined): void {
    this.policy = policy;
    this.left = "";
    if (policy !== undefined) {
      this.headers.set("RateLimit-Policy", policy);
      return;
    }
    this.headers.delete("RateLimit-Policy");
    this.headers.delete("RateLimit");
  }
}

/** Creates the headers that are the same for all responses of a kind. */
const fixedHeaders = (type: string, version: string, caching: Caching = "no-store"): HeaderFields => ({
  "Content-Type": type,
  "Cache-Control": CACHE_CONTROL[caching],
  [DATA_VERSION]: version,
  ...(caching === "private" && { Vary: "Authorization" }),
});

const versionOf = ({ isSandbox, release }: Exchange): string =>
  isSandbox ? SANDBOX_VERSION : (release?.manifest.id ?? NO_RELEASE_VERSION);

/** Creates, for each lookup, the headers that are the same for all answers from a release. */
function answerTemplates(
  { manifest, etag }: LoadedRelease,
  states: Readonly<Record<Lookup, StateHeader>>,
): Readonly<Record<Lookup, AnswerHeaders>> {
  const template = (lookup: Lookup) => {
    const state = states[lookup].plain;
    return new AnswerHeaders({
      ...fixedHeaders(JSON_TYPE, manifest.id, lookup === "email" ? "no-store" : "private"),
      ...(lookup !== "email" && { ETag: etag }),
      ...(state === undefined ? {} : { [DATA_STATE]: state }),
    });
  };
  return recordOf(LOOKUPS, template);
}

export class Responses {
  private readonly services: ThreadServices;
  private readonly rateHeaders = new RateHeaders();
  private readonly stateHeaders = new StateHeaders();
  /** The states from which `templates` was created. */
  private templatesOf: Readonly<Record<Lookup, StateHeader>> | undefined;
  private templates: Readonly<Record<Lookup, AnswerHeaders>> | undefined;
  /** The data version in `jsonHeaders`. */
  private jsonVersion = "";
  private jsonHeaders = new AnswerHeaders({});

  constructor(services: ThreadServices) {
    this.services = services;
  }

  sendProblem(exchange: Exchange, problem: Problem): Response {
    this.services.counts.countProblem(problem.code);
    exchange.code = problem.code;
    const headers = Object.assign(this.makeHeaders(exchange, PROBLEM_TYPE), problem.headers);
    if (hasLongBody(exchange.request)) headers.Connection = "close";
    return new Response(problemBody(problem, exchange.id), { status: problem.status, headers });
  }

  sendJson(exchange: Exchange, status: number, document: unknown): Response {
    const version = versionOf(exchange);
    if (version !== this.jsonVersion) {
      this.jsonVersion = version;
      this.jsonHeaders = new AnswerHeaders(fixedHeaders(JSON_TYPE, version));
    }
    return new Response(JSON.stringify(document), { status, headers: this.fill(this.jsonHeaders, exchange) });
  }

  /** Sends the most frequent kind of response, an answer from data. Its headers are reused between requests. */
  sendAnswer(exchange: Exchange, release: LoadedRelease, lookup: Lookup, body: Uint8Array): Response {
    const states = this.statesOf(release, exchange.now);
    if (states !== this.templatesOf || this.templates === undefined) {
      this.templatesOf = states;
      this.templates = answerTemplates(release, states);
    }
    const headers = this.fill(this.templates[lookup], exchange);
    return new Response(body as Uint8Array<ArrayBuffer>, { headers });
  }

  private fill(headers: AnswerHeaders, exchange: Exchange): Headers {
    const policy = this.formatPolicy(exchange);
    return headers.fill(exchange, policy, policy === undefined ? "" : this.formatLeft(exchange));
  }

  /** Returns 304 if the client already has this answer. @param headers the answer's headers, including the ETag */
  sendConditional(exchange: Exchange, body: Uint8Array | string, headers: HeaderFields): Response {
    const condition = exchange.request.headers.get("if-none-match");
    if (condition === null || !matchesEtag(condition, headers.ETag ?? "")) {
      return new Response(body as Uint8Array<ArrayBuffer> | string, { headers });
    }
    delete headers["Content-Type"];
    return new Response(null, { status: 304, headers });
  }

  /** Creates the headers that every response has. */
  makeHeaders(exchange: Exchange, type: string, caching?: Caching): HeaderFields {
    const headers = fixedHeaders(type, versionOf(exchange), caching);
    headers["X-Request-Id"] = exchange.id;
    if (exchange.traceparent !== undefined) headers.traceparent = exchange.traceparent;
    const policy = this.formatPolicy(exchange);
    if (policy !== undefined) {
      headers["RateLimit-Policy"] = policy;
      headers.RateLimit = this.formatLeft(exchange);
    }
    return headers;
  }

  /**
   * Sets the header that lists missing data and the age of the oldest data. Sandbox answers lack no data, so they do
   * not have this header.
   */
  setDataState({ release, isSandbox, wants, now }: Exchange, lookup: Lookup, headers: HeaderFields): void {
    if (isSandbox || release === undefined) return;
    const { plain, network } = this.statesOf(release, now)[lookup];
    const state = (wants & WANTS.network) === 0 ? plain : network;
    if (state !== undefined) headers[DATA_STATE] = state;
  }

  private statesOf({ manifest }: LoadedRelease, now: number): Readonly<Record<Lookup, StateHeader>> {
    return this.stateHeaders.at(manifest, () => this.services.releases.feeds, now);
  }

  private formatPolicy({ key, rate }: Exchange): string | undefined {
    return key === undefined || rate === undefined ? undefined : this.rateHeaders.formatPolicy(key, rate);
  }

  /** Formats what remains of the key's rate and quota after this lookup. */
  private formatLeft(exchange: Exchange): string {
    const { admittedKey: key, admittedRate: rate, now, isLookup } = exchange;
    const counted = key.quota === undefined ? 0 : this.services.usage.countToday(key, now);
    return this.rateHeaders.formatLeft(key, rate, counted + (isLookup ? 1 : 0), now);
  }
}

/** True if the request's body is long or of unknown length. The body of a GET or HEAD request does not count. */
export function hasLongBody({ method, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > MAX_UNREAD_BYTES;
}

/**
 * Creates the ETag of an answer about the caller. It includes the address, because the URL is the same for every
 * caller.
 */
export function callerEtag(release: LoadedRelease, address: IpAddress): string {
  const digest = Bun.hash.xxHash64(`${release.manifest.id} ${formatIp(address)}`);
  return `"${release.manifest.id}-${digest.toString(16)}"`;
}

/**
 * Derives the ETag of an overridden answer from the ETag of the plain answer.
 * @param withEvidence true if the answer shows the overrides
 */
export function overriddenEtag(etag: string, { mark, verdict }: Overridden, withEvidence: boolean): string {
  const ids = withEvidence
    ? `-${Bun.hash.xxHash64(verdict.applied.map(({ override }) => override.id).join()).toString(16)}`
    : "";
  return `${etag.slice(0, -1)}-${mark}${ids}"`;
}

/** Compares the ETag weakly with each entity tag in the condition. "*" matches every ETag (RFC 9110 13.1.2). */
export function matchesEtag(condition: string, etag: string): boolean {
  if (condition === etag || condition.trim() === "*") return true;
  return condition.split(",").some((entry) => entry.trim().replace(/^W\//, "") === etag);
}
