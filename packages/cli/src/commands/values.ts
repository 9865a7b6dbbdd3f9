// values.ts: looks up values (addresses, networks, AS numbers, domains, email addresses), and prints a line, a text or
// a JSON object for each of them.
//
// Among several values, the error is printed on standard error, or with --json as an object on standard output; the
// command continues, and its exit code is 1.

import { didYouMean, FIELDS, namesMatching, TABLES } from "@inkling/bulk/fields";
import type { Settings } from "@inkling/contract";
import { INCLUDE, LOOKUPS, type Lookup } from "@inkling/engine";
import { type Subject, subjectOf } from "@inkling/server/subject";
import { notAValue } from "@inkling/server/value-texts";
import {
  type AnswerData,
  answer,
  openAnswerData,
  orRefused,
  Refused,
  reportOfNetwork,
  reportOfSystem,
  sourceOf,
} from "../runtime/answer.ts";
import type { Context, Flags } from "../runtime/command.ts";
import { CliError, EXIT, usage } from "../terminal/errors.ts";
import { lookupLine, lookupText } from "../terminal/lookup-text.ts";
import { networkLine, networkText, systemLine, systemText } from "../terminal/network-text.ts";
import { attributions } from "../terminal/release-tables.ts";
import { printable, printSources, warn } from "../terminal/terminal.ts";

const LOOKUPS_OF = {
  address: ["geolocate", "reputation"],
  email: ["email"],
  domain: ["email"],
} as const satisfies Record<string, readonly Lookup[]>;
const VALUE = "value";
const NAMES = [VALUE, ...TABLES.flatMap((table) => FIELDS[table].map(({ name }) => name))];

export const ATTRIBUTION = ["--attribution", "print the full attributions of all sources"] as const;

/**
 * Returns the fields that `--field` selects, either by name or by a pattern such as `network_*`.
 * @throws CliError
 */
function readFields(text: string): readonly string[] {
  const found = text.split(",").map((given) => {
    const name = given.trim();
    return { name, fields: namesMatching(name, NAMES) };
  });
  const unknown = found.filter(({ fields }) => fields.length === 0).map(({ name }) => name);
  if (unknown.length === 0) return found.flatMap(({ fields }) => fields);
  throw usage(
    `--field: there is no ${unknown.map((name) => JSON.stringify(name)).join(", ")}`,
    `${didYouMean(unknown[0]!, NAMES)}available: ${NAMES.join(", ")}; * matches any characters, as in 'network_*'`,
  );
}

/**
 * @param isOne true for a single value on the command line: the answer may be long, and the command fails if there is
 *   no answer
 */
export async function answerValues(
  values: AsyncIterable<string> | Iterable<string>,
  isOne: boolean,
  settings: Settings,
  flags: Flags,
  context: Context,
): Promise<void> {
  const { terminal, ending } = context;
  if (flags.json && flags.field !== undefined)
    throw usage(
      "--field prints text, so it cannot be used with --json",
      "leave out --json; or leave out --field, and select fields of the JSON with a tool such as jq",
    );
  const fields = flags.field === undefined ? undefined : readFields(flags.field);
  const data = await openAnswerData(settings, LOOKUPS, flags.release);
  for (const text of data.warnings) warn(terminal, text);
  const write =
    fields !== undefined
      ? fieldsOf(fields, data)
      : flags.json
        ? jsonOf(isOne, flags, data, context)
        : textOf(isOne, flags, data, context);
  for await (const value of values) {
    try {
      terminal.out(write(value));
    } catch (error) {
      if (isOne || !(error instanceof CliError)) throw error;
      const { message } = error;
      const named = error instanceof Refused && !message.startsWith(value) ? `${value}: ${message}` : message;
      terminal.err(`${printable(named)}\n`);
      ending.exitCode = EXIT.error;
    }
  }
  if (fields === undefined && (!flags.json || flags.attribution === true))
    printSources(terminal, attributions(data.release.manifest.feeds, LOOKUPS), flags.attribution === true);
}

type Write = (value: string) => string;
type Entry = readonly [lookup: Lookup, outcome: string | Refused];
type Mailbox = Exclude<Subject, { readonly kind: "network" | "as" }>;

/** @throws CliError if the value is not of a known kind */
function readSubject(value: string): Subject {
  const subject = subjectOf(value);
  if (subject === undefined) throw new CliError(notAValue(value));
  return subject;
}

/** Returns the API's answer or refusal for each lookup of a value. */
function outcomesOf(value: string, subject: Mailbox, data: AnswerData, now: number, include = 0): Entry[] {
  const asked = subject.kind === "domain" ? subject.mailbox : value;
  return LOOKUPS_OF[subject.kind].map(
    (lookup): Entry => [lookup, orRefused(() => answer(sourceOf(data, now), lookup, asked, include))],
  );
}

/**
 * Returns only the answers, because an address may have a reputation and no location.
 * @throws Refused if there is no answer at all
 */
function answersTo(...question: Parameters<typeof outcomesOf>): [lookup: Lookup, body: string][] {
  const outcomes = outcomesOf(...question);
  const answers = outcomes.flatMap(([lookup, outcome]): [Lookup, string][] =>
    typeof outcome === "string" ? [[lookup, outcome]] : [],
  );
  const [, refusal] = outcomes[0]!;
  if (answers.length === 0 && refusal instanceof Refused) throw refusal;
  return answers;
}

/** As in a batch, a lookup may have a problem document instead of an answer. One value and several look the same. */
function jsonOf(isOne: boolean, flags: Flags, data: AnswerData, { ending }: Context): Write {
  const include = INCLUDE.network | (flags.evidence === true ? INCLUDE.evidence : 0);
  const missing = data.missing.length === 0 ? "" : `,"missing":${JSON.stringify(data.missing)}`;
  const answersOf = (value: string): readonly (readonly [name: string, document: string | Refused])[] => {
    const subject = readSubject(value);
    const now = Date.now();
    switch (subject.kind) {
      case "network":
        return [["network", orRefused(() => JSON.stringify(reportOfNetwork(subject.network, data, now)))]];
      case "as":
        return [["as", JSON.stringify(reportOfSystem(subject.asn, data, now))]];
      default:
        return outcomesOf(value, subject, data, now, include);
    }
  };
  return (value) => {
    let answers: ReturnType<typeof answersOf>;
    try {
      answers = answersOf(value);
    } catch (error) {
      if (isOne || !(error instanceof CliError)) throw error;
      // An unreadable value among several becomes an object with an error, so that there is one object for each value.
      ending.exitCode = EXIT.error;
      return `{"value":${JSON.stringify(value)},"error":${JSON.stringify(error.message)}}`;
    }
    const fields = answers.map(
      ([name, answer]) => `,"${name}":${typeof answer === "string" ? answer : answer.document}`,
    );
    if (answers.every(([, answer]) => answer instanceof Refused)) ending.exitCode = EXIT.error;
    return `{"value":${JSON.stringify(value)}${fields.join("")}${missing}}`;
  };
}

/** Fields separated by tabs. An unknown value is empty. */
function fieldsOf(fields: readonly string[], data: AnswerData): Write {
  const include = FIELDS.network.some(({ name }) => fields.includes(name)) ? INCLUDE.network : 0;
  return (value) => {
    const known = new Map<string, unknown>([[VALUE, value]]);
    const subject = readSubject(value);
    if (subject.kind === "network" || subject.kind === "as")
      throw new CliError(`${value} has no fields`, "print it as JSON: --json");
    for (const [lookup, body] of answersTo(value, subject, data, Date.now(), include)) {
      const answer = JSON.parse(body);
      for (const { name, of } of FIELDS[lookup]) {
        const cell = of(answer);
        if (cell !== false || !data.missing.includes(name)) known.set(name, cell);
      }
      const { network } = answer;
      if (network) for (const { name, of } of FIELDS.network) known.set(name, of(network));
    }
    return fields.map((name) => String(known.get(name) ?? "")).join("\t");
  };
}

function textOf(isOne: boolean, flags: Flags, data: AnswerData, { terminal }: Context): Write {
  const withEvidence = flags.evidence === true;
  const isLong = isOne || withEvidence;
  return (value) => {
    const now = Date.now();
    const subject = readSubject(value);
    const { style } = terminal;
    const look = { missing: data.missing, withEvidence, style };
    switch (subject.kind) {
      case "network": {
        const report = reportOfNetwork(subject.network, data, now);
        return isLong ? networkText(value, report, look) : networkLine(value, report, look);
      }
      case "as": {
        const report = reportOfSystem(subject.asn, data, now);
        return isLong ? systemText(report, look) : systemLine(report, look);
      }
    }
    const include = isLong ? INCLUDE.evidence | INCLUDE.network : 0;
    const answers = answersTo(value, subject, data, now, include);
    const result = (body: string) => ({ value, answer: JSON.parse(body), now, ...look });
    if (isLong) return answers.map(([lookup, body]) => lookupText(lookup, result(body))).join("\n\n");
    return lookupLine(answers.map(([lookup, body]) => [lookup, result(body)]));
  };
}
