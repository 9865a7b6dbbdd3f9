// rule-text.ts: finds the rules in a ruleset's text, and changes one key of one rule. All other lines remain as they
// are, comments too.
//
// The TOML parser does not report lines. So this module finds `[[rule]]` headers and the statements below them, parses
// each statement, and only edits a rule whose statements are what the parser finds in the whole text.

import { ACTIONS, FACT_TYPES, type FactType } from "@inkling/contract";
import { parse, TomlError } from "smol-toml";
import type { DeclaredFacts, RulesetCheck } from "../../answers.ts";
import type { Fact } from "./facts.ts";
import { type Beyond, type Condition, NEW_CLAUSE, readCondition, writeCondition } from "./rule-condition.ts";

export const RULE_MODES = ["live", "shadow", "off"] as const;

type Value = string | boolean | readonly string[];
type Example = RulesetCheck["examples"][number];
type Table = Readonly<Record<string, unknown>>;

/** The lines of one key. */
interface Statement {
  readonly key: string;
  readonly value: unknown;
  /** Index of the first line, and of the line after the last. */
  readonly from: number;
  readonly to: number;
}

export interface RuleText {
  readonly name: string;
  /** Index of the line of its header. */
  readonly header: number;
  readonly keys: Table;
  /** Undefined if the rule is not written as lines of keys. */
  readonly statements: readonly Statement[] | undefined;
}

export interface RulesText {
  readonly rules: readonly RuleText[];
  /** Empty if they are not written as tables. */
  readonly examples: readonly RuleText[];
  readonly declared: DeclaredFacts;
}

const HEADERS = { rule: /^\s*\[\[\s*rule\s*\]\]/, example: /^\s*\[\[\s*example\s*\]\]/ } as const;
const ANY_HEADER = /^\s*\[/;
const NOTHING = /^\s*(?:#|$)/;
const KEY = /^\s*([\w-]+)\s*=/;

const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function parseToml(text: string): Table | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @returns why the builder cannot edit any rule of this text, or its rules */
export function readRules(text: string): RulesText | Beyond {
  const file = parseToml(text);
  if (file === undefined) return { beyond: "The text has a mistake." };
  const lines = text.split("\n");
  const rules = tablesIn(lines, file, "rule");
  if (rules === undefined) return { beyond: "The rules are not written as [[rule]] tables." };
  const declared = isTable(file.facts) ? declaredIn(file.facts) : {};
  return { declared, rules, examples: tablesIn(lines, file, "example") ?? [] };
}

function tablesIn(lines: readonly string[], file: Table, name: keyof typeof HEADERS): RuleText[] | undefined {
  const tables = file[name] ?? [];
  const headers = lines.flatMap((line, i) => (HEADERS[name].test(line) ? [i] : []));
  if (!Array.isArray(tables) || !tables.every(isTable) || tables.length !== headers.length) return undefined;
  return tables.map((keys, i) => ({
    name: String(keys.name ?? ""),
    header: headers[i]!,
    keys,
    statements: statementsOf(lines, headers[i]!, keys),
  }));
}

const isFactType = (type: unknown): type is FactType => FACT_TYPES.some((known) => known === type);
const declaredIn = (facts: Table): DeclaredFacts =>
  Object.fromEntries(
    Object.entries(facts).filter((entry): entry is [string, FactType] => isFactType(entry[1])),
  );

function statementsOf(lines: readonly string[], header: number, keys: Table): Statement[] | undefined {
  const found: Statement[] = [];
  for (let from = header + 1; from < lines.length && !ANY_HEADER.test(lines[from]!); ) {
    if (NOTHING.test(lines[from]!)) {
      from++;
      continue;
    }
    const statement = statementAt(lines, from);
    if (statement === undefined) return undefined;
    found.push(statement);
    from = statement.to;
  }
  const isWhole =
    found.length === Object.keys(keys).length && found.every(({ key, value }) => isEqual(keys[key], value));
  return isWhole ? found : undefined;
}

/** Takes lines until they can be parsed, because a value can have several lines. */
function statementAt(lines: readonly string[], from: number): Statement | undefined {
  const key = KEY.exec(lines[from]!)?.[1];
  if (key === undefined) return undefined;
  for (let to = from + 1; to <= lines.length; to++) {
    const table = parseToml(lines.slice(from, to).join("\n"));
    if (table !== undefined) return { key, value: table[key], from, to };
  }
  return undefined;
}

/** A rule in the terms of the builder. */
export interface ShownRule {
  readonly name: string;
  readonly condition: Condition;
  readonly action: string;
  readonly isAtLeast: boolean;
  readonly isReview: boolean;
  readonly mode: string;
}

const KEYS: Readonly<Record<string, (value: unknown) => boolean>> = {
  name: (value) => typeof value === "string",
  when: (value) => typeof value === "string",
  // biome-ignore lint/suspicious/noThenProperty: `then` is a key of the file format; nobody awaits a rule
  then: (value) => ACTIONS.some((action) => action === value),
  at_least: (value) => value === undefined || typeof value === "boolean",
  review: (value) => value === undefined || typeof value === "boolean",
  mode: (value) => RULE_MODES.some((mode) => mode === value),
};

/** @returns the rule, or why the builder cannot show it */
export function showRule({ keys, statements }: RuleText, facts: readonly Fact[]): ShownRule | Beyond {
  if (statements === undefined) return { beyond: "its lines are not simple keys" };
  const unknown = Object.keys(keys).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown !== undefined) return { beyond: `it has the unknown key \`${unknown}\`` };
  const wrong = Object.keys(KEYS).find((key) => !KEYS[key]!(keys[key]));
  if (wrong !== undefined) return { beyond: `its \`${wrong}\` is missing or has a wrong value` };
  const condition = readCondition(String(keys.when), facts);
  if ("beyond" in condition) return { beyond: `its condition contains \`${condition.beyond}\`` };
  return {
    name: String(keys.name),
    condition,
    action: String(keys.then),
    isAtLeast: keys.at_least === true,
    isReview: keys.review === true,
    mode: String(keys.mode),
  };
}

/** @param rule a rule of this text that {@link showRule} shows */
export function withKey(text: string, { statements = [] }: RuleText, key: string, value: Value): string {
  const lines = text.split("\n");
  const found = statements.find((statement) => statement.key === key);
  if (found === undefined) {
    const { from, to } = statements.at(-1)!;
    const indent = /^\s*/.exec(lines[from]!)![0];
    lines.splice(to, 0, `${indent}${key} = ${tomlOf(key, value)}`);
  } else {
    const source = lines.slice(found.from, found.to).join("\n");
    const start = /^\s*[\w-]+\s*=\s*/.exec(source)![0];
    lines.splice(found.from, found.to - found.from, start + tomlOf(key, value) + commentIn(source, found));
  }
  return lines.join("\n");
}

/** Replaces what an example expects with what it gives. */
export function withExpected(text: string, index: number, { expected, action, rules }: Example): string {
  const changes: (readonly [key: string, value: Value])[] = [];
  if (expected.action !== undefined) changes.push(["action", action]);
  if (expected.rules !== undefined) changes.push(["rules", rules]);
  return changes.reduce((written, [key, value]) => {
    const read = readRules(written);
    const example = "beyond" in read ? undefined : read.examples[index];
    return example?.statements ? withKey(written, example, key, value) : written;
  }, text);
}

/** Returns the comment after a value, with the space before it. */
function commentIn(source: string, { key, value }: Statement): string {
  for (let at = source.indexOf("#"); at >= 0; at = source.indexOf("#", at + 1)) {
    const before = source.slice(0, at);
    if (isEqual(parseToml(before)?.[key], value)) return /[ \t]*$/.exec(before)![0] + source.slice(at);
  }
  return "";
}

/** Conditions are between single quotes, so that they need no escapes, and mistakes in them have an exact place. */
function tomlOf(key: string, value: Value): string {
  if (typeof value === "boolean") return String(value);
  if (key !== "when" || typeof value !== "string")
    return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
  const quotes = value.includes("'") ? "'''" : "'";
  return quotes + value + quotes;
}

/** Adds a rule in shadow after the last one. */
export function withNewRule(text: string, rules: readonly RuleText[]): string {
  const names = new Set(rules.map(({ name }) => name));
  let name = "new-rule";
  for (let n = 2; names.has(name); n++) name = `new-rule-${n}`;
  const block = [
    "[[rule]]",
    `name = "${name}"`,
    `when = ${tomlOf("when", writeCondition({ joint: "all", groups: [[NEW_CLAUSE]] }))}`,
    'then = "challenge"',
    'mode = "shadow"',
  ];
  return withBlock(text, rules, block, rules.length);
}

/** Inserts a rule's lines so that the rule gets this index. */
function withBlock(
  text: string,
  rules: readonly RuleText[],
  block: readonly string[],
  index: number,
): string {
  const lines = text.split("\n");
  const next = rules[index];
  const end = rules.at(-1)?.statements?.at(-1)?.to;
  if (next !== undefined) lines.splice(startOf(lines, next), 0, ...block, "");
  else if (end !== undefined) lines.splice(end, 0, "", ...block);
  else return `${[text.trimEnd(), block.join("\n")].filter(Boolean).join("\n\n")}\n`;
  return lines.join("\n");
}

/** Returns the index of a rule's first line: its header, or the first line of the comment directly above it. */
function startOf(lines: readonly string[], { header }: RuleText): number {
  let start = header;
  // what looks like a comment may be the end of a text with several lines
  const isComment = (at: number) =>
    /^\s*#/.test(lines[at] ?? "") && parseToml(lines.slice(0, at).join("\n")) !== undefined;
  while (isComment(start - 1)) start--;
  return start;
}

const endOf = ({ header, statements = [] }: RuleText) => statements.at(-1)?.to ?? header + 1;

/** Moves a rule, with the comment directly above it, so that it gets another index. */
export function withRuleAt(text: string, rule: RuleText, index: number): string {
  const lines = text.split("\n");
  const rest = withoutRule(text, rule);
  const others = readRules(rest);
  if ("beyond" in others) return text; // cannot be: the text was read with the rule
  return withBlock(rest, others.rules, lines.slice(startOf(lines, rule), endOf(rule)), index);
}

/** Removes a rule, the comment directly above it, and the empty line above both. */
export function withoutRule(text: string, rule: RuleText): string {
  const lines = text.split("\n");
  let from = startOf(lines, rule);
  if (from > 0 && lines[from - 1]!.trim() === "") from--;
  lines.splice(from, endOf(rule) - from);
  return lines.join("\n");
}
