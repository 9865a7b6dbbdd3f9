// csv.ts: writes answers as a table for spreadsheets (RFC 4180).
//
// A flag without data is an empty cell, not "false". If a spreadsheet would run a text as a formula, the text gets a
// leading apostrophe.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Answer } from "../../answers.ts";
import { isProblem, isUnknown, NOT_READABLE, suggestionOf, summariesOf } from "./answers.ts";

type Cell = string | number | boolean | undefined;

/** The columns, each with a function that returns an answer's cell. */
const COLUMNS: readonly (readonly [
  name: string,
  cell: (answer: Answer, missing: readonly string[]) => Cell,
])[] = [
  ["value", ({ value }) => value],
  ["kind", ({ kind }) => (kind === "unknown" ? NOT_READABLE : kind)],
  ["country_code", (answer) => placeOf(answer)?.country.iso_code ?? countryOf(answer)],
  ["country", (answer) => placeOf(answer)?.country.name],
  ["region", (answer) => placeOf(answer)?.subdivisions[0]?.name],
  ["city", (answer) => placeOf(answer)?.city.name],
  ["postal_code", (answer) => placeOf(answer)?.postal.code],
  ["latitude", (answer) => placeOf(answer)?.location.latitude],
  ["longitude", (answer) => placeOf(answer)?.location.longitude],
  ["accuracy_radius", (answer) => placeOf(answer)?.location.accuracy_radius],
  ["asn", (answer) => networkOf(answer)?.asn],
  ["organization", (answer) => networkOf(answer)?.organization],
  ["network", (answer) => networkOf(answer)?.prefix],
  ["network_kind", (answer) => networkOf(answer)?.kind],
  ...REPUTATION_FLAGS.map(
    (flag) =>
      [
        flag,
        (answer: Answer, missing: readonly string[]) => {
          if (!("reputation" in answer) || isProblem(answer.reputation)) return undefined;
          return isUnknown(answer.reputation, flag, missing) ? undefined : answer.reputation[flag];
        },
      ] as const,
  ),
  ["flagged_share", flaggedShareOf],
  ["valid", (answer) => verdictOf(answer)?.valid],
  ["disposable", disposableOf],
  ["providers", (answer) => verdictOf(answer)?.providers.join(" ")],
  ["did_you_mean", suggestionOf],
  ["overrides", ({ overrides }) => overrides.map(({ id }) => id).join(" ")],
  ["problem", problemOf],
];

export function csvOf(answers: readonly Answer[], missing: readonly string[]): string {
  const rows = answers.map((answer) => COLUMNS.map(([, cell]) => cell(answer, missing)));
  return [COLUMNS.map(([name]) => name), ...rows].map((row) => `${row.map(quote).join(",")}\r\n`).join("");
}

function quote(cell: Cell): string {
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function placeOf(answer: Answer) {
  return "geolocation" in answer && !isProblem(answer.geolocation) ? answer.geolocation : undefined;
}

export function networkOf(answer: Answer) {
  const network = placeOf(answer)?.network;
  if (network !== undefined || answer.kind !== "as") return network;
  return { asn: answer.asn, organization: answer.system?.organization, prefix: undefined, kind: undefined };
}

/** Returns the flagged share of a network; for an AS, the larger share of its two address families. */
function flaggedShareOf(answer: Answer): number | undefined {
  const shares = summariesOf(answer).map(({ flagged }) => flagged);
  return shares.length === 0 ? undefined : Math.max(...shares);
}

/** Returns the country of a network, if all of it is in one country. */
function countryOf(answer: Answer): string | undefined {
  const countries = summariesOf(answer).flatMap((summary) => summary.countries);
  return countries.length === 1 ? countries[0]?.iso_code : undefined;
}

function verdictOf(answer: Answer) {
  return "email" in answer && !isProblem(answer.email) ? answer.email : undefined;
}

function disposableOf(answer: Answer, missing: readonly string[]) {
  const verdict = verdictOf(answer);
  return verdict?.disposable === false && missing.includes("disposable") ? undefined : verdict?.disposable;
}

function problemOf(answer: Answer): string | undefined {
  if (answer.kind === "as") return undefined;
  const found = "email" in answer ? answer.email : "summary" in answer ? answer.summary : answer.reputation;
  return isProblem(found) ? found.code : undefined;
}
