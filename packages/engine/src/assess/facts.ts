// facts.ts: the facts that conditions read: a flat, typed record. Each fact has a place in a list of values.
//
// A fact that is not known reads as the zero of its type: "", 0, false, the empty list. `has(fact)` tells the difference.

import { type DegradedData, FACT_NAMES, FACT_ROWS, type FactName, type FactType } from "@inkling/contract";
import { nearest } from "../email/email-labels.ts";

export type FactValue = string | number | boolean | readonly string[];
/** Place of a fact in {@link Facts}. */
export type FactIndex = number & { readonly of?: "fact" };
/** The values of all facts of a schema; undefined if a fact is not known. */
export type Facts = readonly (FactValue | undefined)[];

/** Facts that callers send, as a ruleset declares them below `facts`: `plan` is read as `facts.plan`. */
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

  /** @param name as conditions write it: `ip.kind` */
  find(name: string): FactField | undefined {
    return this.byName.get(name);
  }

  get names(): readonly string[] {
    return this.fields.map(({ name }) => name);
  }

  /** @returns no fact is known */
  empty(): (FactValue | undefined)[] {
    return new Array(this.fields.length).fill(undefined);
  }
}

/** Where the facts of every schema are. */
export const FACT_INDEX = Object.fromEntries(FACT_NAMES.map((name, index) => [name, index])) as Readonly<
  Record<FactName, FactIndex>
>;

/** The first index of the facts that callers send. */
export const FIRST_DECLARED: FactIndex = FACT_NAMES.length;

/** Why a fact never has this text; undefined if it can have it. `""` stands for an unknown fact. */
export function whyImpossible({ name, values, isUpperCase }: FactField, text: string): string | undefined {
  const isPossible = values?.includes(text) ?? (isUpperCase !== true || text === text.toUpperCase());
  if (text === "" || isPossible) return undefined;
  const near = values === undefined ? text.toUpperCase().slice(0, 40) : nearest(text, values);
  const hint = near === undefined ? `it is one of ${values?.join(", ")}` : `did you mean "${near}"?`;
  return `"${name}" is never ${JSON.stringify(text.slice(0, 40))}: ${hint}`;
}

/** Is it a value of the type? Numbers are finite. */
export function isOfType(value: unknown, type: FactType): value is FactValue {
  if (type === "text") return typeof value === "string";
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  if (type === "boolean") return typeof value === "boolean";
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
