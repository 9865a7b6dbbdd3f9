// replay.ts: `inkling rules replay` shows how a ruleset would have changed past decisions.
//
// Cost: memory for the report and one page of decisions, regardless of the number of decisions.

import { type PastDecision, Replay } from "@inkling/engine/assess";
import { type Command, Option } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { domainsToday, eachOfFile, eachStored } from "../runtime/past-decisions.ts";
import { parsedRuleset, rulesetText } from "../runtime/rulesets.ts";
import { usage } from "../terminal/errors.ts";
import { replayText } from "../terminal/replay-text.ts";
import { formatCount, warn } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;
const DEFAULT_SINCE = "30d";

export function addReplay(rules: Command, context: Context): void {
  const command = rules
    .command("replay <file>")
    .description("show what a ruleset would have decided about past visitors, and change nothing")
    .option("--since <time>", `decisions since 7d ago, 2027-01-31 or a time (default: ${DEFAULT_SINCE})`)
    .addOption(
      new Option("--data <which>", "today: look up the domains of email addresses again")
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
The replay uses the facts stored with each decision. With --data today, it looks up domains in the release in use, so
the result also reflects changes in the data. Precision and recall need outcomes.

Examples:
  inkling rules replay rules.toml
  inkling rules replay rules.toml --since 7d --data today
  inkling rules replay rules.toml --input decisions.ndjson --json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const ruleset = parsedRuleset(await rulesetText(file), file);
    const { input, data } = flags;
    if (input !== undefined && flags.since !== undefined)
      throw usage(
        "--since works only for decisions in the database",
        "filter the file, or leave out --since",
      );
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
        "domains were looked up in today's data: the ruleset may have decided differently on the day of the decision",
      );
    if (skipped > 0)
      warn(
        context.terminal,
        `skipped ${formatCount(skipped)} ${skipped === 1 ? "visitor" : "visitors"} with a reserved IP address, which no visitor from the internet can have`,
      );
    const { report } = replay;
    return {
      json: { ...report, data, skipped },
      text: () => replayText(report, context.terminal.style),
    };
  });
}
