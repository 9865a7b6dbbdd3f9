// assess.ts: `inkling assess` decides whether a visitor would be let in, and explains why. The command needs neither a
// server nor a key, and it stores nothing.

import { type Action, type DecisionAnswer, REASON_ROWS, type ReasonCode } from "@inkling/contract";
import { Answerer } from "@inkling/engine";
import {
  type Alternative,
  actionOfRule,
  alternatives,
  decideVisitor,
  factsRead,
  type Ruleset,
  UNSTORED_ID,
} from "@inkling/engine/assess";
import type { Command } from "commander";
import { openAnswerData, parseBody, refusalOf, sourceOf } from "../runtime/answer.ts";
import { addAction, type Context, type Flags } from "../runtime/command.ts";
import { readText } from "../runtime/input.ts";
import { newestRuleset, parsedRuleset } from "../runtime/rulesets.ts";
import { usage } from "../terminal/errors.ts";
import { lookupText } from "../terminal/lookup-text.ts";
import { renderBar } from "../terminal/progress.ts";
import { attributions, missingLine } from "../terminal/release-tables.ts";
import { printable, printSources, type Style, table, warn } from "../terminal/terminal.ts";
import { ATTRIBUTION } from "./values.ts";

const BAR_WIDTH = 30;

export function addAssess(program: Command, context: Context): void {
  const command = program
    .command("assess")
    .description("assess a visitor as POST /v1/assess would, and store nothing")
    .option("--event <name>", "what the visitor does", "sign_up")
    .option("--ip <address>", "the visitor's address")
    .option("--email <address>", "the email address that the visitor entered")
    .option("--user-agent <text>", "the User-Agent of the visitor's request")
    .option("--expected-country <code>", "the country where you expect the visitor, as ISO 3166-1 alpha-2")
    .option("--fact <name=value>", "a custom fact that the ruleset declares; repeatable", collect, [])
    .option("--rules <file>", "use this ruleset file instead of the newest published ruleset")
    .option("--evidence", "also print the evidence of the lookups")
    .option("--json", "print the API's answer with facts, evidence, and what would change the decision")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `
Examples:
  inkling assess --ip 185.220.101.1 --email someone@mailinator.com
  inkling assess --ip 81.2.69.142 --event checkout --expected-country FR
  inkling assess --email info@example.org --rules rules.toml --fact plan=free`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const { terminal } = context;
    const lookups = lookupsOf(flags);
    const data = await openAnswerData(settings, lookups);
    const { ruleset, warnings: more } = await rulesetFor(flags, () => newestRuleset(settings));
    for (const text of [...data.warnings, ...more]) warn(terminal, text);
    const answerer = new Answerer();
    const now = Date.now();
    const found = decideVisitor(inputOf(flags, ruleset), ruleset, {
      answerer,
      source: sourceOf(data, now),
      now,
      parse: parseBody,
      id: UNSTORED_ID,
      include: { facts: true, evidence: true },
    });
    if ("mistakes" in found) throw wrongInput(found.mistakes);
    if ("failure" in found) throw refusalOf(found.failure, found.ip ?? "");
    const { answer, ip, email } = found;
    const changes = alternatives(found.facts, ruleset, found.degraded);
    if (flags.json) return terminal.out(JSON.stringify({ ...answer, alternatives: changes }, null, 2));
    const about = {
      missing: data.missing,
      withEvidence: flags.evidence === true,
      now,
      style: terminal.style,
    };
    terminal.out(
      [
        decisionText(answer, changes, ruleset, terminal.style),
        ...(answer.ip?.reputation === undefined
          ? []
          : [
              lookupText("reputation", {
                value: ip!,
                answer: withEvidence(answer.ip.reputation),
                ...about,
              }),
            ]),
        ...(answer.email === undefined
          ? []
          : [lookupText("email", { value: email!, answer: withEvidence(answer.email), ...about })]),
      ].join("\n\n"),
    );
    const sources = attributions(data.release.manifest.feeds, lookups);
    printSources(terminal, sources, flags.attribution === true);
  });
}

const collect = (value: string, before: readonly string[]) => [...before, value];

const lookupsOf = ({ ip, email }: Flags) => [
  ...(ip === undefined ? [] : (["geolocate", "reputation"] as const)),
  ...(email === undefined ? [] : (["email"] as const)),
];

async function rulesetFor(
  { rules }: Flags,
  newest: () => ReturnType<typeof newestRuleset>,
): Promise<{ readonly ruleset: Ruleset; readonly warnings: readonly string[] }> {
  if (rules !== undefined) return { ruleset: parsedRuleset(await readText(rules), rules), warnings: [] };
  const { value, warnings } = await newest();
  return { ruleset: parsedRuleset(value.text, `ruleset ${value.number}`, value.number), warnings };
}

/** Returns the command's flags as input for the API. */
function inputOf({ event, ip, email, userAgent, expectedCountry, fact }: Flags, ruleset: Ruleset) {
  const facts = Object.fromEntries(
    (fact as readonly string[]).map((text) => {
      const equals = text.indexOf("=");
      if (equals < 1)
        throw usage(
          `--fact must be a name, "=" and a value: it is ${JSON.stringify(text.slice(0, 60))}`,
          "for example --fact plan=free",
        );
      const name = text.slice(0, equals);
      return [name, factValue(text.slice(equals + 1), ruleset.schema.declared[name])] as const;
    }),
  );
  return {
    event,
    ip,
    email,
    user_agent: userAgent,
    expected_country: expectedCountry,
    ...(Object.keys(facts).length > 0 && { facts }),
  };
}

/** Converts the text of a flag to the type that the ruleset declares. */
function factValue(text: string, type: string | undefined): unknown {
  if (type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return type === "list" ? text.split(",").map((item) => item.trim()) : text;
}

/** Replaces the API's field names in problems with the names of flags. */
const FLAGS: readonly (readonly [RegExp, string])[] = [
  [/^the body: ip or email is required/, "--ip or --email is missing"],
  [/^user_agent:/, "--user-agent:"],
  [/^expected_country:/, "--expected-country:"],
  [/^(event|ip|email):/, "--$1:"],
  [/^facts\.?/, "--fact "],
];

function wrongInput(lines: readonly string[]): Error {
  const named = lines.map((line) => FLAGS.reduce((text, [field, flag]) => text.replace(field, flag), line));
  return usage(named.join("\n"), "run `inkling assess --help` to see examples");
}

const withEvidence = <T extends { readonly evidence?: unknown }>(answer: T) =>
  ({ evidence: [], ...answer }) as unknown as Parameters<typeof lookupText>[1]["answer"];

const COLORS = { allow: "green", challenge: "yellow", deny: "red" } as const satisfies Record<
  Action,
  keyof Style
>;

/** Shows the decision, its reasons with bars, what would change it, and the facts behind it. */
function decisionText(
  answer: DecisionAnswer,
  changes: readonly Alternative[],
  ruleset: Ruleset,
  style: Style,
): string {
  const { action, score, reasons, rule, shadow, degraded, review, did_you_mean } = answer;
  const facts: Readonly<Record<string, unknown>> = answer.facts ?? {};
  const known = factsRead(answer, ruleset).filter((name) => facts[name] !== undefined);
  const complete = changes.find(({ without }) => "on_missing" in without);
  const ruleAction = actionOfRule(answer, ruleset);
  const isStricter = ruleAction !== null && ruleAction !== (complete?.action ?? action);
  const named = `rule ${rule} of ruleset ${ruleset.number}`;
  const decider = rule === null || isStricter ? "the score" : named;
  const than = isStricter ? `, which is stricter than ${named}` : "";
  const by =
    complete === undefined
      ? `${decider} decided${than}`
      : `on_missing decided, because data is missing; ${decider} would ${complete.action}${than}`;
  const reasonRows = reasons.map(({ code, weight }) => {
    const change = changes.find(({ without }) => "reason" in without && without.reason === code);
    const effect = change === undefined || change.action === action ? "" : `without it: ${change.action}`;
    return [`  ${code}`, weight.toFixed(2), meaningOf(code), effect];
  });
  const lines = [
    `${style.bold(style[COLORS[action]](action))}${review ? ", and a person should review it" : ""}: ${by}`,
    `score ${score.toFixed(2)} ${renderBar(score, BAR_WIDTH)}`,
    ...(reasonRows.length > 0
      ? [table(reasonRows, [1])]
      : [
          degraded.length > 0
            ? "  no reason to doubt the visitor in the available data"
            : "  no reason to doubt the visitor",
        ]),
    ...shadow.map(({ rule: name, action: wanted }) => `  rule ${name} in shadow: ${wanted}`),
  ];
  if (known.length > 0)
    lines.push(`  facts read: ${known.map((name) => `${name} ${JSON.stringify(facts[name])}`).join(", ")}`);
  if (did_you_mean !== undefined) lines.push(`  did you mean ${did_you_mean}?`);
  const lacking = degraded.filter((data) => data !== "history");
  if (lacking.length > 0) {
    lines.push(
      ...lacking.map((answer) => `  ${missingLine(answer, style)}`),
      "  The visitor may look safer than they are. Run `inkling doctor` to see why this data is missing.",
    );
  }
  if (degraded.includes("history"))
    lines.push(
      `  ${style.yellow("missing")}  history is unknown: only POST /v1/assess reads what a server remembers`,
    );
  return printable(lines.join("\n"));
}

const isReason = (code: string): code is ReasonCode => Object.hasOwn(REASON_ROWS, code);
const meaningOf = (code: string) => (isReason(code) ? REASON_ROWS[code].meaning : "");
