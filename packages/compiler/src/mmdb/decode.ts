// decode.ts: decodes one value in an MMDB's data section or metadata.
//
// in   the bytes of a section, and an offset in it
// out  string, number, boolean, bigint (64 and 128 bits), Uint8Array (a view), array, object
// err  MmdbError, which shows the section and the byte
// src  https://maxmind.github.io/MaxMind-DB/ (version 2.0), "Output Data Section". MaxMind's conformance files of 2026
//      recommend the limits on values and payload
// cost 0.7 µs for a flat DB-IP record of eight fields, 1.4 µs for a nested MaxMind record. Sizes are checked before
//      anything is allocated. A value counts every time a pointer leads to it, so a small file that is full of pointers
//      cannot exhaust memory

/** A file that is not an MMDB, or is corrupt. The message contains the position. */
export class MmdbError extends Error {
  override readonly name = "MmdbError";
}

/** Maximum nesting depth of containers. libmaxminddb has the same limit. */
const MAX_DEPTH = 512;
/** Maximum number of values in one record. A value counts every time a pointer leads to it. */
const MAX_VALUES = 65_536;
/** Maximum bytes of strings and byte values in one record, counted in the same way. */
const MAX_PAYLOAD = 2 * 1024 * 1024;

const TYPE = {
  extended: 0,
  pointer: 1,
  string: 2,
  double: 3,
  bytes: 4,
  uint16: 5,
  uint32: 6,
  map: 7,
  int32: 8,
  uint64: 9,
  uint128: 10,
  array: 11,
  boolean: 14,
  float: 15,
} as const;

/**
 * Limits of the cache for strings that pointers lead to: number of slots, and maximum length of a string in bytes. The
 * cache is worthwhile because keys and place names repeat.
 */
const STRING_SLOTS = 1 << 17;
const KEPT_STRING_BYTES = 64;
/**
 * The same limits for maps and arrays (countries, continents, subdivisions). With this cache, GeoLite2 City decodes
 * seven times as fast.
 */
const CONTAINER_SLOTS = 1 << 12;
const KEPT_CONTAINER_BYTES = 4096;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class MmdbDecoder {
  /** Number of values plus payload bytes decoded so far. Callers may limit it. */
  work = 0;
  private readonly bytes: Uint8Array;
  private readonly buffer: Buffer;
  private readonly view: DataView;
  private readonly section: string;
  private readonly start: number;
  private readonly end: number;
  private at = 0;
  // Counters for the record that is being decoded: values, bytes of text, and nesting depth so far.
  private values = 0;
  private payload = 0;
  private depth = 0;
  private readonly strings: Kept;
  private readonly containers: Kept;

  /**
   * @param section name of the section in error messages
   * @param start where the section begins in `bytes`; pointers count from here
   * @param end the first byte after the section
   */
  constructor(bytes: Uint8Array, section: string, start: number, end: number) {
    this.bytes = bytes;
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.section = section;
    this.start = start;
    this.end = end;
    this.strings = new Kept(Math.min(STRING_SLOTS, end - start));
    this.containers = new Kept(Math.min(CONTAINER_SLOTS, end - start));
  }

  /**
   * Decodes the value at `offset` in the section. Never write to a result: results may share parts, and byte values are
   * views of the file. A 32-bit float is returned as the shortest decimal that rounds to it: 51.5074, not
   * 51.50740051269531.
   * @throws MmdbError if the value is malformed or too large
   */
  decode(offset: number): unknown {
    this.at = this.target(offset, this.start);
    this.values = 0;
    this.payload = 0;
    this.depth = 0;
    try {
      return this.value(0);
    } finally {
      this.work += this.values + this.payload;
    }
  }

  private value(depth: number): unknown {
    const from = this.at;
    const control = this.byte();
    if (control >>> 5 === TYPE.pointer) return this.pointed(control, from, depth);
    if (++this.values > MAX_VALUES) this.fail(from, `record holds more than ${MAX_VALUES} values`);
    let type = control >>> 5;
    if (type === TYPE.extended) {
      type = this.byte() + 7;
      if (type <= TYPE.map) this.fail(from, `type ${type} is not an extended type`);
    }
    const size = this.size(control & 31);
    switch (type) {
      case TYPE.string:
        return this.string(size, from);
      case TYPE.map:
        return this.map(size, from, depth);
      case TYPE.array:
        return this.array(size, from, depth);
      case TYPE.double:
        return this.view.getFloat64(this.take(size, 8, 8, from));
      case TYPE.float:
        return shortestFloat32(this.view.getFloat32(this.take(size, 4, 4, from)));
      case TYPE.uint16:
        return this.unsigned(size, 2, from);
      case TYPE.uint32:
        return this.unsigned(size, 4, from);
      case TYPE.int32:
        return size === 4 ? this.unsigned(size, 4, from) | 0 : this.unsigned(size, 4, from);
      case TYPE.uint64:
        return this.bigUnsigned(size, 8, from);
      case TYPE.uint128:
        return this.bigUnsigned(size, 16, from);
      case TYPE.boolean:
        if (size > 1) this.fail(from, `boolean of size ${size}, want 0 or 1`);
        return size === 1;
      case TYPE.bytes: {
        const at = this.takePayload(size, from);
        return this.bytes.subarray(at, at + size);
      }
      default:
        return this.fail(from, `type ${type} is not a value`);
    }
  }

  /** Follows the pointer whose control byte was just read. Reading then continues after the pointer. */
  private pointed(control: number, from: number, depth: number): unknown {
    const target = this.pointer(control, from);
    const back = this.at;
    const type = this.bytes[target]! >>> 5;
    if (type === TYPE.pointer) this.fail(from, "pointer to a pointer");
    const kept = type === TYPE.string ? this.strings : this.containers;
    const slot = kept.slot(target);
    if (kept.offsets[slot] === target && this.reuse(kept, slot, depth)) return kept.what[slot];
    const { values, payload, depth: outer } = this;
    this.at = target;
    this.depth = depth;
    const value = this.value(depth);
    this.at = back;
    const bytes = this.payload - payload;
    const most =
      type === TYPE.string ? KEPT_STRING_BYTES : typeof value === "object" ? KEPT_CONTAINER_BYTES : -1;
    if (bytes <= most) kept.put(slot, target, value, this.values - values, bytes, this.depth - depth);
    this.depth = Math.max(outer, this.depth);
    return value;
  }

  /**
   * Counts a cached value as if it were read again, because limits must not depend on what was decoded earlier.
   * @returns false if that exceeds a limit. The caller then reads the value again, which reports the limit
   */
  private reuse(kept: Kept, slot: number, depth: number): boolean {
    const values = this.values + kept.values[slot]!;
    const payload = this.payload + kept.payload[slot]!;
    const deepest = depth + kept.height[slot]!;
    if (values > MAX_VALUES || payload > MAX_PAYLOAD || deepest > MAX_DEPTH) return false;
    this.values = values;
    this.payload = payload;
    this.depth = Math.max(this.depth, deepest);
    return true;
  }

  /** Returns the absolute position to which a pointer leads. */
  private pointer(control: number, from: number): number {
    const length = (control >>> 3) & 3;
    let value = length === 3 ? 0 : control & 7;
    for (let i = 0; i <= length; i++) value = value * 256 + this.byte();
    if (length === 1) value += 2048;
    else if (length === 2) value += 526_336;
    return this.target(value, from);
  }

  private target(offset: number, from: number): number {
    const at = this.start + offset;
    if (!(at >= this.start && at < this.end)) {
      this.fail(from, `offset ${offset} is past the section's ${this.end - this.start} bytes`);
    }
    return at;
  }

  private map(size: number, from: number, depth: number): Record<string, unknown> {
    this.enter(size, 2, "map", from, depth);
    const map: Record<string, unknown> = {};
    for (let i = 0; i < size; i++) {
      const key = this.key(depth);
      const value = this.value(depth + 1);
      if (key === "__proto__") define(map, key, value);
      else map[key] = value;
    }
    return map;
  }

  private key(depth: number): string {
    const from = this.at;
    const key = this.value(depth + 1);
    if (typeof key !== "string") this.fail(from, "map key is not a string");
    return key;
  }

  private array(size: number, from: number, depth: number): unknown[] {
    this.enter(size, 1, "array", from, depth);
    const array: unknown[] = [];
    for (let i = 0; i < size; i++) array.push(this.value(depth + 1));
    return array;
  }

  /** Rejects a container that cannot fit, before allocating anything for it. Each value takes at least one byte. */
  private enter(size: number, each: number, what: string, from: number, depth: number): void {
    if (depth >= MAX_DEPTH) this.fail(from, `nested deeper than ${MAX_DEPTH}`);
    if (size * each > this.end - this.at) {
      this.fail(from, `${what} of ${size} entries runs past the end of the section`);
    }
    this.depth = Math.max(this.depth, depth + 1);
  }

  private string(size: number, from: number): string {
    const at = this.takePayload(size, from);
    const end = at + size;
    const bytes = this.bytes;
    for (let i = at; i < end; i++) {
      if (bytes[i]! >= 0x80) return this.unicode(at, end, from);
    }
    return this.buffer.toString("latin1", at, end);
  }

  private unicode(at: number, end: number, from: number): string {
    try {
      return utf8.decode(this.bytes.subarray(at, end));
    } catch {
      return this.fail(from, "string is not UTF-8");
    }
  }

  private unsigned(size: number, most: number, from: number): number {
    const at = this.take(size, 0, most, from);
    let value = 0;
    for (let i = at; i < at + size; i++) value = value * 256 + this.bytes[i]!;
    return value;
  }

  private bigUnsigned(size: number, most: number, from: number): bigint {
    const at = this.take(size, 0, most, from);
    let value = 0n;
    for (let i = at; i < at + size; i++) value = (value << 8n) | BigInt(this.bytes[i]!);
    return value;
  }

  /** Like {@link take}, for strings and bytes of any size, which count against the record's limit. */
  private takePayload(size: number, from: number): number {
    this.payload += size;
    if (this.payload > MAX_PAYLOAD) this.fail(from, `record holds more than ${MAX_PAYLOAD} bytes of text`);
    return this.take(size, 0, size, from);
  }

  /** Advances by `size` bytes and returns where they begin. */
  private take(size: number, least: number, most: number, from: number): number {
    if (size < least || size > most) {
      this.fail(from, `number of ${size} bytes, want ${least === most ? most : `at most ${most}`}`);
    }
    const at = this.at;
    if (size > this.end - at) this.fail(from, `${size} bytes run past the end of the section`);
    this.at = at + size;
    return at;
  }

  private size(code: number): number {
    if (code < 29) return code;
    if (code === 29) return 29 + this.byte();
    if (code === 30) return 285 + this.byte() * 256 + this.byte();
    return 65_821 + this.byte() * 65_536 + this.byte() * 256 + this.byte();
  }

  private byte(): number {
    if (this.at >= this.end) this.fail(this.at, "value runs past the end of the section");
    return this.bytes[this.at++]!;
  }

  private fail(at: number, problem: string): never {
    throw new MmdbError(`${this.section}, byte ${at - this.start}: ${problem}`);
  }
}

/** A direct-mapped cache of decoded values by position. */
class Kept {
  readonly offsets: Float64Array;
  readonly what: unknown[] = [];
  readonly values: Uint32Array;
  readonly payload: Uint32Array;
  readonly height: Uint16Array;

  constructor(least: number) {
    let slots = 1;
    while (slots < least) slots *= 2;
    this.offsets = new Float64Array(slots).fill(-1);
    this.values = new Uint32Array(slots);
    this.payload = new Uint32Array(slots);
    this.height = new Uint16Array(slots);
  }

  slot(offset: number): number {
    return offset & (this.offsets.length - 1);
  }

  put(slot: number, offset: number, what: unknown, values: number, payload: number, height: number): void {
    this.offsets[slot] = offset;
    this.what[slot] = what;
    this.values[slot] = values;
    this.payload[slot] = payload;
    this.height[slot] = height;
  }
}

function define(map: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Returns the shortest decimal that rounds to the 32-bit float `x`, or `x` itself if it is not finite.
 * 51.507400512695312 (as a double) -> 51.5074. `Math.fround` of the result is `x` again.
 */
export function shortestFloat32(x: number): number {
  let scale = 1;
  // For coordinates, this loop finds the result: dividing two exact integers gives the double that is closest to the
  // decimal.
  for (let decimals = 0; decimals <= 7 && Math.abs(x) < 1e6; decimals++, scale *= 10) {
    const candidate = Math.round(x * scale) / scale;
    if (Math.fround(candidate) === x) return candidate;
  }
  for (let digits = 1; digits <= 9; digits++) {
    const candidate = Number(x.toPrecision(digits));
    if (Math.fround(candidate) === x) return candidate;
  }
  return x; // not finite
}
