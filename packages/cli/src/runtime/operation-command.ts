// operation-command.ts: derives commands, with their arguments, flags, help and JSON, from the rows of operations.
//
// A command runs its operation in this process, on the servers' database, so that it works while no server runs.

import { ADMIN_PROBLEMS, type Settings } from "@inkling/contract";
import { currentName, verifyRelease } from "@inkling/data";
import { issueLines } from "@inkling/engine";
import {
  AdminProblem,
  type AnyOperation,
  type CommandRow,
  type Flag,
  fieldSchema,
  fromText,
  type Input,
  type OperationContext,
  type Output,
  type Resource,
  type Updates,
} from "@inkling/operations";
import { finish } from "@inkling/server/turns";
import { type Author, type Store, StoreError } from "@inkling/store";
import { type Command, Option } from "commander";
import { z } from "zod";
import { cliAuthor } from "../config/environment.ts";
import { CliError, type ExitCode, Stopped, usage } from "../terminal/errors.ts";
import { printable, table } from "../terminal/terminal.ts";
import { addResultAction, type Context, type Flags, joined, type Result } from "./command.ts";
import { durationMs, expiryOf, pastOf } from "./durations.ts";
import { audited, warnOfNewDatabase, withExistingStore, withStore } from "./store.ts";

export const AUTHOR = ["--author <name>", "author for the audit trail (default: this user)"] as const;

/** What a command adds to its operation: the text for people. With `--json`, it prints the output itself. */
interface CommandText<I, O> {
  /** By default {@link plainText}. */
  readonly text?: (output: O, input: I) => string;
  /** Printed to standard error instead of a list without rows. */
  readonly empty?: string | undefined;
  /** Printed instead of `empty` if a flag selects rows. */
  readonly noMatch?: string;
  /** Printed to standard error, so that standard output has only a secret. */
  readonly remark?: (output: O, input: I, isFirst: boolean) => string;
  readonly exitCode?: (output: O) => ExitCode;
  /** What the command does with the flag `--here`: it uses the data folder instead of the database. */
  readonly here?: { readonly help: string; run(settings: Settings, input: I): Result };
  /** What the command does if the database is unreachable. */
  readonly unreachable?: (error: StoreError, input: I, settings: Settings, context: Context) => Result;
  /** Flags that are not fields of the input. */
  readonly flags?: readonly (readonly [flags: string, help: string])[];
  /** Reads a file or asks a question before the operation runs. @returns the operation's input */
  readonly prepare?: (input: I, call: OperationCall) => Promise<I>;
}

/** One call of a command. */
export interface OperationCall {
  readonly context: Context;
  readonly settings: Settings;
  readonly flags: Flags;
  readonly updates?: Updates;
  /** The author, unless it is the one of `--author`. */
  readonly by?: Author;
}

/** Adds a command that is written by hand. */
export type Add = (group: Command, context: Context) => unknown;

/** The texts of a resource's commands, and the commands of its group that are written by hand, by their words. */
type Texts<Rows> = Readonly<Record<`inkling ${string}`, Add>> & {
  readonly [Id in keyof Rows as Rows[Id] extends { readonly command: CommandRow }
    ? Id
    : never]?: Rows[Id] extends AnyOperation ? CommandText<Input<Rows[Id]>, Output<Rows[Id]>> : never;
};

/**
 * Adds the commands of a resource: first those in `texts`, in their order, and then the others.
 * @returns their group, or the program
 */
export function addResource<Rows extends Readonly<Record<string, AnyOperation>>>(
  program: Command,
  context: Context,
  resource: Resource<Rows>,
  texts: Texts<Rows>,
): Command {
  const { command } = resource;
  const group = command === undefined ? program : program.command(command.name).description(command.summary);
  for (const [id, text] of Object.entries<unknown>(texts)) {
    if (typeof text === "function") text(group, context);
    else
      addOperation(group, context, resource, resource.operations[id]!, text as CommandText<unknown, unknown>);
  }
  for (const [id, row] of Object.entries(resource.operations))
    if (row.command !== undefined && !Object.hasOwn(texts, id))
      addOperation(group, context, resource, row, {});
  return group;
}

/** Creates the error for mistakes in arguments and flags. @param hint replaces the usual hint */
export type Refuse = (lines: readonly string[], hint?: string) => CliError;

/** A field of the input, as an argument or a flag. */
interface Field {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly flag: Flag;
  /** The argument's or flag's name. */
  readonly shown: string;
  readonly isArgument: boolean;
  /** True if it is the part after "=" in another field's flag. */
  readonly isPart: boolean;
}

function addOperation(
  group: Command,
  context: Context,
  resource: Resource,
  operation: AnyOperation,
  face: CommandText<unknown, unknown>,
): void {
  const row = operation.command!; // addResource passes only operations with a command
  const { args, flags } = fieldsBy(operation, row);
  const word = row.words.split(" ").at(-1)!;
  const command = group
    .command(
      [word, ...args.map((arg) => (isOptional(arg.schema) ? `[${arg.shown}]` : `<${arg.shown}>`))].join(" "),
    )
    .description(lowerFirst(operation.summary));
  for (const field of flags) if (!field.isPart) command.addOption(optionOf(field));
  if (face.here !== undefined) command.option("--here", face.here.help);
  for (const flag of face.flags ?? []) command.option(...flag);
  if (row.hasAuthor) command.option(...AUTHOR);
  const notes = row.notes === undefined ? "" : `\n${row.notes}\n`;
  const examples = row.examples.map((line) => `  ${line}`).join("\n");
  command.addHelpText("after", `${notes}\nExamples:\n${examples}`);
  const creates = operation.status === 201;
  addResultAction(command, context, ["dataDir"], async ({ settings, flags: given }, ...words) => {
    const texts = Object.fromEntries([
      ...args.map(({ name }, i) => [name, words[i]]),
      ...flags.map(({ name, shown }) => [name, given[camelCase(shown)]]),
    ]);
    const refuse: Refuse = (lines, hint) =>
      usageError(titleOf(operation, resource), row, lines, [...args, ...flags], texts, hint);
    const names = flags.filter(({ name }) => texts[name] === undefined).map(({ shown }) => `--${shown}`);
    if (operation.route.startsWith("PATCH ") && names.length === flags.length)
      throw usage(`nothing to ${word}`, `name at least one of ${names.join(", ")}`);
    const parsed = parse(operation, [...args, ...flags], texts, refuse);
    if (face.here !== undefined && given.here) return face.here.run(settings, parsed);
    const input = ((await face.prepare?.(parsed, { context, settings, flags: given })) ??
      parsed) as typeof parsed;
    const isFirst = creates && warnOfNewDatabase(settings, context.terminal);
    try {
      const output = await withContext(operation, { context, settings, flags: given }, (here) =>
        runAll(operation, here, input),
      );
      const selects = flags.some(({ name }) => name !== "limit" && texts[name] !== undefined);
      const empty = selects ? (face.noMatch ?? face.empty) : face.empty;
      return resultOf(context, given, { ...face, empty }, output, input, isFirst);
    } catch (error) {
      if (face.unreachable !== undefined && error instanceof StoreError && error.code === "UNREACHABLE")
        return face.unreachable(error, input, settings, context);
      throw explain(error, resource, texts.id, refuse);
    }
  });
}

function titleOf({ command, input, route }: AnyOperation, { noun }: Resource): string {
  const { words } = command!;
  const word = words.split(" ").at(-1)!;
  const isVerb = noun !== undefined && !route.startsWith("GET ") && !(word in input);
  return isVerb ? `Cannot ${word} the ${noun}:` : `Cannot run \`inkling ${words}\`:`;
}

/** Runs an operation for a command that needs more than its own. @throws CliError */
export const runOperation = <One extends AnyOperation>(
  call: OperationCall,
  resource: Resource,
  operation: One,
  input: Input<One>,
  refuse: Refuse = (lines, hint) => new CliError(lines.join("\n"), hint),
  open?: typeof withStore,
): Promise<Output<One>> =>
  withContext(
    operation,
    call,
    (here) =>
      operation.run(here, input).catch((error: unknown) => {
        throw explain(error, resource, (input as { readonly id?: unknown }).id, refuse);
      }),
    open,
  );

/** Passes an operation's context to `work`, with the database if the operation needs it. */
export function withContext<T>(
  { needsNoDatabase, status }: AnyOperation,
  { context, settings, flags, updates, by = authorOf(flags) }: OperationCall,
  work: (here: OperationContext) => Promise<T>,
  open = status === 201 ? withStore : withExistingStore,
): Promise<T> {
  const run = (store?: Store) => work(contextOf(context, settings, store, by, updates));
  return needsNoDatabase ? run() : open(settings, run);
}

function resultOf(
  { terminal }: Context,
  flags: Flags,
  { text, empty, remark, exitCode }: CommandText<unknown, unknown>,
  output: unknown,
  input: unknown,
  isFirst: boolean,
): Result | undefined {
  const json = listOf(output) ?? output;
  if (empty !== undefined && Array.isArray(json) && json.length === 0 && !flags.json) {
    terminal.err(`${empty}\n`);
    return undefined;
  }
  const said = flags.json ? "" : (remark?.(output, input, isFirst) ?? "");
  if (said !== "") terminal.err(`${said}\n`);
  return {
    json,
    text: () => (text ?? plainText)(output, input),
    ...(exitCode !== undefined && { exitCode: exitCode(output) }),
  };
}

/** Returns an output as text: a table of a list, or a line for each field. */
export function plainText(output: unknown): string {
  const list = listOf(output) as readonly Readonly<Record<string, unknown>>[] | undefined;
  if (list === undefined)
    return table(Object.entries(output as object).map(([name, value]) => [name, shown(value)]));
  const names = [...new Set(list.flatMap(Object.keys))];
  const head = names.map((name) => name.replaceAll("_", " ").toUpperCase());
  return table([head, ...list.map((row) => names.map((name) => shown(row[name])))]);
}

const shown = (value: unknown) =>
  value === null || value === undefined
    ? "-"
    : printable(typeof value === "string" ? value : JSON.stringify(value));

/** The rows of an output that is a list, without the name of the list and its cursor. */
function listOf(output: unknown): readonly unknown[] | undefined {
  const { next_cursor: _, ...rest } = output as Record<string, unknown>;
  const [list, ...others] = Object.values(rest);
  return others.length === 0 && Array.isArray(list) ? list : undefined;
}

/** Returns the author in a command's `--author`, or by default this user. */
export const authorOf = ({ author }: Flags): Author => cliAuthor(author || undefined);

/** @param store undefined for an operation that uses only the data folder */
const contextOf = (
  { version, terminal, stopper }: Context,
  settings: Settings,
  store: Store | undefined,
  by: Author,
  updates: Updates | undefined,
): OperationContext => ({
  settings,
  store: store!, // undefined only for an operation whose row says needsNoDatabase
  dataDir: settings.dataDir,
  verify: async (dataDir, name) => {
    verifyRelease(dataDir, name);
    // Verifying is synchronous. This pause delivers any signal that arrived in the meantime.
    await new Promise((resolve) => setImmediate(resolve));
    if (stopper.signal.aborted) throw new Stopped(`${currentName(dataDir)} remains in use`);
  },
  // Loaded only for operations on feeds, because it loads the compiler's tables.
  feeds: async () => (await import("./feeds.ts")).feedTableOf(settings),
  updates,
  audited: (entry, change) => {
    if (updates === undefined) warnOfNewDatabase(settings, terminal); // a build matters to any server on the folder
    return audited(settings, { ...by, ...entry }, change);
  },
  inSteps: async (steps) => finish(steps),
  by,
  now: Date.now,
  elapsed: () => performance.now(),
  token: undefined,
  server: undefined,
  lookups: undefined,
  checkSparingly: async (check) => check(),
  decisions: {
    label: async (...label) =>
      (await store!.decisions.label(...label)) === undefined ? "unknown" : "labelled",
    flush: async () => {},
  },
  sendTest: async (id) => {
    const { sendTest } = await import("@inkling/server/webhook-sender");
    return sendTest(store!, id, { version, now: Date.now });
  },
});

export const ALL_ROWS = 1_000_000_000;

/** Runs an operation. Reads all rows of a list, or as many as the command's `--limit` allows. */
async function runAll(operation: AnyOperation, context: OperationContext, input: Record<string, unknown>) {
  if (!("cursor" in operation.input)) return operation.run(context, input);
  const limit = operation.command?.flags?.limit === undefined ? ALL_ROWS : Number(input.limit);
  const rows: unknown[] = [];
  for (let cursor: string | undefined; ; ) {
    // A search that takes long returns pages with fewer rows.
    const page = await operation.run(context, { ...input, limit: limit - rows.length, cursor });
    rows.push(...listOf(page)!); // a paged output is a list
    cursor = page.next_cursor ?? undefined;
    const list = Object.keys(page).find((name) => name !== "next_cursor")!;
    if (cursor === undefined || rows.length >= limit) return { ...page, [list]: rows };
  }
}

function fieldsBy(
  { route, input }: AnyOperation,
  { arguments: more = [], flags = {}, supplies = [] }: CommandRow,
) {
  const isPaged = "cursor" in input;
  const all = Object.entries(input as Record<string, z.ZodType>).flatMap(([name, schema]): Field[] => {
    const flag = flags[name];
    if (supplies.includes(name)) return [];
    if (isPaged && (name === "cursor" || (name === "limit" && flag === undefined))) return [];
    const whole = Object.keys(flags).find((other) => flags[other]!.with === name);
    const shown = whole ?? flag?.name ?? name.replace(/_(at|until|seconds)$/, "").replaceAll("_", "-");
    const isArgument = route.includes(`{${name}}`) || more.includes(name);
    return [{ name, schema, flag: flag ?? {}, shown, isArgument, isPart: whole !== undefined }];
  });
  return {
    args: all.filter(({ isArgument }) => isArgument),
    flags: all.filter(({ isArgument }) => !isArgument),
  };
}

/** What flags for times and durations take, by the names of their fields. */
const TIME = { field: /_(at|until)$/, takes: "time", help: ": 90d, 2027-01-31 or 2027-01-31T12:00:00Z" };
/** A duration counts back from now. */
const PAST = {
  field: /^(since|until|before)$/,
  takes: "time",
  help: ": 7d (ago), 2027-01-31 or 2027-01-31T12:00:00Z",
};
const DURATION = { field: /_seconds$/, takes: "duration", help: ": 0s, 30m, 24h, 7d" };
const kindOf = (name: string) => [TIME, PAST, DURATION].find(({ field }) => field.test(name));

const lowerFirst = (text: string) => `${text[0]!.toLowerCase()}${text.slice(1)}`;
const camelCase = (name: string) => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

function optionOf(field: Field): Option {
  const { name, schema, flag, shown } = field;
  const { type, enum: values, description = "", default: standard } = fieldSchema(schema);
  const { help = lowerFirst(description), none } = flag;
  const kind = kindOf(name);
  const isSwitch = type === "boolean" || flag.value !== undefined;
  const placeholder = isSwitch ? "" : ` <${kind?.takes ?? placeholderOf(field)}>`;
  const word = none === undefined ? "" : none.means ? `; ${none.word} = ${none.means}` : `, or ${none.word}`;
  const option = new Option(`--${shown}${placeholder}`, `${help}${kind?.help ?? ""}${word}`);
  if (values !== undefined && !isSwitch) option.choices(values);
  if (type === "array") option.argParser(joined);
  if (flag.default !== undefined) option.default(flag.default);
  if (standard !== undefined && none === undefined && !isSwitch)
    option.description += ` (default: ${kind === DURATION ? durationText(Number(standard)) : standard})`;
  if (!isOptional(schema)) option.makeOptionMandatory();
  return option;
}

function placeholderOf({ schema, flag, shown }: Field): string {
  const { type, format, enum: values } = fieldSchema(schema);
  if (type === "array") return "list";
  if (flag.with !== undefined) return `${shown}=${flag.with}`;
  if (values !== undefined) return shown;
  if (format === "date") return "day";
  return type === "string" ? "text" : "number";
}

const isOptional = (schema: z.ZodType) => schema.safeParse(undefined).success;
const durationText = (seconds: number) => (seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${seconds}s`);

/** Converts arguments and flags to the operation's input. @throws CliError */
function parse(
  { input, command }: AnyOperation,
  fields: readonly Field[],
  texts: Flags,
  refuse: Refuse,
): Record<string, unknown> {
  const now = Date.now();
  const given = Object.fromEntries(
    fields.flatMap((field) =>
      texts[field.name] === undefined ? [] : [[field.name, fieldOf(field, texts[field.name], now)]],
    ),
  );
  const supplied = Object.fromEntries((command?.supplies ?? []).map((name) => [name, true] as const));
  const read = z.strictObject(input).omit(supplied).safeParse(given);
  if (read.success) return read.data;
  throw refuse(issueLines(read.error, "input", given, 1));
}

function fieldOf(field: Field, given: string | boolean, now: number): unknown {
  const { name, schema, flag, shown, isArgument, isPart } = field;
  if (typeof given === "boolean") return flag.value ?? given;
  if (isPart) return fromText(schema, given.slice(given.indexOf("=") + 1));
  if (flag.with !== undefined) return given.split("=")[0];
  if (flag.none?.word === given) return flag.none.value ?? null;
  const kind = kindOf(name);
  if (kind === TIME) return expiryOf(given, now);
  if (kind === PAST && !isArgument) return pastOf(given, now);
  if (kind === DURATION) return durationMs(given, `--${shown}`, "24h") / 1_000;
  return fromText(schema, given);
}

/** Explains mistakes in terms of arguments and flags. */
function usageError(
  title: string,
  { words }: CommandRow,
  lines: readonly string[],
  fields: readonly Field[],
  texts: Flags,
  hint = `run \`inkling ${words} --help\` to see examples`,
): CliError {
  const shown = lines.map((line) => {
    const plain = line
      .replaceAll("`", "")
      .replace("must be a date such as", "must be a duration such as 90d, a date such as");
    const [, name = "", rest = ""] = /^(\w+)(.*)$/s.exec(plain) ?? [];
    const field = fields.find((one) => one.name === name);
    if (field === undefined) return `  ${plain}`;
    const given = texts[name];
    const quoted =
      given === undefined || /[`"]/.test(line) ? "" : ` ${JSON.stringify(String(given).slice(0, 60))}`;
    return `  ${field.isArgument ? "" : "--"}${field.shown}${quoted}${rest}`;
  });
  const flagOf = (whole: string, name: string) => {
    const field = fields.find((one) => one.name === name);
    return field === undefined || field.isArgument ? whole : `\`--${field.shown}\``;
  };
  return usage([title, ...shown].join("\n"), hint.replace(/`(\w+)`/g, flagOf));
}

/** Turns a refusal into an error of the command line. Returns anything else unchanged. */
function explain(error: unknown, { noun, command }: Resource, id: unknown, refuse: Refuse): unknown {
  if (!(error instanceof AdminProblem)) return error;
  if (error.cause instanceof Error) return error.cause;
  if (error.code === "PARAMETER_INVALID") return refuse([error.detail]);
  if (error.problems.length > 0)
    return refuse(error.problems, error.code === "BODY_INVALID" ? undefined : error.detail);
  if (error.code.endsWith("_NOT_FOUND")) {
    return new CliError(
      `there is no ${noun} ${JSON.stringify(String(id).slice(0, 63))}`,
      error.detail === ADMIN_PROBLEMS[error.code].detail
        ? command && `run \`inkling ${command.name} list\` to see all`
        : error.detail,
    );
  }
  return new CliError(error.detail, `see docs/admin-api.md#${error.code.toLowerCase()}`);
}
