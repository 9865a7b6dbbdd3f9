// document.ts: builds an OpenAPI 3.1 document from tables: operations, schemas, problems, headers.
//
// Source: OpenAPI 3.1.1; JSON Schema 2020-12. Cost: building a document takes a few ms, including zod's JSON Schema
// writer; this file is loaded at the first request for a document.

import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;
type Table<T> = Readonly<Record<string, T>>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  /** Defaults to the schema's description. */
  readonly description?: string;
  /** How a list is encoded. */
  readonly style?: "form";
  readonly explode?: boolean;
  /** The zod schema describes the parsed value, not its text in the URL. */
  readonly schema: z.ZodType | Json;
  readonly examples?: Table<Example>;
}

/** A response that is not a problem. */
interface Success {
  readonly description: string;
  /** Names of the Api's headers. A "?" marks a header that is not always present. */
  readonly headers: readonly string[];
  /** By media type. Undefined means that there is no body. */
  readonly content?: Table<Content>;
}

export interface Content {
  readonly schema: z.ZodType | Json;
  /** The schema of each line of a stream. */
  readonly lines?: z.ZodType | Json;
  readonly examples?: Table<Example>;
}

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface Operation<Code extends string> {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Names of the security schemes. Any one of them is enough. Empty for an open operation. */
  readonly security: readonly string[];
  /** The scope that the key needs. It is an extension of the document, because key scopes are not OAuth scopes. */
  readonly scope?: string;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly description: string; readonly content: Table<Content> };
  readonly successes: Table<Success>;
  readonly codes: readonly Code[];
  /** Headers that problems have in addition to those in their own rows. */
  readonly problemHeaders: readonly string[];
}

export interface ProblemRow {
  readonly status: number;
  readonly title: string;
  readonly headers?: Table<string>;
}

export interface Header {
  readonly description: string;
  readonly schema: Json;
}

const string = (pattern: string) => ({ type: "string", pattern });
/** Headers that both APIs have. */
export const SHARED_HEADERS: Table<Header> = {
  traceparent: {
    description: "The caller's `traceparent`, if it is valid (W3C Trace Context).",
    schema: string("^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"),
  },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 0 } },
  Allow: { description: "The path's methods.", schema: string("^[A-Z]+(, [A-Z]+)*$") },
};

export interface Api<Code extends string> {
  readonly info: Json;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly securitySchemes: Json;
  readonly headers: Table<Header>;
  readonly problems: Readonly<Record<Code, ProblemRow>>;
  readonly problemSchema: z.ZodType;
  readonly problemExample: (code: Code) => unknown;
  /** Operations by path, then by method in lower case. */
  readonly paths: Table<Table<Operation<Code>>>;
  /** Problems that any other path, or any other method on these paths, returns. */
  readonly elsewhere: readonly Code[];
  readonly elsewhereHeaders: readonly string[];
}

export function writeOpenApi<Code extends string>(api: Api<Code>): Json {
  const schemas = new Schemas();
  const problems = new Problems(api, schemas);
  const paths = mapValues(api.paths, (methods) =>
    mapValues(methods, (operation) => operationJson(api, operation, schemas, problems)),
  );
  const codes = Object.keys(api.problems) as Code[];
  return {
    openapi: "3.1.1",
    info: api.info,
    servers: [{ url: "/", description: "This server" }],
    tags: api.tags,
    paths,
    components: {
      schemas: schemas.components(),
      examples: Object.fromEntries(
        codes.map((code) => [code, { summary: api.problems[code].title, value: api.problemExample(code) }]),
      ),
      securitySchemes: api.securitySchemes,
    },
    // These are not in `components.responses`, because linters report components that no operation uses.
    "x-other-responses": Object.fromEntries(
      api.elsewhere.map((code) => [code, problems.response([code], api.elsewhereHeaders)]),
    ),
  };
}

function operationJson<Code extends string>(
  { headers }: Api<Code>,
  operation: Operation<Code>,
  schemas: Schemas,
  problems: Problems<Code>,
): Json {
  const { id, tag, summary, security, scope, parameters, body, successes } = operation;
  const needs = scope === undefined ? [] : [`The key needs the \`${scope}\` scope.`];
  const description = [operation.description ?? [], needs].flat().join(" ");
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== "" && { description }),
    security: security.map((scheme) => ({ [scheme]: [] })),
    ...(scope !== undefined && { "x-scope": scope }),
    parameters: parameters.map((parameter) => parameterJson(parameter, schemas)),
    ...(body !== undefined && {
      requestBody: {
        description: body.description,
        required: true,
        content: contentJson(body.content, schemas, "input"),
      },
    }),
    responses: {
      ...mapValues<Success, Json>(successes, ({ content, ...success }) => ({
        description: success.description,
        headers: headersJson(headers, success.headers),
        ...(content !== undefined && { content: contentJson(content, schemas, "output") }),
      })),
      ...problems.responses(operation),
    },
  };
}

function parameterJson(parameter: Parameter, schemas: Schemas): Json {
  const { schema: source } = parameter;
  const { description, ...schema } = schemas.of(source);
  return {
    ...(description !== undefined && { description }),
    ...parameter,
    schema,
    ...(parameter.in === "path" && { required: true }),
  };
}

function contentJson(content: Table<Content>, schemas: Schemas, io: Direction): Json {
  return mapValues(content, ({ schema, lines, examples }) => ({
    schema: schemas.of(schema, io),
    ...(lines !== undefined && { "x-lines": schemas.of(lines, io) }),
    ...(examples !== undefined && { examples }),
  }));
}

/** @param names "Name" for a header that is always present, "Name?" for a header that may be absent */
function headersJson(headers: Table<Header>, names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((marked) => {
      const name = marked.replace("?", "");
      const header = headers[name];
      if (header === undefined) throw new Error(`openapi/document.ts: the header ${name} is not described`);
      return [name, marked.endsWith("?") ? header : { ...header, required: true }];
    }),
  );
}

class Problems<Code extends string> {
  private readonly api: Api<Code>;
  private readonly schema: Json;

  constructor(api: Api<Code>, schemas: Schemas) {
    this.api = api;
    this.schema = schemas.of(api.problemSchema);
  }

  /** Creates one response for each status, with all codes that share the status. */
  responses({ codes, problemHeaders }: Operation<Code>): Json {
    const byStatus = new Map<number, Code[]>();
    for (const code of codes) {
      const { status } = this.api.problems[code];
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
    return Object.fromEntries(
      [...byStatus].map(([status, ofStatus]) => [status, this.response(ofStatus, problemHeaders)]),
    );
  }

  /** @param codes at least one, all with the same status */
  response(codes: readonly Code[], headers: readonly string[]): Json {
    const rows = codes.map((code) => this.api.problems[code]);
    const own = [...new Set(rows.flatMap((row) => Object.keys(row.headers ?? {})))];
    const isAlways = (name: string) => rows.every((row) => row.headers?.[name] !== undefined);
    const marked = own.map((name) => (isAlways(name) ? name : `${name}?`));
    return {
      description: codes.map((code) => `\`${code}\`: ${this.api.problems[code].title}.`).join(" "),
      headers: headersJson(this.api.headers, [...headers, ...marked]),
      content: {
        "application/problem+json": {
          schema: {
            allOf: [this.schema],
            properties: { status: { const: rows[0]?.status }, code: { enum: codes } },
          },
          examples: Object.fromEntries(
            codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
          ),
        },
      },
    };
  }
}

/** Whether the schema describes what clients send or what the server sends. */
type Direction = "input" | "output";

/** Writes zod schemas as JSON Schema. Schemas with an id become components. */
class Schemas {
  private readonly found = new Map<string, Json>();

  /** Returns the JSON Schema. A schema with an id becomes a reference to its component. */
  of(schema: z.ZodType | Json, io: Direction = "output"): Json {
    if (!(schema instanceof z.ZodType)) return schema;
    // The schema's own metadata describes what JSON Schema cannot express.
    const written = z.toJSONSchema(schema, { override: simplify, io, unrepresentable: "any" }) as Json;
    const { $schema: _, $defs = {}, ...json } = withComponents(written);
    for (const [id, definition] of Object.entries($defs)) this.found.set(id, definition);
    return json;
  }

  components(): Json {
    return Object.fromEntries([...this.found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Removes what zod adds by itself: a pattern beside a format, and the bounds of safe integers. */
function simplify({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

function withComponents(json: Json): Json & { readonly $defs?: Table<Json> } {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

export function mapValues<T, U>(of: Table<T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));
}
