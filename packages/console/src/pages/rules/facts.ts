// facts.ts: lists the facts that a ruleset's conditions can read, as completion, hover and the rule builder show them.

import { FACT_NAMES, FACT_ROWS, type FactType } from "@inkling/contract";
import type { DeclaredFacts } from "../../answers.ts";

export interface Fact {
  /** How a condition reads it: `ip.kind`, `count("network", "1h")`. */
  readonly expression: string;
  readonly type: FactType;
  readonly meaning: string;
  /** The possible values of a text, or of the items of a list; undefined if any value is possible. */
  readonly values: readonly string[] | undefined;
}

const BUILT_IN: readonly Fact[] = FACT_NAMES.map((name) => {
  const { type, meaning, values } = FACT_ROWS[name];
  return { expression: name.replace(/^count\.(\w+)_(\w+)$/, 'count("$1", "$2")'), type, meaning, values };
});

export const factsWith = (declared: DeclaredFacts): readonly Fact[] => [
  ...BUILT_IN,
  ...Object.entries(declared).map(([name, type]) => ({
    expression: `facts.${name}`,
    type,
    meaning: "sent by the caller in `facts`",
    values: undefined,
  })),
];

const EXPRESSION = /count\(\s*"(\w+)"\s*,\s*"(\w+)"\s*\)|[a-z_][\w.]*/g;

/**
 * Finds the fact that a line reads at an offset.
 * @returns the fact and its place in the line; undefined if there is none
 */
export function factAt(line: string, at: number, declared: DeclaredFacts) {
  for (const { 0: found, 1: subject, 2: window, index } of line.matchAll(EXPRESSION)) {
    if (at < index || at > index + found.length) continue;
    const expression = subject === undefined ? found : `count("${subject}", "${window}")`;
    const fact = factsWith(declared).find((one) => one.expression === expression);
    return fact && { fact, from: index, to: index + found.length };
  }
  return undefined;
}
