// past-decisions.ts: reads the input of a replay: decisions in the database, or decisions and visitors in a file.

import { ACTIONS, type Action, OUTCOMES, type Outcome, type Settings } from "@inkling/contract";
import { Answerer, type AnswerSource } from "@inkling/engine";
import {
  assess,
  DomainsToday,
  type FactValue,
  lookUpVisitor,
  namedFacts,
  type PastDecision,
  type Ruleset,
  readDecisionInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { pastDecision } from "@inkling/store";
import { CliError, usage } from "../terminal/errors.ts";
import { openAnswerData } from "./answer.ts";
import { numberedLinesOf } from "./input.ts";
import { newestRuleset, parsedRuleset } from "./rulesets.ts";
import { withExistingStore } from "./store.ts";

const decoder = new TextDecoder();
const parse = (body: Uint8Array) => JSON.parse(decoder.decode(body));

/** Passes each decision since a time to `use`, oldest first. */
export function eachStored(
  settings: Settings,
  since: number | undefined,
  use: (decision: PastDecision) => void,
): Promise<void> {
  return withExistingStore(settings, async (store) => {
    for await (const rows of store.decisions.read({ since })) for (const row of rows) use(pastDecision(row));
  });
}

/** Returns an object that looks up the domains of decisions again, in the release in use. */
export async function domainsToday(settings: Settings): Promise<DomainsToday> {
  const { release, overrides } = await openAnswerData(settings, ["email"]);
  return new DomainsToday(new Answerer(), { release, overrides, now: Date.now(), allowMissing: true }, parse);
}

/**
 * Passes each decision and each visitor in a file to `use`. Visitors are looked up in the release in use, and
 * the published ruleset decides about them.
 * @param ruleset declares the facts that visitors may have
 * @returns the number of visitors that cannot be looked up
 */
export async function eachOfFile(
  settings: Settings,
  file: string,
  { ruleset, signal }: { readonly ruleset: Ruleset; readonly signal: AbortSignal },
  use: (decision: PastDecision) => void,
): Promise<{ readonly skipped: number }> {
  let visitors: Visitors | undefined;
  let skipped = 0;
  for await (const { line, number } of numberedLinesOf(file, signal)) {
    const value = lineOf(line, `${file}: line ${number}`);
    if ("facts" in value && "action" in value) {
      use(decisionOf(value, `${file}: line ${number}`));
      continue;
    }
    visitors ??= await Visitors.open(settings, ruleset);
    const decision = visitors.decide(value, number, `${file}: line ${number}`);
    if (decision === undefined) skipped++;
    else use(decision);
  }
  return { skipped };
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
    action: action satisfies Action,
    degraded,
    facts: facts as Readonly<Record<string, FactValue>>, // the replay treats a value of another type as unknown
    outcome: outcome satisfies Outcome | null,
  };
}

/** Decides about the visitors in a file as POST /v1/assess would decide now. */
class Visitors {
  private readonly answerer = new Answerer();
  private readonly source: AnswerSource;
  private readonly ruleset: Ruleset;
  private readonly published: Ruleset;

  private constructor(source: AnswerSource, ruleset: Ruleset, published: Ruleset) {
    this.source = source;
    this.ruleset = ruleset;
    this.published = published;
  }

  static async open(settings: Settings, ruleset: Ruleset): Promise<Visitors> {
    const { release, overrides } = await openAnswerData(settings, ["geolocate", "reputation", "email"]);
    const { value } = await newestRuleset(settings);
    const published = parsedRuleset(value.text, `ruleset ${value.number}`, value.number);
    return new Visitors({ release, overrides, now: Date.now(), allowMissing: true }, ruleset, published);
  }

  /** @returns undefined for an address that no visitor can have */
  decide(value: Line, number: number, place: string): PastDecision | undefined {
    const { answerer, source, ruleset, published } = this;
    const input = readDecisionInput(value, ruleset.schema);
    if (!("event" in input)) throw new CliError([`${place}:`, ...input].join("\n  "), HINT);
    if (input.ip !== undefined && answerer.readAddress(input.ip) !== undefined) return undefined;
    const subject = { address: input.ip === undefined ? undefined : answerer.address, email: input.email };
    const answers = lookUpVisitor(answerer, subject, source, parse);
    if ("reason" in answers) return undefined;
    const before = visitorFacts(input, answers, published.schema, source.now);
    const { action, rule } = assess(before, published, answers.degraded);
    return {
      id: `line ${number}`,
      at: new Date(source.now).toISOString(),
      ref: input.ref ?? null,
      action,
      rule,
      degraded: answers.degraded,
      facts: namedFacts(
        visitorFacts(input, answers, ruleset.schema, source.now),
        ruleset,
      ) as PastDecision["facts"],
      outcome: null,
    };
  }
}
