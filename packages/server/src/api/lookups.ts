// lookups.ts: answers requests for the three lookups, about one value or many values.
//
// Source: docs/api.md; RFC 9110 8.8.3 (ETag): a URL's answer depends on the release, the caller and the overrides.

import {
  bodyOf,
  ComposedAnswer,
  type IpLookup,
  type LoadedRelease,
  type Lookup,
  type Overridden,
} from "@inkling/engine";
import { type Answer, isLookup, type Subject, WANTS } from "../lookup/pipeline.ts";
import { SANDBOX_VERSION } from "../lookup/sandbox.ts";
import { type Api, callOf, type Handling, type Handlings, PATH_INVALID, type Route } from "./handler.ts";
import type { Exchange } from "./request-context.ts";
import { callerEtag, JSON_TYPE, overriddenEtag } from "./responses.ts";

const SANDBOX_ETAG = `"${SANDBOX_VERSION}"`;

/** Returns the handler of a lookup about one IP address. */
const address = (lookup: IpLookup): Handling => ({
  handle: (exchange, api, route) => answerAddress(exchange, api, lookup, route),
});

/** Returns the handler of a lookup about many values. batch/batch.ts does the work. */
const batch = (lookup: Lookup): Handling => ({
  handle: (exchange, api) => answerValues(exchange, api, lookup),
});

export const LOOKUP_HANDLINGS = {
  geolocate: address("geolocate"),
  reputation: address("reputation"),
  email: { handle: answerEmail },
  geolocate_batch: batch("geolocate"),
  reputation_batch: batch("reputation"),
  email_batch: batch("email"),
} satisfies Handlings;

function answerAddress(exchange: Exchange, api: Api, lookup: IpLookup, route: Route): Response {
  const { pipeline, responses } = api;
  const text = route.path.readValue(exchange);
  if (text === undefined) return responses.sendProblem(exchange, PATH_INVALID);
  const subject = pipeline.readSubject(text, exchange);
  if ("code" in subject) return responses.sendProblem(exchange, subject);
  const answer = pipeline.answerAddress(lookup, subject, exchange);
  exchange.isLookup = isLookup(answer);
  if ("code" in answer) return responses.sendProblem(exchange, answer);
  const body = bodyOf(answer);
  const release = exchange.isSandbox ? undefined : exchange.release;
  const overridden = answer instanceof ComposedAnswer ? shownOverride(exchange, answer) : undefined;
  const isCommon = overridden === undefined && !subject.isCaller && !lacksNetwork(exchange);
  if (release !== undefined && isCommon && !exchange.request.headers.has("if-none-match")) {
    return responses.sendAnswer(exchange, release, lookup, body);
  }
  const headers = responses.makeHeaders(exchange, JSON_TYPE, "private");
  headers.ETag = etagOf(exchange, release, subject, overridden);
  responses.setDataState(exchange, lookup, headers);
  return responses.sendConditional(exchange, body, headers);
}

/** True if the request asks for the network, but the release has no network data. A header then reports this. */
const lacksNetwork = ({ wants, release }: Exchange) =>
  (wants & WANTS.network) !== 0 && release?.network === undefined;

/**
 * Returns the override that affects this answer or its evidence; undefined if the answer depends only on the release.
 */
function shownOverride({ wants }: Exchange, { overridden }: ComposedAnswer): Overridden | undefined {
  return overridden?.isChanged || (wants & WANTS.evidence) !== 0 ? overridden : undefined;
}

function etagOf(
  { wants }: Exchange,
  release: LoadedRelease | undefined,
  { isCaller, address }: Subject,
  overridden: Overridden | undefined,
): string {
  if (release === undefined) return SANDBOX_ETAG;
  const etag = isCaller ? callerEtag(release, address) : release.etag;
  return overridden === undefined ? etag : overriddenEtag(etag, overridden, (wants & WANTS.evidence) !== 0);
}

function answerEmail(exchange: Exchange, api: Api, route: Route): Response | Promise<Response> {
  const text = route.path.readText(exchange);
  if (text === undefined) return api.responses.sendProblem(exchange, PATH_INVALID);
  const answer = api.pipeline.answerEmail(text, exchange);
  if (!(answer instanceof Promise)) return sendVerdict(exchange, api, answer);
  return answer.then((late) => {
    exchange.rate = api.buckets.take(exchange.admittedKey, api.now(), 0); // what remains of the rate at this moment
    return sendVerdict(exchange, api, late);
  });
}

function sendVerdict(exchange: Exchange, { responses }: Api, body: Answer): Response {
  exchange.isLookup = isLookup(body);
  if (!(body instanceof Uint8Array)) return responses.sendProblem(exchange, body);
  const { isSandbox, release } = exchange;
  if (!isSandbox && release !== undefined) return responses.sendAnswer(exchange, release, "email", body);
  const headers = responses.makeHeaders(exchange, JSON_TYPE);
  return new Response(body as Uint8Array<ArrayBuffer>, { headers });
}

async function answerValues(exchange: Exchange, api: Api, lookup: Lookup): Promise<Response> {
  const { responses } = api;
  const call = callOf(exchange, api, lookup);
  // importing the module takes 10 ms, which delays the first batch instead of the startup
  const { answerBatch } = await import("../batch/batch.ts");
  const answer = await answerBatch(api, call);
  if ("code" in answer) return responses.sendProblem(exchange, answer);
  exchange.values = answer.values;
  exchange.rate = api.buckets.take(call.key, exchange.now, 0); // a JSON batch has charged its other values
  const headers = responses.makeHeaders(exchange, answer.type);
  responses.setDataState(exchange, lookup, headers);
  if (answer.isGzip) headers["Content-Encoding"] = "gzip";
  return new Response(answer.body, { headers });
}
