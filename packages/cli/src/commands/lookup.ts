// lookup.ts: `inkling lookup VALUE…` prints the API's answers without a server. So do `geolocate`, `reputation` and
// `email`, each for one kind of answer. `inkling grep [FILE]` finds the IP addresses and email addresses in any text,
// and prints each of them once with its answers.

import { valuesIn } from "@inkling/bulk/values";
import { keysOf } from "@inkling/contract";
import { INCLUDE, LOOKUPS, type Lookup, nearest } from "@inkling/engine";
import { subjectOf } from "@inkling/server/subject";
import { notAValue } from "@inkling/server/value-texts";
import type { Command } from "commander";
import {
  answer,
  mayOverride,
  openAnswerData,
  orRefused,
  RELEASE,
  Refused,
  sourceOf,
} from "../runtime/answer.ts";
import { addAction, type Context, joined } from "../runtime/command.ts";
import { linesOf, STDIN_OR_OUT } from "../runtime/input.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { lookupText } from "../terminal/lookup-text.ts";
import { attributions } from "../terminal/release-tables.ts";
import { printSources, warn } from "../terminal/terminal.ts";
import { ATTRIBUTION, answerValues } from "./values.ts";

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
Overrides come from the database (INKLING_DATABASE_URL) or, if it cannot be read, from the data folder's copy.
`;

export function addLookup(program: Command, context: Context): Command {
  const lookups = program
    .command("lookup")
    .description("look up values without a server or key; overrides apply")
    .argument(
      "[values...]",
      "IP addresses, networks, AS numbers, domains and email addresses; - reads them from standard input, one per line",
    )
    .option(
      "--field <names>",
      "print only these fields of the answers, or value, separated by tabs; patterns such as 'network_*' work as well",
      joined,
    )
    .option("--json", "print one JSON object per line: the value and the API's answer for each lookup")
    .option("--evidence", "also print the evidence: feed, claim, network or domain, and time")
    .option(...RELEASE)
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `${OVERRIDES_HELP}
Examples:
  inkling lookup 81.2.69.142 someone@mailinator.com
  inkling lookup 185.220.101.0/24
  inkling lookup AS60729
  inkling lookup mailinator.com
  inkling lookup 185.220.101.1 --release 0123456789ab
  inkling lookup 81.2.69.142 --field country_iso_code
  inkling lookup 81.2.69.142 --field 'value,network_*'
  inkling lookup 81.2.69.142 8.8.8.8 --json --evidence
  cut -f 3 visits.tsv | inkling lookup - --field value,is_proxy,is_tor_exit`,
    );
  for (const lookup of LOOKUPS) addScope(lookups, lookup, context);
  addAction(lookups, context, ["dataDir"], async ({ settings, flags }, values) => {
    const given = (values ?? []) as unknown as readonly string[]; // commander passes a list if "..." is declared
    if (given.length === 0) lookups.help({ error: true });
    const [first = ""] = given;
    const isOne = given.length === 1 && first !== STDIN_OR_OUT;
    if (first !== STDIN_OR_OUT && subjectOf(first) === undefined) checkFirst(first, isOne);
    await answerValues(expanded(given, context), isOne, settings, flags, context);
  });
  return lookups;
}

/**
 * @throws CliError for a mistyped subcommand such as `lookup emial`, and for a single value that cannot be
 * looked up
 */
function checkFirst(first: string, isOne: boolean): void {
  const near = nearest(first, LOOKUPS);
  const help = "run `inkling lookup --help` to see the lookups";
  if (near !== undefined) throw usage(notAValue(first), `did you mean ${near}? ${help}`);
  if (isOne) throw new CliError(notAValue(first), help);
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
  const command = lookups
    .command(`${lookup} <${value}>`)
    .description(title)
    .option("--json", "print exactly the body that the API returns")
    .option("--evidence", "also print the evidence: feed, claim, network or domain, and time")
    .option(...RELEASE)
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `${mayOverride(lookup) ? OVERRIDES_HELP : ""}
Examples:
  inkling lookup ${lookup} ${example}
  inkling lookup ${lookup} ${example} --evidence
  inkling lookup ${lookup} ${example} --json`,
    );
  if (lookup !== "email")
    command
      .option("--network", "with --json: also print the network's owner, like include=network in the API")
      .option(
        "--subject",
        "with --json: also print the address and its prefix, like include=subject in the API",
      );
  addAction(command, context, ["dataDir"], async ({ settings, flags }, value: string) => {
    const data = await openAnswerData(settings, [lookup], flags.release);
    const { release, missing, warnings } = data;
    const now = Date.now();
    const withEvidence = flags.evidence === true;
    const include = flags.json ? includeOf(flags) : INCLUDE.evidence | INCLUDE.network;
    const answerNow = () => answer(sourceOf(data, now), lookup, value, include);
    const found = flags.json ? orRefused(answerNow) : answerNow();
    for (const text of warnings) warn(terminal, text);
    if (found instanceof Refused) {
      context.ending.exitCode = found.exitCode;
      return terminal.out(found.document);
    }
    if (flags.json) return terminal.out(found);
    const { style } = terminal;
    terminal.out(lookupText(lookup, { value, answer: JSON.parse(found), missing, withEvidence, now, style }));
    printSources(terminal, attributions(release.manifest.feeds, [lookup]), flags.attribution === true);
  });
}

/** Returns the flags that add fields to the answer, as the API's `include`. */
const includeOf = (flags: Readonly<Record<string, unknown>>): number =>
  keysOf(INCLUDE).reduce((bits, name) => (flags[name] === true ? bits | INCLUDE[name] : bits), 0);

/** Maximum number of values that the command remembers. Beyond that, it may print a value again. */
const MAX_KEPT = 1_000_000;

export function addGrep(program: Command, context: Context): void {
  const command = program
    .command("grep [file]")
    .description("look up the IP addresses and email addresses in a text file or standard input")
    .option("--field <names>", "print only these fields of the answers, or value, separated by tabs", joined)
    .option("--json", "print one JSON object per line")
    .option(...ATTRIBUTION)
    .addHelpText(
      "after",
      `
The command prints each value once, at its first occurrence. It looks up only public addresses, and ignores versions such
as Chrome/120.0.0.0. To add the answers to each line of a log, use \`inkling enrich\`.

Examples:
  inkling grep mail.eml
  dmesg | inkling grep --field value,country_iso_code,is_abuser`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }, file: string | undefined) => {
    const lines = linesOf(file ?? STDIN_OR_OUT, context.stopper.signal);
    await answerValues(distinct(lines), false, settings, flags, context);
  });
}

async function* distinct(lines: AsyncIterable<string>): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const line of lines) {
    for (const value of valuesIn(line)) {
      if (seen.has(value)) continue;
      if (seen.size >= MAX_KEPT) seen.clear();
      seen.add(value);
      yield value;
    }
  }
}
