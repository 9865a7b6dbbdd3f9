// tails.ts: what is added to a row, as bytes, made once for each distinct answer.
//
// in   answers as JSON text
// out  bytes in the format of the file
// cost an answer seen before: one Map look-up

import type { Lookup } from "@inkling/engine";
import { csvField } from "../export/csv.ts";
import { MEMBERS, type Member, rowOf, type Value } from "../members.ts";
import { Output } from "./output.ts";
import type { Plan } from "./plan.ts";

/** How a value is written after a row; text begins with what parts it from what stands before. */
type Write = (name: string, value: Value) => string;

function writerOf({ format, delimiter = ",", prefix }: Plan): Write {
  switch (format) {
    case "ndjson":
      return (name, value) =>
        value === undefined ? "" : `,${JSON.stringify(prefix + name)}:${JSON.stringify(value)}`;
    case "log":
      return (name, value) => (value === undefined ? "" : ` ${prefix}${name}=${logValue(value)}`);
    case "tsv":
      return (_, value) =>
        delimiter + (value === undefined ? "" : String(value).replaceAll(/[\t\r\n]/g, " "));
    case "csv":
      return (_, value) => delimiter + csvField(value, delimiter);
  }
}

function logValue(value: Value): string {
  const text = String(value);
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}

const encoder = new TextEncoder();

/** The names that a header gets more. */
export function headerTail(plan: Plan): Uint8Array {
  const names = [...plan.added.geolocate, ...plan.added.reputation, ...plan.added.email];
  const { delimiter = ",", prefix } = plan;
  return encoder.encode(names.map((name) => delimiter + prefix + name).join(""));
}

/** The tails of one look-up, and how often each was added. */
export class Tails {
  private readonly members: readonly Member[];
  private readonly write: Write;
  private readonly bytes = new Output(1 << 12);
  private starts = new Uint32Array(256);
  private counts = new Float64Array(256);
  private readonly answers: string[] | undefined;
  private made = 0;
  private readonly none: Uint8Array;
  private readonly unknown: ReadonlySet<string>;

  /**
   * @param keepAnswers for a summary: {@link counted} needs them
   * @param unknown flags that no list tells: their "false" says nothing, and is not written
   */
  constructor(plan: Plan, lookup: Lookup, keepAnswers: boolean, unknown: ReadonlySet<string>) {
    this.unknown = unknown;
    this.members = MEMBERS[lookup].filter(({ name }) => plan.added[lookup].includes(name));
    this.write = writerOf(plan);
    this.none = encoder.encode(this.members.map(({ name }) => this.write(name, undefined)).join(""));
    this.answers = keepAnswers ? [] : undefined;
  }

  get isCounted(): boolean {
    return this.answers !== undefined;
  }

  /** Does no list tell this flag? */
  isUnknown(flag: string): boolean {
    return this.unknown.has(flag);
  }

  /** Is anything added at all? */
  get isWanted(): boolean {
    return this.members.length > 0 || this.answers !== undefined;
  }

  /** Makes the tail of an answer. @returns its number */
  make(answer: string): number {
    const number = this.made++;
    if (number + 1 >= this.starts.length) this.grow();
    this.answers?.push(answer);
    const values = rowOf(answer, this.members);
    const told = (name: string, value: Value) =>
      value === false && this.isUnknown(name) ? undefined : value;
    const text = this.members.map(({ name }, i) => this.write(name, told(name, values[i]))).join("");
    const bytes = encoder.encode(text);
    this.bytes.append(bytes, 0, bytes.length);
    this.starts[number + 1] = this.bytes.length;
    return number;
  }

  /** Appends tail `number`. */
  append(number: number, out: Output): void {
    this.counts[number]!++;
    out.append(this.bytes.bytes, this.starts[number]!, this.starts[number + 1]!);
  }

  /** Appends what stands for no answer. */
  appendNone(out: Output): void {
    out.append(this.none, 0, this.none.length);
  }

  /** How often each answer was added. */
  *counted(): Generator<{ answer: string; count: number }> {
    for (let i = 0; i < this.made; i++) yield { answer: this.answers![i]!, count: this.counts[i]! };
  }

  private grow(): void {
    const starts = new Uint32Array(this.starts.length * 2);
    starts.set(this.starts);
    this.starts = starts;
    const counts = new Float64Array(this.counts.length * 2);
    counts.set(this.counts);
    this.counts = counts;
  }
}

/** Those of all three look-ups. */
export function tailsFor(
  plan: Plan,
  keepAnswers: boolean,
  unknown: readonly string[],
): Record<Lookup, Tails> {
  const of = (lookup: Lookup) => new Tails(plan, lookup, keepAnswers, new Set(unknown));
  return { geolocate: of("geolocate"), reputation: of("reputation"), email: of("email") };
}
