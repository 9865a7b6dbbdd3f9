// rulesets.ts: reads rulesets for commands, from files and from the database.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import { parseRuleset, type Ruleset, RulesetError } from "@inkling/engine/assess";
import type { PublishedRuleset } from "@inkling/store";
import { CliError } from "../terminal/errors.ts";
import { counted } from "../terminal/terminal.ts";
import { readStore } from "./answer.ts";

/**
 * Parses a ruleset.
 * @param name the file's name, for messages of the form `rules.toml:12:8: …`, which editors understand
 * @throws CliError with every mistake
 */
export function parsedRuleset(text: string, name: string, number = 0): Ruleset {
  try {
    return parseRuleset(text, number);
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    const lines = error.mistakes.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`);
    throw new CliError(
      [
        `${name} has ${counted(lines.length, "mistake")}; nothing was changed`,
        ...lines.map((line) => `  ${line}`),
      ].join("\n"),
      "docs/decision-reference.md lists facts and reasons; docs/rulesets.md lists functions",
    );
  }
}

/**
 * Returns the newest ruleset from the database. If the database cannot be read, it comes from the data
 * folder's copy.
 */
export async function newestRuleset(settings: Settings) {
  const { NO_RULESET, readRulesetSnapshot } = await import("@inkling/store/rulesets/record");
  return readStore<PublishedRuleset>(settings, {
    none: NO_RULESET,
    read: (store) => store.rulesets.newest(),
    copy: async () =>
      readRulesetSnapshot(readFileSync(join(settings.dataDir, DATA_FOLDER.ruleset), "utf8")).value,
    withoutCopy: "decided without the published ruleset",
    fromCopy: `the ruleset comes from ${DATA_FOLDER.ruleset}`,
  });
}
