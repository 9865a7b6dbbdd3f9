// override-files.ts: `inkling override export | import` writes and reads overrides as a JSON file. `import` also reads a
// plain list of values, to which the flags of the command apply.

import { readFileSync, writeFileSync } from "node:fs";
import { FLAGS_OF, type OverrideFlag } from "@inkling/engine";
import { prepareOutput, replaceFile } from "@inkling/release-store";
import { exportFile, type OverrideContext, parseNewOverride, parseOverrideFile } from "@inkling/store";
import type { Command } from "commander";
import { addAction, type Context, type Flags } from "../runtime/command.ts";
import { expiryOf } from "../runtime/durations.ts";
import {
  AUTHOR,
  checked,
  contextOf,
  FLAGS,
  flagAndVerdict,
  put,
  requireNote,
  usage,
} from "../runtime/put-overrides.ts";
import { warnOfNewDatabase, withExistingStore } from "../runtime/store.ts";
import { explainFileError } from "../terminal/errors.ts";
import { formatCount } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;

export function addExport(overrides: Command, context: Context): void {
  const command = overrides
    .command("export [file]")
    .description("export active overrides as one JSON file (default: -, standard output)")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling override export overrides.json\n  inkling override export | jq .",
    );
  addAction(command, context, SETTINGS, async ({ settings }, file = "-") => {
    const { overrides } = await withExistingStore(settings, (store) => store.overrides.load());
    const text = JSON.stringify(exportFile(overrides, Date.now()), null, 2);
    if (file === "-") return context.terminal.out(text);
    fileWork(file, () => writeExport(file, `${text}\n`));
    context.terminal.err(`Wrote ${formatCount(overrides.length)} overrides to ${file}.\n`);
  });
}

export function addImport(overrides: Command, context: Context): void {
  const command = overrides
    .command("import <file>")
    .description(
      "import all overrides from an exported file, or from a list of values; on an error, import none",
    )
    .option("--flag <flag=verdict...>", `the file is a list of values: ${FLAGS}, =true or =false`)
    .option("--note <text>", "why, for a list of values (required); at most 500 characters")
    .option("--expires <time>", "when the overrides of a list expire: 30d, 2027-01-31 (default: never)")
    .option(...AUTHOR)
    .option("--force", "accept networks and domains that are normally too wide")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
If an override is already active, the import updates its note and expiry. Nothing is removed. With --flag, the file has
one address, network, domain or email address per line; # and ; start comments.

Examples:
  inkling override import overrides.json
  inkling override import partners.txt --flag is_abuser=false is_proxy=false is_tor_exit=false --note "our partners"`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const about = contextOf(flags.author);
    const isList = flags.flag !== undefined;
    if (!isList && (flags.note !== undefined || flags.expires !== undefined))
      throw usage("--note and --expires need --flag", "an exported file has its own notes and expiry times");
    const parse = isList ? listReader(file, flags, about) : exportReader(file, flags, about);
    const read = checked(`${file} cannot be imported`, parse, flags.expires);
    warnOfNewDatabase(settings, context.terminal);
    const writes = await put(settings, read.overrides, about.author);
    const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
    const result = {
      added: count("added"),
      changed: count("changed"),
      unchanged: count("unchanged"),
      expired: read.expired,
    };
    const counts = Object.entries(result).map(([outcome, number]) => `${formatCount(number)} ${outcome}`);
    return { json: result, text: `Imported ${file}: ${counts.join(", ")}.` };
  });
}

type Parsed = ReturnType<typeof parseOverrideFile>;

function exportReader(file: string, { force }: Flags, about: OverrideContext): () => Parsed {
  const input = jsonOf(file);
  return () => parseOverrideFile(input, about, force === true);
}

/** Reads a list of values. Each flag of the command applies to all values. */
function listReader(file: string, flags: Flags, about: OverrideContext): () => Parsed {
  requireNote(flags.note);
  const verdicts = (flags.flag as unknown as string[]).map(flagAndVerdict);
  if (new Set(verdicts.map(({ flag }) => flag)).size < verdicts.length)
    throw usage("--flag names a flag twice", "name each flag once");
  const values = valuesOf(fileWork(file, () => readFileSync(file, "utf8")));
  if (values.length === 0) throw usage(`${file} has no values`, "write one value per line");
  const times = flags.expires === undefined ? {} : { expires_at: expiryOf(flags.expires, about.now) };
  const more = { note: flags.note, ...times };
  const rows = values.flatMap(({ line, value }) => verdicts.map((verdict) => ({ line, value, verdict })));
  const overrides = rows.map(({ value, verdict }) => ({ value, ...verdict, ...more }));
  return () => {
    for (const verdict of verdicts)
      parseNewOverride({ value: sampleFor(verdict.flag), ...verdict, ...more }, about);
    return parseOverrideFile(
      { format: "inkling-overrides", version: 1, overrides },
      about,
      flags.force === true,
      (problem, index) => `line ${rows[index]!.line}: ${problem.slice(problem.indexOf(": ") + 2)}`,
    );
  };
}

/** Returns a valid value, to check the flags of the command before the lines of the list. */
const sampleFor = (flag: string) =>
  FLAGS_OF.domain.includes(flag as OverrideFlag) ? "gmail.com" : "8.8.8.8";

interface ListedValue {
  readonly line: number;
  readonly value: string;
}

/** A comment starts at the beginning of a line or after a space, because an email address may contain #. */
function valuesOf(text: string): ListedValue[] {
  return text.split(/\r\n?|\n/).flatMap((line, index) => {
    const value = line
      .replace(/^\ufeff/, "")
      .replace(/(?:^|\s)[#;].*/, "")
      .trim();
    return value === "" ? [] : [{ line: index + 1, value }];
  });
}

function jsonOf(file: string): unknown {
  const text = fileWork(file, () => readFileSync(file, "utf8"));
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "`inkling override export` writes a valid file; a list of values needs --flag and --note";
    throw usage(`${file} is not JSON: ${(error as Error).message}`, hint);
  }
}

function fileWork<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** Writes a temporary file and renames it, so that an existing file remains whole until the new file is complete. */
function writeExport(file: string, text: string): void {
  const target = prepareOutput(file);
  if (target === undefined)
    writeFileSync(file, text); // a pipe or a device
  else replaceFile(target, [text], { mode: 0o600, owner: "process" });
}
