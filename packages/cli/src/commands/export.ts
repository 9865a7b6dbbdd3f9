// export.ts: `inkling export FORM --out PATH`: the release in use, in forms that other programs read.

import {
  type ExportFormat,
  ExportSource,
  FORMATS,
  Interrupted,
  type Request,
  textOf,
  unlessAborted,
  writeExport,
} from "@inkling/bulk";
import { openServable } from "@inkling/release-store";
import { SCOPES, type Scope } from "@inkling/server";
import { type Command, Option } from "commander";
import { attributions } from "../runtime/build.ts";
import { type Context, settingsFor, withSettings } from "../runtime/context.ts";
import { overridesNow } from "../runtime/overrides.ts";
import { CliError, EXIT, explainFileError } from "../terminal/errors.ts";
import { formatBytes } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;

/** What feeds of each look-up set: their publishers ask to be named where it is shown. */
const SETS: Readonly<Record<Scope, readonly string[]>> = {
  geolocate: ["geolocation", "registered_country"],
  reputation: ["is_abuser", "is_proxy", "is_tor_exit"],
  email: ["disposable"],
};

export function addExport(program: Command, context: Context): void {
  const exports = program
    .command("export")
    .description("write the release in use in a form that other programs read; overrides count");
  for (const format of FORMATS) addForm(exports, format, context);
}

function addForm(exports: Command, format: ExportFormat, context: Context): void {
  const { name, lookups, isFolder } = format;
  const command = exports
    .command(name)
    .description(format.what)
    .option(
      isFolder ? "--out <folder>" : "--out <file>",
      isFolder
        ? "folder to write to (required); files of the same names are replaced"
        : "file to write (required); - is standard output",
    );
  if (!isFolder && lookups.length > 1) {
    command.addOption(
      new Option("--lookup <lookup>", "whose answers").choices([...lookups]).default(lookups[0]),
    );
  }
  command.addHelpText("after", `\nExample:\n  inkling export ${name} --out ${exampleOf(format)}`);
  withSettings(command, SETTINGS);
  command.action(async (flags) => {
    const { settings } = settingsFor(context, flags, SETTINGS);
    if (flags.out === undefined) throw noTarget(format);
    const lookup: Scope = flags.lookup ?? lookups[0];
    const request = await requestFor(settings, lookup, isFolder ? SCOPES : [lookup], context);
    if (flags.out === "-") return toStandardOutput(format, request, context.stopper.signal);
    await toFiles(format, request, flags.out, context);
  });
}

function noTarget(format: ExportFormat): CliError {
  const [where, more] = format.isFolder ? ["folder", ""] : ["file", "; --out - is standard output"];
  return new CliError(
    `--out is missing: the ${where} to write to`,
    `for example --out ${targetOf(format)}${more}`,
    EXIT.usage,
  );
}

function exampleOf(format: ExportFormat): string {
  const { isFolder, lookups } = format;
  return `${targetOf(format)}${!isFolder && lookups.length > 1 ? ` --lookup ${lookups.at(-1)}` : ""}`;
}

function targetOf({ name, isFolder }: ExportFormat): string {
  if (isFolder) return `inkling-${name}/`;
  return `inkling.${name === "mmdb" || name === "csv" || name === "parquet" ? name : `${name}.conf`}`;
}

async function requestFor(
  settings: Parameters<typeof overridesNow>[0] & { dataDir: string },
  lookup: Scope,
  all: readonly Scope[],
  { terminal }: Context,
): Promise<Request> {
  const release = openServable(settings.dataDir);
  const { overrides, remark } = await overridesNow(settings);
  if (remark !== undefined) terminal.err(`${terminal.style.yellow("warning")}: ${remark}\n`);
  const unknown = [...new Set(all.flatMap((scope) => release.states[scope].missing))];
  for (const gap of unknown) {
    terminal.err(`${terminal.style.yellow("warning")}: ${gap} is unknown: no feed with it is loaded\n`);
  }
  return {
    source: new ExportSource(release, overrides, Date.now()),
    lookup,
    unknown,
    attributions: attributions(
      release.manifest,
      all.flatMap((scope) => SETS[scope]),
    ),
    release: release.name,
    builtAt: Math.floor(Date.parse(release.manifest.created_at) / 1000),
  };
}

async function toStandardOutput(format: ExportFormat, request: Request, signal: AbortSignal): Promise<void> {
  if (format.isFolder)
    throw new CliError(`${format.name} has several files`, "name a folder: --out FOLDER", EXIT.usage);
  const out = Bun.stdout.writer();
  const stopped = () => new Interrupted("the end is missing on standard output");
  try {
    for await (const data of textOf(format, request, signal)) {
      out.write(data);
      await unlessAborted(Promise.resolve(out.flush()), signal, stopped);
    }
  } catch (error) {
    throw error instanceof Interrupted ? stopped() : error;
  }
  await out.end();
}

async function toFiles(
  format: ExportFormat,
  request: Request,
  target: string,
  context: Context,
): Promise<void> {
  const { terminal, stopper } = context;
  const started = performance.now();
  const line = (bytes: number) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    return `  ${format.name} ${terminal.style.dim(`${formatBytes(bytes)} ${seconds} s`)}`;
  };
  const written = await writeExport(format, request, target, {
    signal: stopper.signal,
    onProgress: (bytes) => {
      if (terminal.live) terminal.err(`\r\x1b[2K${line(bytes)}`);
    },
  })
    .catch((error) => {
      throw explainFileError(error, target);
    })
    .finally(() => {
      if (terminal.live) terminal.err("\r\x1b[2K");
    });
  for (const { path, bytes } of written) terminal.out(`${path}  ${formatBytes(bytes)}`);
  for (const text of request.attributions) terminal.err(`${terminal.style.dim(text)}\n`);
}
