// fair-shares.ts: something that keys share, of which no key can take all: streams, bytes, slots.
//
// in   the capacity, and what one key may have of it while no other has any
// out  whether a key may take more
// why  A fixed part for each key would be too little for one, or too much for many. Here a key may hold a multiple of what
//      is free (dynamic thresholds, Choudhury and Hahne 1998): one key alone gets `alone`, of n greedy keys each gets
//      less, and something is left for the next one. With 128 and 32: 32 only, 14 each of six. A key that has none gets one
//      as long as there is any.

import type { KeyId } from "../keys/key.ts";

export class FairShares {
  private readonly capacity: number;
  private readonly alone: number;
  private readonly held = new Map<KeyId, number>();
  private sum = 0;

  constructor(capacity: number, alone: number) {
    this.capacity = capacity;
    this.alone = alone;
  }

  /** Of all keys. */
  get taken(): number {
    return this.sum;
  }

  of(key: KeyId): number {
    return this.held.get(key) ?? 0;
  }

  /** @returns whether the key may have that much more; then it has */
  take(key: KeyId, amount = 1): boolean {
    const { capacity, alone } = this;
    const held = this.of(key) + amount;
    const sum = this.sum + amount;
    const isFirst = held === amount;
    if (sum > capacity || (!isFirst && held * (capacity - alone) > alone * (capacity - sum))) return false;
    this.held.set(key, held);
    this.sum = sum;
    return true;
  }

  giveBack(key: KeyId, amount = 1): void {
    const held = this.of(key) - amount;
    this.sum -= amount;
    if (held > 0) this.held.set(key, held);
    else this.held.delete(key);
  }
}
