// operations.ts: what each operation of the public API takes and answers.
//
// note An operation without a row here does not compile; the tests hold every answer to the document.

import { FLAG_ROWS, PROBLEM_CODES, type ProblemCode, REPUTATION_FLAGS } from "@inkling/contract";
import { z } from "zod";
import type { ApiRoute } from "../api/route.ts";
import { ROUTES } from "../api/routes.ts";
import type { Scope } from "../keys/key.ts";
import * as answers from "../lookup/answer-schemas.ts";
import type { Content, Operation, Parameter, Success } from "./document.ts";
import { ADDRESS_VALUES, addressExamples, batchExample, EMAIL_VALUES, emailExamples } from "./examples.ts";

type Described = Operation<ProblemCode>;

const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
const TEXT = { type: "string" };
/** Headers of every answer. */
export const COMMON = ["Inkling-Data-Version", "X-Request-Id", "Cache-Control"];
/** Of every answer to a known key, unless it has no limits. */
const KEYED = [...COMMON, "RateLimit-Policy?", "RateLimit?"];

const json = (schema: Content["schema"]) => ({ [JSON_TYPE]: { schema } });

const IF_NONE_MATCH: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an earlier answer: 304 while that is still valid.",
  schema: TEXT,
};

/** By "name=value" of the routes' parameters. */
const VALUES: Readonly<Record<string, string>> = {
  "include=evidence":
    "`evidence` adds the sources of the answer: feed, claim, network or domain, and time of each.",
  "include=network":
    "`network` adds whose network it is: `network`, null where the release has no such data.",
  "include=subject": "`subject` adds what was looked up: `ip` and `prefix`.",
  ...Object.fromEntries(
    REPUTATION_FLAGS.map((flag, i) => {
      const text = `${i === 0 ? "Refuses " : ""}${FLAG_ROWS[flag].plural} (\`${flag}\`)`;
      const isLast = flag === REPUTATION_FLAGS.at(-1);
      return [
        `deny=${FLAG_ROWS[flag].deny}`,
        isLast ? `${text}. Without it every visitor passes.` : `${text},`,
      ];
    }),
  ),
  "checks=mx": "`mx` asks DNS whether the domain takes mail: `checks.mx`.",
};

/** @param more a sentence about a parameter, by its name */
function queryOf(of: ApiRoute["operation"], more: Readonly<Record<string, string>> = {}): Parameter[] {
  const rows = ROUTES.find(({ operation }) => operation === of)?.parameters?.rows ?? [];
  return [...new Set(rows.map(({ name }) => name))].map((name) => {
    const values = rows.filter((row) => row.name === name).map(({ value }) => value);
    const description = values.map((value) => {
      const text = VALUES[`${name}=${value}`];
      if (text === undefined) throw new Error(`openapi/operations.ts: ${name}=${value} is not described`);
      return text;
    });
    return {
      name,
      in: "query",
      description: [...description, more[name] ?? []].flat().join(" "),
      ...(values.length === 1
        ? { schema: { type: "string", enum: values } }
        : {
            style: "form",
            explode: false,
            schema: { type: "array", items: { type: "string", enum: values }, uniqueItems: true },
          }),
    };
  });
}

function lookup(
  scope: Scope,
  summary: string,
  description: string,
  path: Parameter,
  content: Content,
): Described {
  const isAddress = scope !== "email";
  const headers = [...KEYED, ...(isAddress ? ["ETag", "Vary"] : []), "Inkling-Data-State?"];
  const success: Success = { description: "The answer", headers, content: { [JSON_TYPE]: content } };
  const unchanged: Success = { description: "The answer of `If-None-Match` is still valid", headers };
  return {
    id: scope,
    tag: "Lookups",
    summary,
    description,
    security: ["key"],
    scope,
    parameters: [path, ...queryOf(scope), ...(isAddress ? [IF_NONE_MATCH] : [])],
    successes: isAddress ? { 200: success, 304: unchanged } : { 200: success },
    codes: PROBLEM_CODES, // sandbox keys can get every one of them
    problemHeaders: KEYED,
  };
}

const IP: Parameter = {
  name: "ip",
  in: "path",
  description:
    "One IPv4 address as a dotted quad, one IPv6 address, or `me` for the caller's own: no port, prefix, zone, brackets or leading zeros.",
  schema: { type: "string", maxLength: 45 },
  examples: ADDRESS_VALUES,
};
const EMAIL_ADDRESS: Parameter = {
  name: "email_address",
  in: "path",
  description: "The whole address as one segment of the path: `/` is written `%2F`, `%` as `%25`.",
  schema: TEXT,
  examples: EMAIL_VALUES,
};

const BATCHES = {
  geolocate: { summary: "Locate many IP addresses", answer: answers.geolocation },
  reputation: { summary: "Rate many IP addresses", answer: answers.reputation },
  email: { summary: "Check many email addresses", answer: answers.emailVerdict },
} as const;

/** A batch in both forms, with what a sandbox key sends or gets. */
function bothForms(whole: z.ZodType, one: z.ZodType, name: "values" | "answers", rows: readonly unknown[]) {
  const example = (value: unknown) => ({ examples: { sandbox: { summary: "With a sandbox key", value } } });
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  return {
    [JSON_TYPE]: { schema: whole, ...example({ [name]: rows }) },
    [NDJSON_TYPE]: { schema: TEXT, lines: one, ...example(lines) },
  };
}

function batch({ lookup: scope = "geolocate" }: ApiRoute): Described {
  const { summary, answer } = BATCHES[scope];
  const { values, answers: found } = batchExample(scope);
  const orProblem = z.union([answer, answers.valueProblem]);
  return {
    id: `${scope}_batch`,
    tag: "Many at once",
    summary,
    description:
      "JSON takes up to 1,000 values; those beyond the key's rate get RATE_LIMITED in their place. NDJSON takes any number, one JSON string a line, and is answered line by line at the key's rate. The body may be compressed with gzip.",
    security: ["key"],
    scope,
    parameters: queryOf(scope, { checks: "JSON with one value only." }),
    body: {
      description: "The values",
      content: bothForms(answers.batchRequest, z.string(), "values", values),
    },
    successes: {
      200: {
        description: "One answer or problem for each value, in order",
        headers: [...KEYED, "Inkling-Data-State?", "Content-Encoding?"],
        content: bothForms(answers.batchAnswers(answer), orProblem, "answers", found),
      },
    },
    codes: [
      "PARAMETER_INVALID",
      "HOST_INVALID",
      "BATCH_INVALID",
      "KEY_MISSING",
      "KEY_INVALID",
      "KEY_EXPIRED",
      "SCOPE_REQUIRED",
      "SOURCE_NOT_ALLOWED",
      "CALLER_UNKNOWN",
      "CONTENT_TOO_LARGE",
      "CONTENT_TYPE_INVALID",
      "RATE_LIMITED",
      "TOO_MANY_STREAMS",
      "QUOTA_EXCEEDED",
      "INTERNAL",
      "DATA_NOT_LOADED",
      "KEYS_NOT_LOADED",
    ],
    problemHeaders: KEYED,
  };
}

/** An operation that needs no key, unless `over` asks for one. */
function open(id: string, summary: string, over: Partial<Described>): Described {
  return {
    id,
    tag: "Server",
    summary,
    security: [],
    parameters: [],
    successes: {},
    codes: ["HOST_INVALID", "INTERNAL"],
    problemHeaders: COMMON,
    ...over,
  };
}

/** Headers of what a proxy decides by. */
const FOUND = ["Inkling-Flags", "Inkling-Country"];

function forwardAuth(): Described {
  return {
    id: "forward_auth",
    tag: "Other interfaces",
    summary: "May this visitor pass?",
    description:
      "For reverse proxies: 200 or 403 about the visitor that a trusted proxy names in `X-Forwarded-For`. A special-use address passes. Every method is answered alike.",
    security: ["key", "basic"],
    scope: "reputation",
    parameters: [
      ...queryOf("forward_auth"),
      { name: "X-Forwarded-For", in: "header", description: "The visitor's address.", schema: TEXT },
    ],
    successes: {
      200: { description: "The visitor may pass", headers: [...KEYED, ...FOUND, "Inkling-Data-State?"] },
    },
    codes: PROBLEM_CODES, // sandbox keys can get every one of them
    problemHeaders: [...KEYED, ...FOUND.map((name) => `${name}?`), "Inkling-Data-State?"],
  };
}

/** In MaxMind's form: all but those about methods. */
const THEIR_STATUSES = [400, 401, 402, 403, 404, 415, 422, 429, 500, 503];

function maxmind({ template }: ApiRoute): Described {
  const isCity = template.includes("/city/");
  const service = isCity ? "city" : "country";
  const type = (what: string) => `application/vnd.maxmind.com-${what}+json`;
  const refused: Success = {
    description: "Refused, with a code of MaxMind where it has one",
    headers: [...KEYED, "Retry-After?", "WWW-Authenticate?", "Connection?"],
    content: { [type("error")]: { schema: answers.maxmindError } },
  };
  return {
    id: `maxmind_${service}`,
    tag: "Other interfaces",
    summary: `Locate an IP address, as GeoIP2 ${isCity ? "City" : "Country"}`,
    description: "For MaxMind's SDKs: the key is the license key, any account ID will do.",
    security: ["basic", "key"],
    scope: "geolocate",
    parameters: [IP],
    successes: {
      200: {
        description: "The answer",
        headers: [...KEYED, "Vary", "Inkling-Data-State?"],
        content: { [type(service)]: { schema: isCity ? answers.maxmindCity : answers.maxmindCountry } },
      },
      ...Object.fromEntries(THEIR_STATUSES.map((status) => [status, refused])),
    },
    codes: ["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
    problemHeaders: KEYED,
  };
}

const PAGE = [...COMMON, "ETag", "X-Content-Type-Options", "Content-Security-Policy?", "Referrer-Policy?"];
const UNCHANGED: Success = { description: "Not modified", headers: PAGE };
const page = (...types: string[]): Readonly<Record<number, Success>> => ({
  200: {
    description: "The page",
    headers: PAGE,
    content: Object.fromEntries(types.map((type) => [type, { schema: TEXT }])),
  },
  304: UNCHANGED,
});

/** By the route's operation. `root` redirects browsers to the reference: it is no operation of the API. */
export const DESCRIBED: Readonly<
  Record<Exclude<ApiRoute["operation"], "root">, (route: ApiRoute) => Described>
> = {
  geolocate: () =>
    lookup(
      "geolocate",
      "Locate an IP address",
      "An IPv4 address inside IPv6 (mapped, 6to4, Teredo, NAT64) is looked up as that IPv4 address.",
      IP,
      { schema: answers.geolocation, examples: addressExamples("geolocate") },
    ),
  reputation: () =>
    lookup("reputation", "Rate an IP address", "An address on no list is 200 with all `false`.", IP, {
      schema: answers.reputation,
      examples: addressExamples("reputation"),
    }),
  email: () =>
    lookup(
      "email",
      "Check an email address",
      "Broken syntax is 200 with `valid: false`, never an error. Proxies on the way may log the URL and the address in it; Inkling does not.",
      EMAIL_ADDRESS,
      { schema: answers.emailVerdict, examples: emailExamples() },
    ),
  batch,
  forward_auth: forwardAuth,
  maxmind,
  status: () =>
    open("status", "The release in use, feed by feed", {
      description:
        "When the release was built, what its data lacks, and the state of each feed. Counts against no quota.",
      security: ["key"],
      successes: { 200: { description: "The current state", headers: KEYED, content: json(answers.status) } },
      codes: [
        "PARAMETER_INVALID",
        "HOST_INVALID",
        "KEY_MISSING",
        "KEY_INVALID",
        "KEY_EXPIRED",
        "SOURCE_NOT_ALLOWED",
        "CALLER_UNKNOWN",
        "RATE_LIMITED",
        "INTERNAL",
        "KEYS_NOT_LOADED",
      ],
      problemHeaders: KEYED,
    }),
  healthz: () =>
    open("healthz", "Liveness probe", {
      description: "Returns 200 while the process can answer requests, whatever the state of its data.",
      successes: { 200: { description: "Alive", headers: COMMON, content: json(answers.health) } },
    }),
  readyz: () =>
    open("readyz", "Readiness probe", {
      description: "Returns 200 while the server can answer lookups, otherwise 503 with the reasons.",
      successes: {
        200: { description: "Ready", headers: COMMON, content: json(answers.ready) },
        503: { description: "Not ready, with the reasons", headers: COMMON, content: json(answers.notReady) },
      },
    }),
  openapi: () =>
    open("openapi", "This document", {
      description: "Describes every operation of this server's version.",
      parameters: [IF_NONE_MATCH],
      successes: {
        200: {
          description: "OpenAPI 3.1",
          headers: [...COMMON, "ETag", "X-Content-Type-Options"],
          content: json({
            type: "object",
            properties: {
              openapi: { type: "string" },
              info: { type: "object" },
              paths: { type: "object" },
            },
            required: ["openapi", "info", "paths"],
          }),
        },
        304: UNCHANGED,
      },
    }),
  docs: ({ prefix }) =>
    prefix === undefined
      ? open("docs", "This reference, as a page", {
          description: "An HTML page with every operation and a form to try it.",
          parameters: [IF_NONE_MATCH],
          successes: page("text/html"),
        })
      : open("docs_file", "A file of that page", {
          description: "Scripts and styles that the reference page loads.",
          parameters: [{ name: "file", in: "path", description: "Its name", schema: TEXT }, IF_NONE_MATCH],
          successes: page("text/html", "text/css", "text/javascript"),
          codes: ["HOST_INVALID", "PATH_NOT_FOUND", "INTERNAL"],
        }),
};
