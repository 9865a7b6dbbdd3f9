// export.ts: `inkling export FORMAT --out PATH` writes the release in use in formats that other programs read.

import {
  chosenColumns,
  type ExportFormat,
  ExportSource,
  FORMATS,
  Interrupted,
  type Request,
  TABLES,
  type Table,
  textOf,
  unlessAborted,
  writeExport,
} from "@inkling/bulk";
import { type Command, Option } from "commander";
import { openAnswerData, RELEASE } from "../runtime/answer.ts";
import { addAction, type Context, joined } from "../runtime/command.ts";
import { type CliError, explainTargetError, usage } from "../terminal/errors.ts";
import { LiveLine, PLAIN_EVERY_MS } from "../terminal/progress.ts";
import { attributions } from "../terminal/release-tables.ts";
import { formatBytes, printAttributions, standardOutput, warn } from "../terminal/terminal.ts";

export function addExport(program: Command, context: Context): void {
  const exports = program
    .command("export")
    .description("export the release in use, with overrides, in a format for other programs");
  for (const format of FORMATS) addFormat(exports, format, context);
}

function addFormat(exports: Command, format: ExportFormat, context: Context): void {
  const { name, lookups, isFolder, databaseTypes } = format;
  const command = exports
    .command(name)
    .description(format.what)
    .option(
      isFolder ? "--out <folder>" : "--out <file>",
      isFolder
        ? "folder to write to (required); files with the same names are replaced"
        : "file to write (required); - is standard output",
    );
  if (!isFolder && lookups.length > 1) {
    command.addOption(
      new Option("--lookup <lookup>", `lookup whose answers to export (default: ${lookups[0]})`).choices([
        ...lookups,
      ]),
    );
  }
  if (databaseTypes !== undefined) {
    const what =
      "database type in the file, for readers that accept only certain types; it selects the lookup";
    command.addOption(new Option("--database-type <type>", what).choices(Object.keys(databaseTypes)));
  }
  if (format.hasColumns) {
    command.option(
      "--columns <names>",
      "columns to write for a table of networks, by name or pattern ('country_*'); neighbours with the same values become one row (default: all)",
      joined,
    );
  }
  command.option(...RELEASE);
  command.addHelpText("after", `\n${examplesOf(format)}`);
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const { out, databaseType, release: kept } = flags;
    const { terminal, stopper } = context;
    if (out === undefined) throw noTarget(format);
    const lookup: Table = databaseTypes?.[databaseType] ?? flags.lookup ?? lookups[0];
    if (flags.lookup !== undefined && flags.lookup !== lookup)
      throw usage(
        `--database-type ${databaseType} is only for the lookup ${lookup}`,
        `leave out --lookup, or use --lookup ${lookup}`,
      );
    const columns = flags.columns === undefined ? undefined : chosenColumns(flags.columns, lookup);
    const tables: readonly Table[] = isFolder ? TABLES : [lookup];
    const needed = tables.filter((table) => table !== "network");
    const { release, overrides, missing, warnings } = await openAnswerData(settings, needed, kept);
    for (const text of warnings) warn(terminal, text);
    const request: Request = {
      source: new ExportSource(release, overrides, Date.now()),
      lookup,
      unknown: missing,
      attributions: attributions(release.manifest.feeds, tables),
      release: release.name,
      builtAt: Math.floor(Date.parse(release.manifest.created_at) / 1000),
      databaseType,
      columns,
    };
    if (out === "-") await toStandardOutput(format, request, stopper.signal);
    else await toFiles(format, request, out, context);
    printAttributions(terminal, request.attributions);
  });
}

function noTarget(format: ExportFormat): CliError {
  const [where, more] = format.isFolder ? ["folder", ""] : ["file", "; --out - is standard output"];
  return usage(`--out is missing: the ${where} to write to`, `for example --out ${targetOf(format)}${more}`);
}

function examplesOf(format: ExportFormat): string {
  const { name, isFolder, lookups, hasColumns } = format;
  const command = `  inkling export ${name} --out`;
  const example = `${command} ${targetOf(format)}${!isFolder && lookups.length > 1 ? ` --lookup ${lookups.at(-1)}` : ""}`;
  if (!hasColumns) return `Example:\n${example}`;
  return `Examples:\n${example}\n${command} countries.${name} --columns country_iso_code`;
}

function targetOf({ name, isFolder }: ExportFormat): string {
  if (isFolder) return `inkling-${name}/`;
  return `inkling.${name === "mmdb" || name === "csv" || name === "parquet" ? name : `${name}.conf`}`;
}

async function toStandardOutput(format: ExportFormat, request: Request, signal: AbortSignal): Promise<void> {
  if (format.isFolder)
    throw usage(
      `the format ${format.name} consists of several files`,
      "write them to a folder with `--out FOLDER`",
    );
  const write = standardOutput();
  const stopped = () => new Interrupted("the end is missing on standard output");
  try {
    for await (const data of textOf(format, request, signal)) {
      await unlessAborted(write(data), signal, stopped);
    }
  } catch (error) {
    throw error instanceof Interrupted ? stopped() : error;
  }
}

async function toFiles(
  format: ExportFormat,
  request: Request,
  target: string,
  context: Context,
): Promise<void> {
  const { terminal, stopper } = context;
  const started = performance.now();
  const progress = new LiveLine(terminal, PLAIN_EVERY_MS);
  const written = await writeExport(format, request, target, stopper.signal, (bytes) =>
    progress.show(() => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      return `  ${format.name} ${terminal.style.dim(`${formatBytes(bytes)} ${seconds} s`)}`;
    }),
  )
    .catch((error) => {
      throw explainTargetError(error, target);
    })
    .finally(() => progress.clear());
  for (const { path, bytes } of written) terminal.out(`${path}  ${formatBytes(bytes)}`);
}
