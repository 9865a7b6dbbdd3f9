// range-columns.ts: stores ranges that cover the whole address space of one family, in columns. Ranges are built from
// networks, or by laying networks over other ranges.
//
// In row i, the addresses from start i up to the next start have the value values[i]; 0 means that nothing is known.
// A start is one uint32 word for IPv4 and four for IPv6, most significant first.
// cost 8 bytes per range for IPv4, 20 for IPv6; no object per range or network (there are 15 million networks). Growing
//      leaves two thirds of the new size behind as garbage, so callers pass the expected number of networks. Capacity
//      that is never written to takes no memory.

import type { IpAddress } from "../address/ip.ts";

export class RangeColumns {
  readonly family: 4 | 6;
  /** Number of words in a start. */
  readonly width: 1 | 4;
  starts: Uint32Array;
  values: Uint32Array;
  length = 0;

  constructor(family: 4 | 6, capacity = 1024) {
    this.family = family;
    this.width = family === 4 ? 1 : 4;
    this.starts = new Uint32Array(capacity * this.width);
    this.values = new Uint32Array(capacity);
  }

  /** Starts a new range at this address. Does nothing if the previous range has the same value. */
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
    const capacity = Math.ceil(this.values.length * 1.5) + 1;
    const values = new Uint32Array(capacity);
    values.set(this.values);
    const starts = new Uint32Array(capacity * this.width);
    starts.set(this.starts);
    this.values = values;
    this.starts = starts;
  }
}

/** A network with one value. */
interface ValuedNetwork {
  /** The first address. For IPv4, the last three words are 0. */
  readonly words: Uint32Array;
  bits: number;
  value: number;
}

/**
 * Splits ranges into as few networks as possible, in address order. Ranges with value 0 are skipped.
 * @yields the same object each time; its content is valid until the next iteration
 */
export function* networksOf(ranges: RangeColumns): Generator<ValuedNetwork> {
  const { width, starts, values, length } = ranges;
  const words = new Uint32Array(4);
  const network: ValuedNetwork = { words, bits: 0, value: 0 };
  for (let i = 0; i < length; i++) {
    if (values[i] === 0) continue;
    network.value = values[i]!;
    for (let k = 0; k < width; k++) words[k] = starts[i * width + k]!; // creating a view for each range would be slower
    const isLast = i + 1 === length;
    for (let isOpen = true; isOpen; isOpen = addSize(words, network.bits)) {
      const left = isLast ? sizeToEnd(words, width) : sizeUntil(words, starts, (i + 1) * width, width);
      if (left < 0) break;
      network.bits = 32 * width - Math.min(trailingZeros(words, width), left);
      yield network;
    }
  }
}

/**
 * Returns the binary logarithm of the largest size that fits between `words` and the address at `starts[at]`; -1 if
 * none fits.
 */
function sizeUntil(words: Uint32Array, starts: Uint32Array, at: number, width: number): number {
  let borrow = 0;
  let log = -1;
  for (let k = width - 1; k >= 0; k--) {
    const difference = starts[at + k]! - words[k]! - borrow;
    borrow = difference < 0 ? 1 : 0;
    const limb = difference >>> 0;
    if (limb !== 0) log = 32 * (width - 1 - k) + 31 - Math.clz32(limb);
  }
  return log;
}

/** Like {@link sizeUntil}, but up to the end of the address space. */
function sizeToEnd(words: Uint32Array, width: number): number {
  return words.every((word) => word === 0) ? 32 * width : sizeUntil(words, ZERO, 0, width);
}
const ZERO = new Uint32Array(4);

function trailingZeros(words: Uint32Array, width: number): number {
  for (let k = width - 1; k >= 0; k--) {
    const word = words[k]!;
    if (word !== 0) return 32 * (width - 1 - k) + 31 - Math.clz32(word & -word);
  }
  return 32 * width;
}

/** Returns the prefix length of the largest network that can begin at an address. */
export function alignedBits({ family, words }: IpAddress): number {
  const width = family === 4 ? 1 : 4;
  return 32 * width - trailingZeros(words, width);
}

/**
 * Advances a network's first address to the address after the network. Returns false at the end of the address space.
 */
export function addSize(words: Uint32Array, bits: number): boolean {
  if (bits === 0) return false;
  let step = 2 ** (31 - ((bits - 1) & 31));
  for (let index = (bits - 1) >> 5; index >= 0; index--) {
    const sum = words[index]! + step;
    words[index] = sum;
    if (sum < 2 ** 32) return true;
    step = 1;
  }
  return false;
}

/** Adds a network with prefix length `bits`. IPv4 uses only `w0`. */
type AddNetwork = (w0: number, w1: number, w2: number, w3: number, bits: number, value: number) => void;

/** Passes the networks of one family to `add`, in address order and without overlaps. */
export type Networks = (add: AddNetwork) => void;

/**
 * Builds ranges that have the values of these networks, and 0 between them.
 * @param expected number of networks, if known
 * @throws RangeError if networks overlap or are out of order
 */
export function cover(family: 4 | 6, networks: Networks, expected = 0): RangeColumns {
  return overlay(new EmptySpace(family), networks, (value) => value, expected);
}

/**
 * Lays networks over ranges. Wherever one of the two changes, `combine` decides the new value.
 * @param combine gets the network's value (0 between networks) and the value of `under`
 * @param expected number of networks, if known
 * @throws RangeError if networks overlap or are out of order
 */
export function overlay(
  under: RangeColumns,
  networks: Networks,
  combine: Combine,
  expected = 0,
): RangeColumns {
  const overlaid = new Overlay(under, combine, expected);
  networks((w0, w1, w2, w3, bits, value) => overlaid.add(w0, w1, w2, w3, bits, value));
  return overlaid.finish();
}

/** Combines a network's value (0 between networks) with the value of the range under it. */
type Combine = (over: number, under: number) => number;

class Overlay {
  private readonly under: RangeColumns;
  private readonly combine: Combine;
  private readonly out: RangeColumns;
  /** Index of the range in `under` that the last span has reached. */
  private row = 0;
  /** Start of the next span, and room for its end. */
  private start = new Uint32Array(4);
  private end = new Uint32Array(4);
  /** False once the end of the address space is reached. */
  private isOpen = true;

  constructor(under: RangeColumns, combine: Combine, expected: number) {
    this.under = under;
    this.combine = combine;
    this.out = new RangeColumns(under.family, Math.max(1 << 12, under.length + expected));
  }

  add(w0: number, w1: number, w2: number, w3: number, bits: number, value: number): void {
    const { start } = this;
    const order = w0 - start[0]! || w1 - start[1]! || w2 - start[2]! || w3 - start[3]!;
    if (!this.isOpen || order < 0) throw new RangeError("networks overlap or are out of order");
    if (order > 0) {
      setWords(this.end, w0, w1, w2, w3);
      this.span(0, false);
    }
    setWords(this.end, w0, w1, w2, w3);
    this.span(value, !addSize(this.end, bits));
  }

  finish(): RangeColumns {
    if (this.isOpen) this.span(0, true);
    return this.out;
  }

  /**
   * Writes the ranges from `start` up to `end`, or to the end of the address space, in which the networks have `value`.
   */
  private span(value: number, toEnd: boolean): void {
    const { under, start, end } = this;
    if (this.row + 1 < under.length && this.compareNext(start) === 0) this.row++;
    this.append(start, 0, value);
    while (this.row + 1 < under.length && (toEnd || this.compareNext(end) < 0)) {
      this.row++;
      this.append(under.starts, this.row * under.width, value);
    }
    this.start = end;
    this.end = start;
    this.isOpen = !toEnd;
  }

  /**
   * Returns a negative number, 0 or a positive number if the next range of `under` starts before, at or after an
   * address.
   */
  private compareNext(words: Uint32Array): number {
    const { starts, width } = this.under;
    const at = (this.row + 1) * width;
    for (let k = 0; k < width; k++) {
      const difference = starts[at + k]! - words[k]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Starts a range at the address whose words begin at `words[at]`. IPv4 columns use only the first word. */
  private append(words: Uint32Array, at: number, value: number): void {
    const combined = this.combine(value, this.under.values[this.row]!);
    this.out.append(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!, combined);
  }
}

/** One range with value 0 that covers the whole address space. */
class EmptySpace extends RangeColumns {
  constructor(family: 4 | 6) {
    super(family, 1);
    this.append(0, 0, 0, 0, 0);
  }
}

function setWords(words: Uint32Array, w0: number, w1: number, w2: number, w3: number): void {
  words[0] = w0;
  words[1] = w1;
  words[2] = w2;
  words[3] = w3;
}
