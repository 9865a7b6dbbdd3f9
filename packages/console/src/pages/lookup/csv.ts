// csv.ts: answers as a table for spreadsheets (RFC 4180).
//
// note A flag without data is an empty cell, not "false". A text that a spreadsheet would run as a formula gets an
//      apostrophe in front.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Answer } from "@inkling/server/admin-answers";
import { isProblem, isUnknown } from "./answers.ts";

type Cell = string | number | boolean | undefined;

/** The columns, each with what it has for an answer. */
const COLUMNS: readonly (readonly [
  name: string,
  cell: (answer: Answer, missing: readonly string[]) => Cell,
])[] = [
  ["value", ({ value }) => value],
  ["kind", ({ kind }) => kind],
  ["country_code", (answer) => placeOf(answer)?.country.iso_code ?? countryOf(answer)],
  ["country", (answer) => placeOf(answer)?.country.name],
  ["region", (answer) => placeOf(answer)?.subdivisions[0]?.name],
  ["city", (answer) => placeOf(answer)?.city.name],
  ["postal_code", (answer) => placeOf(answer)?.postal.code],
  ["latitude", (answer) => placeOf(answer)?.location.latitude],
  ["longitude", (answer) => placeOf(answer)?.location.longitude],
  ["accuracy_radius", (answer) => placeOf(answer)?.location.accuracy_radius],
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
  ["flagged_share", (answer) => summaryOf(answer)?.flagged],
  ["valid", (answer) => verdictOf(answer)?.valid],
  ["disposable", disposableOf],
  ["providers", (answer) => verdictOf(answer)?.providers.join(" ")],
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

function summaryOf(answer: Answer) {
  return answer.kind === "network" && !isProblem(answer.summary) ? answer.summary : undefined;
}

/** Of a network that lies in one. */
function countryOf(answer: Answer): string | undefined {
  const countries = summaryOf(answer)?.countries ?? [];
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
  const found = "email" in answer ? answer.email : "summary" in answer ? answer.summary : answer.reputation;
  return isProblem(found) ? found.code : undefined;
}
