// random.ts: pseudo-random numbers from a fixed seed (mulberry32), so that every run has the same feeds and requests.

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  /** Returns a number from 0 to 2^32 - 1. */
  uint32(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** Returns a number from 0 to count - 1. */
  below(count: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * count);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  /** @param share a number from 0 to 1 */
  chance(share: number): boolean {
    return this.uint32() < share * 2 ** 32;
  }
}

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
