// facts.ts: the facts that conditions read, as a flat, typed record. Each fact has a fixed index in a list of values.
//
// An unknown fact reads as the zero value of its type: "", 0, false or the empty list. `has(fact)` shows whether a fact
// is known.

import { type DegradedData, FACT_NAMES, FACT_ROWS, type FactName, type FactType } from "@inkling/contract";
import { nearest } from "../email/email-labels.ts";

export type FactValue = string | number | boolean | readonly string[];
/** Index of a fact in {@link Facts}. */
export type FactIndex = number & { readonly of?: "fact" };
/** The values of all facts in a schema. The value of an unknown fact is undefined. */
export type Facts = readonly (FactValue | undefined)[];

/**
 * Types of the facts that callers send, as declared in a ruleset's `[facts]`. Conditions read a declared fact `plan` as
 * `facts.plan`.
 */
export type DeclaredFacts = Readonly<Record<string, FactType>>;

export const ZEROES: Readonly<Record<FactType, FactValue>> = {
  text: "",
  number: 0,
  boolean: false,
  list: [],
};

const DECLARED = "facts.";

interface FactField {
  readonly name: string;
  readonly index: FactIndex;
  readonly type: FactType;
  readonly data: DegradedData | undefined;
  readonly values: readonly string[] | undefined;
  readonly isUpperCase: boolean | undefined;
}

export class FactSchema {
  readonly fields: readonly FactField[];
  readonly declared: DeclaredFacts;
  private readonly byName: ReadonlyMap<string, FactField>;

  constructor(declared: DeclaredFacts = {}) {
    this.declared = declared;
    const own = FACT_NAMES.map((name) => {
      const { type, data, values, isUpperCase } = FACT_ROWS[name];
      return { name, type, data, values, isUpperCase };
    });
    const sent = Object.entries(declared).map(([name, type]) => ({
      name: `${DECLARED}${name}`,
      type,
      data: undefined,
      values: undefined,
      isUpperCase: undefined,
    }));
    this.fields = [...own, ...sent].map((field, index) => ({ ...field, index }));
    this.byName = new Map(this.fields.map((field) => [field.name, field]));
  }

  /** @param name the name that conditions use, such as `ip.kind` */
  find(name: string): FactField | undefined {
    return this.byName.get(name);
  }

  get names(): readonly string[] {
    return this.fields.map(({ name }) => name);
  }

  /** @returns a list in which every fact is unknown */
  empty(): (FactValue | undefined)[] {
    return new Array(this.fields.length).fill(undefined);
  }
}

/** Indexes of the built-in facts, which are the same in every schema. */
export const FACT_INDEX = Object.fromEntries(FACT_NAMES.map((name, index) => [name, index])) as Readonly<
  Record<FactName, FactIndex>
>;

/** Index of the first declared fact. */
export const FIRST_DECLARED: FactIndex = FACT_NAMES.length;

/**
 * Explains why a fact can never have this text; undefined if the fact can have it. `""` is always possible, because it
 * means unknown.
 */
export function whyImpossible({ name, values, isUpperCase }: FactField, text: string): string | undefined {
  const isPossible = values?.includes(text) ?? (isUpperCase !== true || text === text.toUpperCase());
  if (text === "" || isPossible) return undefined;
  const near = values === undefined ? text.toUpperCase().slice(0, 40) : nearest(text, values);
  const hint = near === undefined ? `it is one of ${values?.join(", ")}` : `did you mean "${near}"?`;
  return `"${name}" is never ${JSON.stringify(text.slice(0, 40))}: ${hint}`;
}

/** Returns whether the value has this type. Numbers must be finite. */
export function isOfType(value: unknown, type: FactType): value is FactValue {
  if (type === "text") return typeof value === "string";
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  if (type === "boolean") return typeof value === "boolean";
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
