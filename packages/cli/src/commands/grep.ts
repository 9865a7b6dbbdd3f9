// grep.ts: `inkling grep [FILE]`: the IP addresses and email addresses in any text, each once, with their answers.

import { valuesIn } from "@inkling/bulk/values";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { linesOf, STDIN_OR_OUT } from "../runtime/input.ts";
import { ATTRIBUTION, answerValues } from "./values.ts";

/** Beyond so many values some may be printed again: they are not all kept. */
const MAX_KEPT = 1_000_000;

export function addGrep(program: Command, context: Context): void {
  const command = program
    .command("grep [file]")
    .description("look up the IP addresses and email addresses in a text; without a file, in standard input")
    .option("--field <names>", "print only these members of the answers, or value, with tabs between them")
    .option("--json", "a JSON object a line")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `
Each value is printed once, where it is found first. Public addresses alone count; a version such as Chrome/120.0.0.0
does not. For logs \`inkling enrich\` reads the client's field.

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
