// completion.ts: finds what the rules' editor offers at the cursor: facts in conditions and examples, and the values of
// facts and keys between quotation marks.

import type { Completion } from "@codemirror/autocomplete";
import { ACTIONS } from "@inkling/contract";
import type { DeclaredFacts } from "../../answers.ts";
import { factsWith } from "./facts.ts";
import { RULE_MODES } from "./rule-text.ts";

const BUILT_IN = factsWith({});

/** Names with a fixed set of values. */
const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ["on_missing", ACTIONS],
  ["then", ACTIONS],
  ["action", ACTIONS],
  ["mode", RULE_MODES],
  ...BUILT_IN.map(({ expression, values = [] }) => [expression, values] as const),
]);
const ITEMS = BUILT_IN.flatMap(({ type, values = [] }) => (type === "list" ? values : []));

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
  const options = factsWith(declared).map(({ expression, type, meaning }) => ({
    label: expression,
    detail: type,
    info: meaning.replaceAll("`", ""),
  }));
  return { word: /[\w.]*$/.exec(line)![0], options };
}
