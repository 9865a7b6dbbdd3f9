// operations.ts: every operation of the public API.
//
// A row has an operation's path, the access it needs, its parameters and its answers. These things derive from the
// rows: the server's routing, admission and metric labels, /openapi.json, the reference page, and the table of
// docs/api.md. The server binds a handler to each id (server/src/api/routes.ts). A path has only one operation, because
// metrics count by path.

import {
  type Answers,
  addressAnswers,
  batchAnswers,
  COMMON_HEADERS,
  type Contents,
  DENIED,
  EVIDENCE,
  FOUND_HEADERS,
  json,
  KEYED_HEADERS,
  MX,
  maxmindAnswers,
  NDJSON_TYPE,
  OF_ADDRESSES,
  OF_DECISIONS,
  OF_STATUS,
  type ParameterRow,
  pageAnswers,
  type REQUEST_HEADERS,
  TEXT,
  UNCHANGED_PAGE,
} from "./operation-parts.ts";
import { PROBLEM_CODES, type ProblemCode } from "./problems.ts";
import type { Scope } from "./shapes.ts";
import { keysOf } from "./tables.ts";

export interface OperationRow {
  /** HEAD gets the same answer as GET. With ANY, every method gets the same answer. */
  readonly method: "GET" | "POST" | "ANY";
  /** The path, which may have one of PATH_VALUES in braces. */
  readonly path: string;
  /** A second path for the same operation. */
  readonly alias?: string;
  /** Who may send requests: everyone, the holder of any key, or the holder of a key with this scope. */
  readonly access: "open" | "key" | Scope;
  /** The ways to send a key. "basic" means that the key is the password of Basic authentication. */
  readonly schemes?: readonly ("key" | "basic")[];
  /**
   * Do proxies send these requests about visitors? If so, the proxy holds the key, and the key's allowed networks must
   * contain the proxy.
   */
  readonly isForProxies?: boolean;
  /** Does a request look up one value or many? This decides which metric counts its latency. */
  readonly looksUp?: "single" | "batch";
  readonly tag: keyof typeof OPERATION_TAGS;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterRow[];
  readonly requestHeaders?: readonly (keyof typeof REQUEST_HEADERS)[];
  readonly body?: Contents;
  readonly answers: Answers;
  readonly problems: readonly ProblemCode[];
  /** Headers of problem answers, in addition to each problem's own headers. */
  readonly problemHeaders?: readonly string[];
  /**
   * The operation's text in the table in docs/api.md. Undefined if the path is not an API operation and is not
   * documented.
   */
  readonly docs: string | undefined;
}

export const OPERATION_TAGS = {
  Lookups: "One value per request.",
  Decisions: "Whether to allow, challenge or deny a visitor, and why.",
  Batches:
    "One answer or problem for each value, in order. Each value counts as one lookup for rate, quota and usage.",
  "Other interfaces": "For reverse proxies, Supabase and MaxMind's SDKs.",
  Server: "The server's state and its documents.",
} as const;

/** The problems of every request with a key. */
const KEYED: readonly ProblemCode[] = [
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
];
const keyed = (...more: ProblemCode[]) =>
  PROBLEM_CODES.filter((code) => KEYED.includes(code) || more.includes(code));
const BODIES = ["SCOPE_REQUIRED", "CONTENT_TOO_LARGE", "CONTENT_TYPE_INVALID"] as const;

const BATCH = {
  method: "POST",
  looksUp: "batch",
  tag: "Batches",
  description:
    "A JSON body has up to 1,000 values. Values beyond the key's rate return RATE_LIMITED in their position. An NDJSON body may have any number of values, one JSON string per line. The server answers line by line, at the key's rate. The body may be compressed with gzip.",
  body: { ...json("Batch"), [NDJSON_TYPE]: { schema: TEXT, lines: TEXT } },
  problems: keyed(...BODIES, "BATCH_INVALID", "TOO_MANY_STREAMS", "QUOTA_EXCEEDED", "DATA_NOT_LOADED"),
  docs: "many values in one request ([batches](batches.md))",
} as const satisfies Partial<OperationRow>;

const MAXMIND = {
  method: "GET",
  access: "geolocate",
  schemes: ["basic", "key"],
  looksUp: "single",
  tag: "Other interfaces",
  description: "For MaxMind's SDKs. Use the API key as the license key, with any account ID.",
  problems: ["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
  docs: "[MaxMind's format](maxmind.md), for its SDKs",
} as const satisfies Partial<OperationRow>;

const OPEN = {
  method: "GET",
  access: "open",
  tag: "Server",
  problems: ["HOST_INVALID", "INTERNAL"],
} as const satisfies Partial<OperationRow>;

/** The lookups come first, so that the router compares their paths first. */
const ROWS = {
  geolocate: {
    method: "GET",
    path: "/v1/ip-intel/geolocate/{ip}",
    access: "geolocate",
    looksUp: "single",
    tag: "Lookups",
    summary: "Locate an IP address",
    description:
      "If an IPv6 address contains an IPv4 address (mapped, 6to4, Teredo, NAT64), Inkling looks up the IPv4 address.",
    parameters: OF_ADDRESSES,
    requestHeaders: ["If-None-Match"],
    answers: addressAnswers("Geolocation"),
    problems: PROBLEM_CODES, // sandbox keys can trigger every problem
    docs: "location of an address",
  },
  reputation: {
    method: "GET",
    path: "/v1/ip-intel/reputation/{ip}",
    access: "reputation",
    looksUp: "single",
    tag: "Lookups",
    summary: "Check an IP address's reputation",
    description: "An address on no list returns 200 with every flag `false`.",
    parameters: OF_ADDRESSES,
    requestHeaders: ["If-None-Match"],
    answers: addressAnswers("Reputation"),
    problems: PROBLEM_CODES,
    docs: "abuser, proxy and Tor exit flags",
  },
  email: {
    method: "GET",
    path: "/v1/user-intel/email/{email_address}",
    access: "email",
    looksUp: "single",
    tag: "Lookups",
    summary: "Check an email address",
    description:
      "Invalid syntax returns 200 with `valid: false`, not an error. Inkling never logs the address, but proxies may log the URL. POST keeps the address out of the URL.",
    parameters: [EVIDENCE, MX],
    answers: {
      200: {
        description: "The answer",
        headers: [...KEYED_HEADERS, "Inkling-Data-State?"],
        content: json("EmailVerdict"),
      },
    },
    problems: PROBLEM_CODES,
    docs: "validity and disposability of an email address",
  },
  assess: {
    method: "POST",
    path: "/v1/assess",
    access: "assess",
    looksUp: "single",
    tag: "Decisions",
    summary: "Assess a visitor",
    description:
      "Looks up the address and the email address. The operator's rules decide first, then the weights of the reasons. A decision counts as one lookup. An NDJSON body may have any number of visitors, one per line. The server answers line by line, at the key's rate.",
    parameters: OF_DECISIONS,
    requestHeaders: ["Idempotency-Key"],
    body: { ...json("Visitor"), [NDJSON_TYPE]: { schema: TEXT, lines: "Visitor" } },
    answers: {
      200: {
        description: "The decision, with its reasons",
        headers: [...KEYED_HEADERS, "Content-Encoding?"],
        content: {
          ...json("Decision"),
          [NDJSON_TYPE]: { schema: TEXT, lines: "DecisionOrProblem" },
        },
      },
    },
    problems: PROBLEM_CODES,
    docs: "[allow, challenge or deny](decisions.md), and why",
  },
  assess_outcome: {
    method: "POST",
    path: "/v1/assess/{decision_id}/outcome",
    access: "assess",
    tag: "Decisions",
    summary: "Report the outcome of a decision",
    description:
      "Labels a stored decision as legitimate or fraud. The label changes no verdict. To correct an outcome, send another, which replaces it. An outcome does not count as a lookup.",
    body: json("DecisionOutcome"),
    answers: {
      200: {
        description: "The outcome was stored",
        headers: KEYED_HEADERS,
        content: json("DecisionOutcomeSet"),
      },
    },
    problems: keyed(...BODIES, "BODY_INVALID", "DECISION_NOT_FOUND", "DECISIONS_UNREACHABLE"),
    docs: "[outcome](decisions.md#outcomes) of a decision",
  },
  geolocate_batch: {
    ...BATCH,
    path: "/v1/ip-intel/geolocate",
    access: "geolocate",
    summary: "Locate many IP addresses",
    parameters: OF_ADDRESSES,
    answers: batchAnswers("Geolocation"),
  },
  reputation_batch: {
    ...BATCH,
    path: "/v1/ip-intel/reputation",
    access: "reputation",
    summary: "Check the reputation of many IP addresses",
    parameters: OF_ADDRESSES,
    answers: batchAnswers("Reputation"),
  },
  email_batch: {
    ...BATCH,
    path: "/v1/user-intel/email",
    access: "email",
    summary: "Check many email addresses",
    parameters: [EVIDENCE, { ...MX, description: `${MX.description} Only for a JSON body with one value.` }],
    answers: batchAnswers("EmailVerdict"),
  },
  forward_auth: {
    method: "ANY", // some proxies send the visitor's method
    path: "/v1/forward-auth",
    access: "reputation",
    schemes: ["key", "basic"], // some proxies cannot add a header, but can use a URL with a password
    isForProxies: true,
    looksUp: "single",
    tag: "Other interfaces",
    summary: "Decide for a reverse proxy whether a visitor may pass",
    description:
      "Returns 200 or 403 for the visitor whose address a trusted proxy sends in `X-Forwarded-For`. A special-use address passes. Every method returns the same answer.",
    parameters: DENIED,
    requestHeaders: ["X-Forwarded-For"],
    answers: {
      200: {
        description: "The visitor may pass",
        headers: [...KEYED_HEADERS, ...FOUND_HEADERS, "Inkling-Data-State?"],
      },
    },
    problems: PROBLEM_CODES,
    problemHeaders: [...KEYED_HEADERS, ...FOUND_HEADERS.map((name) => `${name}?`), "Inkling-Data-State?"],
    docs: "200 or 403, with any method, for [reverse proxies](proxies.md)",
  },
  supabase_hook: {
    method: "POST",
    path: "/v1/hooks/supabase",
    access: "open", // a signature authenticates the request
    looksUp: "single",
    tag: "Other interfaces",
    summary: "Decide for Supabase whether to create a user",
    description:
      'Supabase calls this auth hook ("Before User Created") and signs the request according to Standard Webhooks, with the secret in the `supabase_hook_secret` setting. Inkling assesses the user\'s address and email address as a `sign_up` event. If the action is `deny`, the answer has an `error`, with status 200 as Supabase requires. With `challenge`, Supabase creates the user.',
    body: json({
      type: "object",
      properties: {
        metadata: {
          type: "object",
          properties: { name: { const: "before-user-created" }, ip_address: TEXT },
          required: ["name"],
        },
        user: { type: "object", properties: { id: TEXT, email: TEXT } },
      },
      required: ["metadata", "user"],
    }),
    answers: {
      200: {
        description: "The decision. With `{}`, Supabase creates the user",
        headers: [...COMMON_HEADERS, "Inkling-Action?", "Inkling-Decision?"],
        content: json({
          type: "object",
          properties: {
            error: {
              type: "object",
              properties: { message: TEXT, http_code: { enum: [403, 422] } },
              required: ["message", "http_code"],
            },
          },
        }),
      },
    },
    problems: [
      "HOST_INVALID",
      "BODY_INVALID",
      "SIGNATURE_INVALID",
      "PATH_NOT_FOUND",
      "CONTENT_TOO_LARGE",
      "RATE_LIMITED",
      "INTERNAL",
      "DATA_NOT_LOADED",
    ],
    docs: "[Supabase auth hook](auth-hooks.md#supabase): `{}`, or an error for a denied user. A signature replaces the key",
  },
  status: {
    ...OPEN,
    path: "/v1/status",
    access: "key",
    summary: "The release in use, and the age of its data",
    description:
      "Shows when the release was built, which data is missing, and how old the data is. With `include=feeds`, also shows the state of each feed. The request does not count against the quota.",
    parameters: OF_STATUS,
    answers: {
      200: { description: "The current state", headers: KEYED_HEADERS, content: json("Status") },
    },
    problems: keyed(),
    docs: "current release, [age of the data](#state-of-the-data) behind each answer, and what is missing. `?include=feeds` adds for each feed: age, entries, checksum, licence, last and next check, and whether it failed, is stale, has expired or is [held](data.md#held-copies). The [admin API](admin-api.md) has the reasons",
  },
  healthz: {
    ...OPEN,
    path: "/healthz",
    summary: "Liveness probe",
    description: "Returns 200 while the process can answer requests, whatever the state of its data.",
    answers: { 200: { description: "Alive", headers: COMMON_HEADERS, content: json("Health") } },
    docs: "liveness probe: 200 while the process responds",
  },
  readyz: {
    ...OPEN,
    path: "/readyz",
    summary: "Readiness probe",
    description: "Returns 200 while the server can answer lookups, otherwise 503 with the reasons.",
    answers: {
      200: { description: "Ready", headers: COMMON_HEADERS, content: json("Ready") },
      503: { description: "Not ready, with the reasons", headers: COMMON_HEADERS, content: json("NotReady") },
    },
    docs: "readiness probe: 200 if a release is loaded and the keys were read; otherwise 503 with the reasons. `warnings` reports what is wrong although the server answers, such as an older release in use or an unreachable database",
  },
  openapi: {
    ...OPEN,
    path: "/openapi.json",
    summary: "This document",
    description: "Describes every operation of this server's version.",
    requestHeaders: ["If-None-Match"],
    answers: {
      200: {
        description: "OpenAPI 3.1",
        headers: [...COMMON_HEADERS, "ETag", "X-Content-Type-Options"],
        content: json({
          type: "object",
          properties: { openapi: { type: "string" }, info: { type: "object" }, paths: { type: "object" } },
          required: ["openapi", "info", "paths"],
        }),
      },
      304: UNCHANGED_PAGE,
    },
    docs: "OpenAPI 3.1 document",
  },
  docs: {
    ...OPEN,
    path: "/docs",
    alias: "/docs/",
    summary: "This reference, as a page",
    description: "An HTML page with every operation and a form to try each one.",
    requestHeaders: ["If-None-Match"],
    answers: pageAnswers("text/html"),
    docs: "interactive reference ([Swagger UI](https://github.com/swagger-api/swagger-ui)), which contacts no other host",
  },
  docs_file: {
    ...OPEN,
    path: "/docs/{file}",
    summary: "A file of the reference page",
    description: "Scripts and styles for the reference page, and the page of error codes.",
    requestHeaders: ["If-None-Match"],
    answers: pageAnswers("text/html", "text/css", "text/javascript"),
    problems: ["HOST_INVALID", "PATH_NOT_FOUND", "INTERNAL"],
    docs: "files of the reference, and `/docs/errors`: the page of error codes that the `type` of a problem document links to",
  },
  root: {
    ...OPEN,
    method: "ANY",
    path: "/",
    summary: "Redirects browsers to the reference",
    description: "Other programs get the problem PATH_NOT_FOUND.",
    answers: {},
    docs: undefined,
  },
  maxmind_country: {
    ...MAXMIND,
    path: "/geoip/v2.1/country/{ip}",
    summary: "Locate an IP address in the format of GeoIP2 Country",
    answers: maxmindAnswers("country", "MaxMindCountry"),
  },
  maxmind_city: {
    ...MAXMIND,
    path: "/geoip/v2.1/city/{ip}",
    summary: "Locate an IP address in the format of GeoIP2 City",
    answers: maxmindAnswers("city", "MaxMindCity"),
  },
} as const satisfies Readonly<Record<string, OperationRow>>;

export type OperationId = keyof typeof ROWS;
export const OPERATIONS: Readonly<Record<OperationId, OperationRow>> = ROWS;
export const OPERATION_IDS = keysOf(ROWS);
