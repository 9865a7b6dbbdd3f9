// forward-auth.ts: may this visitor pass? For proxies that ask before they let a request through.
//
// in   the visitor's address, which a trusted proxy names in X-Forwarded-For; `deny`: the flags that do not pass
// out  200 or 403, with the flags and the country in headers, and no address
// src  docs/proxies.md
//
// A visitor passes only where that was looked up, or where there is nothing to look up: a special-use address. One
// lookup of reputation is charged; the country is free for keys with that scope.

import { FLAG_ROWS } from "@inkling/contract";
import { ADDRESS_FLAGS, bitsOf, bitsOfAnswer, bodyOf, dataMissing, unwrapIpv4 } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import { type Pipeline, PLAIN, type Question, type Subject } from "../lookup/pipeline.ts";
import type { ApiContext, Handlings } from "./handler.ts";
import { deniedBits } from "./parameters.ts";
import type { Exchange } from "./request-context.ts";
import { hasLongBody, JSON_TYPE, NO_STORE } from "./responses.ts";

const VISITOR_UNKNOWN = problem(
  "IP_ADDRESS_INVALID",
  "This request names no visitor: the proxy that sends it has to be listed in INKLING_TRUSTED_PROXIES, and to send the visitor's address as X-Forwarded-For.",
);

/** `Inkling-Flags`, by the bits of the flags. */
const FLAGS_TEXTS = Array.from({ length: 1 << ADDRESS_FLAGS.length }, (_, bits) => {
  const names = ADDRESS_FLAGS.flatMap((flag) => ((bits & bitsOf([flag])) !== 0 ? FLAG_ROWS[flag].deny : []));
  return names.length === 0 ? "none" : names.join(",");
});

// Both headers are there on every verdict: where one is not, some proxies pass on a visitor's own, or a placeholder.
/** The flags of a special-use address: nobody looked it up. */
const RESERVED = "reserved";
const UNKNOWN = "unknown";

export const FORWARD_AUTH_HANDLINGS = { forward_auth: { handle: judgeVisitor } } satisfies Handlings;

function judgeVisitor(exchange: Exchange, api: ApiContext): Response {
  const { counts, pipeline, responses } = api;
  const denied = deniedBits(exchange.wants);
  const question = questionOf(exchange);
  const visitor = exchange.findVisitor();
  if (visitor === undefined) return responses.sendProblem(exchange, VISITOR_UNKNOWN);
  unwrapIpv4(visitor);
  const subject: Subject = { address: visitor, isCaller: true };
  const answer = pipeline.answerAddress("reputation", subject, question);
  if ("code" in answer) {
    if (answer.code !== "IP_ADDRESS_RESERVED") return responses.sendProblem(exchange, answer);
    counts.countProblem(answer.code); // many of these: X-Forwarded-For names a proxy instead of visitors
    return allow(exchange, api, { "Inkling-Flags": RESERVED, "Inkling-Country": UNKNOWN });
  }
  const missing = missingFlags(exchange, denied);
  if (missing !== undefined) return responses.sendProblem(exchange, missing);
  exchange.isLookup = true;
  const bits = bitsOfAnswer(bodyOf(answer));
  const found = {
    "Inkling-Flags": FLAGS_TEXTS[bits]!, // has all bits
    "Inkling-Country": countryOf(exchange, pipeline, subject, question),
  };
  responses.setDataState(exchange, "reputation", found);
  return (bits & denied) === 0
    ? allow(exchange, api, found)
    : responses.sendProblem(exchange, problem("VISITOR_DENIED", undefined, found));
}

/** Some proxies take no other status for a yes than 200. */
function allow(exchange: Exchange, { responses }: ApiContext, found: Record<string, string>): Response {
  const { "Content-Type": _, ...headers } = responses.makeHeaders(exchange, JSON_TYPE, NO_STORE);
  if (hasLongBody(exchange.request)) headers.Connection = "close"; // as a refusal: nobody reads it
  return new Response(null, { headers: { ...headers, ...found } });
}

/** With missing data there is an answer where `deny` names no flag that lacks it. */
function questionOf({ release, overrides, now, isSandbox }: Exchange): Question {
  return { release, overrides, now, isSandbox, mode: "up", wants: PLAIN, findCaller: () => undefined };
}

/** The problem where `serve` has no data for a flag that decides; `up` names it in a header. */
function missingFlags({ isSandbox, mode, release }: Exchange, denied: number): Problem | undefined {
  if (isSandbox || mode === "up" || release === undefined) return undefined;
  const { missing } = release.states.reputation;
  const names = ADDRESS_FLAGS.filter((flag) => missing.includes(flag) && (bitsOf([flag]) & denied) !== 0);
  return names.length === 0 ? undefined : problemOf(dataMissing(names));
}

function countryOf(
  { admittedKey: key }: Exchange,
  pipeline: Pipeline,
  subject: Subject,
  question: Question,
): string {
  if (!key.scopes.includes("geolocate")) return UNKNOWN;
  const answer = pipeline.answerAddress("geolocate", subject, question);
  if ("code" in answer) return UNKNOWN;
  return pipeline.countryOf(subject, question) ?? UNKNOWN;
}
