// rule-condition.ts: reads and writes the conditions that the rule builder can show.
//
// The parser is the engine's. A clause is found by writing it: each operator writes the clause that it would be, and
// the clause is shown only if its text has the syntax tree of the text that was read. Therefore, the builder cannot
// show anything that the text does not say.

import { FACT_TYPES, type FactType } from "@inkling/contract";
import { type ASTNode, ParseError, parse } from "@marcbachmann/cel-js";
import { serialize } from "@marcbachmann/cel-js/serialize";
import type { Fact } from "./facts.ts";

export type Literal = string | number;

interface OperatorRow {
  readonly text: string;
  /** The types of facts that it tests. */
  readonly types: readonly FactType[];
  readonly operand: "none" | "value" | "values" | "fact" | "multiple";
  /** Is the value a part of a text, which the fact's possible values say nothing about? */
  readonly isPart?: true;
  /** Does it ask whether the fact is known? */
  readonly isCheck?: true;
  readonly write: (fact: string, operand: string) => string;
}

const TEXT: Pick<OperatorRow, "types"> = { types: ["text"] };
const NUMBER: Pick<OperatorRow, "types"> = { types: ["number"] };
const SINGLE: Pick<OperatorRow, "types"> = { types: ["text", "number"] };
const MULTIPLE = { ...NUMBER, operand: "multiple" } as const;
const PART = { ...TEXT, operand: "value", isPart: true } as const;
const CHECK = { types: FACT_TYPES, operand: "none", isCheck: true } as const;

/** In the order in which the builder offers them. */
const ROWS = {
  is_true: { text: "is true", types: ["boolean"], operand: "none", write: (fact) => fact },
  is_false: { text: "is false", types: ["boolean"], operand: "none", write: (fact) => `!${fact}` },
  includes: { text: "includes", types: ["list"], operand: "value", write: (fact, v) => `${v} in ${fact}` },
  lacks: {
    text: "does not include",
    types: ["list"],
    operand: "value",
    write: (fact, v) => `!(${v} in ${fact})`,
  },
  is: { text: "is", ...SINGLE, operand: "value", write: (fact, v) => `${fact} == ${v}` },
  is_not: { text: "is not", ...SINGLE, operand: "value", write: (fact, v) => `${fact} != ${v}` },
  is_more: { text: "is more than", ...NUMBER, operand: "value", write: (fact, v) => `${fact} > ${v}` },
  is_at_least: { text: "is at least", ...NUMBER, operand: "value", write: (fact, v) => `${fact} >= ${v}` },
  is_less: { text: "is less than", ...NUMBER, operand: "value", write: (fact, v) => `${fact} < ${v}` },
  is_at_most: { text: "is at most", ...NUMBER, operand: "value", write: (fact, v) => `${fact} <= ${v}` },
  exceeds: { text: "exceeds … times", ...MULTIPLE, write: (fact, v) => `${fact} > ${v}` },
  falls_below: { text: "is below … times", ...MULTIPLE, write: (fact, v) => `${fact} < ${v}` },
  is_one_of: { text: "is one of", ...SINGLE, operand: "values", write: (fact, v) => `${fact} in ${v}` },
  is_none_of: { text: "is none of", ...SINGLE, operand: "values", write: (fact, v) => `!(${fact} in ${v})` },
  starts: { text: "starts with", ...PART, write: (fact, v) => `${fact}.startsWith(${v})` },
  ends: { text: "ends with", ...PART, write: (fact, v) => `${fact}.endsWith(${v})` },
  contains: { text: "contains", ...PART, write: (fact, v) => `${fact}.contains(${v})` },
  equals: { text: "is the same as", ...TEXT, operand: "fact", write: (fact, v) => `${fact} == ${v}` },
  differs: { text: "differs from", ...TEXT, operand: "fact", write: (fact, v) => `${fact} != ${v}` },
  is_known: { text: "is known", ...CHECK, write: (fact) => `has(${fact})` },
  is_unknown: { text: "is unknown", ...CHECK, write: (fact) => `!has(${fact})` },
} as const satisfies Readonly<Record<string, OperatorRow>>;

export type Operator = keyof typeof ROWS;
export const OPERATORS: Readonly<Record<Operator, OperatorRow>> = ROWS;
const NAMES = Object.keys(ROWS) as readonly Operator[];

/** `has` takes no count, whose value is always known. */
export const operatorsFor = ({ type, expression }: Fact) =>
  NAMES.filter((name) => {
    const { types, isCheck } = OPERATORS[name];
    return types.includes(type) && !(isCheck && expression.includes("("));
  });

/** A number of times another fact. */
export interface Multiple {
  readonly times: number;
  /** The other fact's expression. */
  readonly of: string;
}
export const isMultiple = (operand: Clause["operand"]): operand is Multiple =>
  typeof operand === "object" && operand !== null && "times" in operand;

export interface Clause {
  /** The fact's expression. */
  readonly fact: string;
  readonly operator: Operator;
  /** Null, a value, values, the expression of a fact, or a multiple of a fact: what the operator needs. */
  readonly operand: null | Literal | readonly Literal[] | Multiple;
}

/**
 * Groups of clauses. If all groups must match, one clause of each group is enough; if any group is enough, all of its
 * clauses must match.
 */
export interface Condition {
  readonly joint: "all" | "any";
  readonly groups: readonly (readonly Clause[])[];
}

/** What a text contains that the builder cannot show. */
export interface Beyond {
  readonly beyond: string;
}

/** Without single quotes next to each other, so that the text fits between three of them in TOML. */
const literal = (value: Literal) =>
  typeof value === "number"
    ? String(value)
    : JSON.stringify(value).replaceAll("''", "'\\u0027").replaceAll("\u007f", "\\u007f");

function writeClause({ fact, operator, operand }: Clause): string {
  const row = OPERATORS[operator];
  if (row.operand === "fact") return row.write(fact, String(operand));
  if (isMultiple(operand))
    return row.write(fact, operand.times === 1 ? operand.of : `${literal(operand.times)} * ${operand.of}`);
  if (Array.isArray(operand)) return row.write(fact, `[${operand.map(literal).join(", ")}]`);
  return row.write(fact, operand === null ? "" : literal(operand as Literal));
}

export function writeCondition({ joint, groups }: Condition): string {
  const [outer, inner] = joint === "all" ? [" && ", " || "] : [" || ", " && "];
  return groups
    .map((group) => group.map(writeClause).join(inner))
    .map((text, i) => (groups[i]!.length > 1 ? `(${text})` : text))
    .join(outer);
}

/** Writes a condition with one group or one clause in its only form, because the text cannot keep another one. */
export function normalized({ joint, groups }: Condition): Condition {
  const [first = [], ...others] = groups.filter((group) => group.length > 0);
  if (others.length > 0) return { joint, groups: [first, ...others] };
  if (first.length === 1) return { joint: "all", groups: [first] };
  return { joint: joint === "all" ? "any" : "all", groups: first.map((clause) => [clause]) };
}

export function readCondition(text: string, facts: readonly Fact[]): Condition | Beyond {
  const tree = treeOf(text);
  if (tree === undefined) return { beyond: text };
  const joint = tree.op === "||" ? "any" : "all";
  const [outer, inner] = joint === "any" ? (["||", "&&"] as const) : (["&&", "||"] as const);
  const groups: Clause[][] = [];
  for (const group of operandsOf(tree, outer)) {
    const clauses: Clause[] = [];
    for (const node of operandsOf(group, inner)) {
      const clause = readClause(node, facts);
      if (clause === undefined) return { beyond: serialize(node) };
      clauses.push(clause);
    }
    groups.push(clauses);
  }
  return { joint, groups };
}

function treeOf(text: string): ASTNode | undefined {
  try {
    return parse(text).ast;
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function operandsOf(node: ASTNode, op: "&&" | "||"): ASTNode[] {
  if (node.op !== op) return [node];
  const [left, right] = node.args as readonly [ASTNode, ASTNode];
  return [...operandsOf(left, op), ...operandsOf(right, op)];
}

function readClause(node: ASTNode, facts: readonly Fact[]): Clause | undefined {
  const found: Found = { facts: [], literals: [] };
  collect(node, facts, found);
  const [fact, other] = found.facts;
  if (fact === undefined) return undefined;
  const isFitting = found.literals.every(
    (value) => typeof value === (fact.type === "number" ? "number" : "string"),
  );
  if (!isFitting) return undefined;
  const of = other?.type === fact.type ? other.expression : undefined;
  const [first] = found.literals;
  const operands = {
    none: null,
    value: first,
    values: found.literals,
    fact: of,
    multiple: of === undefined ? undefined : { times: typeof first === "number" ? first : 1, of },
  };
  for (const operator of operatorsFor(fact)) {
    const operand = operands[OPERATORS[operator].operand];
    if (operand === undefined) continue;
    const clause = { fact: fact.expression, operator, operand };
    if (isSame(node, treeOf(writeClause(clause)))) return clause;
  }
  return undefined;
}

interface Found {
  readonly facts: Fact[];
  readonly literals: Literal[];
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === "object" && value !== null && "op" in value;

/** Collects the facts and literals in a part of a tree, from left to right. */
function collect(part: unknown, facts: readonly Fact[], found: Found): void {
  if (Array.isArray(part)) for (const one of part) collect(one, facts, found);
  if (!isNode(part)) return;
  const source = part.input.slice(part.start, part.end).replace(/\s+/g, "");
  const fact = facts.find(({ expression }) => expression.replace(" ", "") === source);
  if (fact !== undefined) found.facts.push(fact);
  else if (part.op === "value") found.literals.push(...literalOf(part.args, 1));
  else if (part.op === "-_" && part.args.op === "value")
    found.literals.push(...literalOf(part.args.args, -1));
  else collect(part.args, facts, found);
}

function literalOf(value: unknown, sign: 1 | -1): Literal[] {
  if (typeof value === "string") return [value];
  return typeof value === "number" || typeof value === "bigint" ? [sign * Number(value)] : [];
}

/** Returns whether two trees mean the same. In a condition, all numbers are doubles. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((one, i) => isSame(one, b[i]));
  if (isNode(a)) return isNode(b) && a.op === b.op && isSame(a.args, b.args);
  if (typeof a === "bigint" || typeof b === "bigint")
    return /^(?:bigint|number)$/.test(typeof a) && Number(a) === Number(b);
  return a === b;
}

// What the builder does with a clause.

export const NEW_CLAUSE: Clause = { fact: "event", operator: "is", operand: "sign_up" };

const literalsOf = ({ operator, operand }: Clause): readonly Literal[] => {
  if (operand === null || OPERATORS[operator].operand === "fact") return [];
  if (isMultiple(operand)) return [operand.times];
  return Array.isArray(operand) ? operand : [operand as Literal];
};

/** The value with which a fact's field begins. */
export function firstValue({ type, values }: Fact, without: readonly Literal[] = []): Literal {
  return values?.find((value) => !without.includes(value)) ?? values?.[0] ?? (type === "number" ? 1 : "");
}

/** The facts with which a fact can be compared. */
export const comparable = (fact: Fact, facts: readonly Fact[]) =>
  facts.filter((other) => other !== fact && other.type === fact.type);

function fit(fact: Fact, operator: Operator, kept: readonly Literal[], facts: readonly Fact[]): Clause {
  const [value = firstValue(fact)] = kept;
  const others = comparable(fact, facts);
  const isNamedAlike = ({ expression }: Fact) => expression.startsWith(fact.expression.replace(/\..*/, "."));
  const operands = {
    none: null,
    value,
    values: kept.length > 0 ? kept : [value],
    fact: (others.find(({ values }) => values === fact.values) ?? fact).expression,
    multiple: { times: Number(value), of: (others.find(isNamedAlike) ?? others[0] ?? fact).expression },
  };
  return { fact: fact.expression, operator, operand: operands[OPERATORS[operator].operand] };
}

export const withOperator = (
  clause: Clause,
  fact: Fact,
  operator: Operator,
  facts: readonly Fact[],
): Clause => fit(fact, operator, literalsOf(clause), facts);

/** Keeps the operator and the values if they fit the other fact. */
export function withFact(clause: Clause, before: Fact, fact: Fact, facts: readonly Fact[]): Clause {
  const operators = operatorsFor(fact);
  const operator = operators.includes(clause.operator) ? clause.operator : operators[0]!;
  const isAlike = fact.type === before.type && fact.values === before.values;
  return fit(fact, operator, isAlike ? literalsOf(clause) : [], facts);
}
