// openapi.ts: builds /admin/v1/openapi.json from the rows of the admin API's operations.

import {
  ADMIN_PATH,
  ADMIN_PROBLEM_CODES,
  ADMIN_PROBLEMS,
  ADMIN_TAGS,
  type AdminProblemCode,
} from "@inkling/contract";
import { problemDocument } from "@inkling/operations/answer-schemas";
import { text } from "@inkling/operations/operation";
import { z } from "zod";
import { AdminProblem, problemBody } from "../http/problems.ts";
import {
  type Api,
  type Header,
  type Operation,
  type Parameter,
  SHARED_HEADERS,
  writeOpenApi,
} from "../openapi/document.ts";
import type { AdminRoute, AdminRow } from "./handler.ts";
import { SESSION_COOKIE } from "./sessions.ts";

const JSON_TYPE = "application/json";
const COMMON = ["X-Request-Id", "Cache-Control", "traceparent?"];
/** Problems of every operation that needs a token or a session. */
const UNAUTHORIZED: readonly AdminProblemCode[] = [
  "TOKEN_MISSING",
  "TOKEN_INVALID",
  "SESSION_ENDED",
  "TOKEN_REQUIRED",
  "CSRF_REJECTED",
];
const ALWAYS: readonly AdminProblemCode[] = [
  "PARAMETER_INVALID",
  "AUTHOR_INVALID",
  "INTERNAL",
  "DATABASE_UNREACHABLE",
];

const problemSchema = z
  .strictObject({
    ...problemDocument.omit({ code: true }).shape,
    code: z.enum(ADMIN_PROBLEM_CODES),
    problems: z.array(text).optional().meta({ description: "One line for each problem" }),
  })
  .meta({ id: "Problem", description: "RFC 9457" });

/**
 * @param version the server's version
 * @param routes every route by the id of its operation
 */
export function adminOpenApi(version: string, routes: ReadonlyMap<string, AdminRoute>): unknown {
  const paths: Record<string, Record<string, Operation<AdminProblemCode>>> = {};
  for (const [id, route] of routes) {
    const { path, method } = route.row;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(id, route) };
  }
  const api: Api<AdminProblemCode> = {
    info: {
      title: "Inkling: admin API",
      version,
      summary: "Keys, data, overrides, traffic and the audit trail of one Inkling server.",
      description:
        "The admin listener serves this API, on loopback by default. Send an admin token as `Authorization: Bearer ink_admin_…`. A token with the role `read` may make every request that changes nothing. Alternatively, log in with `POST /admin/v1/session`, then send the session cookie, and the session's secret in the `Inkling-Console` header.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: Object.entries(ADMIN_TAGS).map(([name, description]) => ({ name, description })),
    securitySchemes: {
      token: { type: "http", scheme: "bearer", bearerFormat: "ink_admin_…", description: "An admin token." },
      session: {
        type: "apiKey",
        in: "cookie",
        name: SESSION_COOKIE,
        description:
          "The cookie that a login sets. If the address has a port, the name ends with it: `inkling_admin_8081`.",
      },
    },
    headers: HEADERS,
    problems: ADMIN_PROBLEMS,
    problemSchema,
    problemExample: (code) => JSON.parse(problemBody(new AdminProblem(code), "tnbctz7kxp")),
    paths,
    elsewhere: [
      "PATH_INVALID",
      "PATH_NOT_FOUND",
      "METHOD_NOT_ALLOWED",
      ...UNAUTHORIZED,
      "HOST_REFUSED",
      "DATABASE_UNREACHABLE",
      "INTERNAL",
    ],
    elsewhereHeaders: [...COMMON, "Allow?"],
  };
  return writeOpenApi(api);
}

function describe(id: string, { row, handler }: AdminRoute): Operation<AdminProblemCode> {
  const { method, tag, summary, status = 200, otherStatus, headers = [], names } = row;
  const { isOpen = false, isIdempotent = false } = row;
  const { query = {}, body, answer } = handler;
  const success = {
    description: "Done",
    headers: [...COMMON, ...headers],
    content: { [JSON_TYPE]: { schema: answer } },
  };
  const isWrite = method !== "GET" && !isOpen;
  return {
    id,
    tag,
    summary,
    security: isOpen ? [] : ["token", "session"],
    parameters: [
      ...(names === undefined ? [] : [ID]),
      ...Object.entries(query as Record<string, z.ZodType>).map(
        ([name, schema]): Parameter => ({ name, in: "query", schema }),
      ),
      ...(isOpen ? [] : [CONSOLE]),
      ...(isWrite ? [AUTHOR] : []),
      ...(isIdempotent ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body !== undefined && {
      body: { description: "JSON", content: { [JSON_TYPE]: { schema: body } } },
    }),
    successes: { [status]: success, ...(otherStatus !== undefined && { [otherStatus]: success }) },
    codes: codesOf(row, body !== undefined),
    problemHeaders: COMMON,
  };
}

function codesOf(row: AdminRow, hasBody: boolean): AdminProblemCode[] {
  const { isOpen, names, problems = [] } = row;
  const possible = new Set([
    ...ALWAYS,
    ...(isOpen === true ? [] : UNAUTHORIZED),
    ...(row.role === "read" ? [] : (["ROLE_REQUIRED"] as const)),
    ...(names === undefined ? [] : (["PATH_NOT_FOUND"] as const)), // for an id that cannot exist
    ...(hasBody ? (["BODY_INVALID", "CONTENT_TOO_LARGE", "RATE_LIMITED"] as const) : []),
    ...problems,
  ]);
  return ADMIN_PROBLEM_CODES.filter((code) => possible.has(code));
}

const string = { type: "string" };
const ID: Parameter = {
  name: "id",
  in: "path",
  description: "The id, or the name of a release or an admin token",
  schema: string,
};
const AUTHOR: Parameter = {
  name: "Inkling-Author",
  in: "header",
  description:
    "The author of the change, for the audit trail; with a named token, omit this or send the token's name",
  schema: { ...string, maxLength: 100 },
};
const CONSOLE: Parameter = {
  name: "Inkling-Console",
  in: "header",
  description: "The session's secret; required with the cookie",
  schema: string,
};
const IDEMPOTENCY_KEY: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A new string for each request. If the same request is repeated with the same key within ten minutes, the server carries it out only once",
  schema: { ...string, pattern: "^[!-~]{1,200}$" },
};

const HEADERS: Readonly<Record<string, Header>> = {
  ...SHARED_HEADERS,
  "X-Request-Id": {
    description:
      "The request's id, also in the log and in problem documents: the caller's `X-Request-Id`, or a new one.",
    schema: { ...string, pattern: "^[\\w-]{1,64}$" },
  },
  "Cache-Control": { description: "Clients must not cache.", schema: { const: "no-store" } },
  "Set-Cookie": {
    description: "The session's cookie.",
    schema: { ...string, pattern: `^(__Host-)?${SESSION_COOKIE}(_[0-9]+)?=` },
  },
  Location: { description: "The path of the new object.", schema: { ...string, pattern: `^${ADMIN_PATH}` } },
  "WWW-Authenticate": {
    description: "The challenge of RFC 6750.",
    schema: { ...string, pattern: '^Bearer realm="inkling admin"' },
  },
};
