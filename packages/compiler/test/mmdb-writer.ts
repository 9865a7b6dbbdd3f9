// mmdb-writer.ts: a small writer of MMDB files, for tests only. It writes valid files from networks and values, and
// broken files from raw nodes and bytes.
//
// It shares no code with the reader, so that each can prove the other wrong.

import { type Prefix, parsePrefix } from "@inkling/engine";

/** A value with the type to write it as. Plain values choose their type. */
export interface Typed {
  readonly as: "float" | "double" | "uint16" | "uint32" | "int32" | "uint64" | "uint128" | "raw";
  readonly value: number | bigint | readonly number[];
}
export const float = (value: number): Typed => ({ as: "float", value });
export const double = (value: number): Typed => ({ as: "double", value });
export const uint16 = (value: number): Typed => ({ as: "uint16", value });
export const uint64 = (value: bigint): Typed => ({ as: "uint64", value });
export const uint128 = (value: bigint): Typed => ({ as: "uint128", value });
/** Bytes that are written to the section unchanged. */
export const raw = (...value: number[]): Typed => ({ as: "raw", value });

export interface Parts {
  readonly nodes: readonly (readonly [left: number, right: number])[];
  readonly recordSize: 24 | 28 | 32;
  readonly data: readonly number[];
  /** Overrides the usual metadata. Undefined removes a field. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Database {
  readonly ipVersion: 4 | 6;
  readonly recordSize: 24 | 28 | 32;
  /** IPv4 networks of an IPv6 database are written as "::192.0.2.0/120". Longer prefixes win over shorter ones. */
  readonly networks: readonly (readonly [network: string, value: unknown])[];
  /** Networks whose record points at the node of ::/96. */
  readonly aliases?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export const MARKER = [0xab, 0xcd, 0xef, ...Buffer.from("MaxMind.com")];

/** Writes a valid file. Like MaxMind's writer, it writes equal strings and equal records once and points at them. */
export function writeMmdb(database: Database): Uint8Array {
  const section = new Section();
  const root = new Node();
  const sorted = [...database.networks].sort((a, b) => prefix(a[0]).bits - prefix(b[0]).bits);
  for (const [network, value] of sorted) insert(root, prefix(network), section.shared(value));
  for (const network of database.aliases ?? []) {
    insert(root, prefix(network), follow(root, prefix("::/96")));
  }
  return assemble({
    nodes: number(root),
    recordSize: database.recordSize,
    data: section.bytes,
    metadata: { ip_version: uint16(database.ipVersion), ...database.metadata },
  });
}

/** Writes a file of exactly these parts. */
export function assemble(parts: Parts): Uint8Array {
  const metadata: Record<string, unknown> = {
    binary_format_major_version: uint16(2),
    binary_format_minor_version: uint16(0),
    build_epoch: uint64(1_780_000_000n),
    database_type: "Inkling-Test",
    description: { en: "made by a test" },
    ip_version: uint16(4),
    languages: ["en"],
    node_count: parts.nodes.length,
    record_size: uint16(parts.recordSize),
    ...parts.metadata,
  };
  for (const key of Object.keys(metadata)) if (metadata[key] === undefined) delete metadata[key];
  return Uint8Array.from([
    ...parts.nodes.flatMap(([left, right]) => nodeBytes(left, right, parts.recordSize)),
    ...new Array(16).fill(0),
    ...parts.data,
    ...MARKER,
    ...encode(metadata),
  ]);
}

/** Encodes one value, without pointers. */
export function encode(value: unknown): number[] {
  if (typeof value === "string") return [...control(2, Buffer.byteLength(value)), ...Buffer.from(value)];
  if (typeof value === "boolean") return control(14, value ? 1 : 0);
  if (typeof value === "bigint") return encode(value < 1n << 64n ? uint64(value) : uint128(value));
  if (typeof value === "number") {
    const whole = Number.isInteger(value) && value < 2 ** 32;
    return encode(whole ? { as: value < 0 ? "int32" : "uint32", value } : double(value));
  }
  if (value instanceof Uint8Array) return [...control(4, value.length), ...value];
  if (Array.isArray(value)) return [...control(11, value.length), ...value.flatMap(encode)];
  if (isTyped(value)) return encodeTyped(value);
  const entries = Object.entries(value as object);
  return [
    ...control(7, entries.length),
    ...entries.flatMap(([key, item]) => [...encode(key), ...encode(item)]),
  ];
}

/** Encodes a pointer in its shortest form. */
export function pointer(offset: number): Typed {
  if (offset < 2048) return raw(0x20 | (offset >> 8), offset & 255);
  const middle = offset - 2048;
  if (middle < 1 << 19) return raw(0x28 | (middle >> 16), (middle >> 8) & 255, middle & 255);
  const long = offset - 526_336;
  if (long < 1 << 27) return raw(0x30 | (long >> 24), (long >> 16) & 255, (long >> 8) & 255, long & 255);
  return raw(0x38, (offset >>> 24) & 255, (offset >> 16) & 255, (offset >> 8) & 255, offset & 255);
}

/** Encodes control byte, extended type and size. */
export function control(type: number, size: number): number[] {
  const [code, rest] =
    size < 29
      ? [size, []]
      : size < 285
        ? [29, [size - 29]]
        : size < 65_821
          ? [30, [(size - 285) >> 8, (size - 285) & 255]]
          : [31, [(size - 65_821) >> 16, ((size - 65_821) >> 8) & 255, (size - 65_821) & 255]];
  return type <= 7 ? [(type << 5) | code, ...rest] : [code, type - 7, ...rest];
}

const SIZES = { float: [15, 4], double: [3, 8], int32: [8, 4] } as const;
const UNSIGNED = { uint16: 5, uint32: 6, uint64: 9, uint128: 10 } as const;

function encodeTyped({ as, value }: Typed): number[] {
  if (as === "raw") return [...(value as readonly number[])];
  if (as === "float" || as === "double" || as === "int32") {
    const [type, size] = SIZES[as];
    const view = new DataView(new ArrayBuffer(size));
    if (as === "float") view.setFloat32(0, Number(value));
    else if (as === "double") view.setFloat64(0, Number(value));
    else view.setInt32(0, Number(value));
    return [...control(type, size), ...new Uint8Array(view.buffer)];
  }
  const bytes: number[] = [];
  for (let rest = BigInt(value as number | bigint); rest > 0n; rest >>= 8n)
    bytes.unshift(Number(rest & 255n));
  return [...control(UNSIGNED[as], bytes.length), ...bytes];
}

function isTyped(value: unknown): value is Typed {
  return typeof value === "object" && value !== null && "as" in value && "value" in value;
}

/** A growing data section that remembers the offset of each value. */
class Section {
  readonly bytes: number[] = [];
  private readonly known = new Map<string, number>();

  /** Writes a value, and the strings in it, unless the section already has them. Returns the value's offset. */
  shared(value: unknown): number {
    const key = `record ${encode(value).join()}`;
    const at = this.known.get(key);
    if (at !== undefined) return at;
    const body = this.pointing(value);
    const offset = this.bytes.push(...body) - body.length;
    this.known.set(key, offset);
    return offset;
  }

  /** Returns the value's bytes, with pointers for the strings in it. */
  private pointing(value: unknown): number[] {
    if (Array.isArray(value))
      return [...control(11, value.length), ...value.flatMap((item) => this.inner(item))];
    if (typeof value !== "object" || value === null || isTyped(value) || value instanceof Uint8Array) {
      return encode(value);
    }
    const entries = Object.entries(value).flatMap(([key, item]) => [...this.inner(key), ...this.inner(item)]);
    return [...control(7, Object.keys(value).length), ...entries];
  }

  private inner(value: unknown): number[] {
    const plain =
      typeof value === "object" && value !== null && !isTyped(value) && !(value instanceof Uint8Array);
    if (plain || (typeof value === "string" && value.length > 1)) return encode(pointer(this.shared(value)));
    return encode(value);
  }
}

/** A record of the tree: a node, an offset into the data section, or nothing. */
type Slot = Node | number | undefined;
class Node {
  readonly slots: [Slot, Slot] = [undefined, undefined];
}

function insert(root: Node, { address, bits }: Prefix, what: Slot): void {
  if (bits === 0) {
    for (const side of [0, 1] as const) root.slots[side] = what;
    return;
  }
  let node = root;
  for (let depth = 0; depth < bits - 1; depth++) {
    const side = bit(address.words, depth);
    let next = node.slots[side];
    if (!(next instanceof Node)) {
      const split = new Node();
      split.slots[0] = next;
      split.slots[1] = next;
      node.slots[side] = split;
      next = split;
    }
    node = next;
  }
  node.slots[bit(address.words, bits - 1)] = what;
}

function follow(root: Node, { address, bits }: Prefix): Slot {
  let slot: Slot = root;
  for (let depth = 0; depth < bits && slot instanceof Node; depth++)
    slot = slot.slots[bit(address.words, depth)];
  return slot;
}

function bit(words: Uint32Array, depth: number): 0 | 1 {
  return ((words[depth >>> 5]! >>> (31 - (depth & 31))) & 1) as 0 | 1;
}

/** Numbers the nodes from the root, each once, and turns their slots into records. */
function number(root: Node): [number, number][] {
  const ids = new Map<Node, number>([[root, 0]]);
  const order = [root];
  for (const node of order) {
    for (const slot of node.slots) {
      if (slot instanceof Node && !ids.has(slot)) {
        ids.set(slot, order.length);
        order.push(slot);
      }
    }
  }
  const record = (slot: Slot): number => {
    if (slot instanceof Node) return ids.get(slot)!;
    return slot === undefined ? order.length : order.length + 16 + slot;
  };
  return order.map((node) => [record(node.slots[0]), record(node.slots[1])]);
}

function nodeBytes(left: number, right: number, recordSize: 24 | 28 | 32): number[] {
  const low = (value: number) => [(value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  if (recordSize === 24) return [...low(left), ...low(right)];
  if (recordSize === 32) return [left >>> 24, ...low(left), right >>> 24, ...low(right)];
  return [...low(left), ((left >>> 24) << 4) | ((right >>> 24) & 15), ...low(right)];
}

function prefix(text: string): Prefix {
  const read = parsePrefix(text);
  if (read === undefined) throw new Error(`mmdb-writer.ts: ${text} is not a network`);
  return read;
}
