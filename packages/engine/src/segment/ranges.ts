// ranges.ts: which value an address has, in a table of ranges that cover the whole address space.
//
// in   sections v4* and v6* of a segment, or those of its evidence (docs/segment-format.md)
// out  find4, find6: a number below 2^30; 0 means "nothing known"
//      networkBits: the largest network around an address, all of which has the same value
// err  open: SegmentError when sections do not fit together; find never throws and always ends
// cost one read for the top 16 bits, then a node for each 8 bits that one of its networks is longer than. Of DB-IP's networks
//      a random IPv4 address needs one in 66 of 100, none in 31. IPv6 begins after 32 bits (prefix-index.ts): one node in 8 of
//      100, two in 71, more in 18 (bench/README.md, Layouts)

import type { IpAddress } from "../address/ip.ts";
import { PrefixIndex } from "./prefix-index.ts";
import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Cells of a directory: one for each value of the top 16 bits. */
export const DIRECTORY_CELLS = 65536;
/** A cell is a value below this, or has NODE_FLAG set and names a node. */
export const VALUE_LIMIT = 0x40000000;
export const NODE_FLAG = 0x80000000;
/** Set in a cell whose node is a list of runs; other nodes are bitmaps of them. */
export const LIST_FLAG = 0x40000000;
/** Most runs of a list. */
export const MAX_LIST_RUNS = 8;
/** Words of a bitmap before its cells: where runs start, a bit for each key, and how many start before each 32 keys. */
export const BITMAP_WORDS = 10;
const COUNTS_AT = 8;
/** Bits of an address that a node looks at. */
const NODE_BITS = 8;

/** Which sections hold a table, by their role. */
export const RANGE_SECTIONS = {
  answers: {
    v4Directory: "v4Directory",
    v4Nodes: "v4Nodes",
    v6Directory: "v6Directory",
    v6Nodes: "v6Nodes",
  },
  evidence: {
    v4Directory: "evidenceV4Directory",
    v4Nodes: "evidenceV4Nodes",
    v6Directory: "evidenceV6Directory",
    v6Nodes: "evidenceV6Nodes",
  },
} as const satisfies Record<string, Record<string, SectionName>>;
export type RangeSections = (typeof RANGE_SECTIONS)[keyof typeof RANGE_SECTIONS];

/** No network that anybody has is wider: what bounds the search for one. */
const WIDEST_V4 = 8;
const WIDEST_V6 = 16;

export class RangeTable {
  private readonly v4: Trie;
  private readonly v6: Trie;
  /** Made by the first look-up: who only opens a segment, as a supervisor of workers does, need not wait for it. */
  private v6Prefixes: PrefixIndex | undefined;

  /** @throws SegmentError when a section is missing or a directory has another length */
  constructor(segment: SegmentFile, names: RangeSections = RANGE_SECTIONS.answers) {
    this.v4 = new Trie(segment, names.v4Directory, names.v4Nodes, 4);
    this.v6 = new Trie(segment, names.v6Directory, names.v6Nodes, 16);
  }

  find(address: IpAddress): number {
    return address.family === 4 ? this.find4(address.words[0]!) : this.find6(address.words);
  }

  /** The value of an IPv4 address, given as a uint32. */
  find4(address: number): number {
    const { directory, nodes, bytes } = this.v4;
    let cell = directory[address >>> 16]!;
    if (cell < 0) {
      cell = cellAt(nodes, bytes, cell, (address >>> 8) & 255);
      if (cell < 0) cell = cellAt(nodes, bytes, cell, address & 255);
    }
    return isValue(cell) ? cell : 0;
  }

  /** The value of an IPv6 address, given as four uint32 words, most significant first. */
  find6(words: Uint32Array): number {
    const { directory, nodes, bytes } = this.v6;
    this.v6Prefixes ??= new PrefixIndex(this.v6.nodesBelow32());
    let word = words[0]!;
    let cell = this.v6Prefixes.find(word | 0);
    let k = 4;
    if (cell === 0) {
      cell = directory[word >>> 16]!;
      k = 2;
    }
    for (; cell < 0 && k < 16; k++) {
      if ((k & 3) === 0) word = words[k >>> 2]!;
      cell = cellAt(nodes, bytes, cell, (word >>> (24 - 8 * (k & 3))) & 255);
    }
    return isValue(cell) ? cell : 0;
  }

  /**
   * The prefix length of the largest network around an address, all of which has the address's value;
   * at least 8 for IPv4 and 16 for IPv6.
   */
  networkBits(address: IpAddress): number {
    return address.family === 4
      ? this.v4.networkBits(address.words, WIDEST_V4)
      : this.v6.networkBits(address.words, WIDEST_V6);
  }

  /**
   * Checks every cell: nodes in their order, each named once and not too deep, runs in order, values that `isRecord` accepts.
   * @throws SegmentError naming the first cell at fault
   */
  verify(isRecord: (value: number) => boolean): void {
    this.v4.verify(isRecord);
    this.v6.verify(isRecord);
  }
}

/** The table of one family: a directory by the top 16 bits, then nodes of 8 bits each. */
class Trie {
  readonly directory: Int32Array;
  readonly nodes: Int32Array;
  /** The same as `nodes`. */
  readonly bytes: Uint8Array;
  private readonly directoryName: SectionName;
  private readonly nodesName: SectionName;
  private readonly addressBytes: 4 | 16;

  constructor(
    segment: SegmentFile,
    directoryName: SectionName,
    nodesName: SectionName,
    addressBytes: 4 | 16,
  ) {
    this.directoryName = directoryName;
    this.nodesName = nodesName;
    this.addressBytes = addressBytes;
    this.directory = signed(segment.u32(directoryName));
    this.nodes = signed(segment.u32(nodesName));
    this.bytes = new Uint8Array(this.nodes.buffer, this.nodes.byteOffset, this.nodes.byteLength);
    const got = this.directory.length;
    if (got !== DIRECTORY_CELLS) throw new SegmentError(directoryName, `got ${got}, want ${DIRECTORY_CELLS}`);
  }

  networkBits(words: Uint32Array, widest: number): number {
    const { directory, nodes, bytes } = this;
    const top = words[0]! >>> 16;
    let cell = directory[top]!;
    if (cell >= 0) return widestBlock(directory, top, widest);
    for (let k = 2; k < this.addressBytes; k++) {
      const key = (words[k >>> 2]! >>> (24 - 8 * (k & 3))) & 255;
      const next = cellAt(nodes, bytes, cell, key);
      if (!(next < 0)) return NODE_BITS * k + blockBits(nodes, bytes, cell, key);
      cell = next;
    }
    return NODE_BITS * this.addressBytes; // only in a damaged file
  }

  /**
   * First bits and cell, in turn, of the nodes for what comes after the first 32 bits. Those of a damaged file may be left
   * out: nobody waits for a file in which nodes are named more than once.
   */
  nodesBelow32(): number[] {
    const { directory, nodes, bytes } = this;
    const below: number[] = [];
    let left = nodes.length;
    for (let first16 = 0; first16 < DIRECTORY_CELLS; first16++) {
      if (directory[first16]! >= 0) continue;
      const middle = namedBy(nodes, bytes, directory[first16]!);
      for (let i = 0; i < middle.length; i += 2) {
        const inner = namedBy(nodes, bytes, middle[i + 1]!);
        left -= inner.length + 1;
        if (left < 0) return below;
        const first24 = (first16 << 16) | (middle[i]! << 8);
        for (let k = 0; k < inner.length; k += 2) below.push(first24 | inner[k]!, inner[k + 1]!);
      }
    }
    return below;
  }

  verify(isRecord: (value: number) => boolean): void {
    const { directory, nodes, directoryName, nodesName } = this;
    /** Cells of nodes whose turn has not come, in order: those of one depth, then those of the next. */
    let named: number[] = [];
    for (let top = 0; top < DIRECTORY_CELLS; top++) {
      verifyCell(directoryName, top, directory[top]!, isRecord);
      if (directory[top]! < 0) named.push(directory[top]!);
    }
    let end = 0;
    for (let k = 2; named.length > 0; k++) {
      const level = named;
      named = [];
      for (const cell of level) {
        const at = placeOf(cell);
        if (at !== end) throw new SegmentError(`${nodesName}[${end}]`, `is named as ${at}, out of its order`);
        const { cells, count } = this.verifyRuns(cell);
        end = cells + count;
        if (end > nodes.length)
          throw new SegmentError(`${nodesName}[${at}]`, `has ${count} runs and runs past the end`);
        for (let i = cells; i < end; i++) {
          verifyCell(nodesName, i, nodes[i]!, isRecord);
          if (nodes[i]! < 0) named.push(nodes[i]!);
        }
      }
      if (k + 1 === this.addressBytes && named.length > 0)
        throw new SegmentError(`${nodesName}[${end}]`, "is named by a node that the last bits are for");
    }
    if (end !== nodes.length) throw new SegmentError(`${nodesName}[${end}]`, "is part of no node");
  }

  /** @returns where the cells of a node begin, and how many there are */
  private verifyRuns(cell: number): { cells: number; count: number } {
    const { bytes, nodes, nodesName } = this;
    const at = placeOf(cell);
    const place = `${nodesName}[${at}]`;
    if (isList(cell)) {
      const count = (bytes[at * 4] ?? 0) + 1;
      if (count > MAX_LIST_RUNS) throw new SegmentError(place, `has ${count} runs, at most ${MAX_LIST_RUNS}`);
      const words = Math.ceil(count / 4);
      for (let i = 2; i < count; i++) {
        if (bytes[at * 4 + i]! <= bytes[at * 4 + i - 1]!)
          throw new SegmentError(place, `run ${i} does not start after the one before it`);
      }
      if (count > 1 && bytes[at * 4 + 1] === 0)
        throw new SegmentError(place, "its second run starts at key 0");
      return { cells: at + words, count };
    }
    let count = 0;
    for (let group = 0; group < COUNTS_AT; group++) {
      const counted = bytes[(at + COUNTS_AT) * 4 + group];
      if (counted !== count)
        throw new SegmentError(place, `counts ${counted} runs before key ${group * 32}, not ${count}`);
      count += ones(nodes[at + group]!);
    }
    if ((nodes[at]! & 1) === 0) throw new SegmentError(place, "begins without a run");
    return { cells: at + BITMAP_WORDS, count };
  }
}

function verifyCell(
  section: SectionName,
  index: number,
  cell: number,
  isRecord: (value: number) => boolean,
): void {
  if (cell >= VALUE_LIMIT || (cell >= 0 && !isRecord(cell)))
    throw new SegmentError(`${section}[${index}]`, `points at no record: ${cell}`);
}

/** The cell of the run that `key` lies in, in the node that `cell` names. */
function cellAt(nodes: Int32Array, bytes: Uint8Array, cell: number, key: number): number {
  const at = cell & (LIST_FLAG - 1);
  if ((cell & LIST_FLAG) === 0) {
    const group = key >>> 5;
    const before = bytes[((at + COUNTS_AT) << 2) + group]!;
    return nodes[at + BITMAP_WORDS - 1 + before + ones(nodes[at + group]! << (31 - (key & 31)))]!;
  }
  const first = at << 2;
  const last = bytes[first]!;
  let run = 1;
  while (run <= last && bytes[first + run]! <= key) run++;
  return nodes[at + (last >>> 2) + run]!;
}

/** Key and cell, in turn, of the nodes that the one of `cell` names. */
function namedBy(nodes: Int32Array, bytes: Uint8Array, cell: number): number[] {
  const named: number[] = [];
  const at = placeOf(cell);
  if (isList(cell)) {
    const last = bytes[at << 2]!;
    let place = at + (last >>> 2) + 1;
    for (let run = 0; run <= last; run++, place++) {
      if (nodes[place]! < 0) named.push(run === 0 ? 0 : bytes[(at << 2) + run]!, nodes[place]!);
    }
    return named;
  }
  let place = at + BITMAP_WORDS;
  for (let group = 0; group < COUNTS_AT; group++) {
    for (let starts = nodes[at + group]!; starts !== 0; starts &= starts - 1, place++) {
      if (nodes[place]! < 0) named.push(32 * group + 31 - Math.clz32(starts & -starts), nodes[place]!);
    }
  }
  return named;
}

/** How many bits are set, by adding up ever wider fields. */
function ones(word: number): number {
  let sum = word - ((word >>> 1) & 0x55555555);
  sum = (sum & 0x33333333) + ((sum >>> 2) & 0x33333333);
  return Math.imul((sum + (sum >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** False also for a node below the last bits, and for nothing: only in a damaged file. */
const isValue = (cell: number) => cell >= 0;
const isList = (cell: number) => (cell & LIST_FLAG) !== 0;
const placeOf = (cell: number) => cell & (LIST_FLAG - 1);

/** Bits of the largest block of 2^k keys around `key` that lies within its run. */
function blockBits(nodes: Int32Array, bytes: Uint8Array, cell: number, key: number): number {
  const value = cellAt(nodes, bytes, cell, key);
  let bits = NODE_BITS;
  for (let size = 2; bits > 0; size *= 2) {
    const start = key - (key % size);
    for (let k = start; k < start + size; k++) if (cellAt(nodes, bytes, cell, k) !== value) return bits;
    bits--;
  }
  return bits;
}

/** The prefix length, `widest` at least, of the largest block of equal cells around one of a directory. */
function widestBlock(directory: Int32Array, top: number, widest: number): number {
  let bits = 16;
  for (; bits > widest; bits--) {
    const half = 2 ** (16 - bits); // the other half of the network that is one bit wider
    const sibling = ((top >>> (16 - bits)) ^ 1) * half;
    for (let t = sibling; t < sibling + half; t++) if (directory[t] !== directory[top]) return bits;
  }
  return bits;
}

/** Nodes are negative then: a sign is quicker to look at than a bit. */
function signed(words: Uint32Array): Int32Array {
  return new Int32Array(words.buffer, words.byteOffset, words.length);
}
