// facts.ts: the facts that conditions read, as a flat, typed record. Each fact has a fixed index in a list of values.
//
// An unknown fact reads as the zero value of its type: "", 0, false or the empty list. `has(fact)` shows whether a fact
// is known.

import {
  COUNTRY_CODES,
  type DegradedData,
  FACT_NAMES,
  FACT_ROWS,
  type FactName,
  type FactType,
} from "@inkling/contract";
import { visitorNetworkOf } from "../address/ip.ts";
import { nearest } from "../email/email-labels.ts";
import { meantCountry } from "../text/countries.ts";

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
  readonly values: ReadonlySet<string> | undefined;
  readonly isUpperCase: boolean | undefined;
}

const COUNTRIES: ReadonlySet<string> = new Set(COUNTRY_CODES);
const setOf = (values: readonly string[] | undefined) =>
  values === COUNTRY_CODES ? COUNTRIES : values && new Set(values);

export class FactSchema {
  readonly fields: readonly FactField[];
  readonly declared: DeclaredFacts;
  private readonly byName: ReadonlyMap<string, FactField>;

  constructor(declared: DeclaredFacts = {}) {
    this.declared = declared;
    const own = FACT_NAMES.map((name) => {
      const { type, data, values, isUpperCase } = FACT_ROWS[name];
      return { name, type, data, values: setOf(values), isUpperCase };
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
  if (text === "") return undefined;
  if (name === NETWORK) return whyNoNetwork(text);
  const isPossible = values?.has(text) ?? (isUpperCase !== true || text === text.toUpperCase());
  if (isPossible) return undefined;
  return `"${name}" is never ${JSON.stringify(text.slice(0, 40))}: ${hintAt(text, values)}`;
}

const NETWORK: FactName = "ip.network";

function whyNoNetwork(text: string): string | undefined {
  const network = visitorNetworkOf(text);
  if (network === text) return undefined;
  const hint =
    network === undefined
      ? "it is a /24 (IPv4) or /48 (IPv6), without host bits"
      : `did you mean "${network}"?`;
  return `"${NETWORK}" is never ${JSON.stringify(text.slice(0, 60))}: ${hint}`;
}

function hintAt(text: string, values: ReadonlySet<string> | undefined): string {
  const isCountry = values === COUNTRIES;
  const near = isCountry
    ? meantCountry(text)
    : values === undefined
      ? text.toUpperCase().slice(0, 40)
      : nearest(text, [...values]);
  if (near !== undefined) return `did you mean "${near}"?`;
  return isCountry
    ? "it is an ISO 3166-1 alpha-2 code such as DE"
    : `it is one of ${[...(values ?? [])].join(", ")}`;
}

/** The longest text that a fact can have is a user agent. */
export const MAX_USER_AGENT = 2_048;
/** Maximum number of items in a list that a caller sends. */
export const MAX_LIST = 32;

/**
 * Explains why an example cannot give a fact this value; undefined if it can. The limits of length keep the time that
 * conditions take within their `cost`.
 */
export function whyUnusable(field: FactField, value: FactValue): string | undefined {
  if (typeof value === "string" && value.length > MAX_USER_AGENT)
    return `"${field.name}" has more than ${MAX_USER_AGENT} characters`;
  if (typeof value === "object" && value.length > MAX_LIST)
    return `"${field.name}" has more than ${MAX_LIST} items`;
  if (typeof value === "string") return whyImpossible(field, value);
  if (typeof value !== "object") return undefined;
  for (const item of value) {
    const why = whyImpossible(field, item);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Returns the message about a fact that the schema does not have, with the fact that was probably meant. */
export function unknownFact(name: string, { names }: FactSchema): string {
  const known = nearestFact(name, names);
  const isUndeclared = known === undefined && name.startsWith(DECLARED);
  const hint = isUndeclared ? "declare it in [facts]" : known && `did you mean "${known}"?`;
  return `unknown fact "${name.slice(0, 80)}"${hint ? `: ${hint}` : ""}`;
}

/**
 * Returns the fact that a name probably means: a fact of this group ("ip") or with this ending ("country"), the fact
 * with the fewest typing mistakes, or the fact that shares most words ("ip.proxy").
 */
function nearestFact(name: string, names: readonly string[]): string | undefined {
  if (name.length > 80) return undefined;
  const known =
    names.find((candidate) => candidate.startsWith(`${name}.`) || candidate.endsWith(`.${name}`)) ??
    nearest(name, names);
  if (known !== undefined) return known;
  const given = wordsOf(name);
  const last = given.at(-1)!;
  let best: string | undefined;
  let most = 0;
  for (const candidate of names) {
    const words = wordsOf(candidate);
    if (!words.slice(1).some((word) => given.includes(word))) continue; // the group alone says too little
    const shared = words.filter((word) => given.includes(word)).length;
    const likeness = 2 * shared - words.length + (words.at(-1) === last ? 1 : 0);
    if (best === undefined || likeness > most) [best, most] = [candidate, likeness];
  }
  return best;
}
const wordsOf = (name: string) => name.split(/[._]/);

/** Returns whether the value has this type. Numbers must be finite. */
export function isOfType(value: unknown, type: FactType): value is FactValue {
  if (type === "text") return typeof value === "string";
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  if (type === "boolean") return typeof value === "boolean";
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
