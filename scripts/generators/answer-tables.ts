// answer-tables.ts: generates the tables of fields, flags and labels in docs/api.md and docs/evidence.md.

import {
  ANSWER_FIELDS,
  EVIDENCE_ENTRY,
  EVIDENCE_LABELS,
  type Field,
  type Fields,
  FLAG_ROWS,
  LABEL_ROWS,
  NETWORK,
  REPUTATION_FLAGS,
} from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const code = (text: string) => `\`${text}\``;

/** Merges adjacent rows whose cells after the first are equal into one row: "`isp`, `mobile`". */
function joined(rows: readonly (readonly [name: string, ...cells: string[]])[]): string[][] {
  const out: string[][] = [];
  for (const [name, ...cells] of rows) {
    const last = out.at(-1);
    if (last?.slice(1).join("|") === cells.join("|")) last[0] += `, ${name}`;
    else out.push([name, ...cells]);
  }
  return out;
}

const meanings = (fields: Fields) =>
  markdownTable(
    ["field", "meaning"],
    joined(
      Object.entries(fields).flatMap(([name, row]) =>
        row.optIn === undefined ? [[code(name), row.docs ?? row.description ?? ""] as const] : [],
      ),
    ),
  );

/** Returns the fields of an object, each with its meaning in parentheses. */
function fields(row: Field): string {
  const object = row.type === "list" ? row.of : row;
  if (object.type !== "object") return "";
  const names = Object.entries<Field>(object.fields).map(([name, { docs }]) =>
    docs === undefined ? code(name) : `${code(name)} (${docs})`,
  );
  const list = names.join(", ");
  if (row.docs === undefined) return list;
  return row.type === "list" ? `${row.docs}: ${list}` : `${list}: ${row.docs}`;
}

export function answerTables(): readonly GeneratedSection[] {
  const place = Object.entries<Field>(ANSWER_FIELDS.geolocate.fields).flatMap(([name, row]) =>
    row.optIn === undefined ? [[code(name), fields(row)]] : [],
  );
  const entries = Object.entries<Field>(EVIDENCE_ENTRY.fields).map(([name, row]) => [
    code(name),
    row.docs ?? "",
    row.where ?? "all",
  ]);
  const labels = joined(EVIDENCE_LABELS.map((label) => [code(label), LABEL_ROWS[label].meaning] as const));
  const flags = REPUTATION_FLAGS.map((flag) => [code(flag), FLAG_ROWS[flag].meaning]);
  const api = (section: string, content: string) => ({ path: "docs/api.md", section, content });
  const evidence = (section: string, content: string) => ({ path: "docs/evidence.md", section, content });
  return [
    api("geolocate", markdownTable(["field", "fields"], place)),
    api("reputation", markdownTable(["flag", "meaning"], flags)),
    api("network", meanings(NETWORK.fields)),
    api("email", meanings(ANSWER_FIELDS.email.fields)),
    evidence("entries", markdownTable(["field", "meaning", "in"], entries)),
    evidence("labels", markdownTable(["label", "meaning"], labels)),
  ];
}
