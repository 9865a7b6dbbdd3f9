// completion.ts: what the rules' editor offers at the cursor: facts in conditions and examples, and the values of facts
// and keys between quotation marks.

import type { Completion } from "@codemirror/autocomplete";
import { ACTIONS, FACT_NAMES, FACT_ROWS } from "@inkling/contract";
import type { DeclaredFacts } from "../../answers.ts";

/** Names with a fixed set of values. */
const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ["on_missing", ACTIONS],
  ["then", ACTIONS],
  ["action", ACTIONS],
  ["mode", ["live", "shadow", "off"]],
  ...FACT_NAMES.map((name) => [name, FACT_ROWS[name].values ?? []] as const),
]);
const ITEMS = FACT_NAMES.flatMap((name) => (FACT_ROWS[name].type === "list" ? VALUES.get(name)! : []));
const FACTS: readonly Completion[] = FACT_NAMES.map((name) => ({
  label: name.replace(/^count\.(\w+)_(\w+)$/, 'count("$1", "$2")'),
  detail: FACT_ROWS[name].type,
  info: FACT_ROWS[name].meaning.replaceAll("`", ""),
}));

/** The start of a line that assigns a key or begins a table. */
const KEY = /^[ \t]*(?:(\w+)[ \t]*=(?!=)|\[)/gm;
/** A name, an operator, and an open text, perhaps in a list: `ip.country in ["DE", "A`. */
const VALUE = /([\w.]+)\s*(?:[!=]?=|\bin)\s*(?:\[[^\]]*)?["']([\w-]*)$/;
/** An open text where a condition begins, as in `"relay" in ip.services`. */
const ITEM = /(?:[&|!(]\s*|=\s*')"([\w-]*)$/;

interface Completions {
  /** The part that is already written. */
  readonly word: string;
  readonly options: readonly Completion[];
}

/**
 * @param before the text before the cursor
 * @param declared the facts that the ruleset declares
 * @returns undefined if nothing can be completed
 */
export function completionsAt(before: string, declared: DeclaredFacts): Completions | undefined {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (/^\s*#/.test(line)) return undefined;
  const valuesOf = (word = "", values: readonly string[] = []) => ({
    word,
    options: values.map((label) => ({ label })),
  });
  const [, name = "when", written] = VALUE.exec(line) ?? [];
  if (name !== "when") return valuesOf(written, VALUES.get(name));
  const item = ITEM.exec(line);
  if (item !== null) return valuesOf(item[1], ITEMS);
  const key = Array.from(before.matchAll(KEY)).at(-1)?.[1];
  if (key !== "when" && key !== "given") return undefined;
  const own = Object.entries(declared).map(([fact, detail]) => ({ label: `facts.${fact}`, detail }));
  return { word: /[\w.]*$/.exec(line)![0], options: [...FACTS, ...own] };
}
