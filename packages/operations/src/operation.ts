// operation.ts: defines a row for something that an operator can do or read.
//
// The admin API's route and OpenAPI, the command with its flags and help, the console's typed requests and the tables
// of the docs derive from the row. A face adds only what is its own: a command may have a text, and a page its layout.

import type { ADMIN_TAGS, AdminProblemCode, AdminRole, AuditAction } from "@inkling/contract";
import { MAX_PAGE } from "@inkling/store/pages";
import { z } from "zod";
import type { OperationContext } from "./context.ts";

/** A method and a path below /admin/v1/. `{id}` in the path is the field `id` of the input. */
export type Route = `${"GET" | "POST" | "PATCH" | "DELETE"} ${string}`;

/** What differs between a field of the input and its flag or argument. */
export interface Flag {
  /** The flag's name; by default the field's, without `_at`, `_until` or `_seconds`. */
  readonly name?: string;
  /** Replaces the description. */
  readonly help?: string;
  /** The value for a missing flag, if only the command has a default. */
  readonly default?: string;
  /** The value that the flag sets. Such a flag takes none itself. */
  readonly value?: string;
  /** The field that gets what follows "=" in the flag's value. */
  readonly with?: string;
  /** A word that means "not set", the value that is sent for it (default: null), and what it means in the help. */
  readonly none?: { readonly word: string; readonly value?: unknown; readonly means?: string };
}

export interface CommandRow {
  /** The words after `inkling`. */
  readonly words: string;
  /** Fields of the input that are arguments, in addition to those in the path. */
  readonly arguments?: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** Fields that the command itself supplies (`prepare`). */
  readonly supplies?: readonly string[];
  /** True if the command has the flag `--author`, for the audit trail. */
  readonly hasAuthor?: boolean;
  /** Text of the help before the examples. */
  readonly notes?: string;
  readonly examples: readonly string[];
}

export interface Operation<
  R extends Route = Route,
  I extends z.ZodRawShape = z.ZodRawShape,
  O extends z.ZodType = z.ZodType,
> {
  readonly route: R;
  readonly summary: string;
  /** The operation's text in the table in docs/admin-api.md. */
  readonly docs: string;
  /** The role that the operation needs: by default `read` for GET, otherwise `admin`. */
  readonly role?: AdminRole;
  /** Actions of the audit entries that the operation writes. */
  readonly audits?: readonly AuditAction[];
  /** Problems in addition to the problems of every operation. */
  readonly problems?: readonly AdminProblemCode[];
  /** 201: the operation creates an object, and answers with its `Location`. It runs once per `Idempotency-Key`. */
  readonly status?: 200 | 201 | 202;
  /** With status 201: if it returns false, the status is 200, and there is no `Location`. */
  isCreated?(output: z.input<O>): boolean;
  readonly isIdempotent?: boolean;
  readonly maxBodyBytes?: number;
  /** What the server loads again before it answers, so that the change applies immediately. */
  readonly refreshes?: "keys" | "overrides" | "rulesets";
  /** True if it uses the database for its audit entry, or not at all. */
  readonly needsNoDatabase?: boolean;
  /** True if only a running server can do it. */
  readonly needsServer?: boolean;
  /** Fields of the path, and of the query (GET, DELETE) or the body (POST, PATCH). */
  readonly input: I;
  readonly output: O;
  /** Undefined if there is no command. */
  readonly command?: CommandRow | undefined;
  // A method, so that rows of all inputs are Operations.
  run(context: OperationContext, input: z.output<z.ZodObject<I>>): Promise<Constant<z.input<O>>>;
}

type Constant<T> = T extends object ? { readonly [Name in keyof T]: Constant<T[Name]> } : T;

/** Returns the role that an operation needs. */
export const roleOf = ({ role, route }: AnyOperation): AdminRole =>
  role ?? (route.startsWith("GET ") ? "read" : "admin");

/** Infers the types of a row. */
export const operation = <
  const R extends Route,
  I extends z.ZodRawShape,
  O extends z.ZodType,
  const C extends CommandRow | undefined = undefined,
>(
  row: Omit<Operation<R, I, O>, "command"> & { readonly command?: C },
): Omit<Operation<R, I, O>, "command"> & { readonly command: NoInfer<C> } => row as never;

// biome-ignore lint/suspicious/noExplicitAny: only the row has the types of its input and output
export type AnyOperation = Operation<Route, any, any>;

/** The kinds of objects that `{id}` in a path can identify. */
export type Noun = "key" | "admin token" | "override" | "release" | "ruleset" | "decision" | "webhook";

/** The operations of one kind of object, by their ids in OpenAPI. */
export interface Resource<Rows = Readonly<Record<string, AnyOperation>>> {
  readonly tag: keyof typeof ADMIN_TAGS;
  /** What `{id}` identifies; undefined if no path has it. */
  readonly noun?: Noun;
  /** The group of commands; undefined if the resource has one command, such as `inkling audit`. */
  readonly command?: { readonly name: string; readonly summary: string };
  readonly operations: Rows;
}

export const text = z.string().min(1);
export const time = z.iso.datetime();
export const count = z.int().nonnegative();

/** The schema of one of some words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(", ")}`);

/** The field `id` of an operation on one object. */
export const id = (description: string) => ({ id: text.meta({ description }) });

const DAY_S = 86_400;

/** The field that sets how long an old token or secret remains valid after a rotation. */
export const overlap = (description: string) => ({
  overlap_seconds: z
    .int("must be a whole number of seconds")
    .min(0, "must be at least 0")
    .max(30 * DAY_S, "must be at most 30 days")
    .default(DAY_S)
    .meta({ description }),
});

export const nextCursor = {
  next_cursor: text.nullable().meta({ description: "`cursor` for the next page; null on the last page" }),
};

const DEFAULT_PAGE = 100;
const LIMIT = `must be a whole number from 1 to ${MAX_PAGE}`;

/** Returns the fields that select a page of a list. */
export const pageInput = (isCursor: (text: string) => boolean) => ({
  limit: z
    .int(LIMIT)
    .min(1, LIMIT)
    .max(MAX_PAGE, LIMIT)
    .default(DEFAULT_PAGE)
    .meta({ description: "Rows per page" }),
  cursor: z
    .string()
    .refine(isCursor, "must be the `next_cursor` of the previous page")
    .optional()
    .meta({ description: "`next_cursor` of the previous page" }),
});

/** The parts of a field's JSON Schema that faces use. */
export interface FieldSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: { readonly enum?: readonly string[] };
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly description?: string;
  readonly default?: unknown;
}

const fields = new WeakMap<z.ZodType, FieldSchema>();

/** Returns what a face needs to know about a field. A field that may be null counts as its other type. */
export function fieldSchema(schema: z.ZodType): FieldSchema {
  const known = fields.get(schema);
  if (known !== undefined) return known;
  const written = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as FieldSchema & {
    readonly $schema?: string;
    readonly anyOf?: readonly FieldSchema[];
  };
  const { anyOf = [], $schema, ...rest } = written;
  const field = { ...anyOf.find(({ type }) => type !== "null"), ...rest };
  fields.set(schema, field);
  return field;
}

const NUMBER = /^[0-9]+(\.[0-9]+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Converts the text of a query parameter or flag to its field's type. Returns a text that does not fit unchanged. */
export function fromText(schema: z.ZodType, given: string): unknown {
  const { type } = fieldSchema(schema);
  if (type === "array") return given.split(",").filter(Boolean);
  if (type === "boolean") return BOOLEANS[given] ?? given;
  return (type === "number" || type === "integer") && NUMBER.test(given) ? Number(given) : given;
}

/** Returns the fields of the input that are not in the path. */
export const fieldsOf = ({ route, input }: AnyOperation): [name: string, schema: z.ZodType][] =>
  Object.entries(input as Record<string, z.ZodType>).filter(([name]) => !route.includes(`{${name}}`));
