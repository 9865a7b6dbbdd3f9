// decision-tables.ts: generates the tables of reasons and facts in docs/decision-reference.md from the rows of
// decisions.

import { FACT_NAMES, FACT_ROWS, REASON_CODES, REASON_ROWS } from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const PAGE = "docs/decision-reference.md";

export function decisionTables(): GeneratedSection[] {
  const reasons = REASON_CODES.map((code) => {
    const { weight, when, meaning } = REASON_ROWS[code];
    return [`\`${code}\``, String(weight), meaning, `\`${when}\``];
  });
  const facts = FACT_NAMES.map((name) => {
    const { type, meaning, data } = FACT_ROWS[name];
    return [`\`${name}\``, type, meaning, data === undefined ? "" : `\`${data}\``];
  });
  return [
    {
      path: PAGE,
      section: "reasons",
      content: markdownTable(["reason", "weight", "applies if", "condition"], reasons),
    },
    {
      path: PAGE,
      section: "facts",
      content: markdownTable(["fact", "type", "meaning", "in `degraded` if the data is missing"], facts),
    },
  ];
}
