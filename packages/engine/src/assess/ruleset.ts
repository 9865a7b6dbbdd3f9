// ruleset.ts: compiles the text of a ruleset, or reports every mistake in it with line and column.
//
// Cost: linear in the text. The slowest text, with 45,000 unknown keys, takes 40 ms, half of it in the TOML parser.
// A mistake in a condition is reported at its character; the position is exact only if the condition is in single
// quotes. Every other mistake is reported at its key, or at the header of its table.

import {
  ACTIONS,
  type Action,
  COUNT_SUBJECTS,
  COUNT_WINDOWS,
  type CountSubject,
  countFact,
  DEFAULT_ON_MISSING,
  DEFAULT_THRESHOLDS,
  FACT_TYPES,
  REASON_CODES,
  REASON_ROWS,
  type ReasonCode,
} from "@inkling/contract";
import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { nearest } from "../email/email-labels.ts";
import { append } from "../text/lists.ts";
import { type Condition, ConditionError, compileCondition } from "./condition.ts";
import {
  FACT_INDEX,
  FactSchema,
  type Facts,
  type FactValue,
  isOfType,
  unknownFact,
  whyUnusable,
} from "./facts.ts";
import { type Wanted, wantedHistory } from "./history.ts";

export const RULE_MODES = ["live", "shadow", "off"] as const;
const MAX_RULES = 100;
const MAX_DECLARED = 32;
const MAX_EXAMPLES = 1_000;
const MAX_TEXT = 256 * 1024;
const MAX_MISTAKES = 100;
/** Maximum number of names in a dotted fact: no fact has more than two. */
const MAX_FACT_DEPTH = 3;
/**
 * Maximum total cost of the rules' conditions, in steps (condition.ts). The slowest rulesets within this limit take
 * less than 1 ms, once the code is compiled (bench/README.md).
 */
const MAX_COST = 50_000;
/** Maximum total cost of evaluating all conditions for all examples, in steps: about 20 ms. */
const MAX_EXAMPLE_COST = 2_000_000;

export interface Rule {
  readonly name: string;
  /** Position in the file, counting rules of every mode. The first match decides. */
  readonly position: number;
  readonly condition: Condition;
  readonly then: Action;
  /** Whether the score's action applies if it is stricter than `then`. */
  readonly atLeast: boolean;
  readonly review: boolean;
}
export interface LiveRule extends Rule {
  readonly mode: "live";
}
export interface ShadowRule extends Rule {
  readonly mode: "shadow";
}

export interface Reason {
  readonly code: ReasonCode;
  readonly weight: number;
  readonly condition: Condition;
}

export interface Example {
  readonly name: string;
  readonly facts: Facts;
  /** The action that a visitor with these facts must get. */
  readonly action: Action | undefined;
  /** Names of the live or shadow rules that must match. */
  readonly rules: readonly string[] | undefined;
}

export interface Ruleset {
  /** 0 for a ruleset that was not published, such as DEFAULT_RULESET. */
  readonly number: number;
  readonly schema: FactSchema;
  readonly live: readonly LiveRule[];
  readonly shadow: readonly ShadowRule[];
  /** The reasons with a weight above 0. */
  readonly reasons: readonly Reason[];
  /** The other reasons. No decision depends on them. */
  readonly unweighted: readonly Reason[];
  readonly thresholds: { readonly challenge: number; readonly deny: number };
  readonly onMissing: Action;
  readonly examples: readonly Example[];
  /** The subjects for which the conditions read counts of decisions. */
  readonly counts: readonly CountSubject[];
  /** What the conditions read about earlier decisions. */
  readonly history: Wanted;
}

/** One mistake in a ruleset's text. Lines and columns begin at 1. */
export interface Mistake {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The mistakes found so far. A check stops when it has found MAX_MISTAKES. */
class Mistakes {
  readonly all: Mistake[] = [];
  get isFull(): boolean {
    return this.all.length >= MAX_MISTAKES;
  }
  add(...found: readonly Mistake[]): void {
    this.all.push(...found.slice(0, MAX_MISTAKES - this.all.length));
  }
}

/** Lists at most MAX_MISTAKES mistakes. A list of this length may be incomplete. */
export class RulesetError extends Error {
  readonly mistakes: readonly Mistake[];
  constructor(mistakes: readonly Mistake[]) {
    const sorted = mistakes.toSorted((a, b) => a.line - b.line || a.column - b.column);
    super(sorted.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`).join("\n"));
    this.name = "RulesetError";
    this.mistakes = sorted;
  }
}

const NAME = z
  .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a string") })
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    "must have 1 to 64 characters (a-z, 0-9, - and _) and start with a letter or digit",
  );
const isListOfNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= MAX_RULES && value.every((name) => NAME.safeParse(name).success);
const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, {
    error: ({ input }) => {
      const known = `one of ${values.join(", ")}`;
      return input === undefined ? `is required: ${known}` : `must be ${known}${meant(input, values)}`;
    },
  });
const ACTION = oneOf(ACTIONS);
const UNIT = z.number("must be a number").min(0, "must be 0 or more").max(1, "must be 1 or less");

/** A table of any keys. For 30,000 keys, `z.record` takes 40 ms. */
const TABLE = z.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date),
  "must be a table",
);
/** A list whose items are checked only if their number is allowed. */
const listOf = <T extends z.ZodType>(item: T, most: number, message: string) =>
  z.array(z.unknown()).max(most, message).pipe(z.array(item)).default([]);
const RULE = z
  .strictObject({
    name: NAME,
    when: z.string({
      error: ({ input }) =>
        input === undefined ? "is required: a condition" : "must be a string with a condition",
    }),
    // biome-ignore lint/suspicious/noThenProperty: `then` is a key of the file format; nobody awaits a rule
    then: ACTION,
    at_least: z.boolean("must be true or false").default(false),
    review: z.boolean("must be true or false").default(false),
    mode: oneOf(RULE_MODES),
  })
  .refine(({ then, at_least }) => !at_least || then !== "allow", {
    path: ["at_least"],
    error: 'has no effect with then = "allow", because every action is at least allow',
  });
const EXAMPLE = z.strictObject({
  name: z.string().default(""),
  given: TABLE,
  action: ACTION.optional(),
  // one check for the whole list, so that a long list is one mistake
  rules: z
    .custom<string[]>(isListOfNames, `must be a list of at most ${MAX_RULES} names of rules`)
    .optional(),
});
const FILE = z.strictObject({
  format: z.literal(1, "this version of Inkling supports only format 1").default(1),
  on_missing: ACTION.default(DEFAULT_ON_MISSING),
  thresholds: z
    .strictObject({
      challenge: UNIT.default(DEFAULT_THRESHOLDS.challenge),
      deny: UNIT.default(DEFAULT_THRESHOLDS.deny),
    })
    .refine(({ challenge, deny }) => challenge <= deny, "challenge must not be above deny")
    .default(DEFAULT_THRESHOLDS),
  weights: z.partialRecord(oneOf(REASON_CODES as [ReasonCode, ...ReasonCode[]]), UNIT).default({}),
  facts: TABLE.refine((facts) => Object.keys(facts).length <= MAX_DECLARED, `at most ${MAX_DECLARED} facts`)
    .pipe(
      z.record(
        z
          .string()
          .regex(
            /^[a-z][a-z0-9_]{0,31}$/,
            "must have 1 to 32 characters (a-z, 0-9 and _) and start with a letter",
          ),
        oneOf(FACT_TYPES),
      ),
    )
    .default({}),
  rule: listOf(RULE, MAX_RULES, `at most ${MAX_RULES} rules`),
  example: listOf(EXAMPLE, MAX_EXAMPLES, "at most 1,000 examples"),
});
type File = z.output<typeof FILE>;

const TOO_SLOW =
  "a decision could take longer than 1 ms with the conditions up to this one; use fewer of `contains`, `size` and `in`";

const TOO_MANY_EXAMPLES =
  "the examples could take longer than 20 ms with these conditions; use fewer examples, or fewer of `contains`, `size` and `in`";

/**
 * Returns the parts of a ruleset on which decisions depend: everything except shadow rules, rules that are off, and
 * examples.
 * @throws errors of TOML and zod if the text has mistakes
 */
export function decidingPart(text: string): unknown {
  const { rule, example: _, ...others } = FILE.parse(readToml(text));
  return { ...others, rule: rule.filter(({ mode }) => mode === "live") };
}

/**
 * @param number the number under which the ruleset was published; 0 if it was not published
 * @throws RulesetError
 */
export function parseRuleset(text: string, number = 0): Ruleset {
  if (text.length > MAX_TEXT) throw mistakeAt(1, 1, `the file has more than ${MAX_TEXT / 1024} KiB`);
  const places = new Places(text);
  const raw = readToml(text);
  const checked = FILE.safeParse(raw);
  const issues = checked.error?.issues ?? [];
  const mistakes = new Mistakes();
  for (const issue of issues) mistakes.add(...mistakesOf(issue, places));
  if (mistakes.isFull) throw new RulesetError(mistakes.all);
  const file = checked.data ?? withoutMistakes(raw, issues);
  const ruleset = file && compile(file, number, places, mistakes);
  if (ruleset === undefined || mistakes.all.length > 0) throw new RulesetError(mistakes.all);
  return ruleset;
}

function mistakesOf(issue: z.core.$ZodIssue, places: Places): Mistake[] {
  const { path } = issue;
  if (issue.code !== "unrecognized_keys")
    return [
      { ...places.of(path), message: [...path.filter(isName).map(shortened), issue.message].join(": ") },
    ];
  const known = knownKeys(path);
  return issue.keys.slice(0, MAX_MISTAKES).map((key) => ({
    ...places.of([...path, key]),
    message: `unknown key "${shortened(key)}"${meant(key, known)}`,
  }));
}

/** Defaults that replace the invalid or missing fields of a rule or an example. */
const STAND_INS = {
  // biome-ignore lint/suspicious/noThenProperty: `then` is a key of the file format; nobody awaits a rule
  rule: { when: "true", then: "allow", mode: "off" },
  example: { given: {}, action: "allow" },
};

/**
 * Removes or replaces the invalid parts of a file, so that mistakes in conditions are also found.
 * @returns undefined if conditions depend on an invalid part
 */
function withoutMistakes(raw: unknown, issues: readonly z.core.$ZodIssue[]): File | undefined {
  const file: Record<string, unknown> = { ...Object(raw) };
  for (const table of ["rule", "example"]) {
    const items = file[table];
    if (Array.isArray(items)) file[table] = [...items];
  }
  for (const issue of issues) {
    const [table, at] = issue.path;
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    if (table === undefined) for (const key of keys) delete file[key];
    else if ((table === "rule" || table === "example") && typeof at === "number") {
      const items = file[table] as unknown[];
      const wrong = new Set([...keys, String(issue.path[2])]);
      const sound = Object.entries(Object(items[at])).filter(([key]) => !wrong.has(key));
      items[at] = { name: `${table}-${at}`, ...STAND_INS[table], ...Object.fromEntries(sound) };
    } else if (table === "rule" || table === "example" || table === "facts") return undefined;
    else delete file[String(table)];
  }
  return FILE.safeParse(file).data;
}

function compile(file: File, number: number, places: Places, mistakes: Mistakes): Ruleset {
  const schema = new FactSchema(file.facts);
  const seen = new Set<string>();
  let cost = 0;
  const rules = file.rule.map(({ name, when, then, at_least: atLeast, review, mode }, i) => {
    if (seen.has(name))
      mistakes.add({ ...places.of(["rule", i, "name"]), message: `a second rule "${name}"` });
    seen.add(name);
    try {
      const condition = compileCondition(when, schema);
      const before = cost;
      if (mode !== "off") cost += condition.cost;
      if (before <= MAX_COST && cost > MAX_COST)
        mistakes.add({ ...places.of(["rule", i, "when"]), message: `rule "${name}": ${TOO_SLOW}` });
      return { name, position: i, condition, then, atLeast, review, mode };
    } catch (error) {
      if (!(error instanceof ConditionError)) throw error;
      mistakes.add({
        ...places.inText(["rule", i, "when"], error.at),
        message: `rule "${name}": ${error.message}`,
      });
      return undefined;
    }
  });
  if (cost * file.example.length > MAX_EXAMPLE_COST)
    mistakes.add({ ...places.of(["example", 0]), message: TOO_MANY_EXAMPLES });
  const examples = file.example.map(({ name, given, action, rules: named }, i) => {
    const fail = (message: string) => mistakes.add({ ...places.of(["example", i]), message });
    for (const rule of named ?? [])
      if (!seen.has(rule)) fail(`unknown rule "${rule}"${meant(rule, [...seen])}`);
    if (action === undefined && named === undefined) fail("an example needs an action or rules");
    return {
      name: name || `example ${i + 1}`,
      facts: factsOf(given, schema, mistakes, fail),
      action,
      rules: named,
    };
  });
  const reads = new Set(rules.flatMap((rule) => (rule === undefined ? [] : [...rule.condition.reads])));
  const all = REASON_CODES.map((code) => ({
    code,
    weight: file.weights[code] ?? REASON_ROWS[code].weight,
    condition: compileCondition(REASON_ROWS[code].when, schema),
  }));
  const inMode = <M extends "live" | "shadow">(mode: M) =>
    rules.filter((rule): rule is Rule & { readonly mode: M } => rule?.mode === mode);
  const [live, shadow] = [inMode("live"), inMode("shadow")];
  const reasons = all.filter(({ weight }) => weight > 0);
  const readBy = (all: readonly { readonly condition: Condition }[]) =>
    new Set(all.flatMap(({ condition }) => [...condition.reads]));
  return {
    number,
    schema,
    live,
    shadow,
    reasons,
    unweighted: all.filter(({ weight }) => weight === 0),
    thresholds: file.thresholds,
    onMissing: file.on_missing,
    examples,
    counts: COUNT_SUBJECTS.filter((subject) =>
      COUNT_WINDOWS.some((window) => reads.has(FACT_INDEX[countFact(subject, window)])),
    ),
    history: wantedHistory(readBy([...live, ...reasons]), readBy(shadow)),
  };
}

/** Reads the facts of an example, such as `{ event = "sign_up", ip.kind = "hosting" }`. */
function factsOf(
  given: Readonly<Record<string, unknown>>,
  schema: FactSchema,
  mistakes: Mistakes,
  fail: (message: string) => void,
): Facts {
  const facts = schema.empty();
  const read = (name: string, value: unknown, depth: number) => {
    if (mistakes.isFull) return;
    const field = schema.find(name);
    if (field !== undefined) {
      const why = isOfType(value, field.type)
        ? whyUnusable(field, value)
        : `"${name}" must have the type ${field.type}`;
      if (why !== undefined) return fail(why);
      facts[field.index] = value as FactValue;
    } else if (
      depth < MAX_FACT_DEPTH &&
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value)
    ) {
      for (const [field, inner] of Object.entries(value)) read(`${name}.${field}`, inner, depth + 1);
    } else fail(unknownFact(name, schema));
  };
  for (const [name, value] of Object.entries(given)) read(name, value, 1);
  return facts;
}

function readToml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw mistakeAt(error.line, error.column, error.message.split("\n")[0]!);
  }
}

const mistakeAt = (line: number, column: number, message: string) =>
  new RulesetError([{ line, column, message }]);
/** Shortens a name from the file for a message. */
const shortened = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name);
const isName = (part: PropertyKey): part is string => typeof part === "string";

function meant(given: unknown, known: readonly string[]): string {
  const near = typeof given === "string" ? nearest(given, known) : undefined;
  return near === undefined ? "" : `: did you mean "${near}"?`;
}

function knownKeys([table]: readonly PropertyKey[]): readonly string[] {
  if (table === "rule") return Object.keys(RULE.shape);
  if (table === "example") return Object.keys(EXAMPLE.shape);
  if (table === "weights") return REASON_CODES;
  return table === "thresholds" ? Object.keys(DEFAULT_THRESHOLDS) : Object.keys(FILE.shape);
}

type Place = Pick<Mistake, "line" | "column">;

/** The lines between two headers. */
interface Section {
  /** Line of the header; -1 for the lines before the first header. */
  readonly start: number;
  /** The first line of each key. */
  readonly keys: Map<string, number>;
}

/**
 * Finds the lines of tables and keys, which the TOML parser does not report. Tables and keys must be at the start of a
 * line. All lines are read once, so that a mistake costs no search.
 */
class Places {
  private readonly lines: readonly string[];
  private readonly top: Section = { start: -1, keys: new Map() };
  private readonly sections = new Map<string, Section[]>();

  constructor(text: string) {
    this.lines = text.split("\n");
    let section = this.top;
    for (const [i, untrimmed] of this.lines.entries()) {
      const line = untrimmed.trim();
      if (line.startsWith("[")) {
        const header = line.replace(/#.*/, "").trim();
        section = { start: i, keys: new Map() };
        append(this.sections, header, section);
        continue;
      }
      const key = line.slice(0, Math.max(0, line.indexOf("="))).trimEnd();
      if (key !== "" && !section.keys.has(key)) section.keys.set(key, i);
    }
  }

  /** @param path a zod path such as `["rule", 2, "when"]` */
  of(path: readonly PropertyKey[]): Place {
    const [table, second, third] = path.map(String);
    const isList = typeof path[1] === "number";
    const found = isList
      ? this.sections.get(`[[${table}]]`)?.[Number(path[1])]
      : this.sections.get(`[${table}]`)?.[0];
    const key = isList ? third : found === undefined ? table : second;
    const { start, keys } = found ?? this.top;
    const line = key === undefined ? start : (keys.get(key) ?? start);
    const text = this.lines[Math.max(0, line)] ?? "";
    return { line: Math.max(0, line) + 1, column: text.length - text.trimStart().length + 1 };
  }

  /**
   * @param at offset in a key's value; the position is exact for a value in single quotes, which contains no escapes
   */
  inText(path: readonly PropertyKey[], at: number): Place {
    const { line } = this.of(path);
    const text = this.lines[line - 1] ?? "";
    const quotes = /=\s*('''|"""|'|")/.exec(text);
    if (quotes === null) return { line, column: 1 };
    const start = quotes.index + quotes[0].length;
    if (quotes[1]!.length === 1) return { line, column: start + at + 1 };
    const isBroken = text.length === start || text.slice(start) === "\r"; // TOML drops this line break
    let index = isBroken ? line : line - 1;
    let from = isBroken ? 0 : start;
    let rest = at;
    for (;;) {
      const length = (this.lines[index] ?? "").length - from;
      if (rest <= length || index >= this.lines.length) return { line: index + 1, column: from + rest + 1 };
      rest -= length + 1;
      index++;
      from = 0;
    }
  }
}

/**
 * A ruleset that decides only by the reasons. It must be declared last, because parsing its text needs all other
 * declarations.
 */
export const DEFAULT_RULESET = parseRuleset("");
