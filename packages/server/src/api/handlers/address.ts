// address.ts: the location or reputation of one IP address.
//
// src  docs/api.md; RFC 9110 8.8.3 (ETag): a URL's answer changes with the release, the caller and overrides

import { bodyOf, ComposedAnswer, type IpLookup, type LoadedRelease, type Overridden } from "@inkling/engine";
import { callerEtag, overriddenEtag } from "../../http/etag.ts";
import { isLookup, type Subject, WANTS } from "../../lookup/pipeline.ts";
import { SANDBOX_VERSION } from "../../lookup/sandbox.ts";
import { IP_CACHE, JSON_TYPE } from "../answer-headers.ts";
import type { Exchange } from "../exchange.ts";
import { ADDRESS_PARAMETERS } from "../parameters.ts";
import { type ApiContext, type ApiRoute, type Route, readPathValue } from "../route.ts";

const SANDBOX_ETAG = `"${SANDBOX_VERSION}"`;

function addressRoute(lookup: IpLookup): ApiRoute {
  const prefix = `/v1/ip-intel/${lookup}/` as const;
  return {
    template: `${prefix}{ip}`,
    operation: lookup,
    prefix,
    method: "GET",
    parameters: ADDRESS_PARAMETERS,
    lookup,
    handle: (exchange, api, route) => answerAddress(exchange, api, lookup, route),
  };
}

export const ADDRESS_ROUTES = [addressRoute("geolocate"), addressRoute("reputation")];

function answerAddress(exchange: Exchange, api: ApiContext, lookup: IpLookup, route: Route): Response {
  const { pipeline, responses } = api;
  const text = readPathValue(exchange, route);
  if (typeof text !== "string") return responses.sendProblem(exchange, text);
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
  const headers = responses.makeHeaders(exchange, JSON_TYPE, IP_CACHE);
  headers.ETag = etagOf(exchange, release, subject, overridden);
  headers.Vary = "Authorization";
  responses.setDataState(exchange, lookup, headers);
  return responses.sendConditional(exchange, body, headers);
}

/** Is it asked for, and not in the release? Then the headers say so. */
const lacksNetwork = ({ wants, release }: Exchange) =>
  (wants & WANTS.network) !== 0 && release?.network === undefined;

/** Undefined where the answer is the one that every key gets from this release. */
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
