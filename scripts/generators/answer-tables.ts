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
import { code, type GeneratedSection, tableOn } from "./generated.ts";

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
  joined(
    Object.entries(fields).flatMap(([name, row]) =>
      row.optIn === undefined ? [[code(name), row.docs ?? row.description ?? ""] as const] : [],
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
    row.where ?? row.lookups?.join(", ") ?? "all",
  ]);
  const labels = joined(EVIDENCE_LABELS.map((label) => [code(label), LABEL_ROWS[label].meaning] as const));
  const flags = REPUTATION_FLAGS.map((flag) => [code(flag), FLAG_ROWS[flag].meaning]);
  return [
    tableOn("docs/api.md", "geolocate", ["field", "fields"], place),
    tableOn("docs/api.md", "reputation", ["flag", "meaning"], flags),
    tableOn("docs/api.md", "network", ["field", "meaning"], meanings(NETWORK.fields)),
    tableOn("docs/api.md", "email", ["field", "meaning"], meanings(ANSWER_FIELDS.email.fields)),
    tableOn("docs/evidence.md", "entries", ["field", "meaning", "in"], entries),
    tableOn("docs/evidence.md", "labels", ["label", "meaning"], labels),
  ];
}
