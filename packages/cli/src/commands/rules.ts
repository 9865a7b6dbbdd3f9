// rules.ts: `inkling rules init | check | publish | list | show | diff | rollback` manages the rules that decide about
// visitors. `replay` is in replay.ts.
//
// The command writes directly to the database, as `inkling override` does. No server needs to run, and
// running servers apply the new ruleset within a second. The admin API does the same over HTTP
// (docs/rulesets.md).

import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Settings, STARTER_RULESET } from "@inkling/contract";
import { type ExampleResult, Replay, type Ruleset, runExamples } from "@inkling/engine/assess";
import { MAX_PAGE, type PublishedRuleset, replayStored, rulesetJson } from "@inkling/store";
import type { Command } from "commander";
import { createTwoFilesPatch } from "diff";
import { cliAuthor } from "../config/user.ts";
import { addAction, type Context, type Flags } from "../runtime/command.ts";
import { confirm } from "../runtime/confirm.ts";
import { STDIN_OR_OUT } from "../runtime/input.ts";
import { AUTHOR, authorOf, usage } from "../runtime/put-overrides.ts";
import { parsedRuleset, publishedRuleset, rulesetText } from "../runtime/rulesets.ts";
import { lacksDatabase, warnOfNewDatabase, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError, EXIT, explainFileError } from "../terminal/errors.ts";
import { formatAgo, printable, type Style, table } from "../terminal/terminal.ts";
import { addReplay } from "./replay.ts";

const SETTINGS = ["dataDir"] as const;
const MAX_NOTE = 500;
const DEFAULT_FILE = "rules.toml";
const NOTE = [
  "--note <text>",
  "what changed and why, for the ruleset history; at most 500 characters",
] as const;

const YES = ["--yes", "publish without showing the effect and without a question"] as const;

export function addRules(program: Command, context: Context): void {
  const rules = program
    .command("rules")
    .description("check, publish, compare and roll back rulesets for POST /v1/assess");
  addInit(rules, context);
  addCheck(rules, context);
  addPublish(rules, context);
  addList(rules, context);
  addShow(rules, context);
  addDiff(rules, context);
  addRollback(rules, context);
  addReplay(rules, context);
}

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

function addCheck(rules: Command, context: Context): void {
  const command = rules
    .command("check <file>")
    .description("check a ruleset: list each mistake with line and column, and run its examples")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The exit code is 1 if there is a mistake or an example fails.

Examples:
  inkling rules check rules.toml
  git show HEAD:rules.toml | inkling rules check -`,
    );
  addAction(command, context, [], async (_, file: string) => {
    const ruleset = parsedRuleset(await rulesetText(file), file);
    const examples = runExamples(ruleset);
    const failed = examples.filter(({ passed }) => !passed);
    const { style } = context.terminal;
    const counts = countsOf(ruleset);
    return {
      json: { rules: counts, examples },
      text: [
        ...examples.map((example) => exampleLine(example, style)),
        `${file}: no mistakes; ${rulesText(counts)}; ${examples.length - failed.length} of ${examples.length} examples pass.`,
      ].join("\n"),
      exitCode: failed.length > 0 ? EXIT.error : EXIT.ok,
    };
  });
}

const countsOf = ({ live, shadow }: Ruleset) => ({ live: live.length, shadow: shadow.length });

/** Returns a text such as "1 live rule, 3 in shadow". */
const rulesText = ({ live, shadow }: ReturnType<typeof countsOf>) =>
  `${live} live ${live === 1 ? "rule" : "rules"}, ${shadow} in shadow`;

function exampleLine({ name, passed, expected, action, rules }: ExampleResult, style: Style): string {
  const title = printable(name);
  if (passed) return `${style.green("pass")}  ${title}: ${action}`;
  const wanted = [expected.action, expected.rules && `rules ${expected.rules.join(", ")}`].filter(Boolean);
  const got = `${action}, rules ${rules.join(", ") || "none"}`;
  return `${style.red("FAIL")}  ${title}: expected ${wanted.join(" and ")}; got ${got}`;
}

function addPublish(rules: Command, context: Context): void {
  const command = rules
    .command("publish <file>")
    .description("publish a ruleset under the next number; all servers apply it within a second")
    .option(...NOTE)
    .option(
      "--current <number>",
      "publish only if this is still the newest ruleset, so that no other change is lost",
    )
    .option(...AUTHOR)
    .option(...YES)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The command shows how the ruleset would have decided about the stored decisions of the last 30 days, and asks.

If the ruleset has a mistake, or one of its examples fails, nothing is published.

Examples:
  inkling rules publish rules.toml --note "deny hosting sign-ups"
  inkling rules publish rules.toml --current 7 --yes`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const text = await rulesetText(file);
    const ruleset = parsedRuleset(text, file);
    requireExamples(ruleset, file, context.terminal.style);
    const given = flags.current === undefined ? undefined : numberOf(flags.current, "--current", true);
    const note = noteOf(flags);
    const isNew = lacksDatabase(settings);
    const newest = isNew ? undefined : await withExistingStore(settings, (store) => store.rulesets.newest());
    const number = newest?.number ?? 0;
    if (number === 0 || newest?.text !== text)
      await confirmEffect(context, settings, isNew, ruleset, flags, file);
    warnOfNewDatabase(settings, context.terminal);
    const wanted = { text, note, current: given ?? (flags.yes === true ? undefined : number) };
    const { before, published } = await withStore(settings, async (store) => ({
      before: await store.rulesets.newest(),
      published: await store.rulesets.publish(wanted, cliAuthor(authorOf(flags.author))),
    }));
    return {
      json: rulesetJson(published),
      text:
        published.number === before.number
          ? `Ruleset ${published.number} already has this text; nothing changed.`
          : `Published ruleset ${published.number}: ${rulesText(countsOf(ruleset))}.`,
    };
  });
}

const EFFECT_DAYS = 30;

/**
 * Shows how a ruleset would have decided about stored decisions, and asks whether to publish it.
 * @param isNew the database does not exist yet
 */
async function confirmEffect(
  context: Context,
  settings: Settings,
  isNew: boolean,
  ruleset: Ruleset,
  flags: Flags,
  what: string,
): Promise<void> {
  if (flags.yes === true) return;
  const since = Date.now() - EFFECT_DAYS * 86_400_000;
  const replay = new Replay(ruleset);
  const { summary, stopped } = isNew
    ? { ...replay.report, stopped: null }
    : await withExistingStore(settings, (store) =>
        replayStored(store.decisions, replay, { since, elapsed: () => performance.now() }),
      );
  const older =
    stopped === null ? "" : " Older decisions were left out: `inkling rules replay` reads all of them.";
  const effect = `${summary}${older}`;
  if (context.terminal.prompt !== undefined) context.terminal.err(`${effect}\n`);
  await confirm(context, `Publish ${what}?`, {
    unasked: `publishing ${what} needs a confirmation. ${effect}`,
    declined: "nothing was published",
    hint: "`--yes` publishes without a question",
  });
}

function requireExamples(ruleset: Ruleset, file: string, style: Style): void {
  const failed = runExamples(ruleset).filter(({ passed }) => !passed);
  if (failed.length === 0) return;
  const lines = failed.map((example) => `  ${exampleLine(example, style)}`);
  throw new CliError(
    [`${file} has failing examples; nothing was changed`, ...lines].join("\n"),
    "fix the rule or the example, then publish again",
  );
}

function noteOf({ note = "" }: Flags): string {
  if (note.length > MAX_NOTE) {
    throw usage(`--note has ${note.length} characters; the maximum is ${MAX_NOTE}`, "shorten the note");
  }
  return note;
}

/** @param mayBeZero allows 0, the number before the first ruleset */
function numberOf(text: string, name: string, mayBeZero = false): number {
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && (number > 0 || mayBeZero)) return number;
  throw usage(
    `${name} must be the number of a ruleset: it is ${JSON.stringify(text.slice(0, 40))}`,
    "`inkling rules list` shows all ruleset numbers",
  );
}

function addList(rules: Command, context: Context): void {
  const command = rules
    .command("list")
    .description("list published rulesets, newest first; the newest is active")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling rules list");
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const { items } = await withExistingStore(settings, (store) => store.rulesets.list({ limit: MAX_PAGE }));
    if (items.length === 0 && !flags.json) {
      return context.terminal.err(
        "No ruleset has been published yet: the score decides. `inkling rules init` writes a starter ruleset.\n",
      );
    }
    return { json: items.map(rulesetJson), text: () => listText(items, Date.now()) };
  });
}

function listText(items: readonly PublishedRuleset[], now: number): string {
  const rows = items.map(({ number, author, note, createdAt, restores }, i) => [
    String(number),
    formatAgo(now - createdAt),
    author,
    i === 0 ? "active" : "",
    [restores === undefined ? "" : `ruleset ${restores} again`, note].filter(Boolean).join("; "),
  ]);
  return printable(table([["NUMBER", "PUBLISHED", "AUTHOR", "STATE", "NOTE"], ...rows], [0]));
}

function addShow(rules: Command, context: Context): void {
  const command = rules
    .command("show [number]")
    .description("print a ruleset (default: the newest)")
    .option("--json", "print JSON, with author, note and time")
    .addHelpText("after", "\nExamples:\n  inkling rules show > rules.toml\n  inkling rules show 6");
  addAction(command, context, SETTINGS, async ({ settings, flags }, number?: string) => {
    const ruleset = await rulesetOf(settings, number);
    if (flags.json) return { json: { ...rulesetJson(ruleset), text: ruleset.text }, text: "" };
    return { json: undefined, text: ruleset.text.trimEnd() };
  });
}

async function rulesetOf(
  settings: Parameters<typeof publishedRuleset>[0],
  number: string | undefined,
): Promise<PublishedRuleset> {
  if (number !== undefined) return publishedRuleset(settings, numberOf(number, "NUMBER"));
  const newest = await withExistingStore(settings, (store) => store.rulesets.newest());
  if (newest.number > 0) return newest;
  throw new CliError("no ruleset has been published yet", "`inkling rules init` writes a starter ruleset");
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
  addAction(command, context, SETTINGS, async ({ settings }, from?: string, to?: string) => {
    const side = async (name: string) => {
      if (!/^\d{1,9}$/.test(name)) return { title: name, text: await rulesetText(name) };
      if (Number(name) === 0) return { title: "no ruleset", text: "" };
      return { title: `ruleset ${name}`, text: (await publishedRuleset(settings, Number(name))).text };
    };
    const newest = async () => (await rulesetOf(settings, undefined)).number;
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

function addRollback(rules: Command, context: Context): void {
  const command = rules
    .command("rollback [number]")
    .description("publish an older ruleset again under the next number (default: the previous ruleset)")
    .option(...NOTE)
    .option(...AUTHOR)
    .option(...YES)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling rules rollback\n  inkling rules rollback 5 --note 'too strict' --yes",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, number?: string) => {
    const newest = await rulesetOf(settings, undefined);
    if (number === undefined && newest.number === 1) {
      throw new CliError(
        "ruleset 1 is the first ruleset: there is no earlier one to roll back to",
        "publish a file without rules to let the score decide",
      );
    }
    const target = await publishedRuleset(
      settings,
      number === undefined ? newest.number - 1 : numberOf(number, "NUMBER"),
    );
    const name = `ruleset ${target.number}`;
    const ruleset = parsedRuleset(target.text, name); // an earlier version may have published it
    const note = noteOf(flags);
    if (target.text !== newest.text) await confirmEffect(context, settings, false, ruleset, flags, name);
    const wanted = {
      text: target.text,
      note,
      current: newest.number,
      restores: target.number,
    };
    const published = await withStore(settings, (store) =>
      store.rulesets.publish(wanted, cliAuthor(authorOf(flags.author))),
    );
    return {
      json: rulesetJson(published),
      text:
        published.number === newest.number
          ? `Ruleset ${newest.number} already has the text of ruleset ${target.number}; nothing changed.`
          : `Published ruleset ${published.number}, with the text of ruleset ${target.number}.`,
    };
  });
}
