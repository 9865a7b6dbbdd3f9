// operations.ts: every operation of the public API.
//
// A row says where an operation is, what it needs, what it takes and what it answers. Derived from the rows: routing,
// admission and metric labels of the server, /openapi.json, the reference page and the table of docs/api.md. The server
// binds a handler to each id (server/src/api/routes.ts). A path has one operation, since metrics count by path.

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
  OF_ASSESSMENTS,
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
  /** HEAD is answered as GET. ANY: every method is answered alike. */
  readonly method: "GET" | "POST" | "ANY";
  /** May have one of PATH_VALUES, in braces. */
  readonly path: string;
  /** Another path that it has. */
  readonly alias?: string;
  /** Who may ask: everyone, the holder of any key, or of a key with this scope. */
  readonly access: "open" | "key" | Scope;
  /** How a key may be sent; "basic" is the password of Basic authentication. */
  readonly schemes?: readonly ("key" | "basic")[];
  /** Do proxies send the requests, about visitors? Then they hold the key, and its networks are theirs. */
  readonly isForProxies?: boolean;
  /** Does a request look up one value, or many? Its latency counts as theirs. */
  readonly looksUp?: "single" | "batch";
  readonly tag: keyof typeof OPERATION_TAGS;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterRow[];
  readonly requestHeaders?: readonly (keyof typeof REQUEST_HEADERS)[];
  readonly body?: Contents;
  readonly answers: Answers;
  readonly problems: readonly ProblemCode[];
  /** Headers of problems, beside each problem's own. */
  readonly problemHeaders?: readonly string[];
  /** In the table of docs/api.md. Undefined: it is none of the API's operations, and in no document. */
  readonly docs: string | undefined;
}

export const OPERATION_TAGS = {
  Lookups: "One value, one answer.",
  Assessments: "One question about a visitor: allow, challenge or deny, and why.",
  "Many at once":
    "One answer or problem for each value, in order. Each value counts as one lookup for rate, quota and usage.",
  "Other interfaces": "For reverse proxies, and for SDKs of MaxMind.",
  Server: "State of the server, and its documents.",
} as const;

const BATCH = {
  method: "POST",
  looksUp: "batch",
  tag: "Many at once",
  description:
    "JSON takes up to 1,000 values; those beyond the key's rate get RATE_LIMITED in their place. NDJSON takes any number, one JSON string a line, and is answered line by line at the key's rate. The body may be compressed with gzip.",
  body: { ...json("Batch"), [NDJSON_TYPE]: { schema: TEXT, lines: TEXT } },
  problems: [
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
  docs: "many values at once ([batches](batches.md))",
} as const satisfies Partial<OperationRow>;

const MAXMIND = {
  method: "GET",
  access: "geolocate",
  schemes: ["basic", "key"],
  looksUp: "single",
  tag: "Other interfaces",
  description: "For MaxMind's SDKs: the key is the license key, any account ID will do.",
  problems: ["METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
  docs: "[MaxMind's shape](maxmind.md), for its SDKs",
} as const satisfies Partial<OperationRow>;

const OPEN = {
  method: "GET",
  access: "open",
  tag: "Server",
  problems: ["HOST_INVALID", "INTERNAL"],
} as const satisfies Partial<OperationRow>;

/** The lookups come first: the router compares their paths first. */
const ROWS = {
  geolocate: {
    method: "GET",
    path: "/v1/ip-intel/geolocate/{ip}",
    access: "geolocate",
    looksUp: "single",
    tag: "Lookups",
    summary: "Locate an IP address",
    description:
      "An IPv4 address inside IPv6 (mapped, 6to4, Teredo, NAT64) is looked up as that IPv4 address.",
    parameters: OF_ADDRESSES,
    requestHeaders: ["If-None-Match"],
    answers: addressAnswers("Geolocation"),
    problems: PROBLEM_CODES, // sandbox keys can get every one of them
    docs: "location of an address",
  },
  reputation: {
    method: "GET",
    path: "/v1/ip-intel/reputation/{ip}",
    access: "reputation",
    looksUp: "single",
    tag: "Lookups",
    summary: "Rate an IP address",
    description: "An address on no list is 200 with all `false`.",
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
      "Broken syntax is 200 with `valid: false`, never an error. Proxies on the way may log the URL and the address in it; Inkling does not.",
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
    tag: "Assessments",
    summary: "Decide about a visitor",
    description:
      "Looks up the address and the email address, and decides by the operator's rules and by the weights of the reasons. Counts as one lookup. NDJSON takes any number of visitors, one a line, and is answered line by line at the key's rate.",
    parameters: OF_ASSESSMENTS,
    requestHeaders: ["Idempotency-Key"],
    body: { ...json("Visitor"), [NDJSON_TYPE]: { schema: TEXT, lines: "Visitor" } },
    answers: {
      200: {
        description: "The decision, with its reasons",
        headers: [...KEYED_HEADERS, "Content-Encoding?"],
        content: {
          ...json("Assessment"),
          [NDJSON_TYPE]: { schema: TEXT, lines: "AssessmentOrProblem" },
        },
      },
    },
    problems: PROBLEM_CODES,
    docs: "[allow, challenge or deny](decisions.md), and why",
  },
  assess_outcome: {
    method: "POST",
    path: "/v1/assess/{assessment_id}/outcome",
    access: "assess",
    tag: "Assessments",
    summary: "Say what became of a visitor",
    description:
      "Labels a stored decision, and changes no verdict. It may be repeated and corrected: the last outcome counts. Counts as no lookup.",
    body: json("DecisionOutcome"),
    answers: {
      200: {
        description: "The decision has this outcome",
        headers: KEYED_HEADERS,
        content: json("DecisionOutcomeSet"),
      },
    },
    problems: [
      "PARAMETER_INVALID",
      "HOST_INVALID",
      "BODY_INVALID",
      "KEY_MISSING",
      "KEY_INVALID",
      "KEY_EXPIRED",
      "SCOPE_REQUIRED",
      "SOURCE_NOT_ALLOWED",
      "CALLER_UNKNOWN",
      "DECISION_NOT_FOUND",
      "CONTENT_TOO_LARGE",
      "CONTENT_TYPE_INVALID",
      "RATE_LIMITED",
      "QUOTA_EXCEEDED",
      "INTERNAL",
      "DECISIONS_UNREACHABLE",
      "KEYS_NOT_LOADED",
    ],
    docs: "[what became of a visitor](stored-decisions.md#outcomes)",
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
    summary: "Rate many IP addresses",
    parameters: OF_ADDRESSES,
    answers: batchAnswers("Reputation"),
  },
  email_batch: {
    ...BATCH,
    path: "/v1/user-intel/email",
    access: "email",
    summary: "Check many email addresses",
    parameters: [EVIDENCE, { ...MX, description: `${MX.description} JSON with one value only.` }],
    answers: batchAnswers("EmailVerdict"),
  },
  forward_auth: {
    method: "ANY", // some proxies pass on the visitor's
    path: "/v1/forward-auth",
    access: "reputation",
    schemes: ["key", "basic"], // some proxies can send no header of their own, but a URL with a password
    isForProxies: true,
    looksUp: "single",
    tag: "Other interfaces",
    summary: "May this visitor pass?",
    description:
      "For reverse proxies: 200 or 403 about the visitor that a trusted proxy names in `X-Forwarded-For`. A special-use address passes. Every method is answered alike.",
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
    docs: "any method: 200 or 403, for [reverse proxies](proxies.md)",
  },
  supabase_hook: {
    method: "POST",
    path: "/v1/hooks/supabase",
    access: "open", // the signature admits the request
    looksUp: "single",
    tag: "Other interfaces",
    summary: "May Supabase create this user?",
    description:
      'The auth hook "Before User Created" of Supabase, signed by Standard Webhooks with the secret of the setting `supabase_hook_secret`. The user\'s address and email address are assessed as the event `sign_up`. A user who is denied gets an `error`, with status 200 as Supabase requires; one who is challenged is created.',
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
        description: "The decision: `{}` creates the user",
        headers: [...COMMON_HEADERS, "Inkling-Action?", "Inkling-Assessment?"],
        content: json({
          type: "object",
          properties: {
            error: {
              type: "object",
              properties: { message: TEXT, http_code: { const: 403 } },
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
      "INTERNAL",
      "DATA_NOT_LOADED",
    ],
    docs: "[auth hook of Supabase](auth-hooks.md#supabase): `{}`, or an error for a user who is denied; signed instead of a key",
  },
  status: {
    ...OPEN,
    path: "/v1/status",
    access: "key",
    summary: "The release in use, feed by feed",
    description:
      "When the release was built, what its data lacks, and the state of each feed. Counts against no quota.",
    answers: {
      200: { description: "The current state", headers: KEYED_HEADERS, content: json("Status") },
    },
    problems: [
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
    docs: "current release; the [age of the data](#state-of-the-data) behind each answer; for each feed its age, entries, checksum, licence, last and next check, and whether it failed, is stale, expired or waiting for acceptance ([gates](feed-updates.md#gates)). The reasons are in the [admin API](admin-api.md)",
  },
  healthz: {
    ...OPEN,
    path: "/healthz",
    summary: "Liveness probe",
    description: "Returns 200 while the process can answer requests, whatever the state of its data.",
    answers: { 200: { description: "Alive", headers: COMMON_HEADERS, content: json("Health") } },
    docs: "liveness probe: 200",
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
    docs: "readiness probe: 200 when a release is loaded, the keys were read and the primary is alive (`warnings`: an older release stands in), else 503 with the reasons",
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
    description: "An HTML page with every operation and a form to try it.",
    requestHeaders: ["If-None-Match"],
    answers: pageAnswers("text/html"),
    docs: "interactive reference; `type` of a problem document points to `/docs/errors`",
  },
  docs_file: {
    ...OPEN,
    path: "/docs/{file}",
    summary: "A file of that page",
    description: "Scripts and styles that the reference page loads.",
    requestHeaders: ["If-None-Match"],
    answers: pageAnswers("text/html", "text/css", "text/javascript"),
    problems: ["HOST_INVALID", "PATH_NOT_FOUND", "INTERNAL"],
    docs: "its files",
  },
  root: {
    ...OPEN,
    method: "ANY",
    path: "/",
    summary: "Leads browsers to the reference",
    description: "For programs there is nothing.",
    answers: {},
    docs: undefined,
  },
  maxmind_country: {
    ...MAXMIND,
    path: "/geoip/v2.1/country/{ip}",
    summary: "Locate an IP address, as GeoIP2 Country",
    answers: maxmindAnswers("country", "MaxMindCountry"),
  },
  maxmind_city: {
    ...MAXMIND,
    path: "/geoip/v2.1/city/{ip}",
    summary: "Locate an IP address, as GeoIP2 City",
    answers: maxmindAnswers("city", "MaxMindCity"),
  },
} as const satisfies Readonly<Record<string, OperationRow>>;

export type OperationId = keyof typeof ROWS;
export const OPERATIONS: Readonly<Record<OperationId, OperationRow>> = ROWS;
export const OPERATION_IDS = keysOf(ROWS);
