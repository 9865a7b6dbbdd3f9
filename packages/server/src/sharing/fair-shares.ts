// fair-shares.ts: divides a resource (streams, bytes or slots) among keys, so that no single key can use it up.
//
// A fixed amount per key would be too little for a single key, or too much for many. Here, a key may hold a multiple of
// the free amount (dynamic thresholds, Choudhury and Hahne 1998). A single key gets `alone`. Each of n greedy keys gets
// less, and something remains for the next key. With a capacity of 128 and an `alone` of 32, a single key gets 32, and
// each of six keys gets 14. A key that holds nothing gets its first request in full, if that much is left.

import type { KeyId } from "@inkling/store/keys/key";

export class FairShares {
  private readonly capacity: number;
  private readonly alone: number;
  private readonly held = new Map<KeyId, number>();
  private sum = 0;

  constructor(capacity: number, alone: number) {
    this.capacity = capacity;
    this.alone = alone;
  }

  /** The amount that all keys hold together. */
  get taken(): number {
    return this.sum;
  }

  of(key: KeyId): number {
    return this.held.get(key) ?? 0;
  }

  /** Takes `amount` for the key, if allowed. @returns whether the key got it */
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
