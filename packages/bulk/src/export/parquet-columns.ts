// parquet-columns.ts: rows -> the column chunks of a Parquet file, without a JavaScript value for each row.
//
// `TextColumn` takes the bytes of each row. `CodedColumn` has the distinct values of a member once, sorted, and for each
// answer the number of its value: a row costs a look into a table.
//
// src  Apache Parquet format: PLAIN, RLE_DICTIONARY, "RLE/Bit-Packing Hybrid"

import type { SchemaElement } from "hyparquet";
import type { Member, Value } from "../members.ts";
import { Output } from "../output.ts";
import type { Chunk, Column } from "./parquet-file.ts";

const TYPES = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  uint32: { type: "INT64" }, // an unsigned number of 32 bits is read as a negative one by some
  boolean: { type: "BOOLEAN" },
} as const satisfies Record<Member["type"], object>;

type Described = Pick<Member, "name" | "type">;
const elementOf = ({ name, type }: Described): SchemaElement => ({
  name,
  repetition_type: "OPTIONAL",
  ...TYPES[type],
});

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array(0);
/** For the rows of a group: one for all columns, as arrays of this size are collected late. */
let scratch = new Uint32Array(0);

/** Texts that differ from row to row; none is unknown. */
export class TextColumn implements Column {
  readonly element: SchemaElement;
  private readonly out = new Output(1 << 16);
  /** Where the first and the last text in byte order stand. */
  private min = 0;
  private max = 0;

  constructor(name: string) {
    this.element = elementOf({ name, type: "text" });
  }

  append(bytes: Uint8Array): void {
    const at = this.begin(bytes.length);
    this.out.append(bytes);
    this.bound(at);
  }

  /** Of characters below 128. */
  appendAscii(text: string): void {
    const { out } = this;
    const at = this.begin(text.length);
    out.reserve(text.length);
    const { bytes } = out;
    for (let i = 0, to = out.length; i < text.length; ) bytes[to++] = text.charCodeAt(i++);
    out.length += text.length;
    this.bound(at);
  }

  takeChunk(rows: Uint32Array): Chunk {
    const data = this.out.bytes.subarray(0, this.out.length);
    const textAt = (at: number) => data.slice(at + 4, at + 4 + readUint32(data, at));
    const bounds = { min: textAt(this.min), max: textAt(this.max) };
    this.out.length = this.min = this.max = 0;
    return { encoding: "PLAIN", data, levels: levelsOf(rows.length), nulls: 0, ...bounds };
  }

  /** @returns where the text begins, with its length */
  private begin(length: number): number {
    const { out } = this;
    const at = out.length;
    out.reserve(4);
    writeUint32(out.bytes, at, length);
    out.length += 4;
    return at;
  }

  private bound(at: number): void {
    if (this.compare(at, this.min) < 0) this.min = at;
    if (this.compare(at, this.max) > 0) this.max = at;
  }

  private compare(a: number, b: number): number {
    const { bytes } = this.out;
    const lengthA = readUint32(bytes, a);
    const lengthB = readUint32(bytes, b);
    const end = 4 + Math.min(lengthA, lengthB);
    for (let i = 4; i < end; i++) {
      const difference = bytes[a + i]! - bytes[b + i]!;
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }
}

/** A member of answers, many rows of which have the same value. */
export class CodedColumn implements Column {
  readonly element: SchemaElement;
  /** In their order. */
  private readonly values: Exclude<Value, undefined>[];
  private readonly encoded: Uint8Array[];
  /** For each answer 1 + the index of its value, 0 for unknown. */
  private readonly codes: Uint32Array;
  /** For each code 1 + its index in the dictionary of the group, 0 if it is not there. */
  private readonly indexes: Uint32Array;

  /** @param numbers for each answer the index of its value in `seen`, or -1 */
  constructor(member: Described, seen: readonly Exclude<Value, undefined>[], numbers: Int32Array) {
    this.element = elementOf(member);
    const plain = seen.map((value) => plainBytes(value, member.type));
    const isText = member.type === "text";
    const order = Array.from(seen.keys()).sort((a, b) =>
      isText ? compareTexts(plain[a]!, plain[b]!) : Number(seen[a]) - Number(seen[b]),
    );
    this.values = order.map((index) => seen[index]!);
    this.encoded = order.map((index) => plain[index]!);
    const codeOf = new Uint32Array(seen.length);
    for (const [at, index] of order.entries()) codeOf[index] = at + 1;
    this.codes = Uint32Array.from(numbers, (index) => (index < 0 ? 0 : codeOf[index]!));
    this.indexes = new Uint32Array(seen.length + 1);
  }

  takeChunk(rows: Uint32Array): Chunk {
    const { codes, indexes, values, element } = this;
    if (scratch.length < 2 * rows.length) scratch = new Uint32Array(2 * rows.length);
    const known = scratch.subarray(0, rows.length);
    const isKnown = scratch.subarray(rows.length, 2 * rows.length).fill(0);
    const dictionary: number[] = [];
    let count = 0;
    let min = values.length;
    let max = 0;
    for (let i = 0; i < rows.length; i++) {
      const code = codes[rows[i]!]!;
      if (code === 0) continue;
      let index = indexes[code]!;
      if (index === 0) {
        index = indexes[code] = dictionary.push(code);
        if (code < min) min = code;
        if (code > max) max = code;
      }
      known[count++] = index - 1;
      isKnown[i] = 1;
    }
    for (const code of dictionary) indexes[code] = 0;
    const nulls = rows.length - count;
    const levels = hybrid(isKnown, 1);
    if (count === 0)
      return { encoding: "PLAIN", data: NO_BYTES, levels, nulls, min: undefined, max: undefined };
    const least = this.bound(min);
    const bounds = { min: least === 0 ? -0 : least, max: this.bound(max) }; // of the two zeros, as the format wants it
    const indices = known.subarray(0, count);
    if (element.type === "BOOLEAN") {
      for (let i = 0; i < count; i++) indices[i] = values[dictionary[indices[i]!]! - 1] ? 1 : 0;
      const data = new Uint8Array(Math.ceil(count / 8));
      pack(data, 0, indices, 0, count, 1);
      return { encoding: "PLAIN", data, levels, nulls, ...bounds };
    }
    const width = 32 - Math.clz32(dictionary.length - 1);
    const entries = joined(dictionary.map((code) => this.encoded[code - 1]!));
    return {
      encoding: "RLE_DICTIONARY",
      data: joined([Uint8Array.of(width), hybrid(indices, width)]),
      dictionary: { data: entries, count: dictionary.length },
      levels,
      nulls,
      ...bounds,
    };
  }

  private bound(code: number): Chunk["min"] {
    const value = this.values[code - 1]!;
    return typeof value === "string" ? this.encoded[code - 1]!.subarray(4) : value;
  }
}

/** As PLAIN has it. */
function plainBytes(value: Exclude<Value, undefined>, type: Member["type"]): Uint8Array {
  if (typeof value === "string") {
    const text = encoder.encode(value);
    const bytes = new Uint8Array(4 + text.length);
    writeUint32(bytes, 0, text.length);
    bytes.set(text, 4);
    return bytes;
  }
  const bytes = new DataView(new ArrayBuffer(type === "number" || type === "uint32" ? 8 : 4));
  if (type === "number") bytes.setFloat64(0, Number(value), true);
  else if (type === "uint32") bytes.setBigInt64(0, BigInt(Number(value)), true);
  else bytes.setInt32(0, Number(value), true);
  return new Uint8Array(bytes.buffer);
}

const compareTexts = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a.subarray(4), b.subarray(4));

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

const readUint32 = (bytes: Uint8Array, at: number) =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

const joined = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** The definition levels of a column without unknown values. */
const levelsOf = (rows: number) => hybrid(new Uint32Array(rows).fill(1), 1);

/** Repetitions of a value in a row that are written as one; also how many values are packed together. */
const RUN = 8;

/** Values of `width` bits, at most 24, as runs, and groups of eight packed one after the other. */
export function hybrid(values: Uint32Array, width: number): Uint8Array {
  const out = new Output(64 + Math.ceil((values.length * (width + 1)) / 8));
  let from = 0; // the first value that is not written
  for (let at = 0; at < values.length; ) {
    const value = values[at]!;
    let end = at + 1;
    while (end < values.length && values[end] === value) end++;
    if (end - at < RUN) {
      at += RUN;
      continue;
    }
    packGroups(out, values, from, at, width);
    out.reserve(10);
    appendVarint(out, (end - at) << 1);
    for (let shift = 0; shift < width; shift += 8) out.bytes[out.length++] = value >>> shift;
    from = at = end;
  }
  packGroups(out, values, from, values.length, width);
  return out.bytes.subarray(0, out.length);
}

function packGroups(out: Output, values: Uint32Array, from: number, to: number, width: number): void {
  if (to <= from) return;
  const groups = Math.ceil((to - from) / RUN);
  out.reserve(5 + groups * width);
  appendVarint(out, (groups << 1) | 1);
  const end = out.length + groups * width;
  pack(out.bytes, out.length, values, from, to, width);
  out.length = end;
}

function appendVarint(out: Output, value: number): void {
  for (; value > 127; value >>>= 7) out.bytes[out.length++] = (value & 127) | 128;
  out.bytes[out.length++] = value;
}

/** Writes values one after the other, from the lowest bit of a byte on. */
function pack(bytes: Uint8Array, at: number, values: Uint32Array, from: number, to: number, width: number) {
  let pending = 0;
  let bits = 0;
  for (let i = from; i < to; i++) {
    pending |= values[i]! << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      bytes[at++] = pending;
      pending >>>= 8;
    }
  }
  if (bits > 0) bytes[at] = pending;
}
