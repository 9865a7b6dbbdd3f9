// checked-fetch.ts: fetch for tests. It checks every Inkling response against the OpenAPI document.
//
// Tests import `fetch` from here instead of using the global one; openapi.test.ts checks that.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { adminOpenApi } from "../../packages/server/src/admin/openapi.ts";
import { ADMIN_ROUTES } from "../../packages/server/src/admin/routes.ts";
import { openApiJson } from "../../packages/server/src/api/openapi.ts";

/** A received response, with its body as text. */
export interface ReceivedResponse {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, walked by name
type Json = any;

/** Headers that HTTP itself adds, and Content-Type, which is compared with the media types. */
const NOT_DESCRIBED = [
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
];

/** RFC 3339 in UTC, like all of Inkling's times. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Checks responses against one document. */
export class Contract {
  private readonly document: Json;
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": DATE_TIME } });
  private readonly paths: readonly (readonly [path: RegExp, template: string])[];
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(document: Json) {
    this.document = document;
    this.paths = Object.keys(document.paths).map((template) => [
      new RegExp(`^${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
      template,
    ]);
  }

  /** Returns the differences between a response and the document. */
  problems(received: ReceivedResponse): string[] {
    // A redirect for browsers is not an operation of the API.
    if (received.path === "/" && received.status === 302) return [];
    const at = this.responseOf(received);
    if (at === undefined) return [`there is no ${received.status} in the document`];
    const response = at.reduce((json, part) => json[part], this.document);
    return [
      ...this.headerProblems(received, response.headers ?? {}),
      ...this.bodyProblems(received, at, response),
    ];
  }

  /** Returns where the document describes the response, as a list of field names. */
  private responseOf({ method, path, status, body }: ReceivedResponse): string[] | undefined {
    const template = this.paths.find(([pattern]) => pattern.test(path))?.[1];
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const operation = template === undefined ? undefined : this.document.paths[template][verb];
    if (operation !== undefined) {
      const known = operation.responses[status] !== undefined;
      return known ? ["paths", template!, verb, "responses", String(status)] : undefined;
    }
    // There is no such operation. The response must then be the problem for that case; below /geoip/, it has
    // MaxMind's form.
    if (path.startsWith("/geoip/") && status === 404)
      return ["paths", "/geoip/v2.1/city/{ip}", "get", "responses", "404"];
    const codes = Object.keys(this.document["x-other-responses"]);
    const code = method === "HEAD" ? codes[0] : codes.find((code) => body.includes(`"code":"${code}"`));
    return code === undefined ? undefined : ["x-other-responses", code];
  }

  private headerProblems({ headers }: ReceivedResponse, described: Json): string[] {
    const problems: string[] = [];
    const names = new Set(Object.keys(described).map((name) => name.toLowerCase()));
    for (const [name] of headers) {
      if (!names.has(name) && !NOT_DESCRIBED.includes(name))
        problems.push(`the header ${name} is not described`);
    }
    for (const [name, { required, schema }] of Object.entries<Json>(described)) {
      const value = headers.get(name);
      if (value === null) {
        if (required === true) problems.push(`the header ${name} is missing`);
      } else if (!this.ajv.validate(schema, schema.type === "integer" ? Number(value) : value)) {
        problems.push(`the header ${name} is ${value}: ${this.ajv.errorsText()}`);
      }
    }
    return problems;
  }

  private bodyProblems(received: ReceivedResponse, at: readonly string[], response: Json): string[] {
    const { method, status, headers, body } = received;
    const { content } = response;
    if (method === "HEAD" || content === undefined) return body === "" ? [] : ["there is a body"];
    const type = headers.get("content-type")?.split(";")[0] ?? "none";
    if (content[type] === undefined) return [`the media type ${type} is not described for ${status}`];
    const { schema, "x-lines": lines } = content[type];
    const validate = this.validator(`${at.join(" ")} ${type}`, lines ?? schema);
    const texts = lines === undefined ? [body] : body.split("\n").filter((line) => line !== "");
    const isJson = lines !== undefined || type.endsWith("json");
    return texts.flatMap((text) => {
      if (validate(isJson ? JSON.parse(text) : text)) return [];
      return [`${this.ajv.errorsText(validate.errors, { separator: "\n  " })}\n  in ${text.slice(0, 500)}`];
    });
  }

  /** Returns the validator for one media type of one response. References lead to the document's components. */
  private validator(place: string, schema: Json): ValidateFunction {
    const { components } = this.document;
    let validate = this.compiled.get(place);
    if (validate === undefined) {
      validate = this.ajv.compile({ allOf: [schema], components });
      this.compiled.set(place, validate);
    }
    return validate;
  }
}

/** The public API's contract. */
export const apiContract = new Contract(JSON.parse(openApiJson("0.0.0")));

/** The admin API's contract. */
export const adminContract = new Contract(adminOpenApi("0.0.0", ADMIN_ROUTES));

const OF_ADMIN_API = /^\/admin\/v1\//;
const OF_API = /^\/(v1\/|healthz$|readyz$|openapi\.json$|docs$|docs\/)/;

/** @throws Error listing everything that the document does not allow */
export async function checkResponse(method: string, path: string, response: Response): Promise<void> {
  const isApi = response.headers.has("inkling-data-version") || OF_API.test(path);
  const contract = isApi ? apiContract : OF_ADMIN_API.test(path) ? adminContract : undefined;
  if (contract === undefined) return; // /metrics and other servers
  const { status, headers } = response;
  const body = await response.clone().text();
  const problems = contract.problems({ method, path, status, headers, body });
  if (problems.length === 0) return;
  throw new Error([`${method} ${path} answered ${status} against its document:`, ...problems].join("\n  "));
}

/** Like the global `fetch`, but checks the response. */
export async function fetch(url: string, init: BunFetchRequestInit = {}): Promise<Response> {
  const response = await globalThis.fetch(url, init);
  const path = /^https?:\/\/[^/]+([^?#]*)/.exec(url)?.[1] ?? "";
  await checkResponse(init.method ?? "GET", path, response);
  return response;
}
