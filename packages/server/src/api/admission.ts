// admission.ts: decides whether a request may be answered. It checks the key, its allowed networks, scope, rate and
// quota, in this order. It takes a rate token before it checks the scope, so requests outside the key's scopes also use
// up the rate.

import type { IpAddress } from "@inkling/engine";
import { isSourceAllowed, type Key, type KeyId, type Refusal, type Scope } from "@inkling/store/keys/key";
import { basicAsBearer } from "@inkling/store/keys/token";
import { type Problem, type ProblemCode, problem, scopeProblem } from "../http/problems.ts";
import { secondsToMidnight } from "../limits/rate-headers.ts";
import type { RateDefaults, RateState } from "../limits/token-bucket.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { Exchange } from "./request-context.ts";

/** The refusal that usage counts for a problem's code. All other codes count as "not_allowed". */
const REFUSED_AS: ReadonlyMap<ProblemCode, Refusal> = new Map([
  ["RATE_LIMITED", "rate_limited"],
  ["QUOTA_EXCEEDED", "quota_exceeded"],
]);

/** What a route requires of a request's key. */
export interface KeyRule {
  /** The scope that the key needs; undefined if any key may be used. */
  readonly scope: Scope | undefined;
  /** Whether a request looks up a value, and is therefore refused if the key's quota is used up. */
  readonly isLookup: boolean;
  /** Whether the key may also be the password of Basic authentication. */
  readonly acceptsBasic: boolean;
  /**
   * Whether proxies send these requests on behalf of visitors. The proxy then holds the key, so the key's networks must
   * contain the proxy's address.
   */
  readonly isForProxies: boolean;
}

const SOURCE_NOT_ALLOWED = problem("SOURCE_NOT_ALLOWED");
const PROXY_NOT_ALLOWED = problem(
  "SOURCE_NOT_ALLOWED",
  "This key works only from the networks that it is bound to. On this path, the server checks the proxy's address, not the visitor's. Bind the key to the proxy's address.",
);
const CALLER_UNKNOWN = problem("CALLER_UNKNOWN");
const KEY_MISSING = problem("KEY_MISSING");
const KEY_ELSEWHERE = problem("KEY_MISSING", "Inkling reads the key from `Authorization: Bearer` only.");

/**
 * Returns the problem for a missing key. If the key was sent in the wrong place, the detail states where it belongs.
 */
function missingKey(headers: Headers, { acceptsBasic }: KeyRule): Problem {
  const isElsewhere = headers.has("x-api-key") || (headers.has("authorization") && !acceptsBasic);
  return isElsewhere ? KEY_ELSEWHERE : KEY_MISSING;
}

export class Admission {
  private readonly services: ThreadServices;

  constructor(services: ThreadServices) {
    this.services = services;
  }

  admit(exchange: Exchange, rule: KeyRule): Problem | undefined {
    const refusal = this.check(exchange, rule);
    if (refusal !== undefined && exchange.key !== undefined) {
      this.recordRefusal(exchange.key.id, refusal.code, exchange.now);
    }
    return refusal;
  }

  private check(exchange: Exchange, rule: KeyRule): Problem | undefined {
    const { keyring, buckets } = this.services;
    const { request, now } = exchange;
    const { scope } = rule;
    const header = request.headers.get("authorization");
    const result = keyring.authenticate(rule.acceptsBasic ? basicAsBearer(header) : header, now);
    if (!result.ok) {
      if (result.code === "KEY_EXPIRED") this.recordRefusal(result.key.id, result.code, now);
      if (result.code === "KEY_MISSING") return missingKey(request.headers, rule);
      return refusalOf(result);
    }
    const { key } = result;
    exchange.setKey(key);
    const wrongSource = this.checkSource(exchange, key, rule);
    if (wrongSource !== undefined) {
      exchange.rate = buckets.take(key, now, 0); // use of a stolen key must not exhaust the rate
      return wrongSource;
    }
    exchange.rate = buckets.take(key, now);
    if (scope === undefined || key.scopes.includes(scope)) {
      return this.checkLimits(exchange, key, rule.isLookup);
    }
    return scopeProblem(scope);
  }

  private checkSource(exchange: Exchange, key: Key, { isForProxies }: KeyRule): Problem | undefined {
    if (key.networks.length === 0) return undefined; // checked first, because finding the address takes time
    return isForProxies
      ? sourceProblem(key, exchange.senders.proxy, PROXY_NOT_ALLOWED)
      : sourceProblem(key, exchange.findCaller());
  }

  private checkLimits({ rate, now }: Exchange, key: Key, isLookup: boolean): Problem | undefined {
    if (rate?.allowed === false) {
      return rateProblem(rate, this.services.buckets.limitsOf(key));
    }
    const isSpent =
      isLookup && key.quota !== undefined && this.services.usage.countToday(key, now) >= key.quota;
    return isSpent ? quotaProblem(now) : undefined;
  }

  /**
   * Checks the key of a running stream again.
   * @returns the key's current state, or a problem if it may no longer be used
   */
  readmit(request: Request, scope: Scope, caller: IpAddress | undefined): Key | Problem {
    const { keyring, now } = this.services;
    const result = keyring.authenticate(request.headers.get("authorization"), now());
    if (!result.ok) return refusalOf(result);
    const { key } = result;
    const wrongSource = sourceProblem(key, caller);
    return wrongSource ?? (key.scopes.includes(scope) ? key : scopeProblem(scope));
  }

  /** Charges one lookup to the key's quota and counts it. @returns a problem if no quota is left on this host */
  chargeQuota({ now, admittedKey: key }: Exchange, scope: Scope): Problem | undefined {
    const { usage, counts } = this.services;
    if (usage.takeQuota(key, now, 1) === 0) {
      this.recordRefusal(key.id, "QUOTA_EXCEEDED", now);
      return quotaProblem(now);
    }
    usage.record(key.id, scope, now);
    counts.countLookup(scope, key.mode, "single");
    return undefined;
  }

  private recordRefusal(keyId: KeyId, code: ProblemCode, now: number): void {
    this.services.usage.record(keyId, REFUSED_AS.get(code) ?? "not_allowed", now);
  }
}

const refusalOf = (result: { readonly code: ProblemCode; readonly detail?: string }) =>
  problem(result.code, result.detail);

/** Returns a problem if the key may not be used from this address. @param holder the caller or the proxy */
function sourceProblem(
  key: Key,
  holder: IpAddress | undefined,
  notAllowed = SOURCE_NOT_ALLOWED,
): Problem | undefined {
  if (key.networks.length === 0) return undefined;
  if (holder === undefined) return CALLER_UNKNOWN;
  return isSourceAllowed(key, holder) ? undefined : notAllowed;
}

function quotaProblem(now: number): Problem {
  return problem("QUOTA_EXCEEDED", undefined, { "Retry-After": String(secondsToMidnight(now)) });
}

/** Returns the problem for a key over its rate. The detail has the limits, if this host has room for a bucket. */
function rateProblem({ limit, retryAfterSeconds }: RateState, { rate, burst }: RateDefaults): Problem {
  const detail =
    limit === 0
      ? undefined
      : `${rate} ${rate === 1 ? "lookup" : "lookups"} per second, burst ${burst}. Retry in ${retryAfterSeconds} s; the operator can raise the limit.`;
  return problem("RATE_LIMITED", detail, { "Retry-After": String(retryAfterSeconds) });
}
