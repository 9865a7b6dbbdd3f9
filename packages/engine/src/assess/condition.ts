// condition.ts: compiles a rule's condition, a CEL expression, to a function of facts that cannot throw.
//
// Source: the specification of the Common Expression Language (cel.dev); @marcbachmann/cel-js is the parser. Cost:
// evaluation time grows linearly with the length of the condition and of the facts' texts; a Condition's `cost` is an
// upper bound of this time.
//
// Conditions support facts, literals, lists of literals, ! - && || ?: == != < <= > >= + - * / %, `in`, and the
// functions has, size, count, startsWith, endsWith and contains. All numbers are doubles: 1 is 1.0, and 1 / 0 is
// infinite. The rest of CEL is refused: matches, comprehensions, indexes, maps, bytes, null and timestamps.

import { COUNT_SUBJECTS, COUNT_WINDOWS, countFact, type FactType } from "@inkling/contract";
import { type ASTNode, ParseError, parse } from "@marcbachmann/cel-js";
import { nearest } from "../email/email-labels.ts";
import {
  FACT_INDEX,
  type FactIndex,
  type FactSchema,
  type Facts,
  unknownFact,
  whyImpossible,
  ZEROES,
} from "./facts.ts";

/** Maximum length of a condition, in UTF-16 units. */
const MAX_CONDITION = 1_024;

/** A mistake in a condition. */
export class ConditionError extends Error {
  /** Offset of the mistake in the text, in UTF-16 units. */
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.name = "ConditionError";
    this.at = at;
  }
}

export interface Condition {
  readonly matches: (facts: Facts) => boolean;
  /** The facts that the condition reads. */
  readonly reads: ReadonlySet<FactIndex>;
  /** Upper bound of an evaluation's duration, in steps of about 10 ns. */
  readonly cost: number;
}

type Run<T> = (facts: Facts) => T;
/** A compiled part of a condition. */
type Part =
  | { readonly type: "text"; readonly run: Run<string> }
  | { readonly type: "number"; readonly run: Run<number> }
  | { readonly type: "boolean"; readonly run: Run<boolean> }
  | {
      readonly type: "list";
      readonly run: Run<readonly (string | number)[]>;
      readonly of: "text" | "number";
    };
type PartOf<T extends FactType> = Extract<Part, { readonly type: T }>;

/** @throws ConditionError */
export function compileCondition(text: string, schema: FactSchema): Condition {
  if (text.length > MAX_CONDITION) {
    throw new ConditionError(`has ${text.length} characters; the maximum is ${MAX_CONDITION}`, MAX_CONDITION);
  }
  const compiler = new Compiler(schema);
  const { run } = compiler.expect("boolean", parseText(text), "the condition");
  return { matches: run, reads: compiler.reads, cost: compiler.cost };
}

function parseText(text: string): ASTNode {
  try {
    return parse(text).ast;
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    if (error.code === "limit_exceeded")
      throw new ConditionError("is nested too deeply", error.node?.pos ?? 0);
    throw foreignOperator(text) ?? new ConditionError(error.summary, error.node?.pos ?? 0);
  }
}

/** Operators of other languages, and the CEL operators to write instead. */
const FOREIGN: Readonly<Record<string, string>> = { "=": "==", and: "&&", or: "||", not: "!", "<>": "!=" };
/** Also matches whole string literals, so that nothing inside them counts as an operator. */
const FOREIGN_OR_LITERAL = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|==|[<>!]=|<>|=|(?<![\w.])(?:and|or|not)\b/g;

/**
 * Returns an error for the first {@link FOREIGN} operator in a text that cannot be parsed; undefined if there is none.
 */
function foreignOperator(text: string): ConditionError | undefined {
  for (const { 0: found, index } of text.matchAll(FOREIGN_OR_LITERAL)) {
    const own = Object.hasOwn(FOREIGN, found) ? FOREIGN[found] : undefined;
    if (own !== undefined) return new ConditionError(`write \`${own}\` instead of \`${found}\``, index);
  }
  return undefined;
}

const NAMES: Readonly<Record<FactType, string>> = {
  text: "a text",
  number: "a number",
  boolean: "true or false",
  list: "a list",
};

/** Names of all functions, for suggestions. */
const FUNCTIONS = ["has", "size", "count", "startsWith", "endsWith", "contains"];
const TEXT_TESTS: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
};
const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
};
const ORDER: Readonly<Record<string, <T extends string | number>(a: T, b: T) => boolean>> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

/**
 * Extra steps for the longest texts and lists, in addition to one step for each part of a condition. The longest text
 * is a user agent of 2,048 characters. The slowest list has 32 texts, each of 256 characters, that differ only in the
 * last character. `npm run bench -- assess` measures these costs.
 */
const COSTS = { contains: 200, size: 700, membership: 80, order: 5 } as const;

class Compiler {
  readonly reads = new Set<FactIndex>();
  cost = 0;
  private readonly schema: FactSchema;

  constructor(schema: FactSchema) {
    this.schema = schema;
  }

  /**
   * Compiles a node that must have this type.
   * @param what describes the node in the error: "the condition", "what `!` negates"
   * @throws ConditionError if the type is wrong
   */
  expect<T extends FactType>(type: T, node: ASTNode, what: string): PartOf<T> {
    const part = this.part(node);
    if (part.type === type) return part as PartOf<T>;
    throw new ConditionError(`${what} must be ${NAMES[type]}, and is ${NAMES[part.type]}`, node.start);
  }

  private part(node: ASTNode): Part {
    this.cost++;
    switch (node.op) {
      case "value":
        return literal(node);
      case "id":
      case ".":
        return this.fact(node);
      case "list":
        return this.list(node);
      case "call":
        return this.call(node, node.args[0], undefined, node.args[1]);
      case "rcall":
        return this.call(node, node.args[0], node.args[1], node.args[2]);
      case "!_": {
        const { run } = this.expect("boolean", node.args, "what `!` negates");
        return { type: "boolean", run: (facts) => !run(facts) };
      }
      case "-_": {
        const { run } = this.expect("number", node.args, "what `-` negates");
        return { type: "number", run: (facts) => -run(facts) };
      }
      case "&&":
      case "||":
        return this.logic(node.op, node.args);
      case "?:":
        return this.choice(node.args);
      case "==":
      case "!=":
        return this.equality(node, node.op === "==");
      case "in":
        return this.membership(node.args);
      case "<":
      case "<=":
      case ">":
      case ">=":
        return this.order(node, node.args, ORDER[node.op]!);
      case "+":
      case "-":
      case "*":
      case "/":
      case "%":
        return this.arithmetic(node.args, node.op);
      default:
        throw unsupported(node);
    }
  }

  private fact(node: ASTNode): Part {
    const name = nameOf(node);
    if (name === undefined) throw unsupported(node);
    const field = this.schema.find(name);
    if (field === undefined) throw new ConditionError(unknownFact(name, this.schema), node.start);
    const { index, type } = field;
    this.reads.add(index);
    const zero = ZEROES[type];
    const run = (facts: Facts) => facts[index] ?? zero;
    return { type, run, ...(type === "list" && { of: "text" }) } as Part; // the value always has the field's type
  }

  private list(node: Extract<ASTNode, { op: "list" }>): Part {
    const parts = node.args.map((item) => {
      const literal = item.op === "-_" ? item.args : item;
      if (literal.op !== "value") {
        throw new ConditionError("a list can contain only text and number literals", item.start);
      }
      return this.part(item);
    });
    const of = parts[0]?.type === "number" ? "number" : "text";
    const wrong = parts.findIndex(({ type }) => type !== of);
    if (wrong >= 0)
      throw new ConditionError(
        "a list can contain only texts or only numbers, not both",
        node.args[wrong]!.start,
      );
    const values = parts.map(({ run }) => run([]) as string | number);
    return { type: "list", of, run: () => values };
  }

  private logic(op: "&&" | "||", [left, right]: readonly [ASTNode, ASTNode]): Part {
    const { run: a } = this.expect("boolean", left, `the left side of \`${op}\``);
    const { run: b } = this.expect("boolean", right, `the right side of \`${op}\``);
    const run: Run<boolean> = op === "&&" ? (facts) => a(facts) && b(facts) : (facts) => a(facts) || b(facts);
    return { type: "boolean", run };
  }

  private choice([test, yes, no]: readonly [ASTNode, ASTNode, ASTNode]): Part {
    const { run: isSo } = this.expect("boolean", test, "the part before `?`");
    const a = this.part(yes);
    const b = this.part(no);
    if (a.type !== b.type || (a.type === "list" && a.of !== (b as PartOf<"list">).of)) {
      throw new ConditionError("both sides of `:` must have the same type", no.start);
    }
    return { ...a, run: (facts: Facts) => (isSo(facts) ? a : b).run(facts) } as Part;
  }

  private equality(node: ASTNode & { readonly args: unknown }, isEqual: boolean): Part {
    const [left, right] = node.args as readonly [ASTNode, ASTNode];
    const a = this.part(left);
    const b = this.part(right);
    if (a.type !== b.type || a.type === "list") {
      throw new ConditionError(
        `\`${node.op}\` cannot compare ${NAMES[a.type]} with ${NAMES[b.type]}`,
        node.start,
      );
    }
    this.requirePossible(left, right);
    this.requirePossible(right, left);
    const x = a.run as Run<unknown>;
    const y = b.run as Run<unknown>;
    const run: Run<boolean> = isEqual ? (facts) => x(facts) === y(facts) : (facts) => x(facts) !== y(facts);
    return { type: "boolean", run };
  }

  /** Refuses a text that the fact can never have, because the rule would silently never match. */
  private requirePossible(side: ASTNode, literal: ASTNode): void {
    const fact = this.schema.find(nameOf(side) ?? "");
    if (fact === undefined) return;
    for (const { op, args, start } of literal.op === "list" ? literal.args : [literal]) {
      const why = op === "value" && typeof args === "string" ? whyImpossible(fact, args) : undefined;
      if (why !== undefined) throw new ConditionError(why, start);
    }
  }

  private membership([item, list]: readonly [ASTNode, ASTNode]): Part {
    const { run: all, of } = this.expect("list", list, "the part after `in`");
    const { run } = this.expect(of, item, "the part before `in`");
    this.requirePossible(list, item);
    this.requirePossible(item, list);
    if (list.op !== "list") this.cost += COSTS.membership;
    return { type: "boolean", run: (facts) => all(facts).includes(run(facts)) };
  }

  private order(
    { start, op }: ASTNode,
    [left, right]: readonly [ASTNode, ASTNode],
    compare: (typeof ORDER)[string],
  ): Part {
    const a = this.part(left);
    const b = this.part(right);
    if (a.type === "number" && b.type === "number") {
      return { type: "boolean", run: (facts) => compare(a.run(facts), b.run(facts)) };
    }
    if (a.type === "text" && b.type === "text") {
      this.cost += COSTS.order;
      return { type: "boolean", run: (facts) => compare(a.run(facts), b.run(facts)) };
    }
    throw new ConditionError(`\`${op}\` cannot compare ${NAMES[a.type]} with ${NAMES[b.type]}`, start);
  }

  private arithmetic([left, right]: readonly [ASTNode, ASTNode], op: string): Part {
    const { run: a } = this.expect("number", left, `the left side of \`${op}\``);
    const { run: b } = this.expect("number", right, `the right side of \`${op}\``);
    const compute = ARITHMETIC[op]!;
    return { type: "number", run: (facts) => compute(a(facts), b(facts)) };
  }

  private call(node: ASTNode, name: string, receiver: ASTNode | undefined, given: readonly ASTNode[]): Part {
    const args = receiver === undefined ? given : [receiver, ...given];
    const test = Object.hasOwn(TEXT_TESTS, name) ? TEXT_TESTS[name] : undefined;
    if (test !== undefined && receiver !== undefined) {
      const [text, part] = this.arguments(node, name, args, 2);
      const { run: a } = this.expect("text", text!, `the part before \`.${name}\``);
      const { run: b } = this.expect("text", part!, `the argument of \`${name}\``);
      if (name === "contains") this.cost += COSTS.contains;
      return { type: "boolean", run: (facts) => test(a(facts), b(facts)) };
    }
    if (name === "size") return this.size(this.arguments(node, name, args, 1)[0]!);
    if (name === "count" && receiver === undefined) return this.count(this.arguments(node, name, args, 2));
    if (name === "has" && receiver === undefined) return this.has(this.arguments(node, name, args, 1)[0]!);
    throw unknownFunction(name, node.start);
  }

  private arguments(node: ASTNode, name: string, args: readonly ASTNode[], count: number) {
    if (args.length === count) return args;
    throw new ConditionError(
      `\`${name}\` takes ${count} ${count === 1 ? "argument" : "arguments"}, but has ${args.length}`,
      node.start,
    );
  }

  /** Compiles `size`, which counts the characters of a text or the items of a list. */
  private size(node: ASTNode): Part {
    const part = this.part(node);
    if (part.type === "list") return { type: "number", run: (facts) => part.run(facts).length };
    if (part.type !== "text") throw new ConditionError("`size` takes a text or a list", node.start);
    this.cost += COSTS.size;
    return { type: "number", run: (facts) => lengthOf(part.run(facts)) };
  }

  /** Compiles `count`. Both arguments must be literals, so each call reads one count fact. */
  private count([subject, window]: readonly ASTNode[]): Part {
    const oneOf = <T extends string>(node: ASTNode, known: readonly T[]): T => {
      const found = known.find((value) => node.op === "value" && node.args === value);
      if (found !== undefined) return found;
      throw new ConditionError(`must be one of ${known.map((value) => `"${value}"`).join(", ")}`, node.start);
    };
    const index = FACT_INDEX[countFact(oneOf(subject!, COUNT_SUBJECTS), oneOf(window!, COUNT_WINDOWS))];
    this.reads.add(index);
    return { type: "number", run: (facts) => (facts[index] as number | undefined) ?? 0 }; // count facts are numbers
  }

  private has(node: ASTNode): Part {
    const field = this.schema.find(nameOf(node) ?? "");
    if (field === undefined) {
      this.part(node); // an unknown fact has its own message
      throw new ConditionError("`has` takes a fact, as in `has(ip.country)`", node.start);
    }
    const { index } = field;
    this.reads.add(index);
    return { type: "boolean", run: (facts) => facts[index] !== undefined };
  }
}

/**
 * Counts Unicode characters, as CEL does. For 2,048 characters, an iterator takes 12 µs, and this loop takes 3 to 7 µs.
 */
function lengthOf(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++) if (isPair(text, i)) count--;
  return count;
}

const isPair = (text: string, i: number) =>
  (text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;

function literal({ args, start }: Extract<ASTNode, { op: "value" }>): Part {
  if (typeof args === "string") return { type: "text", run: () => args };
  if (typeof args === "boolean") return { type: "boolean", run: () => args };
  if (typeof args === "number" || typeof args === "bigint") {
    const number = Number(args);
    return { type: "number", run: () => number };
  }
  throw new ConditionError("only text, numbers, true and false can be literals", start);
}

/** Returns the dotted name that a node stands for, such as `ip.kind`; undefined if the node is not a name. */
function nameOf(node: ASTNode): string | undefined {
  if (node.op === "id") return node.args;
  if (node.op !== ".") return undefined;
  const parent = nameOf(node.args[0]);
  return parent === undefined ? undefined : `${parent}.${node.args[1]}`;
}

function unknownFunction(name: string, at: number): ConditionError {
  const near = nearest(name, FUNCTIONS);
  const hint = near === undefined ? `the functions are ${FUNCTIONS.join(", ")}` : `did you mean "${near}"?`;
  return new ConditionError(`unknown function "${name}": ${hint}`, at);
}

const OPERATORS: Readonly<Record<string, string>> = {
  ".": "a field of a value that is not a fact",
  ".?": "`.?`",
  "[]": "an index",
  "[?]": "an index",
  map: "a map",
};

function unsupported({ op, start }: ASTNode): ConditionError {
  return new ConditionError(`conditions cannot contain ${OPERATORS[op] ?? `\`${op}\``}`, start);
}
