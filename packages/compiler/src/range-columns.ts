// range-columns.ts: ranges of one family that cover its whole address space, as columns.
//
// Row i says: from start i up to the next start, the value is values[i]; 0 = nothing known.
// A start is one uint32 word for IPv4 and four for IPv6, most significant first.
// cost 8 bytes a range for IPv4, 20 for IPv6; no object per range (there are 8 million)

import type { Prefix } from "@inkling/engine";

export class RangeColumns {
  readonly family: 4 | 6;
  /** Words of a start: 1 or 4. */
  readonly width: 1 | 4;
  starts: Uint32Array;
  values: Uint32Array;
  length = 0;
  /** The first address that no range covers yet; undefined once the end of the space is reached. */
  private next: Uint32Array | undefined;

  constructor(family: 4 | 6, capacity = 1024) {
    this.family = family;
    this.width = family === 4 ? 1 : 4;
    this.starts = new Uint32Array(capacity * this.width);
    this.values = new Uint32Array(capacity);
    this.next = new Uint32Array(this.width);
  }

  /**
   * Adds a network after all that were added before it; what lies between gets the value 0.
   * @throws RangeError when it starts before the end of the last one
   */
  addNetwork(w0: number, w1: number, w2: number, w3: number, bits: number, value: number): void {
    const next = this.next;
    const order = next === undefined ? -1 : this.compareTo(next, w0, w1, w2, w3);
    if (next === undefined || order < 0) throw new RangeError("networks overlap or are out of order");
    if (order > 0) this.append(next[0]!, next[1] ?? 0, next[2] ?? 0, next[3] ?? 0, 0);
    this.append(w0, w1, w2, w3, value);
    this.next = this.after(w0, w1, w2, w3, bits);
  }

  /** As {@link addNetwork}. */
  addPrefix({ address: { words }, bits }: Prefix, value: number): void {
    this.addNetwork(words[0]!, words[1]!, words[2]!, words[3]!, bits, value);
  }

  /** Covers the rest of the address space with 0. Call once, when all is added. */
  finish(): this {
    const next = this.next;
    if (next !== undefined) this.append(next[0]!, next[1] ?? 0, next[2] ?? 0, next[3] ?? 0, 0);
    this.next = undefined;
    return this;
  }

  /** Starts a new range at this address; merged with the one before when the value is the same. */
  append(w0: number, w1: number, w2: number, w3: number, value: number): void {
    const n = this.length;
    if (n > 0 && this.values[n - 1] === value) return;
    if (n === this.values.length) this.grow();
    const at = n * this.width;
    this.starts[at] = w0;
    if (this.width === 4) {
      this.starts[at + 1] = w1;
      this.starts[at + 2] = w2;
      this.starts[at + 3] = w3;
    }
    this.values[n] = value;
    this.length = n + 1;
  }

  private grow(): void {
    const values = new Uint32Array(this.values.length * 2);
    values.set(this.values);
    const starts = new Uint32Array(this.starts.length * 2);
    starts.set(this.starts);
    this.values = values;
    this.starts = starts;
  }

  /** Sign of (given address - next). */
  private compareTo(next: Uint32Array, w0: number, w1: number, w2: number, w3: number): number {
    if (w0 !== next[0] || this.width === 1) return w0 - next[0]!;
    return w1 - next[1]! || w2 - next[2]! || w3 - next[3]!;
  }

  /** The address after the network's last one, or undefined past the end of the space. */
  private after(w0: number, w1: number, w2: number, w3: number, bits: number): Uint32Array | undefined {
    const words = this.width === 1 ? [w0] : [w0, w1, w2, w3];
    if (bits === 0) return undefined;
    let index = (bits - 1) >> 5;
    let step = 2 ** (31 - ((bits - 1) & 31));
    for (; index >= 0; index--) {
      const sum = words[index]! + step;
      words[index] = sum >>> 0;
      if (sum < 2 ** 32) return Uint32Array.from(words);
      step = 1;
    }
    return undefined;
  }
}

/** Sign of (start i of a - start j of b). Both are of one family. */
function compareStarts(a: RangeColumns, i: number, b: RangeColumns, j: number): number {
  const width = a.width;
  for (let k = 0; k < width; k++) {
    const difference = a.starts[i * width + k]! - b.starts[j * width + k]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Lays two coverings of the space over each other: wherever either changes, `combine` gives the new value.
 * @returns a new covering, equal neighbours merged
 */
export function overlay(
  a: RangeColumns,
  b: RangeColumns,
  combine: (a: number, b: number) => number,
): RangeColumns {
  if (a.length === 0 || b.length === 0) throw new RangeError("a covering needs at least one range");
  const out = new RangeColumns(a.family, Math.max(a.length, b.length) + 1024);
  const width = a.width;
  let i = 0;
  let j = 0;
  let from = a;
  let at = 0; // the start that this step begins at: from.starts[at…]
  for (;;) {
    const s = from.starts;
    const k = at * width;
    const value = combine(a.values[i]!, b.values[j]!);
    if (width === 1) out.append(s[k]!, 0, 0, 0, value);
    else out.append(s[k]!, s[k + 1]!, s[k + 2]!, s[k + 3]!, value);
    const moreA = i + 1 < a.length;
    const moreB = j + 1 < b.length;
    if (!moreA && !moreB) return out;
    const order = !moreA ? 1 : !moreB ? -1 : compareStarts(a, i + 1, b, j + 1);
    if (order <= 0) i++;
    if (order >= 0) j++;
    from = order <= 0 ? a : b;
    at = order <= 0 ? i : j;
  }
}
