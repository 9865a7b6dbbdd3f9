// maxmind.ts: returns locations in the format of MaxMind's web service, for SDKs whose `host` is this server.
//
// Source: https://dev.maxmind.com/geoip/docs/web-services/responses; docs/maxmind.md; engine/src/lookup/geoip2.ts.

import { bodyOf, type GeolocateAnswer, geoip2City, geoip2Country, geoip2Traits } from "@inkling/engine";
import { type Problem, type ProblemCode, problem } from "../http/problems.ts";
import { isLookup, WANTS } from "../lookup/pipeline.ts";
import { type Api, type Handling, type Handlings, PATH_INVALID, type Route } from "./handler.ts";
import type { Exchange } from "./request-context.ts";

type Service = "country" | "city";

const typeOf = (what: Service | "error", version: string) =>
  `application/vnd.maxmind.com-${what}+json; charset=UTF-8; version=${version}`;

const locate = (service: Service): Handling => ({
  handle: (exchange, api, route) => answerAddress(exchange, api, service, route),
  sendProblem,
});

export const MAXMIND_HANDLINGS = {
  maxmind_country: locate("country"),
  maxmind_city: locate("city"),
} satisfies Handlings;

/** The problem for all other paths below /geoip/. MaxMind's SDKs can only read errors in MaxMind's format. */
const NO_SERVICE = problem(
  "PATH_NOT_FOUND",
  "Inkling offers /geoip/v2.1/country/ and /geoip/v2.1/city/, each with one IP address.",
);

export const NO_SERVICE_HANDLING: Handling = {
  handle: (exchange, api) => sendProblem(exchange, api, NO_SERVICE),
  sendProblem,
};

export const MAXMIND_ROOT = "/geoip/";

const decoder = new TextDecoder();

function answerAddress(exchange: Exchange, api: Api, service: Service, route: Route): Response {
  const { pipeline, responses } = api;
  const text = route.path.readValue(exchange);
  if (text === undefined) return sendProblem(exchange, api, PATH_INVALID);
  exchange.wants = WANTS.subject | WANTS.network;
  const subject = pipeline.readSubject(text, exchange);
  if ("code" in subject) return sendProblem(exchange, api, subject);
  const answer = pipeline.answerAddress("geolocate", subject, exchange);
  exchange.isLookup = isLookup(answer);
  if ("code" in answer) return sendProblem(exchange, api, answer);
  const headers = responses.makeHeaders(exchange, typeOf(service, "2.1"), "private");
  responses.setDataState(exchange, "geolocate", headers);
  const location: GeolocateAnswer = JSON.parse(decoder.decode(bodyOf(answer)));
  const isCity = service === "city";
  const fields = isCity ? geoip2City(location) : geoip2Country(location);
  const document = { ...fields, traits: geoip2Traits(location, isCity) };
  return new Response(JSON.stringify(document), { headers });
}

const CHALLENGE = 'Basic realm="inkling"';
const NO_KEY =
  "Send your API key as the license key, which is the password of Basic authentication. Any account ID works.";

/** MaxMind's codes, for which its SDKs have their own errors. Problems without a row keep Inkling's code. */
const THEIRS: Partial<Record<ProblemCode, readonly [code: string, status: number, error?: string]>> = {
  PATH_INVALID: ["IP_ADDRESS_INVALID", 400],
  KEY_MISSING: ["LICENSE_KEY_REQUIRED", 401, NO_KEY],
  KEY_INVALID: ["AUTHORIZATION_INVALID", 401],
  KEY_EXPIRED: ["AUTHORIZATION_INVALID", 401],
  SCOPE_REQUIRED: ["PERMISSION_REQUIRED", 402],
  SOURCE_NOT_ALLOWED: ["PERMISSION_REQUIRED", 402],
  CALLER_UNKNOWN: ["PERMISSION_REQUIRED", 402],
  QUOTA_EXCEEDED: ["INSUFFICIENT_FUNDS", 402],
};
/** Problems with the method. They are problem documents on all paths. */
const OF_METHODS: ReadonlySet<ProblemCode> = new Set(["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"]);

function sendProblem(exchange: Exchange, { counts, responses }: Api, problem: Problem): Response {
  if (OF_METHODS.has(problem.code)) return responses.sendProblem(exchange, problem);
  counts.countProblem(problem.code);
  exchange.code = problem.code;
  const [code, status, error] = THEIRS[problem.code] ?? [problem.code, problem.status];
  const headers = Object.assign(responses.makeHeaders(exchange, typeOf("error", "2.0")), problem.headers);
  delete headers["WWW-Authenticate"];
  if (status === 401) headers["WWW-Authenticate"] = CHALLENGE;
  return new Response(JSON.stringify({ code, error: error ?? problem.detail }), { status, headers });
}
