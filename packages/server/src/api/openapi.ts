// openapi.ts: builds /openapi.json from the contract's operations, parameters and problems, and from sandbox answers.

import {
  COMMON_HEADERS,
  type Content,
  type Contents,
  KEYED_HEADERS,
  OPERATION_IDS,
  OPERATION_TAGS,
  OPERATIONS,
  type OperationId,
  type OperationRow,
  PATH_VALUES,
  type ParameterRow,
  PROBLEMS,
  type ProblemCode,
  REQUEST_HEADERS,
  type SchemaName,
} from "@inkling/contract";
import * as answers from "@inkling/operations/answer-schemas";
import { z } from "zod";
import {
  type Api,
  type Header,
  mapValues,
  type Operation,
  type Parameter,
  SHARED_HEADERS,
  writeOpenApi,
} from "../openapi/document.ts";
import {
  answerExamples,
  bodyExamples,
  type Examples,
  problemExample,
  valueExamples,
} from "./openapi-examples.ts";

const orProblem = (answer: z.ZodType) => z.union([answer, answers.valueProblem]);

const SCHEMAS: Readonly<Record<SchemaName, z.ZodType>> = {
  Geolocation: answers.geolocation,
  GeolocationAnswers: answers.batchAnswers(answers.geolocation),
  GeolocationOrProblem: orProblem(answers.geolocation),
  Reputation: answers.reputation,
  ReputationAnswers: answers.batchAnswers(answers.reputation),
  ReputationOrProblem: orProblem(answers.reputation),
  EmailVerdict: answers.emailVerdict,
  EmailVerdictAnswers: answers.batchAnswers(answers.emailVerdict),
  EmailVerdictOrProblem: orProblem(answers.emailVerdict),
  Batch: answers.batchRequest,
  Visitor: answers.visitor,
  Decision: answers.decision,
  DecisionOutcome: answers.decisionOutcome,
  DecisionOutcomeSet: answers.decisionOutcomeSet,
  DecisionOrProblem: orProblem(answers.decision),
  MaxMindCity: answers.maxmindCity,
  MaxMindCountry: answers.maxmindCountry,
  MaxMindError: answers.maxmindError,
  Status: answers.status,
  Health: answers.health,
  Ready: answers.ready,
  NotReady: answers.notReady,
};

/** @param version the server's version */
export function openApiJson(version: string): string {
  const documented = OPERATION_IDS.filter((id) => OPERATIONS[id].docs !== undefined);
  const api: Api<ProblemCode> = {
    info: {
      title: "Inkling",
      version,
      summary: "IP geolocation, IP reputation and disposable-email detection.",
      description: ABOUT,
      contact: { name: "The operator of this server" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: Object.entries(OPERATION_TAGS).map(([name, description]) => ({ name, description })),
    securitySchemes: {
      key: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "ink_live_… or ink_test_…",
        description:
          "An API key. `ink_live_…` answers from data; `ink_test_…` returns the fixed answers of the sandbox. The operator creates one with `inkling keys create`.",
      },
      basic: {
        type: "http",
        scheme: "basic",
        description: "Any user name, with an API key as the password.",
      },
    },
    headers: HEADERS,
    problems: PROBLEMS,
    problemSchema: answers.problemDocument,
    problemExample,
    paths: Object.fromEntries(
      documented.map((id) => {
        const { path, method } = OPERATIONS[id];
        return [path, { [method === "POST" ? "post" : "get"]: describe(id) }];
      }),
    ),
    elsewhere: ["PATH_NOT_FOUND", "METHOD_NOT_ALLOWED", "CONTENT_TOO_LARGE"],
    elsewhereHeaders: COMMON_HEADERS,
  };
  return JSON.stringify(writeOpenApi(api));
}

function describe(id: OperationId): Operation<ProblemCode> {
  const row = OPERATIONS[id];
  const { access, tag, summary, description, schemes = ["key"], body, problems } = row;
  const isOpen = access === "open";
  return {
    id,
    tag,
    summary,
    description,
    security: isOpen ? [] : schemes,
    ...(access !== "open" && access !== "key" && { scope: access }),
    parameters: parametersOf(row),
    ...(body !== undefined && {
      body: { description: "The values", content: contentsOf(body, (type) => bodyExamples(id, type)) },
    }),
    successes: mapValues(row.answers, ({ content, ...success }) => ({
      ...success,
      ...(content !== undefined && { content: contentsOf(content, (type) => answerExamples(id, type)) }),
    })),
    codes: problems,
    problemHeaders: row.problemHeaders ?? (isOpen ? COMMON_HEADERS : KEYED_HEADERS),
  };
}

function contentsOf(contents: Contents, examplesOf: (type: string) => Examples | undefined) {
  const schemaOf = (schema: Content["schema"]) => (typeof schema === "string" ? SCHEMAS[schema] : schema);
  const rows = Object.entries(contents).map(([type, { schema, lines }]) => {
    const examples = examplesOf(type);
    const content = {
      schema: schemaOf(schema),
      ...(lines !== undefined && { lines: schemaOf(lines) }),
      ...(examples !== undefined && { examples }),
    };
    return [type, content] as const;
  });
  return Object.fromEntries(rows);
}

function parametersOf({ path, parameters = [], requestHeaders = [] }: OperationRow): Parameter[] {
  return [
    ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => pathParameter(name)),
    ...queryParameters(parameters),
    ...requestHeaders.map(
      (name): Parameter => ({
        name,
        in: "header",
        description: REQUEST_HEADERS[name],
        schema: { type: "string" },
      }),
    ),
  ];
}

function pathParameter(name: string): Parameter {
  const value = PATH_VALUES[name];
  if (value === undefined) throw new Error(`contract/src/operation-parts.ts: PATH_VALUES lacks ${name}`);
  const examples = valueExamples(name);
  return { name, in: "path", ...value, ...(examples !== undefined && { examples }) };
}

/** Creates one parameter for each name. */
function queryParameters(rows: readonly ParameterRow[]): Parameter[] {
  return [...new Set(rows.map(({ name }) => name))].map((name) => {
    const ofName = rows.filter((row) => row.name === name);
    const values = ofName.map(({ value }) => value);
    return {
      name,
      in: "query",
      description: ofName.map(({ description }) => description).join(" "),
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

const ABOUT = `Send the key with every lookup: \`Authorization: Bearer ink_live_…\`. HEAD returns the same as GET, without the body; other methods return 405. Query parameters that are not described here return 400. Every refusal is a problem document (RFC 9457). Use its \`code\`, whose meaning never changes.

A sandbox key (\`ink_test_…\`) returns a fixed answer for each verdict and each error, without data. The examples here show these answers.`;

const text = (pattern: string) => ({ type: "string", pattern });

const HEADERS: Readonly<Record<string, Header>> = {
  ...SHARED_HEADERS,
  "Inkling-Data-Version": {
    description: "The release behind the answer; `none` before the first release.",
    schema: text("^([0-9a-f]{12}|none|sandbox-\\d+)$"),
  },
  "Inkling-Data-State": {
    description:
      "Missing or incomplete data (see DATA_NOT_LOADED), and the age of the data behind this lookup.",
    schema: text(
      '^(complete|partial(; (missing|incomplete)="[a-z_ ]+")+)(; age="[a-z_]+:\\d+[dh]( [a-z_]+:\\d+[dh])*")?$',
    ),
  },
  "Inkling-Flags": {
    description:
      "The visitor's flags. With `reserved`, the address is a special-use address, and Inkling did not look it up.",
    schema: text("^(none|reserved|(abuser|proxy|tor)(,(proxy|tor))*)$"),
  },
  "Inkling-Country": {
    description: "The visitor's country, for keys with the `geolocate` scope.",
    schema: text("^([A-Z]{2}|unknown)$"),
  },
  "Inkling-Action": {
    description: "The decision's action. With `challenge`, Supabase creates the user.",
    schema: text("^(allow|challenge|deny)$"),
  },
  "Inkling-Decision": {
    description: "The decision's id.",
    schema: text("^asm_[0-9A-Za-z]{16}$"),
  },
  "X-Request-Id": {
    description:
      "The request's id, also in the server's log, in problem documents and in stored decisions: the caller's `X-Request-Id`, or a new one.",
    schema: text("^[\\w-]{1,64}$"),
  },
  "Cache-Control": {
    description: "A client may cache answers about IP addresses for five minutes.",
    schema: { enum: ["no-store", "no-cache", "private, max-age=300"] },
  },
  ETag: { description: "The answer's tag, for `If-None-Match`.", schema: text('^"[\\w-]+"$') },
  Vary: { description: "Answers depend on the key.", schema: { const: "Authorization" } },
  "RateLimit-Policy": {
    description:
      "The key's limits: a bucket of `q` lookups that refills in `w` seconds, and the daily quota if there is one.",
    schema: text('^"(default|daily)";q=\\d+;w=\\d+(, "daily";q=\\d+;w=86400)?$'),
  },
  RateLimit: {
    description: "The remaining lookups, `r`. The limit is full again in `t` seconds.",
    schema: text('^"(default|daily)";r=\\d+;t=\\d+(, "daily";r=\\d+;t=\\d+)?$'),
  },
  "WWW-Authenticate": {
    description: "The challenge of RFC 6750, or of Basic authentication.",
    schema: text('^(Bearer|Basic) realm="inkling"'),
  },
  "Content-Encoding": { description: "Present if the request accepts gzip.", schema: { const: "gzip" } },
  Connection: {
    description: "The server closes the connection after this response.",
    schema: { const: "close" },
  },
  "X-Content-Type-Options": {
    description: "Browsers must not guess the media type.",
    schema: { const: "nosniff" },
  },
  "Referrer-Policy": {
    description: "Browsers send no referrer to other sites.",
    schema: { const: "no-referrer" },
  },
  "Content-Security-Policy": { description: "What the page may load.", schema: { type: "string" } },
};
