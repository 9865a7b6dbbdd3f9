// replay.ts: `inkling rules replay`: what a ruleset would have changed about past decisions.
//
// cost one page of decisions and the report in memory, however many decisions there are

import { type PastDecision, Replay } from "@inkling/engine/assess";
import { type Command, Option } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { domainsToday, eachOfFile, eachStored } from "../runtime/past-decisions.ts";
import { usage } from "../runtime/put-overrides.ts";
import { parsedRuleset, rulesetText } from "../runtime/rulesets.ts";
import { replayText } from "../terminal/replay-text.ts";
import { formatCount, warn } from "../terminal/terminal.ts";
import { pastTime } from "./audit.ts";

const SETTINGS = ["dataDir"] as const;
const DEFAULT_SINCE = "30d";

export function addReplay(rules: Command, context: Context): void {
  const command = rules
    .command("replay <file>")
    .description("show what a ruleset would have decided about past visitors, and change nothing")
    .option("--since <time>", `decisions since 7d ago, 2027-01-31 or a time (default: ${DEFAULT_SINCE})`)
    .addOption(
      new Option("--data <which>", "today: look the domains of email addresses up again")
        .choices(["stored", "today"])
        .default("stored"),
    )
    .option(
      "--input <file>",
      "read decisions or visitors from this NDJSON file, without a database; - for standard input",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Facts are those of the day of each decision. With --data today, domains are those of the release in use, so the result
also shows what the data has learned since. Precision and recall need outcomes.

Examples:
  inkling rules replay rules.toml
  inkling rules replay rules.toml --since 7d --data today
  inkling rules replay rules.toml --input decisions.ndjson --json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const ruleset = parsedRuleset(await rulesetText(file), file);
    const { input, data } = flags;
    if (input !== undefined && flags.since !== undefined)
      throw usage("--since is for decisions of the database", "filter the file, or leave --since out");
    const replay = new Replay(ruleset);
    const today = data === "today" ? await domainsToday(settings) : undefined;
    const add = (decision: PastDecision) => replay.add(today?.refresh(decision) ?? decision);
    const { signal } = context.stopper;
    let skipped = 0;
    if (input === undefined)
      await eachStored(settings, pastTime(flags.since ?? DEFAULT_SINCE, "--since", Date.now()), add);
    else ({ skipped } = await eachOfFile(settings, input, { ruleset, signal }, add));
    if (today !== undefined)
      warn(
        context.terminal,
        "domains were looked up again: the result differs from what the ruleset would have decided on that day",
      );
    if (skipped > 0)
      warn(
        context.terminal,
        `${formatCount(skipped)} visitors were left out: nobody comes from their address`,
      );
    const { report } = replay;
    return {
      json: { ...report, data, skipped },
      text: () => replayText(report, context.terminal.style),
    };
  });
}
