// operation-command.ts: derives commands, with their help and JSON, from the rows of operations. operation-fields.ts has
// their arguments and flags.
//
// A command runs its operation in this process, on the servers' database, so that it works while no server runs.

import { ADMIN_PROBLEMS, type Settings } from "@inkling/contract";
import { currentName, verifyRelease } from "@inkling/data";
import {
  AdminProblem,
  type AnyOperation,
  type CommandRow,
  type Input,
  type OperationContext,
  type Output,
  type Resource,
  type Updates,
} from "@inkling/operations";
import { finish } from "@inkling/server/turns";
import { type Author, type Store, StoreError } from "@inkling/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { CliError, type ExitCode, Stopped } from "../terminal/errors.ts";
import { printable, table } from "../terminal/terminal.ts";
import { addResultAction, type Context, type Flags, type Result } from "./command.ts";
import { CommandFields, lowerFirst, type Refuse } from "./operation-fields.ts";
import { audited, lacksDatabase, withExistingStore, withStore } from "./store.ts";

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

function addOperation(
  group: Command,
  context: Context,
  resource: Resource,
  operation: AnyOperation,
  face: CommandText<unknown, unknown>,
): void {
  const fields = new CommandFields(operation, resource);
  const { hasAuthor, notes, examples } = operation.command!; // addResource passes only operations with a command
  const command = fields.command(group).description(lowerFirst(operation.summary));
  if (face.here !== undefined) command.option("--here", face.here.help);
  for (const flag of face.flags ?? []) command.option(...flag);
  if (hasAuthor) command.option(...AUTHOR);
  const lines = ["Examples:", ...examples.map((line) => `  ${line}`)].join("\n");
  command.addHelpText("after", `${notes === undefined ? "" : `\n${notes}\n`}\n${lines}`);
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }, ...words) => {
    const texts = fields.textsOf(words, flags);
    const parsed = fields.parse(texts);
    if (face.here !== undefined && flags.here) return face.here.run(settings, parsed);
    const call = { context, settings, flags };
    const input = ((await face.prepare?.(parsed, call)) ?? parsed) as typeof parsed;
    const isFirst = operation.status === 201 && lacksDatabase(settings);
    try {
      const output = await withContext(operation, call, (here) => runAll(operation, here, input));
      const empty = fields.selects(texts) ? (face.noMatch ?? face.empty) : face.empty;
      return resultOf(call, { ...face, empty }, output, input, isFirst);
    } catch (error) {
      if (face.unreachable !== undefined && error instanceof StoreError && error.code === "UNREACHABLE")
        return face.unreachable(error, input, settings, context);
      throw explain(error, resource, texts.id, (lines, hint) => fields.refuse(texts, lines, hint));
    }
  });
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
  return needsNoDatabase ? run() : open(settings, context.terminal, run);
}

function resultOf(
  { context: { terminal }, flags }: OperationCall,
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
  audited: (entry, change) =>
    audited(settings, terminal, { ...by, ...entry }, change, { isBuild: updates !== undefined }),
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
