// public.ts: the public API as an OpenAPI document: what each row of the table of routes takes and answers.
//
// in   the tables that the server itself works with: routes, parameters, problems, scopes, sandbox answers
// out  the document, as JSON
// note A route without a row here does not compile; a test holds every answer of the tests to the document.

import { parseUnwrapped } from "@inkling/engine";
import { z } from "zod";
import type { ApiRoute, Operation as OperationName } from "../api/route.ts";
import { ROUTES } from "../api/routes.ts";
import { PROBLEM_CODES, PROBLEMS, type ProblemCode, problem, problemBody } from "../http/problems.ts";
import type { Scope } from "../keys/key.ts";
import { sandboxAddress, sandboxEmail } from "../lookup/sandbox.ts";
import {
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
} from "../lookup/sandbox-tables.ts";
import * as answers from "./answer-schemas.ts";
import {
  type Api,
  type Content,
  type Example,
  type Header,
  type Operation,
  openApiDocument,
  type Parameter,
  type Success,
} from "./document.ts";

type Described = Operation<ProblemCode>;

/** Shown as `request_id` in examples. */
const SOME_ID = "tnbctz7kxp";
const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
/** On every answer. */
const COMMON = ["Inkling-Data-Version", "X-Request-Id", "Cache-Control"];
/** On every answer to a known key, unless it has no limits. */
const RATE = ["RateLimit-Policy?", "RateLimit?"];

/** /openapi.json, of this version of the server. */
export function openApiJson(version: string): string {
  const paths: Record<string, Record<string, Described>> = {};
  for (const route of ROUTES) {
    paths[route.template] = {
      [route.method === "POST" ? "post" : "get"]: DESCRIBED[route.operation](route),
    };
  }
  const api: Api<ProblemCode> = {
    info: {
      title: "Inkling",
      version,
      summary:
        "Where an IP address is, whether it can be trusted, whether an e-mail address is a throw-away.",
      description: ABOUT,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: [
      { name: "Look-ups", description: "One value, one answer." },
      {
        name: "Many at once",
        description:
          "One answer or problem for each value, in order. Each value is one look-up of the rate, the quota and usage.",
      },
      { name: "Server", description: "What answers, and from which data." },
    ],
    securitySchemes: {
      key: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "ink_live_… or ink_test_…",
        description:
          "An API key. `ink_live_…` answers from data; `ink_test_…` gives the fixed answers of the sandbox. The operator makes one with `inkling keys create`.",
      },
    },
    headers: HEADERS,
    problems: PROBLEMS,
    problemSchema: answers.problemDocument,
    problemExample: (code) => JSON.parse(problemBody(problem(code), SOME_ID)),
    paths,
    elsewhere: ["PATH_NOT_FOUND", "METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
    elsewhereHeaders: COMMON,
  };
  return JSON.stringify(openApiDocument(api));
}

const ABOUT = `Send your key with every look-up: \`Authorization: Bearer ink_live_…\`. HEAD answers as GET does, without the body; what
else a path does not have is 405. Query parameters that are not described here are 400.

Every refusal is a problem document (RFC 9457). Decide by its \`code\`: it never changes its meaning.

A sandbox key (\`ink_test_…\`) gives a fixed answer for each verdict and each error, without data; the examples here are those answers.`;

const SUMMARY: Readonly<Record<Scope, string>> = {
  geolocate: "Where is this IP address",
  reputation: "Can this IP address be trusted",
  email: "Is this e-mail address valid, and is it a throw-away",
};

const BATCH_SUMMARY: Readonly<Record<Scope, string>> = {
  geolocate: "Where are these IP addresses?",
  reputation: "Can these IP addresses be trusted?",
  email: "Are these e-mail addresses valid, and are they throw-aways?",
};

const decoder = new TextDecoder();

function lookUp(
  scope: Scope,
  over: Pick<Described, "summary" | "description" | "parameters"> & { schema: Content },
): Described {
  const { schema, parameters, ...words } = over;
  const isAddress = scope !== "email";
  const kept = isAddress ? ["ETag", "Vary"] : [];
  const headers = [...COMMON, ...RATE, ...kept, "Inkling-Data-State?"];
  const success: Success = { description: "The answer", headers, content: { [JSON_TYPE]: schema } };
  const unchanged: Success = {
    description: "The answer that you have, by `If-None-Match`, is still right",
    headers,
  };
  return {
    id: scope,
    tag: "Look-ups",
    ...words,
    security: [{ key: [scope] }],
    parameters: [...parameters, ...queryOf(scope), ...(isAddress ? [IF_NONE_MATCH] : [])],
    successes: isAddress ? { 200: success, 304: unchanged } : { 200: success },
    codes: PROBLEM_CODES, // sandbox keys get every one of them
    problemHeaders: [...COMMON, ...RATE],
  };
}

const IF_NONE_MATCH: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an answer that you have: 304 while it is still right.",
  schema: { type: "string" },
};

/** What each value of a query parameter asks for, by "name=value" of the table of parameters. */
const PARAMETER_WORDS: Readonly<Record<string, string>> = {
  "include=evidence":
    "`evidence` adds what the answer rests on: which feed says what, of which network or domain, since when.",
  "checks=mx": "`mx` asks DNS whether the domain takes mail, and where that goes: `checks.mx`.",
};

function queryOf(scope: Scope): Parameter[] {
  const rows = ROUTES.find(({ operation }) => operation === scope)?.parameters?.rows ?? [];
  return [...new Set(rows.map(({ name }) => name))].map((name) => {
    const values = rows.filter((row) => row.name === name);
    const words = values.map(({ value }) => {
      const text = PARAMETER_WORDS[`${name}=${value}`];
      if (text === undefined) throw new Error(`openapi-api.ts: ${name}=${value} is not described`);
      return text;
    });
    return {
      name,
      in: "query",
      description: words.join(" "),
      schema: { type: "string", enum: values.map(({ value }) => value) },
    };
  });
}

function ipParameter(): Parameter {
  return {
    name: "ip",
    in: "path",
    description:
      "One IPv4 address as a dotted quad, one IPv6 address, or `me` for the caller's own: no port, prefix, zone or brackets, no leading zeros.",
    schema: { type: "string", maxLength: 45 },
    examples: exampleValues([
      ...SANDBOX_ADDRESSES.map(({ v4, meaning }): [string, string] => [v4, `Sandbox: ${meaning}`]),
      ...SANDBOX_PROBLEMS.map(({ v4, code }): [string, string] => [v4, `Sandbox: ${code}`]),
    ]),
  };
}

const SOMEBODY = "jane";

function emailParameter(): Parameter {
  return {
    name: "email_address",
    in: "path",
    description: "The whole address as one part of the path: `/` is written `%2F`, `%` as `%25`.",
    schema: { type: "string" },
    examples: exampleValues([
      ...[...SANDBOX_DOMAINS, ...SANDBOX_CHECKS].map(({ domain, meaning }): [string, string] => [
        `${SOMEBODY}@${domain}`,
        `Sandbox: ${meaning}`,
      ]),
      ...SANDBOX_PROBLEMS.map(({ domain, code }): [string, string] => [
        `${SOMEBODY}@${domain}`,
        `Sandbox: ${code}`,
      ]),
    ]),
  };
}

function exampleValues(
  rows: readonly (readonly [value: string, summary: string])[],
): Record<string, Example> {
  return Object.fromEntries(rows.map(([value, summary]) => [value, { summary, value }]));
}

/** What the sandbox answers, by what was asked. */
function sandboxExamples(
  rows: readonly (readonly [
    asked: string,
    meaning: string,
    answer: Uint8Array | { readonly code: string },
  ])[],
): Record<string, Example> {
  return Object.fromEntries(
    rows.flatMap(([asked, summary, answer]) =>
      answer instanceof Uint8Array ? [[asked, { summary, value: JSON.parse(decoder.decode(answer)) }]] : [],
    ),
  );
}

function addressExamples(lookup: "geolocate" | "reputation"): Record<string, Example> {
  return sandboxExamples(
    SANDBOX_ADDRESSES.flatMap(({ v4, meaning, evidence, flags }) => {
      const address = parseUnwrapped(v4)!;
      const plain = [v4, meaning, sandboxAddress(lookup, address)] as const;
      const isWorth = lookup === "reputation" ? evidence !== undefined : flags === undefined;
      const reasoned = [
        `${v4}?include=evidence`,
        `${meaning}, with evidence`,
        sandboxAddress(lookup, address, true),
      ] as const;
      return isWorth ? [plain, reasoned] : [plain];
    }),
  );
}

function emailExamples(): Record<string, Example> {
  return sandboxExamples([
    ...SANDBOX_DOMAINS.flatMap(({ domain, meaning, evidence }) => {
      const text = `${SOMEBODY}@${domain}`;
      const plain = [text, meaning, sandboxEmail(text)] as const;
      const reasoned = [
        `${text}?include=evidence`,
        `${meaning}, with evidence`,
        sandboxEmail(text, true),
      ] as const;
      return evidence === undefined ? [plain] : [plain, reasoned];
    }),
    ...SANDBOX_CHECKS.map(({ domain, meaning }) => {
      const text = `${SOMEBODY}@${domain}`;
      return [`${text}?checks=mx`, meaning, sandboxEmail(text, false, true)] as const;
    }),
  ]);
}

const PAGE = ["X-Content-Type-Options", "Content-Security-Policy?", "Referrer-Policy?"];
/** What the values of a batch's example stand for, beside the first rows of the sandbox. */
const NO_VALUE = "not an address";
const EXAMPLE_VALUES: Readonly<Record<Scope, readonly string[]>> = {
  geolocate: ["192.0.2.2", NO_VALUE],
  reputation: ["192.0.2.7", "2001:db8::6", NO_VALUE],
  email: ["jane@example.com", "jane@disposable.example"],
};

const ANSWER_OF: Readonly<
  Record<Scope, typeof answers.geolocation | typeof answers.reputation | typeof answers.emailVerdict>
> = {
  geolocate: answers.geolocation,
  reputation: answers.reputation,
  email: answers.emailVerdict,
};

const ONE_VALUE = "JSON with one value only.";

/** The sandbox's answer to one value of a batch. */
function exampleAnswer(scope: Scope, text: string): unknown {
  const address = scope === "email" ? undefined : parseUnwrapped(text);
  const answer =
    scope === "email"
      ? sandboxEmail(text)
      : address === undefined
        ? problem("IP_ADDRESS_INVALID")
        : sandboxAddress(scope, address);
  return JSON.parse(answer instanceof Uint8Array ? decoder.decode(answer) : problemBody(answer));
}

function batch({ lookup: scope = "geolocate" }: ApiRoute): Described {
  const values = EXAMPLE_VALUES[scope];
  const found = values.map((text) => exampleAnswer(scope, text));
  const ofLines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const example = (value: unknown) => ({ examples: { sandbox: { summary: "With a sandbox key", value } } });
  const answer = ANSWER_OF[scope];
  return {
    id: `${scope}_batch`,
    tag: "Many at once",
    summary: BATCH_SUMMARY[scope],
    description:
      "JSON takes up to 1,000 values; what the key's rate does not cover gets RATE_LIMITED in its place. NDJSON takes any number, one JSON string a line, and is answered line by line at the pace of the key's rate. The body may be compressed with gzip.",
    security: [{ key: [scope] }],
    parameters: queryOf(scope).map((parameter) => ({
      ...parameter,
      description:
        parameter.name === "checks" ? `${parameter.description} ${ONE_VALUE}` : parameter.description,
    })),
    body: {
      description: "The values",
      content: {
        [JSON_TYPE]: { schema: answers.batchRequest, ...example({ values }) },
        [NDJSON_TYPE]: { schema: { type: "string" }, lines: z.string(), ...example(ofLines(values)) },
      },
    },
    successes: {
      200: {
        description: "One answer or problem for each value, in order",
        headers: [...COMMON, ...RATE, "Inkling-Data-State?", "Content-Encoding?"],
        content: {
          [JSON_TYPE]: { schema: answers.batchAnswers(answer), ...example({ answers: found }) },
          [NDJSON_TYPE]: {
            schema: { type: "string" },
            lines: z.union([answer, answers.valueProblem]),
            ...example(ofLines(found)),
          },
        },
      },
    },
    codes: [
      "PARAMETER_INVALID",
      "BATCH_INVALID",
      "KEY_MISSING",
      "KEY_INVALID",
      "KEY_EXPIRED",
      "SCOPE_REQUIRED",
      "SOURCE_NOT_ALLOWED",
      "CONTENT_TOO_LARGE",
      "CONTENT_TYPE_INVALID",
      "RATE_LIMITED",
      "QUOTA_EXCEEDED",
      "INTERNAL",
      "DATA_NOT_LOADED",
      "KEYS_NOT_LOADED",
    ],
    problemHeaders: [...COMMON, ...RATE],
  };
}

const page = (type: string): Success => ({
  description: "The page",
  headers: [...COMMON, "ETag", ...PAGE],
  content: { [type]: { schema: { type: "string" } } },
});

const unchangedPage: Success = { description: "Not modified", headers: [...COMMON, "ETag", ...PAGE] };

function open(id: string, summary: string, over: Partial<Described>): Described {
  return {
    id,
    tag: "Server",
    summary,
    security: [],
    parameters: [],
    successes: {},
    codes: ["INTERNAL"],
    problemHeaders: COMMON,
    ...over,
  };
}

const json = (schema: Content["schema"]): NonNullable<Success["content"]> => ({ [JSON_TYPE]: { schema } });

const DESCRIBED: Readonly<Record<OperationName, (route: ApiRoute) => Described>> = {
  geolocate: () =>
    lookUp("geolocate", {
      summary: `${SUMMARY.geolocate}?`,
      description:
        "An IPv4 address inside IPv6 (mapped, 6to4, Teredo, NAT64) is looked up as that IPv4 address.",
      parameters: [ipParameter()],
      schema: { schema: answers.geolocation, examples: addressExamples("geolocate") },
    }),
  reputation: () =>
    lookUp("reputation", {
      summary: `${SUMMARY.reputation}?`,
      description: "An address on no list is 200 with all `false`.",
      parameters: [ipParameter()],
      schema: { schema: answers.reputation, examples: addressExamples("reputation") },
    }),
  email: () =>
    lookUp("email", {
      summary: `${SUMMARY.email}?`,
      description:
        "Broken syntax is 200 with `valid: false`, never an error. Addresses in URLs end up in the logs of what stands between; Inkling itself never writes one down.",
      parameters: [emailParameter()],
      schema: { schema: answers.emailVerdict, examples: emailExamples() },
    }),
  batch,
  status: () =>
    open("status", "The release in use, feed by feed", {
      security: [{ key: [] }],
      successes: {
        200: { description: "As it is now", headers: [...COMMON, ...RATE], content: json(answers.status) },
      },
      codes: [
        "PARAMETER_INVALID",
        "KEY_MISSING",
        "KEY_INVALID",
        "KEY_EXPIRED",
        "SOURCE_NOT_ALLOWED",
        "RATE_LIMITED",
        "INTERNAL",
        "KEYS_NOT_LOADED",
      ],
      problemHeaders: [...COMMON, ...RATE],
    }),
  healthz: () =>
    open("healthz", "Does the process live?", {
      successes: { 200: { description: "It does", headers: COMMON, content: json(answers.health) } },
    }),
  readyz: () =>
    open("readyz", "Can it answer?", {
      successes: {
        200: { description: "It can", headers: COMMON, content: json(answers.ready) },
        503: { description: "Not yet, and why", headers: COMMON, content: json(answers.notReady) },
      },
    }),
  openapi: () =>
    open("openapi", "This document", {
      parameters: [IF_NONE_MATCH],
      successes: {
        200: {
          description: "OpenAPI 3.1",
          headers: [...COMMON, "ETag", "X-Content-Type-Options"],
          content: { [JSON_TYPE]: { schema: { type: "object", required: ["openapi", "info", "paths"] } } },
        },
        304: unchangedPage,
      },
    }),
  docs: ({ prefix }) =>
    open(
      prefix === undefined ? "docs" : "docs_file",
      prefix === undefined ? "This reference, as a page" : "A file of that page",
      {
        parameters: [
          ...(prefix === undefined
            ? []
            : [{ name: "file", in: "path", description: "Its name", schema: { type: "string" } } as const]),
          IF_NONE_MATCH,
        ],
        successes: {
          200: {
            ...page("text/html"),
            content: {
              "text/html": { schema: { type: "string" } },
              ...(prefix === undefined
                ? {}
                : {
                    "text/css": { schema: { type: "string" } },
                    "text/javascript": { schema: { type: "string" } },
                  }),
            },
          },
          304: unchangedPage,
        },
        codes: prefix === undefined ? ["INTERNAL"] : ["PATH_NOT_FOUND", "INTERNAL"],
      },
    ),
  root: () =>
    open("root", "The way to this reference", {
      description: "For a browser, which accepts `text/html`; for all others there is nothing here.",
      successes: { 302: { description: "To the reference", headers: [...COMMON, "Location"] } },
      codes: ["PATH_NOT_FOUND", "INTERNAL"],
    }),
};

const text = (pattern: string) => ({ type: "string", pattern });

const HEADERS: Readonly<Record<string, Header>> = {
  "Inkling-Data-Version": {
    description: "The release that the answer comes from; `none` before there is one.",
    schema: text("^([0-9a-f]{12}|none|sandbox-\\d+)$"),
  },
  "Inkling-Data-State": {
    description: "Which data is not complete, where some is not; see DATA_NOT_LOADED.",
    schema: text('^partial(; (missing|incomplete)="[a-z_ ]+")+$'),
  },
  "X-Request-Id": {
    description: "Also in the log of the server, and in problem documents.",
    schema: text("^\\w{10}$"),
  },
  "Cache-Control": {
    description: "Answers about IP addresses may be kept for five minutes, by one user.",
    schema: { enum: ["no-store", "no-cache", "private, max-age=300"] },
  },
  ETag: { description: "For `If-None-Match`.", schema: text('^"[\\w-]+"$') },
  Location: { description: "Where the reference is.", schema: { const: "/docs" } },
  Vary: { description: "Each key has answers of its own.", schema: { const: "Authorization" } },
  "RateLimit-Policy": {
    description:
      "What the key may do: a bucket of `q` look-ups that fills in `w` seconds, and a daily quota where it has one.",
    schema: text('^"(default|daily)";q=\\d+;w=\\d+(, "daily";q=\\d+;w=86400)?$'),
  },
  RateLimit: {
    description: "What is left of it: `r` look-ups; full again in `t` seconds.",
    schema: text('^"(default|daily)";r=\\d+;t=\\d+(, "daily";r=\\d+;t=\\d+)?$'),
  },
  "Retry-After": { description: "Seconds.", schema: { type: "integer", minimum: 0 } },
  "WWW-Authenticate": { description: "The challenge of RFC 6750.", schema: text('^Bearer realm="inkling"') },
  "Content-Encoding": { description: "Where the request asked for it.", schema: { const: "gzip" } },
  Allow: { description: "The methods that the path has.", schema: text("^[A-Z]+(, [A-Z]+)*$") },
  "X-Content-Type-Options": { description: "The type is what it says.", schema: { const: "nosniff" } },
  "Referrer-Policy": { description: "Other sites do not learn of it.", schema: { const: "no-referrer" } },
  "Content-Security-Policy": { description: "What the page may load and do.", schema: { type: "string" } },
};
