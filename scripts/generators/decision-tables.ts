// decision-tables.ts: generates the table of a decision's fields in docs/decisions.md, the tables of reasons and facts in
// docs/decision-reference.md, and the table of the starter ruleset's rules in docs/rulesets.md.

import {
  DECISION,
  FACT_NAMES,
  FACT_ROWS,
  type Field,
  REASON_CODES,
  REASON_ROWS,
  STARTER_RULESET,
} from "@inkling/contract";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

const PAGE = "docs/decision-reference.md";

/** Returns the JSON type of a field. "?" marks fields of an object that may be omitted. */
function typeOf(row: Field): string {
  if (row.type === "list") {
    const { of } = row;
    if (of.type !== "object") return "list of strings";
    const names = Object.entries<Field>(of.fields).map(([name, { optional }]) =>
      optional ? `${name}?` : name,
    );
    return `list of ${code(`{ ${names.join(", ")} }`)}`;
  }
  if (row.type === "text" && row.values !== undefined) return row.values.map(code).join(", ");
  if (row.type === "text") return row.nullable ? "string or `null`" : "string";
  return row.type;
}

/** Each rule of the starter ruleset, with the comment above it. */
const STARTER_RULE = /((?:^# .*\n)+)\[\[rule\]\]\n((?:.+\n)+)/gm;

const starterRules = (): string[][] =>
  Array.from(STARTER_RULESET.matchAll(STARTER_RULE), ([, comment = "", keys = ""]) => {
    const setting = (key: string) => new RegExp(`^${key} = "?(.*?)"?$`, "m").exec(keys)?.[1];
    const action = [
      code(setting("then")!),
      setting("at_least") === "true" && "at least",
      setting("review") === "true" && "and a review",
    ];
    const text = comment.replace(/^# /gm, "").trim().replaceAll("\n", " ");
    return [
      code(setting("name")!),
      text.replace(/docs\/([\w-]+)\.md/, "[$1]($1.md)"),
      action.filter(Boolean).join(" "),
      setting("mode")!,
    ];
  });

export function decisionTables(): GeneratedSection[] {
  const reasons = REASON_CODES.map((reason) => {
    const { weight, when, meaning } = REASON_ROWS[reason];
    return [code(reason), String(weight), meaning, code(when)];
  });
  const facts = FACT_NAMES.map((name) => {
    const { type, meaning, data } = FACT_ROWS[name];
    return [code(name), type, meaning, data === undefined ? "" : code(data)];
  });
  const fields = Object.entries<Field>(DECISION.fields).map(([name, row]) => [
    code(name),
    typeOf(row),
    row.docs ?? row.description!.replace(/^[A-Z]/, (letter) => letter.toLowerCase()),
  ]);
  return [
    tableOn("docs/decisions.md", "decision", ["field", "type", "meaning"], fields),
    tableOn(
      "docs/rulesets.md",
      "starter rules",
      ["rule", "what it is about", "action, once it is live", "mode"],
      starterRules(),
    ),
    tableOn(PAGE, "reasons", ["reason", "weight", "applies if", "condition"], reasons),
    tableOn(PAGE, "facts", ["fact", "type", "meaning", "in `degraded` if the data is missing"], facts),
  ];
}
