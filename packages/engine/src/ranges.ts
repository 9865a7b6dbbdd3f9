// ranges.ts: which value an address has, in a table of ranges that cover the whole address space.
//
// in   sections v4* and v6* of a segment, or those of its evidence (docs/segment-format.md)
// out  find4, find6: a uint32 below 2^31; 0 means "nothing known"
//      networkBits: the largest network around an address, all of which has the same value
// err  open: SegmentError when sections do not fit together; find never throws and always ends
// cost IPv4: one directory read, then a binary search among the ranges of one /16.
//      IPv6: the same among the ranges of one /16 by bits 16-47; ranges longer than /48 (rare) go
//      down one node of 32 bits at a time, three at most.

import type { IpAddress } from "./ip.ts";
import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Entries of a directory: one for each value of the top 16 bits, and the end of the last. */
export const DIRECTORY_ENTRIES = 65537;
/** Set in an IPv6 value that names a node instead of being a value. */
export const NODE_FLAG = 0x80000000;
const MAX_NODE_DEPTH = 3;

/** Which sections hold a table, by their role. */
export const RANGE_SECTIONS = {
  answers: {
    v4Directory: "v4Directory",
    v4Keys: "v4Keys",
    v4Values: "v4Values",
    v6Directory: "v6Directory",
    v6Nodes: "v6Nodes",
    v6Keys: "v6Keys",
    v6Values: "v6Values",
  },
  evidence: {
    v4Directory: "evidenceV4Directory",
    v4Keys: "evidenceV4Keys",
    v4Values: "evidenceV4Values",
    v6Directory: "evidenceV6Directory",
    v6Nodes: "evidenceV6Nodes",
    v6Keys: "evidenceV6Keys",
    v6Values: "evidenceV6Values",
  },
} as const satisfies Record<string, Record<string, SectionName>>;
export type RangeSections = (typeof RANGE_SECTIONS)[keyof typeof RANGE_SECTIONS];

/** No network that anybody has is wider: what bounds the search for one. */
const WIDEST_V4 = 8;
const WIDEST_V6 = 16;

export class RangeTable {
  readonly v4Directory: Uint32Array;
  readonly v4Keys: Uint16Array;
  readonly v4Values: Uint32Array;
  readonly v6Directory: Uint32Array;
  readonly v6Nodes: Uint32Array;
  readonly v6Keys: Uint32Array;
  readonly v6Values: Uint32Array;
  private readonly names: RangeSections;

  /** @throws SegmentError when a section is missing or two that belong together differ in length */
  constructor(segment: SegmentFile, names: RangeSections = RANGE_SECTIONS.answers) {
    this.names = names;
    this.v4Directory = segment.u32(names.v4Directory);
    this.v4Keys = segment.u16(names.v4Keys);
    this.v4Values = segment.u32(names.v4Values);
    this.v6Directory = segment.u32(names.v6Directory);
    this.v6Nodes = segment.u32(names.v6Nodes);
    this.v6Keys = segment.u32(names.v6Keys);
    this.v6Values = segment.u32(names.v6Values);
    const last = DIRECTORY_ENTRIES - 1;
    requireLength(names.v4Directory, this.v4Directory.length, DIRECTORY_ENTRIES);
    requireLength(names.v4Values, this.v4Values.length, this.v4Keys.length);
    requireLength(`${names.v4Directory}'s last entry`, this.v4Directory[last]!, this.v4Keys.length);
    requireLength(names.v6Directory, this.v6Directory.length, DIRECTORY_ENTRIES);
    requireLength(names.v6Values, this.v6Values.length, this.v6Keys.length);
    const nodes = this.v6Nodes;
    requireLength(`${names.v6Nodes}' first entry`, nodes[0] ?? -1, this.v6Directory[last]!);
    requireLength(`${names.v6Nodes}' last entry`, nodes[nodes.length - 1] ?? -1, this.v6Keys.length);
  }

  find(address: IpAddress): number {
    return address.family === 4 ? this.find4(address.words[0]!) : this.find6(address.words);
  }

  /** The value of an IPv4 address, given as a uint32. */
  find4(address: number): number {
    return this.v4Values[this.index4(address)]! >>> 0;
  }

  private index4(address: number): number {
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
    return low;
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
    return this.v6Values[this.index6(from, to, key)]! >>> 0;
  }

  /** The last of the entries `from` to `to` that does not begin after the key. */
  private index6(from: number, to: number, key: number): number {
    const keys = this.v6Keys;
    let low = from;
    let high = to - 1;
    while (low < high) {
      const middle = low + ((high - low + 1) >>> 1);
      if (keys[middle]! <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * The prefix length of the largest network around an address, all of which has the address's value;
   * at least 8 for IPv4 and 16 for IPv6.
   */
  networkBits(address: IpAddress): number {
    return address.family === 4 ? this.networkBits4(address.words[0]!) : this.networkBits6(address.words);
  }

  private networkBits4(address: number): number {
    const { v4Directory: directory, v4Keys: keys, v4Values: values } = this;
    const key = address & 0xffff;
    const top = address >>> 16;
    const end = directory[top + 1]!;
    const index = this.index4(address);
    const bits = 16 + commonBlock(key, keys[index]!, index + 1 < end ? keys[index + 1]! - 1 : 0xffff, 16);
    if (bits > 16) return bits;
    let widest = 16;
    for (; widest > WIDEST_V4; widest--) {
      const half = 2 ** (16 - widest); // the other half of the network that is one bit wider
      const sibling = ((top >>> (16 - widest)) ^ 1) * half;
      for (let t = sibling; t < sibling + half; t++) {
        const at = directory[t]!;
        if (directory[t + 1]! - at !== 1 || values[at] !== values[index]) return widest;
      }
    }
    return widest;
  }

  private networkBits6(words: Uint32Array): number {
    let from = this.v6Directory[words[0]! >>> 16]!;
    let to = this.v6Directory[(words[0]! >>> 16) + 1]!;
    for (let depth = 0; ; depth++) {
      const next = depth < 3 ? words[depth + 1]! : 0;
      const key = ((words[depth]! << 16) | (next >>> 16)) >>> 0;
      const index = this.index6(from, to, key);
      const value = this.v6Values[index]!;
      if (value < NODE_FLAG || depth === MAX_NODE_DEPTH) {
        const after = index + 1 < to ? this.v6Keys[index + 1]! - 1 : 0xffffffff;
        const bits = WIDEST_V6 + 32 * depth + commonBlock(key, this.v6Keys[index]!, after, 32);
        return Math.min(bits, 128);
      }
      from = this.v6Nodes[value - NODE_FLAG]!;
      to = this.v6Nodes[value - NODE_FLAG + 1]!;
    }
  }

  /**
   * Checks every entry: order, bounds, nodes reached once and not too deep, values that `isValue` accepts.
   * @throws SegmentError naming the first entry at fault
   */
  verify(isValue: (value: number) => boolean): void {
    const { names } = this;
    verifyDirectory(names.v4Directory, this.v4Directory, this.v4Keys);
    for (let i = 0; i < this.v4Values.length; i++) {
      if (!isValue(this.v4Values[i]!))
        throw new SegmentError(`${names.v4Values}[${i}]`, `points at no record: ${this.v4Values[i]}`);
    }
    verifyDirectory(names.v6Directory, this.v6Directory, this.v6Keys);
    const nodes = this.v6Nodes.length - 1;
    const depthOf = new Uint8Array(nodes); // 0 = not reached yet
    for (let node = 0; node < nodes; node++) {
      verifyBucket(`${names.v6Nodes}[${node}]`, this.v6Keys, this.v6Nodes[node]!, this.v6Nodes[node + 1]!);
    }
    // Nodes are written after the entry that names them, so one pass sees a parent before its children.
    let node = -1;
    for (let i = 0; i < this.v6Values.length; i++) {
      while (node + 1 < nodes && i >= this.v6Nodes[node + 1]!) node++;
      const value = this.v6Values[i]!;
      if (value < NODE_FLAG) {
        if (!isValue(value))
          throw new SegmentError(`${names.v6Values}[${i}]`, `points at no record: ${value}`);
        continue;
      }
      const child = value - NODE_FLAG;
      if (child >= nodes)
        throw new SegmentError(`${names.v6Values}[${i}]`, `names node ${child} of ${nodes}`);
      if (depthOf[child] !== 0)
        throw new SegmentError(`${names.v6Values}[${i}]`, `names node ${child}, which has a parent already`);
      const depth = node < 0 ? 1 : depthOf[node]! + 1;
      if (child <= node || depth > MAX_NODE_DEPTH)
        throw new SegmentError(`${names.v6Values}[${i}]`, `names node ${child} from depth ${depth}`);
      depthOf[child] = depth;
    }
    const orphan = depthOf.indexOf(0);
    if (orphan >= 0) throw new SegmentError(`${names.v6Nodes}[${orphan}]`, "has no parent");
  }
}

/** Bits of the largest block of 2^k keys that contains `key` and lies within `first` to `last`, of `width`-bit keys. */
function commonBlock(key: number, first: number, last: number, width: number): number {
  let bits = width;
  for (let size = 2; bits > 0; size *= 2) {
    const start = key - (key % size);
    if (start < first || start + size - 1 > last) break;
    bits--;
  }
  return bits;
}

function verifyDirectory(name: string, directory: Uint32Array, keys: Uint16Array | Uint32Array): void {
  if (directory[0] !== 0) throw new SegmentError(`${name}[0]`, `got ${directory[0]}, want 0`);
  for (let top = 0; top < DIRECTORY_ENTRIES - 1; top++) {
    verifyBucket(`${name}[${top}]`, keys, directory[top]!, directory[top + 1]!);
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
