// override-files.ts: `inkling override export | import` writes and reads overrides as a JSON file.

import { readFileSync, writeFileSync } from "node:fs";
import { prepareOutput, replaceFile } from "@inkling/release-store";
import { exportFile, parseOverrideFile } from "@inkling/server";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { AUTHOR, checked, contextOf, put, usage } from "../runtime/put-overrides.ts";
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
    .description("import all overrides from an exported file; on an error, import none")
    .option(...AUTHOR)
    .option("--force", "accept networks and domains that are normally too wide")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
If an override is already active, the import updates its note and expiry. Nothing is removed.

Examples:
  inkling override import overrides.json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const input = jsonOf(file);
    const about = contextOf(flags.author);
    const read = checked(`${file} cannot be imported`, () =>
      parseOverrideFile(input, about, flags.force === true),
    );
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

function jsonOf(file: string): unknown {
  const text = fileWork(file, () => readFileSync(file, "utf8"));
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "`inkling override export` writes a valid file";
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
