// lookup.ts: `inkling lookup VALUE…`, or geolocate | reputation | email VALUE: the API's answers without a server.

import { keysOf } from "@inkling/contract";
import { INCLUDE, LOOKUPS, type Lookup, nearest } from "@inkling/engine";
import type { Command } from "commander";
import { answer, openAnswerData, Refused } from "../runtime/answer.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { linesOf, STDIN_OR_OUT } from "../runtime/input.ts";
import { subjectOf } from "../runtime/subjects.ts";
import { lookupText } from "../terminal/lookup-text.ts";
import { attributions } from "../terminal/release-tables.ts";
import { printSources, warn } from "../terminal/terminal.ts";
import { ATTRIBUTION, answerValues, notAValue } from "./values.ts";

const SETTINGS = ["dataDir"] as const;

interface Row {
  readonly value: string;
  readonly title: string;
  readonly example: string;
}

const ROWS: Readonly<Record<Lookup, Row>> = {
  geolocate: {
    value: "ip",
    title: "look up where an IP address is",
    example: "81.2.69.142",
  },
  reputation: {
    value: "ip",
    title: "check whether an IP address is a known abuser, proxy or Tor exit",
    example: "185.220.101.1",
  },
  email: {
    value: "email",
    title: "check whether an email address is valid, and whether it is disposable",
    example: "someone@mailinator.com",
  },
};

const OVERRIDES_HELP = `
Your overrides apply when the database can be read (INKLING_DATABASE_URL), otherwise those of the data folder's copy.
`;

export function addLookup(program: Command, context: Context): Command {
  const lookups = program
    .command("lookup")
    .description("look up values without a server or a key; overrides apply")
    .argument(
      "[values...]",
      "IP addresses, networks, AS numbers, domains and email addresses; - reads them from standard input, one a line",
    )
    .option(
      "--field <names>",
      "print only these members of the answers, or value, with tabs between them; also patterns: 'network_*'",
    )
    .option(
      "--json",
      "a JSON object a line: the value, and the API's answer of each lookup; one value: with its evidence",
    )
    .option("--evidence", "also print the evidence: feed, claim, network or domain, and time")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `${OVERRIDES_HELP}
Examples:
  inkling lookup 81.2.69.142 someone@mailinator.com
  inkling lookup 185.220.101.0/24
  inkling lookup AS60729
  inkling lookup mailinator.com
  inkling lookup 81.2.69.142 --field country_iso_code
  inkling lookup 81.2.69.142 --field 'value,network_*'
  inkling lookup 81.2.69.142 8.8.8.8 --json --evidence
  cut -f 3 visits.tsv | inkling lookup - --field value,is_proxy,is_tor_exit`,
    );
  for (const lookup of LOOKUPS) addScope(lookups, lookup, context);
  addAction(lookups, context, SETTINGS, async ({ settings, flags }, values) => {
    const given = (values ?? []) as unknown as readonly string[]; // commander: a list where "..." is declared
    if (given.length === 0) lookups.help({ error: true });
    const wrong = given.find((value) => value !== STDIN_OR_OUT && subjectOf(value) === undefined);
    if (wrong !== undefined) throw notAValue(wrong, hintFor(wrong));
    const isOne = given.length === 1 && given[0] !== STDIN_OR_OUT;
    await answerValues(expanded(given, context), isOne, settings, flags, context);
  });
  return lookups;
}

function hintFor(value: string): string {
  const near = nearest(value, LOOKUPS);
  return `${near === undefined ? "" : `did you mean ${near}? `}\`npx @inkling/cli lookup --help\` shows what there is`;
}

async function* expanded(values: readonly string[], { stopper }: Context): AsyncGenerator<string> {
  for (const value of values) {
    if (value === STDIN_OR_OUT) yield* linesOf(value, stopper.signal);
    else yield value;
  }
}

function addScope(lookups: Command, lookup: Lookup, context: Context): void {
  const { terminal } = context;
  const { value, title, example } = ROWS[lookup];
  const hasOverrides = lookup !== "geolocate";
  const command = lookups
    .command(`${lookup} <${value}>`)
    .description(title)
    .option("--json", "print exactly the body that the API returns")
    .option("--evidence", "also print the evidence: feed, claim, network or domain, and time")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `${hasOverrides ? OVERRIDES_HELP : ""}
Examples:
  inkling lookup ${lookup} ${example}
  inkling lookup ${lookup} ${example} --evidence
  inkling lookup ${lookup} ${example} --json`,
    );
  if (lookup !== "email")
    command
      .option("--network", "with --json: whose network it is, as include=network of the API")
      .option("--subject", "with --json: the address and its prefix, as include=subject of the API");
  addAction(command, context, SETTINGS, async ({ settings, flags }, value: string) => {
    const { release, overrides, missing, warnings } = await openAnswerData(settings, [lookup], hasOverrides);
    const now = Date.now();
    const withEvidence = flags.evidence === true;
    const include = flags.json ? includeOf(flags) : INCLUDE.evidence | INCLUDE.network;
    const answerNow = () => answer(release, lookup, value, overrides, now, include);
    const body = flags.json ? orDocument(answerNow, context) : answerNow();
    for (const text of warnings) warn(terminal, text);
    if (flags.json) return terminal.out(body);
    const { style } = terminal;
    terminal.out(lookupText(lookup, { value, answer: JSON.parse(body), missing, withEvidence, now, style }));
    printSources(terminal, attributions(release.manifest.feeds, [lookup]), flags.attribution === true);
  });
}

/** What the flags add to the answer, as `include` of the API. */
const includeOf = (flags: Readonly<Record<string, unknown>>): number =>
  keysOf(INCLUDE).reduce((bits, name) => (flags[name] === true ? bits | INCLUDE[name] : bits), 0);

/** The answer, or the API's problem document with its exit code. */
function orDocument(answerNow: () => string, { ending }: Context): string {
  try {
    return answerNow();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    ending.exitCode = error.exitCode;
    return error.document;
  }
}
