// calibration.ts: shows the precision of each reason and rule, and writes a ruleset with the weights that the
// outcomes suggest. Publishing that ruleset is the same operation as for any other.

import { ACTIONS, REASON_CODES, REASON_ROWS, type ReasonCode } from "@inkling/contract";
import {
  MIN_LABELS,
  parseRuleset,
  type Ruleset,
  RulesetError,
  reasonsIn,
  shareOf,
  suggestWeights,
  tallyByReason,
  type Weights,
} from "@inkling/engine/assess";
import type { DecisionTally } from "@inkling/store/decision-counts";
import { DAY_MS } from "@inkling/store/keys/day";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import { isoTime } from "@inkling/store/text/fields";
import { z } from "zod";
import type { OperationContext } from "./context.ts";
import { count, operation, text, time } from "./operation.ts";
import { AdminProblem } from "./problem.ts";

const DEFAULT_DAYS = 90;
const input = {
  since: isoTime.optional().meta({
    description:
      "Count decisions since the first full hour after this date (UTC) or time; by default 90 days",
  }),
};

/** A share with its interval. */
export const share = z
  .strictObject({ count, of: count, share: z.number(), low: z.number(), high: z.number() })
  .nullable()
  .meta({ description: "With its 95% interval (Wilson); null without outcomes" });

const labels = { fraud: count, legitimate: count };
const weight = z.number().min(0).max(1);
const calibration = z.strictObject({
  from: time.meta({ description: "The start of the first hour that counts" }),
  decisions: count,
  ...labels,
  reasons: z.array(
    z.strictObject({
      reason: text,
      weight,
      default_weight: weight,
      decisions: count.meta({ description: "Decisions to which the reason applied" }),
      ...labels,
      precision: share,
      suggested_weight: weight
        .nullable()
        .meta({ description: `Null if fewer than ${MIN_LABELS} of these decisions are labelled` }),
    }),
  ),
  rules: z
    .array(
      z.strictObject({
        rule: text,
        mode: z.enum(["live", "shadow"]),
        action: z.enum(ACTIONS),
        live: count.meta({ description: "Decisions that the rule made" }),
        shadow: count.meta({ description: "Decisions that it matched in shadow" }),
        ...labels,
        precision: share,
      }),
    )
    .meta({ description: "The live and shadow rules of the newest ruleset" }),
});

const suggested = z.strictObject({
  current: count.meta({ description: "The newest ruleset's number, to which `text` applies" }),
  weights: z.array(z.strictObject({ reason: text, weight, suggested_weight: weight })).meta({
    description: "The weights that differ",
  }),
  text: z.string().meta({ description: "The newest ruleset with these weights" }),
});

/**
 * Reads the text of a published ruleset.
 * @throws AdminProblem if this version cannot read it, because a newer one published it
 */
export function readable<T>({ number, text }: PublishedRuleset, read: (text: string) => T): T {
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof RulesetError || error instanceof z.ZodError)) throw error;
    throw new AdminProblem(
      "RULESET_INVALID",
      `This version of Inkling cannot read ruleset ${number}. Upgrade this server, or let an administrator publish another ruleset.`,
      error instanceof RulesetError ? error.message.split("\n") : [],
    );
  }
}

async function measure(context: OperationContext, since = context.now() - DEFAULT_DAYS * DAY_MS) {
  const { store } = context;
  const newest = await store.rulesets.newest();
  const ruleset = readable(newest, (text) => parseRuleset(text, newest.number));
  const { from, tallies } = await store.decisions.tallies(since);
  const sets = tallies
    .filter(({ kind }) => kind === "reasons")
    .map(({ name, ...counts }) => ({ ...counts, reasons: reasonsIn(name) }));
  const weights = weightsOf(ruleset);
  const suggested = await context.checkSparingly(() => suggestWeights(sets, weights));
  return { newest, ruleset, from, tallies, sets, weights, suggested };
}

const weightsOf = ({ reasons, unweighted }: Ruleset): Weights =>
  Object.fromEntries([...reasons, ...unweighted].map(({ code, weight }) => [code, weight])) as Weights;

const sumOf = (
  tallies: readonly Omit<DecisionTally, "kind" | "name">[],
  name: "decisions" | "fraud" | "legitimate",
) => tallies.reduce((sum, one) => sum + one[name], 0);

export const calibrate = operation({
  route: "GET decisions/calibration",
  summary: "The precision of each reason and rule, judged by outcomes, and the weights that this suggests",
  docs: "how often each reason and each rule of the newest ruleset applied, its precision, and a [suggested weight](rulesets.md#calibration) for each reason. `since` (default 90 days)",
  problems: ["RULESET_INVALID"],
  input,
  output: calibration,
  command: {
    words: "decisions calibration",
    examples: ["inkling decisions calibration", "inkling decisions calibration --since 30d --json"],
  },
  run: async (context, { since }) => {
    const { ruleset, from, tallies, sets, weights, suggested } = await measure(context, since);
    const byReason = tallyByReason(sets);
    return {
      from: new Date(from).toISOString(),
      decisions: sumOf(sets, "decisions"),
      fraud: sumOf(sets, "fraud"),
      legitimate: sumOf(sets, "legitimate"),
      reasons: REASON_CODES.map((reason) => {
        const { decisions, fraud, legitimate } = byReason.get(reason)!; // it has every reason
        return {
          reason,
          weight: weights[reason],
          default_weight: REASON_ROWS[reason].weight,
          decisions,
          fraud,
          legitimate,
          precision: shareOf(fraud, fraud + legitimate),
          suggested_weight: suggested.get(reason) ?? null,
        };
      }),
      rules: [...ruleset.live, ...ruleset.shadow].map(({ name, mode, then: action }) => {
        const own = tallies.filter((one) => one.kind !== "reasons" && one.name === name);
        const [fraud, legitimate] = [sumOf(own, "fraud"), sumOf(own, "legitimate")];
        const inMode = (kind: DecisionTally["kind"]) =>
          sumOf(
            own.filter((one) => one.kind === kind),
            "decisions",
          );
        const precision = shareOf(action === "allow" ? legitimate : fraud, fraud + legitimate);
        const counts = { live: inMode("live"), shadow: inMode("shadow"), fraud, legitimate };
        return { rule: name, mode, action, ...counts, precision };
      }),
    };
  },
});

export const suggestRuleset = operation({
  route: "GET rulesets/suggested",
  summary: "The newest ruleset with the weights that outcomes suggest; publishes nothing",
  docs: "the newest ruleset with the [suggested weights](rulesets.md#calibration), to publish with `POST rulesets`. `since` (default 90 days)",
  problems: ["RULESET_INVALID"],
  input,
  output: suggested,
  run: async (context, { since }) => {
    const { newest, weights, suggested } = await measure(context, since);
    const changed = [...suggested].filter(([reason, value]) => weights[reason] !== value);
    return {
      current: newest.number,
      weights: changed.map(([reason, value]) => ({
        reason,
        weight: weights[reason],
        suggested_weight: value,
      })),
      text: withWeights(newest.text, new Map(changed)),
    };
  },
});

const HEADER = /^\s*\[\s*weights\s*\]/;
const ANY_HEADER = /^\s*\[/;

/**
 * Sets weights in a ruleset's text, and leaves everything else as it is, comments too.
 * @throws AdminProblem if the text has weights that are not lines below `[weights]`
 */
export function withWeights(ruleset: string, weights: ReadonlyMap<ReasonCode, number>): string {
  if (weights.size === 0) return ruleset;
  const lines = ruleset.trim() === "" ? [] : ruleset.split("\n");
  let start = lines.findIndex((line) => HEADER.test(line));
  if (start < 0) start = lines.push(...(lines.length === 0 ? [] : [""]), "[weights]") - 1;
  const length = lines.slice(start + 1).findIndex((line) => ANY_HEADER.test(line));
  const end = length < 0 ? lines.length : start + 1 + length;
  const added: string[] = [];
  for (const [code, value] of weights) {
    const isIt = new RegExp(`^(\\s*(?:"${code}"|'${code}'|${code})\\s*=\\s*)[\\d.eE+_-]+`);
    const at = lines.findIndex((line, i) => i > start && i < end && isIt.test(line));
    if (at < 0) added.push(`${code} = ${value}`);
    else lines[at] = lines[at]!.replace(isIt, `$1${value}`);
  }
  lines.splice(start + 1, 0, ...added);
  const written = lines.join("\n");
  try {
    const now = weightsOf(parseRuleset(written));
    if ([...weights].every(([code, value]) => now[code] === value)) return written;
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
  }
  throw new AdminProblem(
    "RULESET_INVALID",
    "The newest ruleset sets its weights in a form that Inkling cannot edit. Write each weight on its own line below `[weights]`, publish that, and try again.",
  );
}
