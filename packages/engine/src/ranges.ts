// ranges.ts: which value an address has, in a table of ranges that cover the whole address space.
//
// in   sections v4* and v6* of a segment (docs/segment-format.md)
// out  find4, find6: a uint32 below 2^31; 0 means "nothing known"
// err  open: SegmentError when sections do not fit together; find never throws and always ends
// cost IPv4: one directory read, then a binary search among the ranges of one /16.
//      IPv6: the same among the ranges of one /16 by bits 16-47; ranges longer than /48 (rare) go
//      down one node of 32 bits at a time, three at most.

import { SegmentError, type SegmentFile } from "./segment.ts";

/** Entries of a directory: one for each value of the top 16 bits, and the end of the last. */
export const DIRECTORY_ENTRIES = 65537;
/** Set in an IPv6 value that names a node instead of being a value. */
export const NODE_FLAG = 0x80000000;
const MAX_NODE_DEPTH = 3;

export class RangeTable {
  readonly v4Directory: Uint32Array;
  readonly v4Keys: Uint16Array;
  readonly v4Values: Uint32Array;
  readonly v6Directory: Uint32Array;
  readonly v6Nodes: Uint32Array;
  readonly v6Keys: Uint32Array;
  readonly v6Values: Uint32Array;

  /** @throws SegmentError when a section is missing or two that belong together differ in length */
  constructor(segment: SegmentFile) {
    this.v4Directory = segment.u32("v4Directory");
    this.v4Keys = segment.u16("v4Keys");
    this.v4Values = segment.u32("v4Values");
    this.v6Directory = segment.u32("v6Directory");
    this.v6Nodes = segment.u32("v6Nodes");
    this.v6Keys = segment.u32("v6Keys");
    this.v6Values = segment.u32("v6Values");
    requireLength("v4Directory", this.v4Directory.length, DIRECTORY_ENTRIES);
    requireLength("v4Values", this.v4Values.length, this.v4Keys.length);
    requireLength("v4Directory's last entry", this.v4Directory[DIRECTORY_ENTRIES - 1]!, this.v4Keys.length);
    requireLength("v6Directory", this.v6Directory.length, DIRECTORY_ENTRIES);
    requireLength("v6Values", this.v6Values.length, this.v6Keys.length);
    const v6Roots = this.v6Directory[DIRECTORY_ENTRIES - 1]!;
    requireLength("v6Nodes' first entry", this.v6Nodes[0] ?? -1, v6Roots);
    requireLength("v6Nodes' last entry", this.v6Nodes[this.v6Nodes.length - 1] ?? -1, this.v6Keys.length);
  }

  /** The value of an IPv4 address, given as a uint32. */
  find4(address: number): number {
    const directory = this.v4Directory;
    const keys = this.v4Keys;
    const key = address & 0xffff;
    let low = directory[address >>> 16]!;
    let high = directory[(address >>> 16) + 1]! - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (keys[middle]! <= key) low = middle;
      else high = middle - 1;
    }
    return this.v4Values[low]! >>> 0;
  }

  /** The value of an IPv6 address, given as four uint32 words, most significant first. */
  find6(words: Uint32Array): number {
    let word = words[0]!;
    let next = words[1]!;
    let value = this.search6(
      this.v6Directory[word >>> 16]!,
      this.v6Directory[(word >>> 16) + 1]!,
      ((word << 16) | (next >>> 16)) >>> 0,
    );
    for (let depth = 1; value >= NODE_FLAG && depth <= MAX_NODE_DEPTH; depth++) {
      word = next;
      next = depth < 3 ? words[depth + 1]! : 0;
      const node = value - NODE_FLAG;
      value = this.search6(
        this.v6Nodes[node]!,
        this.v6Nodes[node + 1]!,
        ((word << 16) | (next >>> 16)) >>> 0,
      );
    }
    return value < NODE_FLAG ? value : 0;
  }

  private search6(from: number, to: number, key: number): number {
    const keys = this.v6Keys;
    let low = from;
    let high = to - 1;
    while (low < high) {
      const middle = low + ((high - low + 1) >>> 1);
      if (keys[middle]! <= key) low = middle;
      else high = middle - 1;
    }
    return this.v6Values[low]! >>> 0;
  }

  /**
   * Checks every entry: order, bounds, nodes reached once and not too deep, values that `isValue` accepts.
   * @throws SegmentError naming the first entry at fault
   */
  verify(isValue: (value: number) => boolean): void {
    this.verifyDirectory("v4", this.v4Directory, this.v4Keys);
    for (let i = 0; i < this.v4Values.length; i++) {
      if (!isValue(this.v4Values[i]!))
        throw new SegmentError(`v4Values[${i}]`, `points at no answer: ${this.v4Values[i]}`);
    }
    this.verifyDirectory("v6", this.v6Directory, this.v6Keys);
    const nodes = this.v6Nodes.length - 1;
    const depthOf = new Uint8Array(nodes); // 0 = not reached yet
    for (let node = 0; node < nodes; node++) {
      verifyBucket(`v6Nodes[${node}]`, this.v6Keys, this.v6Nodes[node]!, this.v6Nodes[node + 1]!);
    }
    // Nodes are written after the entry that names them, so one pass sees a parent before its children.
    let node = -1;
    for (let i = 0; i < this.v6Values.length; i++) {
      while (node + 1 < nodes && i >= this.v6Nodes[node + 1]!) node++;
      const value = this.v6Values[i]!;
      if (value < NODE_FLAG) {
        if (!isValue(value)) throw new SegmentError(`v6Values[${i}]`, `points at no answer: ${value}`);
        continue;
      }
      const child = value - NODE_FLAG;
      if (child >= nodes) throw new SegmentError(`v6Values[${i}]`, `names node ${child} of ${nodes}`);
      if (depthOf[child] !== 0)
        throw new SegmentError(`v6Values[${i}]`, `names node ${child}, which has a parent already`);
      const depth = node < 0 ? 1 : depthOf[node]! + 1;
      if (child <= node || depth > MAX_NODE_DEPTH)
        throw new SegmentError(`v6Values[${i}]`, `names node ${child} from depth ${depth}`);
      depthOf[child] = depth;
    }
    const orphan = depthOf.indexOf(0);
    if (orphan >= 0) throw new SegmentError(`v6Nodes[${orphan}]`, "has no parent");
  }

  private verifyDirectory(name: string, directory: Uint32Array, keys: Uint16Array | Uint32Array): void {
    if (directory[0] !== 0) throw new SegmentError(`${name}Directory[0]`, `got ${directory[0]}, want 0`);
    for (let top = 0; top < DIRECTORY_ENTRIES - 1; top++) {
      verifyBucket(`${name}Directory[${top}]`, keys, directory[top]!, directory[top + 1]!);
    }
  }
}

function verifyBucket(place: string, keys: Uint16Array | Uint32Array, from: number, to: number): void {
  if (from >= to || to > keys.length)
    throw new SegmentError(place, `spans ${from} to ${to} of ${keys.length} entries`);
  if (keys[from] !== 0) throw new SegmentError(place, `begins at key ${keys[from]}, want 0`);
  for (let i = from + 1; i < to; i++) {
    if (keys[i]! <= keys[i - 1]!) throw new SegmentError(place, `key ${i} is not above the one before it`);
  }
}

function requireLength(place: string, got: number, want: number): void {
  if (got !== want) throw new SegmentError(place, `got ${got}, want ${want}`);
}
