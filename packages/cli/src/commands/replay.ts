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
  type Ruleset,
  readDecisionInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { pastDecision } from "@inkling/store";
import { type Command, Option } from "commander";
import { openAnswerData, parseBody } from "../runtime/answer.ts";
import { addResultAction, type Context } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { numberedLinesOf, readText } from "../runtime/input.ts";
import { newestRuleset, parsedRuleset } from "../runtime/rulesets.ts";
import { withExistingStore } from "../runtime/store.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { replayText } from "../terminal/replay-text.ts";
import { counted, warn } from "../terminal/terminal.ts";

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
      await withExistingStore(settings, async (store) => {
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
  const { release, overrides } = await openAnswerData(settings, ["email"]);
  return new DomainsToday(
    new Answerer(),
    { release, overrides, now: Date.now(), allowMissing: true },
    parseBody,
  );
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
  const { release, overrides } = await openAnswerData(settings, LOOKUPS);
  const { value: newest } = await newestRuleset(settings);
  const published = parsedRuleset(newest.text, `ruleset ${newest.number}`, newest.number);
  const answerer = new Answerer();
  const now = Date.now();
  const source = { release, overrides, now, allowMissing: true };
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
