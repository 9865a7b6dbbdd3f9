// offset-ids.ts: which id the record at an offset has: a map of whole numbers for millions of lookups.
//
// in   offsets below 2^32, ids from -1 to 2^31 - 2
// cost open addressing, 16 to 32 bytes a record outside of the heap; a Map of 703,356 takes 45 MB of the heap, which
//      each collection of garbage goes through again

const EMPTY = 0;
/** Ids are kept with this added: 0 stands for a free slot. */
const SHIFT = 2;

export class OffsetIds {
  /** Offset and id + SHIFT, side by side; a power of two of slots, at most half full. */
  private slots = new Uint32Array(2 << 10);
  private mask = (1 << 10) - 1;
  private size = 0;

  get(offset: number): number | undefined {
    const id = this.slots[this.slotOf(offset) + 1]!;
    return id === EMPTY ? undefined : id - SHIFT;
  }

  set(offset: number, id: number): void {
    const slot = this.slotOf(offset);
    if (this.slots[slot + 1] === EMPTY) this.size++;
    this.slots[slot] = offset;
    this.slots[slot + 1] = id + SHIFT;
    if (this.size * 2 > this.mask) this.grow();
  }

  /** Where an offset is, or would be. */
  private slotOf(offset: number): number {
    const { slots, mask } = this;
    let slot = (Math.imul(offset, 0x9e3779b1) >>> 7) & mask;
    while (slots[slot * 2 + 1] !== EMPTY && slots[slot * 2] !== offset) slot = (slot + 1) & mask;
    return slot * 2;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    this.mask = this.mask * 2 + 1;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] === EMPTY) continue;
      const slot = this.slotOf(old[at]!);
      this.slots[slot] = old[at]!;
      this.slots[slot + 1] = old[at + 1]!;
    }
  }
}
