// overrides.ts: implements `inkling overrides remove | import`, which take several values or a file, and formats the
// texts of the commands that derive from rows.

import { FLAGS_OF, issueLines, OVERRIDE_FLAGS, type OverrideFlag } from "@inkling/engine";
import { type Output, OVERRIDES } from "@inkling/operations";
import { describeOverride, OverrideInputError, overrideTarget, parseNewOverride } from "@inkling/store";
import { type Command, Option } from "commander";
import { z } from "zod";
import { addResultAction, type Context, type Flags } from "../runtime/command.ts";
import { expiryOf } from "../runtime/durations.ts";
import { readText } from "../runtime/input.ts";
import { ALL_ROWS, AUTHOR, addResource, runOperation, withContext } from "../runtime/operation-command.ts";
import type { Refuse } from "../runtime/operation-fields.ts";
import { withStore } from "../runtime/store.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { formatCount, table } from "../terminal/terminal.ts";
import { shortValue } from "./audit.ts";

const ROWS = OVERRIDES.operations;
type Override = Output<typeof ROWS.get_override>;

export function addOverrides(program: Command, context: Context): void {
  const overrides = addResource(program, context, OVERRIDES, {
    put_override: {
      text: ({ outcome, ...override }) =>
        `${OUTCOMES[outcome]} ${override.id}: ${describeOverride(override)}, ${endOf(override)}.`,
    },
    list_overrides: {
      empty: "There are no overrides; `inkling overrides add` creates one.",
      text: ({ overrides }) => listText(overrides),
    },
    export_overrides: { text: (file) => JSON.stringify(file, null, 2) },
  });
  addRemove(overrides, context);
  addImport(overrides, context);
}

const OUTCOMES = { added: "Added", changed: "Changed", unchanged: "There already:" } as const;

const endOf = ({ expires_at }: Override) => (expires_at === null ? "no expiry" : `until ${expires_at}`);

const isExpired = ({ expires_at }: Override) => expires_at !== null && Date.parse(expires_at) <= Date.now();

const stateOf = (override: Override) =>
  override.removed_at !== null ? "removed" : isExpired(override) ? "expired" : endOf(override);

function listText(overrides: readonly Override[]): string {
  const rows = overrides.map((override) => {
    const { id, flag, verdict, author, note } = override;
    return [id, shortValue(override), `${flag}=${verdict}`, stateOf(override), author, note];
  });
  return table([["ID", "VALUE", "EFFECT", "STATE", "AUTHOR", "NOTE"], ...rows]);
}

function addRemove(overrides: Command, context: Context): void {
  const command = overrides
    .command("remove <override...>")
    .description("remove overrides on every server within a second")
    .addOption(
      new Option("--flag <flag...>", "for values with several overrides: which to remove").choices(
        OVERRIDE_FLAGS,
      ),
    )
    .option(...AUTHOR)
    .addHelpText(
      "after",
      `
OVERRIDE is the id of an override, or its value. If several overrides have that value, --flag must name the flags whose
overrides are removed. If one of the overrides does not exist, none is removed.

Examples:
  inkling overrides remove ovr_3fK9mB2xQ7vR1tYz
  inkling overrides remove 81.2.69.142
  xargs inkling overrides remove --flag is_proxy is_abuser -- < addresses.txt    undo an import`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }, given: unknown) => {
    const words = given as readonly string[]; // commander passes `<override...>` as a list
    const removed = await withContext(ROWS.remove_override, { context, settings, flags }, async (here) => {
      const { overrides } = await ROWS.list_overrides.run(here, { ended: true, limit: ALL_ROWS });
      const ids = new Set(words.flatMap((word) => idsOf(overrides, word, flags.flag)));
      const all: Override[] = [];
      for (const id of ids) all.push(await ROWS.remove_override.run(here, { id }));
      return all;
    });
    return {
      json: removed,
      text: removed.map((override) => `Removed ${override.id}: ${describeOverride(override)}.`).join("\n"),
    };
  });
}

/**
 * Returns the id of the override with this id, or the ids of the active overrides with this value.
 * @param all all overrides, including removed and expired ones
 * @param flags what commander passes for `--flag <flag...>`: only overrides of these flags count
 * @throws CliError if there is no such override, or if several overrides have the value and there is no `--flag`
 */
function idsOf(
  all: readonly Override[],
  idOrValue: string,
  flags: readonly OverrideFlag[] | undefined,
): string[] {
  const target = overrideTarget(idOrValue);
  const found = all.filter((one) => {
    if (flags !== undefined && !flags.includes(one.flag)) return false;
    if (target === undefined) return one.id === idOrValue;
    const isActive = one.removed_at === null && !isExpired(one);
    return one.kind === target.kind && one.value === target.value && isActive;
  });
  if (found.length > 1 && flags === undefined) {
    const ids = found.map((override) => `${override.id} (${override.flag}=${override.verdict})`);
    throw new CliError(
      `${found.length} overrides have the value ${idOrValue}`,
      `choose flags with --flag, or remove one by its id: ${ids.join(", ")}`,
    );
  }
  if (found.length > 0) return found.map(({ id }) => id);
  const which = flags === undefined ? "" : ` of ${flags.join(" or ")}`;
  throw new CliError(
    `there is no override ${idOrValue}${which}`,
    "run `inkling overrides list` to see all overrides",
  );
}

function addImport(overrides: Command, context: Context): void {
  const command = overrides
    .command("import <file>")
    .description(
      "import all overrides from an exported file, or from a list of values; on an error, import none",
    )
    .option(
      "--flag <flag=verdict...>",
      `the file is a list of values: ${OVERRIDE_FLAGS.join(", ")}, each with =true or =false`,
    )
    .option("--note <text>", "why, for a list of values (required); at most 500 characters")
    .option("--expires <time>", "when the overrides of a list expire: 30d, 2027-01-31 (default: never)")
    .option(...AUTHOR)
    .option("--force", "accept networks and domains that are normally too wide")
    .addHelpText(
      "after",
      `
If an override is already active, the import updates its note and expiry. Nothing is removed. With --flag, the file has
one address, network, domain or email address per line; # and ; start comments.

Examples:
  inkling overrides import overrides.json
  inkling overrides import partners.txt --flag is_abuser=false is_proxy=false is_tor_exit=false --note "our partners"`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }, file: string) => {
    const isList = flags.flag !== undefined;
    if (!isList && (flags.note !== undefined || flags.expires !== undefined))
      throw usage("--note and --expires need --flag", "an exported file has its own notes and expiry times");
    const text = await readText(file);
    const { document, refuse } = isList
      ? listed(file, text, flags)
      : { document: documentOf(file, text), refuse: refusal(file) };
    const given = { ...document, force: flags.force ?? false };
    const read = z.strictObject(ROWS.import_overrides.input).safeParse(given);
    if (!read.success) throw refuse(issueLines(read.error, "file", given));
    const call = { context, settings, flags };
    const counts = await runOperation(call, OVERRIDES, ROWS.import_overrides, read.data, refuse, withStore);
    const shown = Object.entries(counts).map(([outcome, number]) => `${formatCount(number)} ${outcome}`);
    return { json: counts, text: `Imported ${file}: ${shown.join(", ")}.` };
  });
}

/** @param place changes a line, which may begin with the path of an override's field, such as "overrides.3.value: " */
const refusal =
  (file: string, place: (line: string) => string = (line) => line): Refuse =>
  (lines, hint = "run `inkling overrides import --help` to see examples") => {
    const shown = new Set(lines.map((line) => `  ${place(line).replaceAll("`", "")}`));
    return usage([`${file} cannot be imported:`, ...shown].join("\n"), hint.replace("`force`", "`--force`"));
  };

function documentOf(file: string, text: string): object {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "`inkling overrides export` writes a valid file; a list of values needs --flag and --note";
    throw usage(`${file} is not JSON: ${(error as Error).message}`, hint);
  }
}

/** Reads a list of values. Each flag of the command applies to all values. */
function listed(file: string, text: string, { flag, note, expires }: Flags) {
  if (note === undefined)
    throw usage("--note is missing: every override needs a reason", 'for example --note "our office"');
  const verdicts = (flag as string[]).map(flagAndVerdict);
  if (new Set(verdicts.map(({ flag }) => flag)).size < verdicts.length)
    throw usage("--flag has a flag twice", "give each flag once");
  const values = valuesOf(text);
  if (values.length === 0) throw usage(`${file} has no values`, "write one value per line");
  const now = Date.now();
  const more = { note, expires_at: expiryOf(expires ?? null, now) };
  const rows = values.flatMap(({ line, value }) => verdicts.map((verdict) => ({ line, value, ...verdict })));
  const refuse = refusal(file, (line) =>
    line
      .replace(/^overrides\.(\d+)\.\w+: /, (_, index) => `line ${rows[index]!.line}: `)
      .replace(/^(flag|note):/, "--$1:")
      .replace(/^expires_at:/, `--expires "${expires}":`),
  );
  try {
    for (const verdict of verdicts)
      parseNewOverride({ value: sampleFor(verdict.flag), ...verdict, ...more }, { now, author: "" });
  } catch (error) {
    throw error instanceof OverrideInputError ? refuse(error.problems) : error;
  }
  const overrides = rows.map(({ line: _, ...row }) => ({ ...row, ...more }));
  return { document: { format: "inkling-overrides", version: 1, overrides }, refuse };
}

function flagAndVerdict(given: string): { readonly flag: string; readonly verdict: boolean } {
  const [flag = "", verdict, ...rest] = given.split("=");
  if (rest.length === 0 && (verdict === "true" || verdict === "false"))
    return { flag, verdict: verdict === "true" };
  const shown = JSON.stringify(given.slice(0, 60));
  throw usage(
    `--flag must be a flag, "=" and true or false: it is ${shown}`,
    "for example --flag is_proxy=false",
  );
}

/** Returns a valid value, to check the flags of the command before the lines of the list. */
const sampleFor = (flag: string) =>
  FLAGS_OF.domain.includes(flag as OverrideFlag) ? "gmail.com" : "8.8.8.8";

/** A comment starts at the beginning of a line or after a space, because an email address may contain #. */
function valuesOf(text: string): { readonly line: number; readonly value: string }[] {
  return text.split(/\r\n?|\n/).flatMap((line, index) => {
    const value = line
      .replace(/^\ufeff/, "")
      .replace(/(?:^|\s)[#;].*/, "")
      .trim();
    return value === "" ? [] : [{ line: index + 1, value }];
  });
}
