// admin.ts: the admin API as an OpenAPI document: what each of its operations takes and answers.
//
// in   the table of routes that the admin API works with, and the schemas that it reads bodies with
// out  the document, as an object
// note An operation without a row here is an error, and a test asks for the document.

import { z } from "zod";
import { ADMIN_ROUTES } from "../admin/app.ts";
import { type Operation as AdminOperation, ANY, BOOLEAN, LIMIT, type Method } from "../admin/call.ts";
import { rollbackBody, switchBody } from "../admin/data.ts";
import { rotateBody } from "../admin/keys.ts";
import { lookupBody } from "../admin/lookup.ts";
import {
  ADMIN_PROBLEM_CODES,
  ADMIN_PROBLEMS,
  AdminProblem,
  type AdminProblemCode,
} from "../admin/problems.ts";
import * as told from "../admin/schemas.ts";
import { loginBody } from "../admin/session-routes.ts";
import { SESSION_COOKIE } from "../admin/sessions.ts";
import { keyChangeBody, newKeyBody } from "../keys/key.ts";
import { newOverrideSchema } from "../overrides/override.ts";
import { MAX_PAGE } from "../store/tables.ts";
import { type Api, type Header, type Operation, openApiDocument, type Parameter } from "./document.ts";

interface Row {
  readonly tag: string;
  readonly summary: string;
  readonly answer: z.ZodType | undefined;
  readonly status?: number;
  /** Another status with the same answer. */
  readonly also?: number;
  readonly body?: z.ZodType;
  readonly headers?: readonly string[];
  readonly codes?: readonly AdminProblemCode[];
}

const LOG_IN = "Log in";
const LOOK_UP = "Look up";
const DATA = "Data";
const KEYS = "Keys";
const OVERRIDES = "Overrides";
const WATCH = "Watch";

/** By the id of the operation. */
const ROWS: Readonly<Record<string, Row>> = {
  openapi: { tag: WATCH, summary: "This document", answer: z.looseObject({ openapi: z.string() }) },
  get_session: { tag: LOG_IN, summary: "Who is logged in, and until when", answer: told.session },
  log_in: {
    tag: LOG_IN,
    summary: "Log in with the admin token: the answer sets a cookie",
    answer: told.session,
    status: 201,
    body: loginBody,
    headers: ["Set-Cookie"],
    codes: ["TOKEN_INVALID", "TOKEN_REQUIRED", "FORGED"],
  },
  log_out: { tag: LOG_IN, summary: "Log out", answer: told.loggedOut, headers: ["Set-Cookie"] },
  look_up: {
    tag: LOOK_UP,
    summary: "Addresses and e-mail addresses, with evidence; not counted as usage",
    answer: told.lookUps,
    body: lookupBody,
    codes: ["NO_RELEASE"],
  },
  data: { tag: DATA, summary: "The release in use, and how building stands", answer: told.data },
  list_feeds: { tag: DATA, summary: "Every feed, and its entries over the releases", answer: told.feeds },
  list_releases: { tag: DATA, summary: "The releases that are kept, newest first", answer: told.releases },
  release_changes: {
    tag: DATA,
    summary: "What was flagged and unflagged since the release before",
    answer: told.changes,
    codes: ["RELEASE_NOT_FOUND", "ACTION_REFUSED"],
  },
  update_state: { tag: DATA, summary: "How building stands", answer: told.update, codes: ["ACTION_REFUSED"] },
  update_now: {
    tag: DATA,
    summary: "Ask all feeds now, and build",
    answer: told.update,
    status: 202,
    codes: ["ACTION_REFUSED"],
  },
  roll_back: {
    tag: DATA,
    summary: "Go back to the release before, or to any that is kept, and stay there",
    answer: told.switched,
    body: rollbackBody,
    codes: ["STALE_FORM", "ACTION_REFUSED", "NO_RELEASE", "RELEASE_NOT_FOUND"],
  },
  pin: {
    tag: DATA,
    summary: "Stay with the release in use, whatever is built",
    answer: told.switched,
    body: switchBody,
    codes: ["STALE_FORM", "ACTION_REFUSED", "NO_RELEASE"],
  },
  unpin: {
    tag: DATA,
    summary: "Go forward to the newest release",
    answer: told.switched,
    codes: ["ACTION_REFUSED"],
  },
  list_keys: {
    tag: KEYS,
    summary: "All keys, newest first, with their look-ups of today",
    answer: told.keys,
  },
  make_key: {
    tag: KEYS,
    summary: "Make a key; its token is told this once",
    answer: told.madeKey,
    status: 201,
    body: newKeyBody,
    headers: ["Location"],
    codes: ["IDEMPOTENCY_KEY_INVALID"],
  },
  get_key: { tag: KEYS, summary: "A key", answer: told.key, codes: ["KEY_NOT_FOUND"] },
  change_key: {
    tag: KEYS,
    summary: "Change what a key may do",
    answer: told.key,
    body: keyChangeBody,
    codes: ["KEY_NOT_FOUND", "KEY_REVOKED"],
  },
  revoke_key: { tag: KEYS, summary: "End a key for good", answer: told.key, codes: ["KEY_NOT_FOUND"] },
  rotate_key: {
    tag: KEYS,
    summary: "Give a key a new token; the old one stays valid for a while",
    answer: told.rotatedKey,
    body: rotateBody,
    codes: ["KEY_NOT_FOUND", "KEY_REVOKED", "IDEMPOTENCY_KEY_INVALID"],
  },
  key_usage: {
    tag: KEYS,
    summary: "Look-ups of a key by day, or by hour for a month",
    answer: told.usage,
    codes: ["KEY_NOT_FOUND"],
  },
  list_overrides: { tag: OVERRIDES, summary: "Overrides in force, newest first", answer: told.overrides },
  put_override: {
    tag: OVERRIDES,
    summary: "Put an override in force",
    answer: told.putOverride,
    status: 201,
    also: 200,
    body: newOverrideSchema,
    headers: ["Location?"],
    codes: ["OVERRIDE_CONTRADICTS", "OVERRIDES_FULL", "OVERRIDE_TOO_WIDE"],
  },
  get_override: {
    tag: OVERRIDES,
    summary: "An override",
    answer: told.override,
    codes: ["OVERRIDE_NOT_FOUND"],
  },
  remove_override: {
    tag: OVERRIDES,
    summary: "End an override",
    answer: told.override,
    codes: ["OVERRIDE_NOT_FOUND"],
  },
  export_overrides: {
    tag: OVERRIDES,
    summary: "All overrides in force, as a file",
    answer: told.overrideFile,
    headers: ["Content-Disposition"],
  },
  import_overrides: {
    tag: OVERRIDES,
    summary: "Put the overrides of a file in force: all, or none",
    answer: told.imported,
    body: told.overrideFile,
    codes: ["OVERRIDE_CONTRADICTS", "OVERRIDES_FULL", "OVERRIDE_TOO_WIDE"],
  },
  audit: { tag: WATCH, summary: "Who changed what, newest first", answer: told.audit },
  traffic: {
    tag: WATCH,
    summary: "Requests of the last 24 hours, in steps: counts alone",
    answer: told.traffic,
  },
};

const JSON_TYPE = "application/json";
const COMMON = ["X-Request-Id", "Cache-Control"];
/** Of every operation that needs to be let in. */
const OUTSIDE: readonly AdminProblemCode[] = [
  "TOKEN_MISSING",
  "TOKEN_INVALID",
  "SESSION_ENDED",
  "TOKEN_REQUIRED",
];
const ALWAYS: readonly AdminProblemCode[] = [
  "QUERY_INVALID",
  "AUTHOR_INVALID",
  "ADMIN_INTERNAL",
  "DATABASE_AWAY",
];

/** /admin/v1/openapi.json. */
export function adminOpenApi(version: string): unknown {
  const api: Api<AdminProblemCode> = {
    info: {
      title: "Inkling: admin API",
      version,
      summary: "Keys, data, overrides, traffic and the audit trail of one Inkling.",
      description:
        "On the admin listener, loopback by default. Send the admin token as `Authorization: Bearer ink_admin_…`, or log in and send the cookie; then whatever changes something needs the header `Inkling-Console`, too.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: [
      { name: LOG_IN, description: "A cookie in place of the token, for pages." },
      { name: LOOK_UP, description: "What the API would answer." },
      { name: DATA, description: "Feeds and releases." },
      { name: KEYS, description: "Who may ask." },
      { name: OVERRIDES, description: "The operator's own verdicts." },
      { name: WATCH, description: "What happens, and what happened." },
    ],
    securitySchemes: {
      token: { type: "http", scheme: "bearer", bearerFormat: "ink_admin_…", description: "The admin token." },
      session: { type: "apiKey", in: "cookie", name: SESSION_COOKIE, description: "Of a log-in." },
    },
    headers: HEADERS,
    problems: ADMIN_PROBLEMS,
    problemSchema: told.problem,
    problemExample: (code) => JSON.parse(new AdminProblem(code).body("tnbctz7kxp")),
    paths: Object.fromEntries(
      ADMIN_ROUTES.map(({ template, methods }) => [
        template,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [
            method.toLowerCase(),
            described(template, method as Method, operation),
          ]),
        ),
      ]),
    ),
    elsewhere: ["NO_SUCH_PATH", "METHOD_INVALID", ...OUTSIDE, "FORGED", "DATABASE_AWAY", "ADMIN_INTERNAL"],
    elsewhereHeaders: [...COMMON, "Allow?"],
  };
  return openApiDocument(api);
}

function described<T>(
  template: string,
  method: Method,
  operation: AdminOperation<T>,
): Operation<AdminProblemCode> {
  const { id, parameters = {}, isOpen = false, isOnce = false } = operation;
  const row = ROWS[id];
  if (row === undefined) throw new Error(`openapi-admin.ts: the operation ${id} is not described`);
  const { tag, summary, answer, status = 200, also, body, headers = [], codes = [] } = row;
  const success = {
    description: "Done",
    headers: [...COMMON, ...headers],
    ...(answer === undefined ? {} : { content: { [JSON_TYPE]: { schema: answer } } }),
  };
  const hasId = template.includes("{id}");
  const ofPath: readonly AdminProblemCode[] = hasId ? ["NO_SUCH_PATH"] : []; // an id that cannot be one
  const ofBody: readonly AdminProblemCode[] = body === undefined ? [] : ["BODY_INVALID", "BODY_TOO_LARGE"];
  const ofCookie: readonly AdminProblemCode[] = method === "GET" ? [] : ["FORGED"];
  const all = [...ALWAYS, ...(isOpen ? [] : [...OUTSIDE, ...ofCookie]), ...ofPath, ...ofBody, ...codes];
  return {
    id,
    tag,
    summary,
    security: isOpen ? [] : [{ token: [] }, { session: [] }],
    parameters: [
      ...(hasId ? [ID] : []),
      ...Object.entries(parameters).map(([name, pattern]) => queryParameter(name, pattern)),
      ...(method === "GET" || isOpen ? [] : [AUTHOR, CONSOLE]),
      ...(isOnce ? [ONCE] : []),
    ],
    ...(body === undefined
      ? {}
      : { body: { description: "JSON", content: { [JSON_TYPE]: { schema: body } } } }),
    successes: { [status]: success, ...(also === undefined ? {} : { [also]: success }) },
    codes: ADMIN_PROBLEM_CODES.filter((code) => all.includes(code)),
    problemHeaders: COMMON,
  };
}

const text = { type: "string" };
const ID: Parameter = { name: "id", in: "path", description: "Its id, or a release's name", schema: text };
const AUTHOR: Parameter = {
  name: "Inkling-Author",
  in: "header",
  description: "Who does this, for the audit trail",
  schema: { type: "string", maxLength: 100 },
};
const CONSOLE: Parameter = {
  name: "Inkling-Console",
  in: "header",
  description: "Needed with the cookie: no form, and no other site, can send it",
  schema: text,
};
const ONCE: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description: "Of your choosing: the same request with the same key is done once in ten minutes",
  schema: { type: "string", pattern: "^[!-~]{1,200}$" },
};

const PARAMETER_WORDS: Readonly<Record<string, string>> = {
  limit: "Rows of a page",
  cursor: "`next_cursor` of the page before",
  ended: "With those that have ended",
  force: "Very wide ones are meant",
  by: "What a row is about",
  from: "First day, as 2026-06-01, or hour, as 2026-06-01T13 (UTC)",
  to: "Last day or hour",
  hours: "How far back",
  step: "Minutes of one row",
};

function queryParameter(name: string, pattern: RegExp): Parameter {
  const description = PARAMETER_WORDS[name];
  if (description === undefined) throw new Error(`openapi-admin.ts: the parameter ${name} is not described`);
  const schema =
    pattern === LIMIT
      ? { type: "integer", minimum: 1, maximum: MAX_PAGE, default: 100 }
      : pattern === BOOLEAN
        ? { type: "boolean", default: false }
        : pattern === ANY
          ? text
          : { type: "string", pattern: pattern.source };
  return { name, in: "query", description, schema };
}

const pattern = (source: string) => ({ type: "string", pattern: source });
const HEADERS: Readonly<Record<string, Header>> = {
  "X-Request-Id": {
    description: "Also in the log and in problem documents.",
    schema: pattern("^\\w{1,20}$"),
  },
  "Cache-Control": { description: "Nothing of this is kept.", schema: { const: "no-store" } },
  "Set-Cookie": { description: "The session.", schema: pattern(`^${SESSION_COOKIE}=`) },
  Location: { description: "What was made.", schema: pattern("^/admin/v1/") },
  "Content-Disposition": { description: "A file.", schema: pattern("^attachment;") },
  "WWW-Authenticate": { description: "RFC 6750.", schema: pattern('^Bearer realm="inkling admin"') },
  Allow: { description: "The methods that the path has.", schema: pattern("^[A-Z]+(, [A-Z]+)*$") },
  "Retry-After": { description: "Seconds.", schema: { type: "integer", minimum: 0 } },
};
