// offset-ids.ts: maps record offsets to ids, for millions of lookups.
//
// in   offsets below 2^32, ids from -1 to 2^31 - 2
// cost open addressing, 16 to 32 bytes per record outside the heap. A Map of 703,356 records takes 45 MB of the heap,
//      which every garbage collection has to scan again

const EMPTY = 0;
/** Added to each stored id, because 0 marks a free slot. */
const SHIFT = 2;

export class OffsetIds {
  /**
   * Pairs of offset and id + SHIFT. The number of slots is a power of two, and at most half of the slots are in use.
   */
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

  /** Returns the slot where an offset is stored, or would be stored. */
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
