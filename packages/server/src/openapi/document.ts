// document.ts: an OpenAPI 3.1 document from tables: operations, schemas, problems, headers.
//
// in   an Api: one of the two that this server has
// out  the document, as an object
// src  OpenAPI 3.1.1; JSON Schema 2020-12
// cost some ms, and zod's JSON Schema writer: only asked for when somebody wants the document

import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;
type Method = "get" | "post" | "put" | "patch" | "delete";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  /** Unless the schema has one of its own. */
  readonly description?: string;
  /** Of what is read from the text, where it is zod's. */
  readonly schema: z.ZodType | Json;
  readonly examples?: Json;
}

/** One way in which an operation ends well. */
export interface Success {
  readonly description: string;
  /** Names of headers of the Api; those marked with "?" are not always there. */
  readonly headers: readonly string[];
  /** By media type; without, there is no body. */
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Content {
  readonly schema: z.ZodType | Json;
  /** Of a stream: what each line holds. */
  readonly lines?: z.ZodType;
  /** By name: a summary, and the value. */
  readonly examples?: Readonly<Record<string, Example>>;
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
  /** Security requirements; empty for what is open. */
  readonly security: readonly Json[];
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly description: string; readonly content: Readonly<Record<string, Content>> };
  readonly successes: Readonly<Record<number, Success>>;
  /** The problems that it may end in. */
  readonly codes: readonly Code[];
  /** Headers of those, beside the problem's own. */
  readonly problemHeaders: readonly string[];
}

export interface ProblemRow {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Header {
  readonly description: string;
  readonly schema: Json;
}

export interface Api<Code extends string> {
  readonly info: Json;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly securitySchemes: Json;
  readonly headers: Readonly<Record<string, Header>>;
  readonly problems: Readonly<Record<Code, ProblemRow>>;
  readonly problemSchema: z.ZodType;
  /** The document of a problem, for its example. */
  readonly problemExample: (code: Code) => unknown;
  /** By path, then method. */
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<Method, Operation<Code>>>>>>;
  /** What any other path, and any other method of these paths, ends in. */
  readonly elsewhere: readonly Code[];
  /** Headers of those, beside the problem's own. */
  readonly elsewhereHeaders: readonly string[];
}

const PROBLEM_TYPE = "application/problem+json";

/** The document of an API. */
export function openApiDocument<Code extends string>(api: Api<Code>): Json {
  const schemas = new Schemas();
  const paths = mapValues(api.paths, (methods) =>
    mapValues(methods as Record<string, Operation<Code>>, (operation) =>
      operationOf(api, operation, schemas),
    ),
  );
  const problem = schemas.of(api.problemSchema);
  const codes = Object.keys(api.problems) as Code[];
  const responses = Object.fromEntries(
    api.elsewhere.map((code) => [code, problemResponse(api, [code], problem, api.elsewhereHeaders)]),
  );
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
      responses,
      securitySchemes: api.securitySchemes,
    },
  };
}

function operationOf<Code extends string>(
  api: Api<Code>,
  operation: Operation<Code>,
  schemas: Schemas,
): Json {
  const { id, tag, summary, description, security, parameters, body, successes, codes } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security,
    parameters: parameters.map((parameter) => parameterOf(parameter, schemas)),
    ...(body === undefined ? {} : { requestBody: bodyOf(body, schemas) }),
    responses: {
      ...mapValues(successes as Record<string, Success>, (success) => ({
        description: success.description,
        headers: headersOf(api, success.headers),
        ...(success.content === undefined ? {} : { content: contentOf(success.content, schemas) }),
      })),
      ...problemResponses(api, codes, schemas.of(api.problemSchema), operation.problemHeaders),
    },
  };
}

function parameterOf(parameter: Parameter, schemas: Schemas): Json {
  const { description, ...schema } =
    parameter.schema instanceof z.ZodType ? schemas.of(parameter.schema) : parameter.schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...parameter,
    schema,
    ...(parameter.in === "path" ? { required: true } : {}),
  };
}

function bodyOf(body: NonNullable<Operation<string>["body"]>, schemas: Schemas): Json {
  return {
    description: body.description,
    required: true,
    content: contentOf(body.content, schemas, "input"),
  };
}

function contentOf(
  content: Readonly<Record<string, Content>>,
  schemas: Schemas,
  io: Direction = "output",
): Json {
  return mapValues(content, ({ schema, lines, examples }) => ({
    schema: schema instanceof z.ZodType ? schemas.of(schema, io) : schema,
    ...(lines === undefined ? {} : { "x-lines": schemas.of(lines, io) }),
    ...(examples === undefined ? {} : { examples }),
  }));
}

/** One response for each status, which names the codes that come with it. */
function problemResponses<Code extends string>(
  api: Api<Code>,
  codes: readonly Code[],
  schema: Json,
  headers: readonly string[],
): Json {
  const byStatus = new Map<number, Code[]>();
  for (const code of codes) {
    const { status } = api.problems[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [status, problemResponse(api, ofStatus, schema, headers)]),
  );
}

function problemResponse<Code extends string>(
  api: Api<Code>,
  codes: readonly Code[],
  schema: Json,
  headers: readonly string[],
): Json {
  const rows = codes.map((code) => api.problems[code]);
  const own = [...new Set(rows.flatMap((row) => Object.keys(row.headers ?? {})))];
  // What each of the codes has is always there.
  const marked = own.map((name) =>
    rows.every((row) => row.headers?.[name] !== undefined) ? name : `${name}?`,
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${api.problems[code].title}.`).join(" "),
    headers: headersOf(api, [...headers, ...marked]),
    content: {
      [PROBLEM_TYPE]: {
        schema: {
          allOf: [schema],
          properties: { status: { const: rows[0]!.status }, code: { enum: codes } },
        },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** "Name" for a header that is always there, "Name?" for one that may be. */
function headersOf<Code extends string>({ headers }: Api<Code>, names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((marked) => {
      const name = marked.replace("?", "");
      const header = headers[name];
      if (header === undefined) throw new Error(`openapi.ts: the header ${name} is not described`);
      return [name, marked.endsWith("?") ? header : { ...header, required: true }];
    }),
  );
}

/** Is it what is sent to the server, or what comes from it? */
type Direction = "input" | "output";

/** zod's schemas as JSON Schema; those with an id become components. */
class Schemas {
  private readonly found = new Map<string, Json>();

  of(schema: z.ZodType, io: Direction = "output"): Json {
    // What zod cannot say in JSON Schema is said by the schema's own words about itself.
    const options = { override: simplify, io, unrepresentable: "any" } as const;
    const {
      $schema: _,
      $defs,
      ...json
    } = z.toJSONSchema(schema, options) as Json & {
      $defs?: Readonly<Record<string, Json>>;
    };
    for (const [id, definition] of Object.entries($defs ?? {}))
      this.found.set(id, withComponents(definition));
    return withComponents(json); // of a schema with an id this is a reference to its definition
  }

  components(): Json {
    return Object.fromEntries([...this.found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** What zod adds for its own sake says nothing to a reader: a pattern beside a format, the bounds of safe integers. */
function simplify({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

function withComponents(json: Json): Json {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

function mapValues<T, U>(of: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));
}
