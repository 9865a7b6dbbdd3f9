// rules.ts: implements `inkling rules init | diff`, which write or compare files, and has the texts and questions of
// the commands that derive from rows. `replay` is in replay.ts.

import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { STARTER_RULESET } from "@inkling/contract";
import { Replay } from "@inkling/engine/assess";
import { type Input, type Output, RULESETS } from "@inkling/operations";
import { checkRuleset } from "@inkling/operations/rulesets";
import type { Command } from "commander";
import { createTwoFilesPatch } from "diff";
import { addAction, addResultAction, type Context, confirm } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { readText, STDIN_OR_OUT } from "../runtime/input.ts";
import { AUTHOR, addResource, type OperationCall, runOperation } from "../runtime/operation-command.ts";
import { parsedRuleset } from "../runtime/rulesets.ts";
import { lacksDatabase, withExistingStore } from "../runtime/store.ts";
import { CliError, EXIT, explainFileError } from "../terminal/errors.ts";
import { counted, formatAgo, printable, type Style, table } from "../terminal/terminal.ts";
import { addReplay, changeExamples } from "./replay.ts";

const DEFAULT_FILE = "rules.toml";
type Rows = typeof RULESETS.operations;
type Check = Output<Rows["check_ruleset"]>;
type Example = ReturnType<typeof checkRuleset>["examples"][number] | Check["examples"][number];
const YES = ["--yes", "publish without showing the effect and without a question"] as const;

export const addRules = (program: Command, context: Context) =>
  addResource(program, context, RULESETS, {
    check_ruleset: {
      prepare: async (input) => {
        const text = await readText(input.text);
        parsedRuleset(text, input.text);
        return { text };
      },
      text: ({ examples, rules }) => {
        const { style } = context.terminal;
        const passed = examples.filter((example) => example.passed).length;
        return [
          ...examples.map((example) => exampleLine(example, style)),
          `No mistakes; ${rulesText(rules)}; ${passed} of ${examples.length} ${examples.length === 1 ? "example passes" : "examples pass"}.`,
        ].join("\n");
      },
      exitCode: ({ examples }) => (examples.every(({ passed }) => passed) ? EXIT.ok : EXIT.error),
    },
    "inkling rules init": addInit,
    publish_ruleset: {
      flags: [YES],
      prepare: preparePublish,
      text: ({ number, created }, { text }) =>
        created
          ? `Published ruleset ${number}: ${rulesText(checkRuleset(text).rules)}.`
          : `Ruleset ${number} already has this text; nothing changed.`,
    },
    list_rulesets: {
      empty:
        "No ruleset has been published yet: the score decides. `inkling rules init` writes a starter ruleset.",
      text: ({ rulesets }) => listText(rulesets),
    },
    get_ruleset: { text: ({ text }) => text.trimEnd() },
    "inkling rules diff": addDiff,
    "inkling rules replay": addReplay,
    "inkling rules calibrate": addCalibrate,
    restore_ruleset: {
      flags: [YES],
      prepare: prepareRollback,
      text: ({ number, created, restores }, { id }) =>
        created
          ? `Published ruleset ${number}, with the text of ruleset ${restores}.`
          : `Ruleset ${number} already has the text of ruleset ${id}; nothing changed.`,
    },
  });

function addInit(rules: Command, context: Context): void {
  const command = rules
    .command("init [file]")
    .description(`write a commented starter ruleset with all rules in shadow (default: ${DEFAULT_FILE})`)
    .addHelpText("after", "\nExamples:\n  inkling rules init\n  inkling rules init - | less");
  addAction(command, context, [], (_, file = DEFAULT_FILE) => {
    if (file === STDIN_OR_OUT) return context.terminal.out(STARTER_RULESET.trimEnd());
    const path = resolve(context.cwd, file);
    if (existsSync(path))
      throw new CliError(`${file} exists`, "name another file, or move the existing file");
    try {
      writeFileSync(path, STARTER_RULESET, { flag: "wx" });
    } catch (error) {
      throw explainFileError(error, file);
    }
    context.terminal.err(`Wrote ${file}. Next: \`inkling rules check ${file}\`\n`);
  });
}

/** Returns a text such as "1 live rule, 3 in shadow". */
const rulesText = ({ live, shadow }: Check["rules"]) => `${counted(live, "live rule")}, ${shadow} in shadow`;

function exampleLine({ name, passed, expected, action, rules }: Example, style: Style): string {
  const title = printable(name);
  if (passed) return `${style.green("pass")}  ${title}: ${action}`;
  const wanted = [expected.action, expected.rules && `rules ${expected.rules.join(", ")}`].filter(Boolean);
  const got = `${action}, rules ${rules.join(", ") || "none"}`;
  return `${style.red("FAIL")}  ${title}: expected ${wanted.join(" and ")}; got ${got}`;
}

async function preparePublish(
  input: Input<Rows["publish_ruleset"]>,
  call: OperationCall,
): Promise<Input<Rows["publish_ruleset"]>> {
  const file = input.text;
  const text = await readText(file);
  parsedRuleset(text, file);
  requireExamples(text, file, call.context.terminal.style);
  if (call.flags.yes === true) return { ...input, text };
  const newest = lacksDatabase(call.settings)
    ? undefined
    : await withExistingStore(call.settings, call.context.terminal, (store) => store.rulesets.newest());
  if (newest === undefined || newest.number === 0 || newest.text !== text)
    await confirmEffect(call, text, file);
  return { ...input, text, current: input.current ?? newest?.number ?? 0 };
}

async function prepareRollback(
  input: Input<Rows["restore_ruleset"]>,
  call: OperationCall,
): Promise<Input<Rows["restore_ruleset"]>> {
  const show = (id: string) => runOperation(call, RULESETS, RULESETS.operations.get_ruleset, { id });
  const newest = await show("newest");
  if (input.id === "previous" && newest.number === 1) {
    throw new CliError(
      "ruleset 1 is the first ruleset: there is no earlier one to roll back to",
      "publish a file without rules to let the score decide",
    );
  }
  const { number, text } = await show(input.id);
  const name = `ruleset ${number}`;
  parsedRuleset(text, name); // an earlier version may have published it
  if (text !== newest.text && call.flags.yes !== true) await confirmEffect(call, text, name);
  return { ...input, id: String(number), current: input.current ?? newest.number };
}

/** Shows how a ruleset would have decided about stored decisions, and asks whether to publish it. */
async function confirmEffect(call: OperationCall, text: string, what: string): Promise<void> {
  const { context, settings } = call;
  const { summary, stopped, actions } = lacksDatabase(settings)
    ? { ...new Replay(parsedRuleset(text, what)).report, stopped: null }
    : await runOperation(call, RULESETS, RULESETS.operations.replay_ruleset, { text });
  const older =
    stopped === null ? "" : " Older decisions were left out: `inkling rules replay` reads all of them.";
  const effect = `${summary}${older}`;
  if (context.terminal.prompt !== undefined)
    context.terminal.err(printable(`${[effect, ...changeExamples(actions)].join("\n")}\n`));
  await confirm(context, `Publish ${what}?`, {
    unasked: `publishing ${what} needs a confirmation. ${effect}`,
    declined: "nothing was published",
    hint: "`--yes` publishes without a question",
  });
}

function addCalibrate(rules: Command, context: Context): void {
  const command = rules
    .command("calibrate")
    .description("publish the newest ruleset with the weights that outcomes suggest")
    .option(
      "--since <time>",
      "use the outcomes of decisions since 30d ago, 2027-01-31 or a time (default: 90d)",
    )
    .option("--note <text>", "what changed and why, for the ruleset history", "weights that outcomes suggest")
    .option(...AUTHOR)
    .option(...YES)
    .addHelpText(
      "after",
      `
The command lists the weights that change, shows how the ruleset would have decided about the stored decisions of the
last 30 days, and asks. Run \`inkling decisions calibration\` to see the figures behind the weights.

Examples:
  inkling rules calibrate
  inkling rules calibrate --since 30d --yes`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const call = { context, settings, flags };
    const { suggest_ruleset, publish_ruleset } = RULESETS.operations;
    const since = pastTime(flags.since, "--since", Date.now());
    const { text, current, weights } = await runOperation(call, RULESETS, suggest_ruleset, { since });
    if (weights.length === 0)
      throw new CliError(
        "the outcomes suggest no other weights",
        "run `inkling decisions calibration` to see how many outcomes each reason has; it needs 20",
      );
    const changes = weights.map(({ reason, weight, suggested_weight }) => [
      reason,
      `${weight} -> ${suggested_weight}`,
    ]);
    if (!flags.json) context.terminal.err(`${table([["REASON", "WEIGHT"], ...changes])}\n`);
    requireExamples(text, "the ruleset with these weights", context.terminal.style);
    if (flags.yes !== true) await confirmEffect(call, text, "the ruleset with these weights");
    const wanted = { text, note: flags.note as string, current };
    const published = await runOperation(call, RULESETS, publish_ruleset, wanted);
    return { json: published, text: `Published ruleset ${published.number}.` };
  });
}

function requireExamples(text: string, file: string, style: Style): void {
  const failed = checkRuleset(text).examples.filter(({ passed }) => !passed);
  if (failed.length === 0) return;
  const lines = failed.map((example) => `  ${exampleLine(example, style)}`);
  throw new CliError(
    [`${file} has failing examples; nothing was changed`, ...lines].join("\n"),
    "fix the rule or the example, then publish again",
  );
}

function listText(rulesets: Output<Rows["list_rulesets"]>["rulesets"]): string {
  const rows = rulesets.map(({ number, author, note, created_at, restores }, i) => [
    String(number),
    formatAgo(Date.now() - Date.parse(created_at)),
    author,
    i === 0 ? "active" : "",
    [restores === null ? "" : `ruleset ${restores} again`, note].filter(Boolean).join("; "),
  ]);
  return printable(table([["NUMBER", "PUBLISHED", "AUTHOR", "STATE", "NOTE"], ...rows], [0]));
}

function addDiff(rules: Command, context: Context): void {
  const command = rules
    .command("diff [from] [to]")
    .description(
      "compare two rulesets, each a number or a file (default: the previous and the newest ruleset)",
    )
    .addHelpText(
      "after",
      `
Examples:
  inkling rules diff                 what the newest ruleset changed
  inkling rules diff 5 7
  inkling rules diff 7 rules.toml    what publishing the file would change`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }, from?: string, to?: string) => {
    const show = (id: string) =>
      runOperation({ context, settings, flags }, RULESETS, RULESETS.operations.get_ruleset, { id });
    const side = async (name: string) => {
      if (!/^\d{1,9}$/.test(name)) return { title: name, text: await readText(name) };
      if (Number(name) === 0) return { title: "no ruleset", text: "" };
      return { title: `ruleset ${name}`, text: (await show(name)).text };
    };
    const newest = async () => (await show("newest")).number;
    const after = to ?? String(await newest());
    const before = from ?? String((await newest()) - 1);
    const [a, b] = [await side(before), await side(after)];
    if (a.text === b.text) return context.terminal.err(`${a.title} and ${b.title} have the same text.\n`);
    const patch = createTwoFilesPatch(a.title, b.title, a.text, b.text, undefined, undefined, { context: 3 });
    const { style } = context.terminal;
    return context.terminal.out(
      printable(patch.split("\n").slice(1).join("\n").trimEnd())
        .split("\n")
        .map((line) => colored(line, style))
        .join("\n"),
    );
  });
}

function colored(line: string, style: Style): string {
  if (line.startsWith("+++") || line.startsWith("---")) return style.bold(line);
  if (line.startsWith("+")) return style.green(line);
  return line.startsWith("-") ? style.red(line) : line;
}
