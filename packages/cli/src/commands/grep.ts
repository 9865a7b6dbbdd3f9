// grep.ts: `inkling grep [FILE]` finds the IP addresses and email addresses in any text, and prints each of them once
// with its answers.

import { valuesIn } from "@inkling/bulk/values";
import type { Command } from "commander";
import { addAction, type Context, joined } from "../runtime/command.ts";
import { linesOf, STDIN_OR_OUT } from "../runtime/input.ts";
import { ATTRIBUTION, answerValues } from "./values.ts";

/** Maximum number of values that the command remembers. Beyond that, it may print a value again. */
const MAX_KEPT = 1_000_000;

export function addGrep(program: Command, context: Context): void {
  const command = program
    .command("grep [file]")
    .description("look up the IP addresses and email addresses in a text file or standard input")
    .option("--field <names>", "print only these fields of the answers, or value, separated by tabs", joined)
    .option("--json", "print one JSON object per line")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `
The command prints each value once, at its first occurrence. It looks up only public addresses, and ignores versions such
as Chrome/120.0.0.0. To add the answers to each line of a log, use \`inkling enrich\`.

Examples:
  inkling grep mail.eml
  dmesg | inkling grep --field value,country_iso_code,is_abuser`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }, file: string | undefined) => {
    const lines = linesOf(file ?? STDIN_OR_OUT, context.stopper.signal);
    await answerValues(distinct(lines), false, settings, flags, context);
  });
}

async function* distinct(lines: AsyncIterable<string>): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const line of lines) {
    for (const value of valuesIn(line)) {
      if (seen.has(value)) continue;
      if (seen.size >= MAX_KEPT) seen.clear();
      seen.add(value);
      yield value;
    }
  }
}
