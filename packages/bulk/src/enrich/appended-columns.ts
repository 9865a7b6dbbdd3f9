// appended-columns.ts: the bytes that are appended to a row, created once per distinct answer.
//
// Cost: one Map lookup for a repeated answer.

import { ByteBuffer } from "@inkling/data";
import { csvField } from "../export/csv.ts";
import { FIELDS, type Field, perTable, rowOf, TABLES, type Table, type Value } from "../fields.ts";
import type { Plan } from "./plan.ts";

/** Formats a value to append to a row. The text begins with its separator. */
type Write = (name: string, value: Value) => string;

function writerOf({ format, delimiter = ",", prefix }: Plan): Write {
  switch (format) {
    case "ndjson":
      return (name, value) =>
        value === undefined ? "" : `,${JSON.stringify(prefix + name)}:${JSON.stringify(value)}`;
    case "tsv":
      return (_, value) =>
        delimiter + (value === undefined ? "" : String(value).replaceAll(/[\t\r\n]/g, " "));
    case "csv":
      return (_, value) => delimiter + csvField(value, delimiter);
    case "lines":
      return (name, value) => (value === undefined ? "" : ` ${prefix}${name}=${logValue(value)}`);
  }
}

function logValue(value: Value): string {
  const text = String(value);
  return /^$|[\s"=]/.test(text) ? JSON.stringify(text) : text;
}

const encoder = new TextEncoder();

/** Returns the names that are appended to a header. */
export function appendedHeader(plan: Plan): Uint8Array {
  const names = TABLES.flatMap((table) => plan.added[table]);
  const { delimiter = ",", prefix } = plan;
  return encoder.encode(names.map((name) => delimiter + prefix + name).join(""));
}

/** The bytes of one table's answers, and how often each answer was appended. */
export class AppendedColumns {
  private readonly fields: readonly Field[];
  private readonly write: Write;
  private readonly bytes = new ByteBuffer(1 << 12);
  private starts = new Uint32Array(256);
  private counts = new Float64Array(256);
  private readonly numbers = new Map<string, number>();
  private readonly answers: string[] | undefined;
  private made = 0;
  private readonly none: Uint8Array;
  private readonly unknown: ReadonlySet<string>;

  /**
   * @param keepAnswers true for a summary, because {@link counted} needs the answers
   * @param unknown flags without data; their "false" is not written
   */
  constructor(plan: Plan, table: Table, keepAnswers: boolean, unknown: ReadonlySet<string>) {
    this.unknown = unknown;
    this.fields = FIELDS[table].filter(({ name }) => plan.added[table].includes(name));
    this.write = writerOf(plan);
    this.none = encoder.encode(this.fields.map(({ name }) => this.write(name, undefined)).join(""));
    this.answers = keepAnswers ? [] : undefined;
  }

  get isCounted(): boolean {
    return this.answers !== undefined;
  }

  /** Returns whether data for the flag is missing. */
  isUnknown(flag: string): boolean {
    return this.unknown.has(flag);
  }

  /** Returns whether the field is added. */
  adds(name: string): boolean {
    return this.fields.some((field) => field.name === name);
  }

  /** Returns whether any answer is needed. */
  get isWanted(): boolean {
    return this.fields.length > 0 || this.answers !== undefined;
  }

  /** Returns the index under which an answer's bytes are stored. Stores them first if the answer is new. */
  numberOf(answer: string): number {
    let number = this.numbers.get(answer);
    if (number === undefined) {
      number = this.make(answer);
      this.numbers.set(answer, number);
    }
    return number;
  }

  /**
   * Stores the bytes of a new answer, and returns their index. Unlike {@link numberOf}, it does not recognize the
   * answer later.
   */
  make(answer: string): number {
    const number = this.made++;
    if (number + 1 >= this.starts.length) this.grow();
    this.answers?.push(answer);
    const values = rowOf(answer, this.fields);
    const texts = this.fields.map(({ name }, i) => {
      const isKnown = values[i] !== false || !this.isUnknown(name);
      return this.write(name, isKnown ? values[i] : undefined);
    });
    this.bytes.append(encoder.encode(texts.join("")));
    this.starts[number + 1] = this.bytes.length;
    return number;
  }

  /** Appends the bytes of an answer. @param number the index of the answer's bytes, or -1 for no answer */
  append(number: number, out: ByteBuffer): void {
    if (number < 0) out.append(this.none);
    else {
      this.counts[number]!++;
      out.append(this.bytes.bytes, this.starts[number]!, this.starts[number + 1]!);
    }
  }

  /** Yields how often each answer was added. */
  *counted(): Generator<{ answer: string; count: number }> {
    for (let i = 0; i < this.made; i++) yield { answer: this.answers![i]!, count: this.counts[i]! };
  }

  private grow(): void {
    const { starts, counts } = this;
    this.starts = new Uint32Array(starts.length * 2);
    this.starts.set(starts);
    this.counts = new Float64Array(counts.length * 2);
    this.counts.set(counts);
  }
}

export function appendedColumnsFor(
  plan: Plan,
  keepAnswers: boolean,
  unknown: readonly string[],
): Record<Table, AppendedColumns> {
  // A summary only counts networks if they are requested.
  const isKept = (table: Table) => keepAnswers && (table !== "network" || plan.added.network.length > 0);
  return perTable((table) => new AppendedColumns(plan, table, isKept(table), new Set(unknown)));
}
