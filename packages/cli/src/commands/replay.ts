// replay.ts: `inkling rules replay` shows how a ruleset would have changed past decisions: those in the database, or
// decisions and visitors in a file.
//
// Cost: memory for the report and one page of decisions, regardless of the number of decisions.

import { ACTIONS, OUTCOMES, type Settings } from "@inkling/contract";
import { Answerer, LOOKUPS } from "@inkling/engine";
import {
  assess,
  DomainsToday,
  type FactValue,
  lookUpVisitor,
  namedFacts,
  type PastDecision,
  Replay,
  type ReplayExample,
  type ReplayReport,
  type Ruleset,
  readDecisionInput,
  type Share,
  visitorFacts,
} from "@inkling/engine/assess";
import { pastDecision } from "@inkling/store";
import { type Command, Option } from "commander";
import { openAnswerData, parseBody, sourceOf } from "../runtime/answer.ts";
import { addResultAction, type Context } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { numberedLinesOf, readText } from "../runtime/input.ts";
import { newestRuleset, parsedRuleset } from "../runtime/rulesets.ts";
import { withExistingStore } from "../runtime/store.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { counted, formatCount, printable, type Style, table, warn } from "../terminal/terminal.ts";

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
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }, file: string) => {
    const { terminal, stopper } = context;
    const ruleset = parsedRuleset(await readText(file), file);
    const { input, data } = flags;
    if (input !== undefined && flags.since !== undefined)
      throw usage(
        "--since works only for decisions in the database",
        "filter the file, or leave out --since",
      );
    const replay = new Replay(ruleset);
    const today = data === "today" ? await domainsToday(settings) : undefined;
    const add = (decision: PastDecision) => replay.add(today?.refresh(decision) ?? decision);
    let skipped = 0;
    if (input === undefined) {
      const since = pastTime(flags.since ?? DEFAULT_SINCE, "--since", Date.now());
      await withExistingStore(settings, terminal, async (store) => {
        for await (const rows of store.decisions.read({ since }))
          for (const row of rows) add(pastDecision(row));
      });
    } else skipped = await eachOfFile(settings, input, ruleset, stopper.signal, add);
    if (today !== undefined)
      warn(
        terminal,
        "domains were looked up in today's data: the ruleset may have decided differently on the day of the decision",
      );
    if (skipped > 0)
      warn(
        terminal,
        `skipped ${counted(skipped, "visitor")} with a reserved IP address, which no visitor from the internet can have`,
      );
    const { report } = replay;
    return { json: { ...report, data, skipped }, text: () => replayText(report, terminal.style) };
  });
}

/** Returns an object that looks up the domains of decisions again, in the release in use. */
async function domainsToday(settings: Settings): Promise<DomainsToday> {
  const source = sourceOf(await openAnswerData(settings, ["email"]), Date.now());
  return new DomainsToday(new Answerer(), source, parseBody);
}

/**
 * Passes each decision and each visitor in a file to `use`. Visitors are looked up in the release in use, and
 * the published ruleset decides about them.
 * @param ruleset declares the facts that visitors may have
 * @returns the number of visitors that cannot be looked up
 */
async function eachOfFile(
  settings: Settings,
  file: string,
  ruleset: Ruleset,
  signal: AbortSignal,
  use: (decision: PastDecision) => void,
): Promise<number> {
  let decide: Awaited<ReturnType<typeof decider>> | undefined;
  let skipped = 0;
  for await (const { line, number } of numberedLinesOf(file, signal)) {
    const place = `${file}: line ${number}`;
    const value = lineOf(line, place);
    if ("facts" in value && "action" in value) {
      use(decisionOf(value, place));
      continue;
    }
    decide ??= await decider(settings, ruleset);
    const decision = decide(value, number, place);
    if (decision === undefined) skipped++;
    else use(decision);
  }
  return skipped;
}

type Line = Readonly<Record<string, unknown>>;

const HINT =
  "each line must be a decision from `inkling decisions export`, or a visitor in the format of POST /v1/assess";

function lineOf(line: string, place: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Line;
  } catch {
    // reported below
  }
  throw usage(`${place} is not a JSON object`, HINT);
}

function decisionOf(value: Line, place: string): PastDecision {
  const { id = "", at = "", ref, rule, facts, degraded = [] } = value;
  const action = ACTIONS.find((known) => known === value.action);
  const outcome = OUTCOMES.find((known) => known === value.outcome) ?? null;
  const isSound =
    action !== undefined && typeof facts === "object" && facts !== null && Array.isArray(degraded);
  if (!isSound) throw usage(`${place} is not a stored decision`, HINT);
  return {
    id: String(id),
    at: String(at),
    ref: typeof ref === "string" ? ref : null,
    rule: typeof rule === "string" ? rule : null,
    action,
    degraded,
    facts: facts as Readonly<Record<string, FactValue>>, // the replay treats a value of another type as unknown
    outcome,
  };
}

/**
 * Returns a function that decides about a visitor in a file as POST /v1/assess would decide now, or returns undefined
 * for an address that no visitor can have.
 */
async function decider(settings: Settings, ruleset: Ruleset) {
  const data = await openAnswerData(settings, LOOKUPS);
  const { value: newest } = await newestRuleset(settings);
  const published = parsedRuleset(newest.text, `ruleset ${newest.number}`, newest.number);
  const answerer = new Answerer();
  const now = Date.now();
  const source = sourceOf(data, now);
  return (value: Line, number: number, place: string): PastDecision | undefined => {
    const input = readDecisionInput(value, ruleset.schema);
    if (!("event" in input)) throw new CliError([`${place}:`, ...input].join("\n  "), HINT);
    if (input.ip !== undefined && answerer.readAddress(input.ip) !== undefined) return undefined;
    const subject = { address: input.ip === undefined ? undefined : answerer.address, email: input.email };
    const answers = lookUpVisitor(answerer, subject, source, parseBody);
    if ("reason" in answers) return undefined;
    const { degraded } = answers;
    const { action, rule } = assess(visitorFacts(input, answers, published.schema, now), published, degraded);
    const facts = namedFacts(visitorFacts(input, answers, ruleset.schema, now), ruleset);
    return {
      id: `line ${number}`,
      at: new Date(now).toISOString(),
      ref: input.ref ?? null,
      action,
      rule,
      degraded,
      facts: facts as PastDecision["facts"],
      outcome: null,
    };
  };
}

function replayText(report: ReplayReport, style: Style): string {
  const { decisions, changed, from, to, outcomes, actions, rules, reasons } = report;
  if (decisions === 0) return "There are no decisions to replay.";
  const labelled = outcomes.fraud + outcomes.legitimate;
  const percent = ((100 * changed) / decisions).toFixed(changed > 0 && changed / decisions < 0.01 ? 2 : 1);
  const parts = [
    `${counted(decisions, "decision")} from ${day(from)} to ${day(to)}; ${style.bold(`${formatCount(changed)} would change`)} (${percent}%)`,
    labelled === 0
      ? "there are no outcomes, so the precision of rules is unknown"
      : `outcomes: ${formatCount(outcomes.fraud)} fraud, ${formatCount(outcomes.legitimate)} legitimate`,
    ...report.unknown_facts.map(({ fact, decisions: count }) =>
      style.yellow(
        `${fact} is unknown in ${counted(count, "decision")}: rules that read this fact do not match these decisions`,
      ),
    ),
    "",
    table(
      [
        ["BEFORE", "AFTER", "DECISIONS"],
        ...actions.map(({ before, after, count }) => [before, after, formatCount(count)]),
      ],
      [2],
    ),
    ...changeExamples(actions),
  ];
  if (rules.length > 0) parts.push("", rulesText(rules), ...ruleExamples(rules));
  parts.push("", reasonsText(reasons));
  return printable(parts.join("\n"));
}

const day = (at: string | null) => (at ?? "").slice(0, 10);

/** Returns the examples of each changed action, with an empty line before each. */
export const changeExamples = (actions: ReplayReport["actions"]) =>
  actions.flatMap(({ before, after, examples }) => {
    const by = ({ rule_before: old, rule_after: now }: ReplayExample) =>
      `${old ?? "score"} -> ${now ?? "score"}`;
    return examples.length === 0 ? [] : ["", `${before} to ${after}:`, examplesText(examples, by)];
  });

const examplesText = (examples: readonly ReplayExample[], changeOf: (example: ReplayExample) => string) =>
  table(
    examples.map((example) => {
      const { id, at, event, ref, outcome } = example;
      return [`  ${id}`, at, event, ref ?? "-", changeOf(example), outcome ?? ""];
    }),
  );

const rulesText = (rules: ReplayReport["rules"]) =>
  table(
    [
      ["RULE", "MODE", "THEN", "MATCHES", "DECIDES", "CHANGES", "PRECISION", "RECALL"],
      ...rules.map(({ rule, mode, action, matches, decides, changes, precision, recall }) => [
        rule,
        mode,
        action,
        formatCount(matches),
        mode === "live" ? formatCount(decides) : "-",
        formatCount(changes),
        shareText(precision),
        shareText(recall),
      ]),
    ],
    [3, 4, 5],
  );

const ruleExamples = (rules: ReplayReport["rules"]) =>
  rules.flatMap(({ rule, mode, examples }) =>
    examples.length === 0
      ? []
      : [
          "",
          mode === "live" ? `rule ${rule} changes:` : `rule ${rule} would change if it were live:`,
          examplesText(examples, ({ before, after }) => `${before} -> ${after}`),
        ],
  );

const reasonsText = (reasons: ReplayReport["reasons"]) =>
  table(
    [
      ["REASON", "WEIGHT", "MATCHES", "PRECISION", "RECALL"],
      ...reasons
        .filter(({ matches }) => matches > 0)
        .map(({ reason, weight, matches, precision, recall }) => [
          reason,
          String(weight),
          formatCount(matches),
          shareText(precision),
          shareText(recall),
        ]),
    ],
    [1, 2],
  );

/** Returns a text such as "67% (35-88) of 12". */
function shareText(share: Share | null): string {
  if (share === null) return "-";
  const percent = (value: number) => String(Math.round(100 * value));
  return `${percent(share.share)}% (${percent(share.low)}-${percent(share.high)}) of ${formatCount(share.of)}`;
}
