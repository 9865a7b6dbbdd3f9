// ranges.ts: finds the value of an address in a table of ranges that cover the whole address space.
//
// in   sections v4* and v6* of a segment, or the same sections of its evidence (packages/engine/segment-format.md)
// out  a number below 2^30; 0 means that nothing is known. The prefix length of the largest network around an address
//      in which all addresses have the same value
// err  open and verify: SegmentError; a lookup never throws and always ends, whatever the bytes
// cost one read for the top 16 bits, then one node for each further 8 bits. With DB-IP's networks, 31% of random IPv4
//      addresses need no node and 66% need one. IPv6 lookups start after 32 bits (PrefixIndex): 8% need one node,
//      71% need two, and 18% need more (bench/README.md, Layouts)
// note Array reads use `!`. In a damaged file, a read past the end returns undefined, and every comparison with
//      undefined is false.

import type { IpAddress } from "../address/ip.ts";
import { ADDRESS_WORDS, BLOCK_ADDRESSES, type PackedAddresses } from "../address/packed.ts";
import {
  blockBits,
  cellOf,
  childNodes,
  NODE_BITS,
  nodeOffset,
  VALUE_LIMIT,
  verifyRuns,
} from "./range-nodes.ts";
import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Number of cells in a directory: one for each value of the top 16 bits. */
export const DIRECTORY_CELLS = 65536;

/** The sections of each table, by their role. */
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

/** Prefix lengths of the widest networks that exist, which bound the search for the widest block. */
const WIDEST_V4 = 8;
const WIDEST_V6 = 16;

/**
 * Returns whether this cell is a value. In a damaged file, it may refer to a node below the last bits, or be undefined.
 * The result is then false.
 */
const isValue = (cell: number) => cell >= 0;

/** Directory cells for the current block, shared by all tables because lookups are synchronous. */
const cells = new Int32Array(BLOCK_ADDRESSES);

export class RangeTable {
  private readonly v4: Trie;
  private readonly v6: Trie;
  /**
   * Built by the first lookup of an IPv6 address. A process that only opens segments, such as the primary, never builds
   * it.
   */
  private v6Prefixes: PrefixIndex | undefined;

  /** @throws SegmentError if a section is missing or a directory has the wrong length */
  constructor(segment: SegmentFile, names: RangeSections = RANGE_SECTIONS.answers) {
    this.v4 = new Trie(segment, names.v4Directory, names.v4Nodes, 4);
    this.v6 = new Trie(segment, names.v6Directory, names.v6Nodes, 16);
  }

  find(address: IpAddress): number {
    return address.family === 4 ? this.find4(address.words[0]!) : this.find6(address.words);
  }

  /** Returns the value of an IPv4 address, given as a uint32. */
  find4(address: number): number {
    const { directory, nodes, bytes } = this.v4;
    return valueBelow(nodes, bytes, directory[address >>> 16]!, address);
  }

  /** Returns the value of an IPv6 address, given as four uint32 words from index `at`, most significant first. */
  find6(words: Uint32Array, at = 0): number {
    const { directory, nodes, bytes } = this.v6;
    this.v6Prefixes ??= new PrefixIndex(this.v6.nodesBelow32());
    let word = words[at]!;
    let cell = this.v6Prefixes.find(word | 0);
    let k = 4;
    if (cell === 0) {
      cell = directory[word >>> 16]!;
      k = 2;
    }
    for (; cell < 0 && k < 16; k++) {
      if ((k & 3) === 0) word = words[at + (k >>> 2)]!;
      cell = cellOf(nodes, bytes, cell, (word >>> (24 - 8 * (k & 3))) & 255);
    }
    return isValue(cell) ? cell : 0;
  }

  /**
   * Writes the values of many addresses to `values`: the same values that {@link find} returns. It first reads the
   * directory for all addresses, so that the processor waits for many memory reads at the same time instead of one at a
   * time.
   */
  findBlock({ length, families, words }: PackedAddresses, values: Uint32Array): void {
    const { directory, nodes, bytes } = this.v4;
    for (let i = 0; i < length; i++) cells[i] = directory[words[ADDRESS_WORDS * i]! >>> 16]!;
    for (let i = 0; i < length; i++) {
      const at = ADDRESS_WORDS * i;
      values[i] = families[i] === 4 ? valueBelow(nodes, bytes, cells[i]!, words[at]!) : this.find6(words, at);
    }
  }

  /**
   * Returns the prefix length of the largest network around an address in which every address has the same value. It is
   * at least 8 for IPv4 and 16 for IPv6.
   */
  networkBits(address: IpAddress): number {
    return address.family === 4
      ? this.v4.networkBits(address.words, WIDEST_V4)
      : this.v6.networkBits(address.words, WIDEST_V6);
  }

  /**
   * Checks every cell. Nodes must be in order and not too deep, with one reference to each. Runs must be in order, and
   * `isRecord` must accept every value.
   * @throws SegmentError, which shows the first wrong cell
   */
  verify(isRecord: (value: number) => boolean): void {
    this.v4.verify(isRecord);
    this.v6.verify(isRecord);
  }
}

/** Returns the value of an IPv4 address, starting from its directory cell. */
function valueBelow(nodes: Int32Array, bytes: Uint8Array, top: number, address: number): number {
  let cell = top;
  if (cell < 0) {
    cell = cellOf(nodes, bytes, cell, (address >>> 8) & 255);
    if (cell < 0) cell = cellOf(nodes, bytes, cell, address & 255);
  }
  return isValue(cell) ? cell : 0;
}

/** The table of one family: a directory for the top 16 bits, then nodes for 8 bits each. */
class Trie {
  readonly directory: Int32Array;
  readonly nodes: Int32Array;
  /** The same memory as `nodes`, as bytes. */
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
      const next = cellOf(nodes, bytes, cell, key);
      if (!(next < 0)) return NODE_BITS * k + blockBits(nodes, bytes, cell, key);
      cell = next;
    }
    return NODE_BITS * this.addressBytes; // this happens only in a damaged file
  }

  /**
   * Lists the nodes below the first 32 bits: the 32 bits and the node's cell, alternately. It stops early if a damaged
   * file refers to nodes more than once.
   */
  nodesBelow32(): number[] {
    const { directory, nodes, bytes } = this;
    const below: number[] = [];
    let left = nodes.length;
    for (let first16 = 0; first16 < DIRECTORY_CELLS; first16++) {
      if (directory[first16]! >= 0) continue;
      const middle = childNodes(nodes, bytes, directory[first16]!);
      for (let i = 0; i < middle.length; i += 2) {
        const inner = childNodes(nodes, bytes, middle[i + 1]!);
        left -= inner.length + 1;
        if (left < 0) return below;
        const first24 = (first16 << 16) | (middle[i]! << 8);
        for (let k = 0; k < inner.length; k += 2) below.push(first24 | inner[k]!, inner[k + 1]!);
      }
    }
    return below;
  }

  verify(isRecord: (value: number) => boolean): void {
    const { directory, nodes, bytes, directoryName, nodesName } = this;
    /** Cells that refer to the nodes of one depth, in order. */
    let level: number[] = [];
    for (let top = 0; top < DIRECTORY_CELLS; top++) {
      verifyCell(directoryName, top, directory[top]!, isRecord);
      if (directory[top]! < 0) level.push(directory[top]!);
    }
    let end = 0;
    for (let k = 2; level.length > 0; k++) {
      const below: number[] = [];
      for (const cell of level) {
        const at = nodeOffset(cell);
        if (at !== end)
          throw new SegmentError(`${nodesName}[${end}]`, `is referenced as ${at}, out of order`);
        const { cells, count } = verifyRuns(nodes, bytes, cell, `${nodesName}[${at}]`);
        end = cells + count;
        if (end > nodes.length)
          throw new SegmentError(`${nodesName}[${at}]`, `has ${count} runs and runs past the end`);
        for (let i = cells; i < end; i++) {
          verifyCell(nodesName, i, nodes[i]!, isRecord);
          if (nodes[i]! < 0) below.push(nodes[i]!);
        }
      }
      if (k + 1 === this.addressBytes && below.length > 0)
        throw new SegmentError(`${nodesName}[${end}]`, "is referenced by a node on the last level");
      level = below;
    }
    if (end !== nodes.length) throw new SegmentError(`${nodesName}[${end}]`, "is part of no node");
  }
}

function verifyCell(
  section: SectionName,
  index: number,
  cell: number,
  isRecord: (value: number) => boolean,
): void {
  if (cell >= VALUE_LIMIT || (cell >= 0 && !isRecord(cell)))
    throw new SegmentError(`${section}[${index}]`, `does not point at a record: ${cell}`);
}

/** Returns the prefix length of the largest block of equal cells around a directory cell; at least `widest`. */
function widestBlock(directory: Int32Array, top: number, widest: number): number {
  let bits = 16;
  for (; bits > widest; bits--) {
    const half = 2 ** (16 - bits); // size of the sibling, the other half of the next wider network
    const sibling = ((top >>> (16 - bits)) ^ 1) * half;
    for (let t = sibling; t < sibling + half; t++) if (directory[t] !== directory[top]) return bits;
  }
  return bits;
}

/**
 * Reads cells as signed words, so that cells that refer to nodes are negative. Testing the sign is faster than testing
 * a bit.
 */
function signed(words: Uint32Array): Int32Array {
  return new Int32Array(words.buffer, words.byteOffset, words.length);
}

/**
 * 2^32 divided by the golden ratio, which spreads neighbours far apart (Knuth, The Art of Computer Programming 3, 6.4).
 */
const SPREAD = 0x9e3779b1;

export class PrefixIndex {
  /** The first 32 bits and the cell of each slot, alternately. A slot with cell 0 is empty. */
  private readonly slots: Int32Array;
  private readonly last: number;
  private readonly shift: number;

  /** @param nodes for each node, alternately: its first 32 bits as an int32, and its cell, which is never 0 */
  constructor(nodes: readonly number[]) {
    const bits = 33 - Math.clz32(nodes.length >>> 1);
    this.slots = new Int32Array(2 ** bits * 2);
    this.last = 2 ** bits - 1;
    this.shift = 32 - bits;
    const { slots, last } = this;
    for (let i = 0; i < nodes.length; i += 2) {
      let slot = this.slotOf(nodes[i]!);
      while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & last;
      slots[2 * slot] = nodes[i]!;
      slots[2 * slot + 1] = nodes[i + 1]!;
    }
  }

  /**
   * @param first the address's first 32 bits as an int32
   * @returns the node's cell; 0 if there is none
   */
  find(first: number): number {
    const { slots, last } = this;
    for (let slot = this.slotOf(first); ; slot = (slot + 1) & last) {
      const cell = slots[2 * slot + 1]!;
      if (cell === 0 || slots[2 * slot] === first) return cell;
    }
  }

  private slotOf(first: number): number {
    return Math.imul(first, SPREAD) >>> this.shift;
  }
}
