// public.ts: /openapi.json, from the tables that the server works with: routes, parameters, problems, sandbox answers.

import { PROBLEMS, type ProblemCode } from "@inkling/contract";
import { ROUTES } from "../api/routes.ts";
import { problemDocument } from "../lookup/answer-schemas.ts";
import { type Api, type Header, type Operation, writeOpenApi } from "./document.ts";
import { problemExample } from "./examples.ts";
import { COMMON, DESCRIBED } from "./operations.ts";

/** @param version of the server */
export function openApiJson(version: string): string {
  const paths: Record<string, Record<string, Operation<ProblemCode>>> = {};
  for (const route of ROUTES) {
    if (route.operation === "root") continue;
    const method = route.method === "POST" ? "post" : "get";
    paths[route.template] = { [method]: DESCRIBED[route.operation](route) };
  }
  const api: Api<ProblemCode> = {
    info: {
      title: "Inkling",
      version,
      summary: "IP geolocation, IP reputation and disposable-email detection.",
      description: ABOUT,
      contact: { name: "The operator of this server" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: [
      { name: "Lookups", description: "One value, one answer." },
      {
        name: "Many at once",
        description:
          "One answer or problem for each value, in order. Each value counts as one lookup for rate, quota and usage.",
      },
      { name: "Other interfaces", description: "For reverse proxies, and for SDKs of MaxMind." },
      { name: "Server", description: "State of the server, and its documents." },
    ],
    securitySchemes: {
      key: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "ink_live_… or ink_test_…",
        description:
          "An API key. `ink_live_…` answers from data; `ink_test_…` returns the fixed answers of the sandbox. The operator makes one with `inkling keys create`.",
      },
      basic: { type: "http", scheme: "basic", description: "Any user name; the password is an API key." },
    },
    headers: HEADERS,
    problems: PROBLEMS,
    problemSchema: problemDocument,
    problemExample,
    paths,
    elsewhere: ["PATH_NOT_FOUND", "METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
    elsewhereHeaders: COMMON,
  };
  return JSON.stringify(writeOpenApi(api));
}

const ABOUT = `Send the key with every lookup: \`Authorization: Bearer ink_live_…\`. HEAD answers as GET does, without the body;
other methods are 405. Query parameters that are not described here are 400.

Every refusal is a problem document (RFC 9457). Decide by its \`code\`, which never changes its meaning.

A sandbox key (\`ink_test_…\`) returns a fixed answer for each verdict and each error, without data; the examples here
are those answers.`;

const text = (pattern: string) => ({ type: "string", pattern });

const HEADERS: Readonly<Record<string, Header>> = {
  "Inkling-Data-Version": {
    description: "The release of the answer; `none` before the first.",
    schema: text("^([0-9a-f]{12}|none|sandbox-\\d+)$"),
  },
  "Inkling-Data-State": {
    description:
      "Missing or incomplete data, if any (see DATA_NOT_LOADED), and how long ago publishers made the data of this lookup.",
    schema: text(
      '^(complete|partial(; (missing|incomplete)="[a-z_ ]+")+)(; age="[a-z_]+:\\d+[dh]( [a-z_]+:\\d+[dh])*")?$',
    ),
  },
  "Inkling-Flags": {
    description:
      "The flags of the visitor; `reserved`: its address is a special-use one, and was not looked up.",
    schema: text("^(none|reserved|(abuser|proxy|tor)(,(proxy|tor))*)$"),
  },
  "Inkling-Country": {
    description: "Where the visitor is, for keys with the scope `geolocate`.",
    schema: text("^([A-Z]{2}|unknown)$"),
  },
  "X-Request-Id": {
    description: "Also in the log of the server, and in problem documents.",
    schema: text("^\\w{10}$"),
  },
  "Cache-Control": {
    description: "Answers about IP addresses may be cached for five minutes, by one user.",
    schema: { enum: ["no-store", "no-cache", "private, max-age=300"] },
  },
  ETag: { description: "For `If-None-Match`.", schema: text('^"[\\w-]+"$') },
  Vary: { description: "Answers differ by key.", schema: { const: "Authorization" } },
  "RateLimit-Policy": {
    description:
      "The key's limits: a bucket of `q` lookups that fills in `w` seconds, and its daily quota, if any.",
    schema: text('^"(default|daily)";q=\\d+;w=\\d+(, "daily";q=\\d+;w=86400)?$'),
  },
  RateLimit: {
    description: "What is left: `r` lookups; full again in `t` seconds.",
    schema: text('^"(default|daily)";r=\\d+;t=\\d+(, "daily";r=\\d+;t=\\d+)?$'),
  },
  "Retry-After": { description: "Seconds.", schema: { type: "integer", minimum: 0 } },
  "WWW-Authenticate": {
    description: "The challenge of RFC 6750, or of Basic authentication.",
    schema: text('^(Bearer|Basic) realm="inkling"'),
  },
  "Content-Encoding": { description: "If the request accepts it.", schema: { const: "gzip" } },
  Connection: { description: "The connection ends with this response.", schema: { const: "close" } },
  Allow: { description: "The methods of the path.", schema: text("^[A-Z]+(, [A-Z]+)*$") },
  "X-Content-Type-Options": { description: "The media type is not guessed.", schema: { const: "nosniff" } },
  "Referrer-Policy": { description: "Not sent to other sites.", schema: { const: "no-referrer" } },
  "Content-Security-Policy": { description: "What the page may load.", schema: { type: "string" } },
};
