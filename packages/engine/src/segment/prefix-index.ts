// prefix-index.ts: a hash table from the first 32 bits of an IPv6 address to the node for the next ones.
//
// in   first bits that have such a node, each with the cell that names it
// out  that cell, or 0: the lookup starts at the directory
// cost one read, seldom two, in place of five dependent ones; 16 to 32 bytes a node: 1 MB for the 35,000 of DB-IP, made
//      by each process at its first IPv6 lookup in 6 to 9 ms (bench/README.md, Layouts)

/** 2^32 divided by the golden ratio: spreads neighbours far apart (Knuth, The Art of Computer Programming 3, 6.4). */
const SPREAD = 0x9e3779b1;

export class PrefixIndex {
  /** First bits and cell of each slot; a cell of 0 is an empty slot. */
  private readonly slots: Int32Array;
  private readonly last: number;
  private readonly shift: number;

  /** @param nodes the first 32 bits of each, as an int32, and its cell, which is not 0, in turn */
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

  /** @param first the address's first 32 bits as an int32 */
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
