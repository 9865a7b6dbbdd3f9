// mmdb-data.ts: writes values into the data section of a MaxMind DB file.
//
// in   maps, arrays, texts, numbers, booleans
// out  their bytes; repeated texts of more than two bytes, and repeated maps without numbers inside another value,
//      become pointers to the first occurrence
// src  MaxMind DB File Format Specification 2.0, "Output Data Section"

import { ByteBuffer } from "@inkling/data";

const TYPE = {
  pointer: 1,
  text: 2,
  double: 3,
  map: 7,
  uint16: 5,
  uint32: 6,
  uint64: 9,
  array: 11,
  boolean: 14,
} as const;

/** A number with its type in the file. Other numbers are doubles. */
export class Unsigned {
  readonly bits: 16 | 32 | 64;
  readonly value: number;
  constructor(bits: 16 | 32 | 64, value: number) {
    this.bits = bits;
    this.value = value;
  }
}

export type MmdbValue = string | number | boolean | Unsigned | readonly MmdbValue[] | MmdbMap;
/** Fields that are undefined are omitted. */
export interface MmdbMap {
  readonly [key: string]: MmdbValue | undefined;
}

const encoder = new TextEncoder();

export class MmdbData {
  private readonly out = new ByteBuffer(1 << 16);
  private readonly texts = new Map<string, number>();
  private readonly shared = new Map<string, number>();

  get length(): number {
    return this.out.length;
  }

  /** Writes a value. @returns where it begins */
  add(value: MmdbValue): number {
    const at = this.length;
    this.write(value);
    return at;
  }

  /** Returns everything written so far. */
  toBytes(): Uint8Array {
    return this.out.bytes.subarray(0, this.length);
  }

  private write(value: MmdbValue): void {
    if (typeof value === "string") this.text(value);
    else if (typeof value === "number") this.double(value);
    else if (typeof value === "boolean") this.control(TYPE.boolean, value ? 1 : 0);
    else if (value instanceof Unsigned) this.unsigned(value);
    else if (isMap(value)) this.map(value);
    else this.array(value);
  }

  /** Writes a field of a map or array. A map without numbers often occurs again, so it is written only once. */
  private field(value: MmdbValue): void {
    const isShared = isMap(value) && !Object.values(value).some(isNumber);
    const key = isShared ? JSON.stringify(value) : "";
    const known = isShared ? this.shared.get(key) : undefined;
    if (known !== undefined) {
      this.pointer(known);
      return;
    }
    if (isShared) this.shared.set(key, this.length);
    this.write(value);
  }

  private text(value: string): void {
    const known = this.texts.get(value);
    if (known !== undefined) {
      this.pointer(known);
      return;
    }
    const bytes = encoder.encode(value);
    if (bytes.length > 2) this.texts.set(value, this.length); // a pointer would not be shorter
    this.control(TYPE.text, bytes.length);
    this.out.append(bytes);
  }

  private double(value: number): void {
    this.control(TYPE.double, 8);
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value);
    this.out.append(bytes);
  }

  private unsigned({ bits, value }: Unsigned): void {
    const bytes: number[] = [];
    for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
    this.control(TYPE[`uint${bits}`], bytes.length);
    this.append(bytes);
  }

  private array(values: readonly MmdbValue[]): void {
    this.control(TYPE.array, values.length);
    for (const value of values) this.field(value);
  }

  private map(values: MmdbMap): void {
    const entries = Object.entries(values).filter(([, value]) => value !== undefined);
    this.control(TYPE.map, entries.length);
    for (const [key, value] of entries) {
      this.text(key);
      this.field(value!);
    }
  }

  private pointer(to: number): void {
    const head = TYPE.pointer << 5;
    if (to < 2048) this.append([head | (to >>> 8), to]);
    else if (to < 526_336) {
      const rest = to - 2048;
      this.append([head | 0x08 | (rest >>> 16), rest >>> 8, rest]);
    } else if (to < 134_744_064) {
      const rest = to - 526_336;
      this.append([head | 0x10 | (rest >>> 24), rest >>> 16, rest >>> 8, rest]);
    } else this.append([head | 0x18, to >>> 24, to >>> 16, to >>> 8, to]);
  }

  /** Writes the control bytes: type and size of the value that follows. */
  private control(type: number, size: number): void {
    const extended = type > 7;
    const low = size < 29 ? size : size < 285 ? 29 : size < 65_821 ? 30 : 31;
    this.append([(extended ? 0 : type << 5) | low]);
    if (extended) this.append([type - 7]);
    if (low === 29) this.append([size - 29]);
    else if (low === 30) this.append([(size - 285) >>> 8, size - 285]);
    else if (low === 31) this.append([(size - 65_821) >>> 16, (size - 65_821) >>> 8, size - 65_821]);
  }

  private append(bytes: readonly number[]): void {
    this.out.append(Uint8Array.from(bytes));
  }
}

function isMap(value: MmdbValue): value is MmdbMap {
  return typeof value === "object" && !(value instanceof Unsigned) && !Array.isArray(value);
}

const isNumber = (value: MmdbValue | undefined) => typeof value === "number" || value instanceof Unsigned;
