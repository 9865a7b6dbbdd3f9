// forward-auth.ts: decides whether a visitor may pass, for proxies that ask before they let a request through.
//
// Source: docs/proxies.md.
//
// A visitor with a special-use address passes without a lookup. Any other visitor passes only after a successful
// lookup, which is charged as one reputation lookup. A key with the `geolocate` scope also gets the country, at no
// extra charge.

import { FLAG_ROWS } from "@inkling/contract";
import { ADDRESS_FLAGS, bitsOf, bitsOfAnswer, bodyOf, dataMissing, unwrapIpv4 } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import type { Pipeline, Question, Subject } from "../lookup/pipeline.ts";
import type { Api, Handlings } from "./handler.ts";
import { deniedBits } from "./parameters.ts";
import type { Exchange } from "./request-context.ts";
import { hasLongBody, JSON_TYPE } from "./responses.ts";

const VISITOR_UNKNOWN = problem(
  "IP_ADDRESS_INVALID",
  "This request does not contain a visitor's address. List the proxy in INKLING_TRUSTED_PROXIES, and configure it to send the visitor's address in X-Forwarded-For.",
);

/** Values of `Inkling-Flags`, indexed by the flags' bits. */
const FLAGS_TEXTS = Array.from({ length: 1 << ADDRESS_FLAGS.length }, (_, bits) => {
  const names = ADDRESS_FLAGS.flatMap((flag) => ((bits & bitsOf([flag])) !== 0 ? FLAG_ROWS[flag].deny : []));
  return names.length === 0 ? "none" : names.join(",");
});

// Every response about a visitor who passes or is denied has both Inkling-Flags and Inkling-Country. If a header is
// missing, some proxies forward the visitor's own header, or a placeholder.
/** Value of `Inkling-Flags` for a special-use address, which is not looked up. */
const RESERVED = "reserved";
const UNKNOWN = "unknown";

export const FORWARD_AUTH_HANDLINGS = { forward_auth: { handle: judgeVisitor } } satisfies Handlings;

function judgeVisitor(exchange: Exchange, api: Api): Response {
  const { counts, pipeline, responses } = api;
  const denied = deniedBits(exchange.wants);
  const question = exchange.questionAboutVisitor(true); // data of flags that are not denied may be missing
  const visitor = exchange.senders.visitor;
  if (visitor === undefined) return responses.sendProblem(exchange, VISITOR_UNKNOWN);
  unwrapIpv4(visitor);
  const subject: Subject = { address: visitor, isCaller: true };
  const answer = pipeline.answerAddress("reputation", subject, question);
  if ("code" in answer) {
    if (answer.code !== "IP_ADDRESS_RESERVED") return responses.sendProblem(exchange, answer);
    counts.countProblem(answer.code); // a high count shows that X-Forwarded-For contains proxies instead of visitors
    return allow(exchange, api, { "Inkling-Flags": RESERVED, "Inkling-Country": UNKNOWN });
  }
  const missing = missingFlags(exchange, denied);
  if (missing !== undefined) return responses.sendProblem(exchange, missing);
  exchange.isLookup = true;
  const bits = bitsOfAnswer(bodyOf(answer));
  const found = {
    "Inkling-Flags": FLAGS_TEXTS[bits]!, // FLAGS_TEXTS has an entry for every combination
    "Inkling-Country": countryOf(exchange, pipeline, subject, question),
  };
  responses.setDataState(exchange, "reputation", found);
  return (bits & denied) === 0
    ? allow(exchange, api, found)
    : responses.sendProblem(exchange, problem("VISITOR_DENIED", undefined, found));
}

/** Lets the visitor pass with status 200, the only status that every proxy accepts. */
function allow(exchange: Exchange, { responses }: Api, found: Record<string, string>): Response {
  const { "Content-Type": _, ...headers } = responses.makeHeaders(exchange, JSON_TYPE);
  if (hasLongBody(exchange.request)) headers.Connection = "close"; // as with refusals, nobody reads the body
  return new Response(null, { headers: { ...headers, ...found } });
}

/**
 * Returns a problem if data for a denied flag is missing. With INKLING_ALLOW_MISSING, a header reports the missing data
 * instead.
 */
function missingFlags({ isSandbox, allowMissing, release }: Exchange, denied: number): Problem | undefined {
  if (isSandbox || allowMissing || release === undefined) return undefined;
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
