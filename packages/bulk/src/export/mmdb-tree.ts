// mmdb-tree.ts: builds the search tree of a MaxMind DB file from networks.
//
// in   networks in any order, none inside another; aliases of IPv4
// out  the bytes of the tree
// src  MaxMind DB File Format Specification 2.0, "Binary Search Tree Section"
// cost 8 bytes per node while the tree grows

import type { IpAddress } from "@inkling/engine";

/** 0 means no data. A negative number, from -1 down, is an index of data. A positive number is a node. */
type Link = number;
const EMPTY: Link = 0;

type RecordBits = 24 | 28 | 32;

/** Zero bytes between tree and data. */
export const SEPARATOR_BYTES = 16;

export class MmdbTree {
  private links = new Int32Array(1 << 16);
  private nodes = 1;
  /** The node at each depth on the path to the last network. The next network usually shares most of this path. */
  private readonly path = new Int32Array(128);
  private depth = 0;
  private readonly last = new Uint32Array(4);
  private readonly scratch = new Uint32Array(4);

  get nodeCount(): number {
    return this.nodes;
  }

  /**
   * Sets the data of a network. IPv4 networks are stored under ::/96.
   * @param data index of the data, from 0
   * @throws RangeError if the network overlaps another
   */
  add({ family, words }: IpAddress, bits: number, data: number): void {
    if (family === 6) {
      this.set(words, bits, -1 - data);
      return;
    }
    this.scratch[3] = words[0]!;
    this.set(this.scratch, bits + 96, -1 - data);
  }

  /**
   * Makes a network an alias of all IPv4 networks.
   * @param words the network's first address
   */
  alias(words: Uint32Array, bits: number): void {
    this.scratch[3] = 0;
    this.set(words, bits, this.descend(this.scratch, 96));
  }

  private set(words: Uint32Array, bits: number, link: Link): void {
    const slot = 2 * this.descend(words, bits - 1) + bitOf(words, bits - 1);
    if (this.links[slot] !== EMPTY) throw new RangeError("networks overlap");
    this.links[slot] = link;
  }

  /** Returns the node below the first `depth` bits. */
  private descend(words: Uint32Array, depth: number): number {
    const { path, last } = this;
    let at = Math.min(commonBits(words, last), this.depth, depth);
    let node = path[at]!;
    while (at < depth) {
      node = this.below(2 * node + bitOf(words, at));
      path[++at] = node;
    }
    this.depth = depth;
    last.set(words);
    return node;
  }

  private below(slot: number): number {
    const link = this.links[slot]!;
    if (link < 0) throw new RangeError("networks overlap");
    if (link > 0) return link;
    const made = this.nodes++;
    if (2 * this.nodes > this.links.length) {
      const links = new Int32Array(this.links.length * 2);
      links.set(this.links);
      this.links = links;
    }
    this.links[slot] = made;
    return made;
  }

  /**
   * Yields the bytes of the tree, some nodes at a time.
   * @param offsets position of each data item in the data section
   */
  *bytes(recordBits: RecordBits, offsets: ArrayLike<number>): Generator<Uint8Array> {
    const width = recordBits / 4;
    for (let from = 0; from < this.nodes; from += NODES_AT_ONCE) {
      const count = Math.min(NODES_AT_ONCE, this.nodes - from);
      const bytes = new Uint8Array(count * width);
      for (let i = 0; i < count; i++) {
        const slot = 2 * (from + i);
        const left = this.valueOf(this.links[slot]!, offsets);
        const right = this.valueOf(this.links[slot + 1]!, offsets);
        writeNode(bytes, i * width, recordBits, left, right);
      }
      yield bytes;
    }
  }

  private valueOf(link: Link, offsets: ArrayLike<number>): number {
    if (link === EMPTY) return this.nodes;
    return link > 0 ? link : this.nodes + SEPARATOR_BYTES + offsets[-1 - link]!;
  }
}

const NODES_AT_ONCE = 1 << 15;

/** Returns the smallest record size that holds every value of a tree. */
export function recordBitsFor(nodes: number, dataBytes: number): RecordBits {
  const greatest = nodes + SEPARATOR_BYTES + dataBytes;
  return greatest < 2 ** 24 ? 24 : greatest < 2 ** 28 ? 28 : 32;
}

function bitOf(words: Uint32Array, at: number): number {
  return (words[at >>> 5]! >>> (31 - (at & 31))) & 1;
}

/** Returns the number of leading bits that two addresses share. */
function commonBits(a: Uint32Array, b: Uint32Array): number {
  for (let k = 0; k < 4; k++) if (a[k] !== b[k]) return 32 * k + Math.clz32(a[k]! ^ b[k]!);
  return 128;
}

function writeNode(bytes: Uint8Array, at: number, bits: RecordBits, left: number, right: number): void {
  const size = bits === 32 ? 4 : 3;
  const second = bits === 28 ? at + 4 : at + size;
  for (let k = 0; k < size; k++) {
    bytes[at + k] = left >>> (8 * (size - 1 - k));
    bytes[second + k] = right >>> (8 * (size - 1 - k));
  }
  if (bits === 28) bytes[at + 3] = ((left >>> 20) & 0xf0) | (right >>> 24);
}
