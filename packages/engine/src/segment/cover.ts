// cover.ts: networks in address order -> ranges that cover the whole space, over others or over nothing.
//
// in   networks of one family, without overlaps; a covering that they are laid over
// out  RangeColumns
// err  RangeError when networks overlap or are out of order

import { addSize, RangeColumns } from "./range-columns.ts";

/** Adds a network; `bits` is its prefix length. IPv4 uses `w0` alone. */
export type AddNetwork = (
  w0: number,
  w1: number,
  w2: number,
  w3: number,
  bits: number,
  value: number,
) => void;

/** Adds networks of one family in address order, without overlaps. */
export type Networks = (add: AddNetwork) => void;

/**
 * The covering with the values of these networks, and 0 between them.
 * @param expected how many networks there are, as far as known
 * @throws RangeError when networks overlap or are out of order
 */
export function cover(family: 4 | 6, networks: Networks, expected = 0): RangeColumns {
  return overlay(new EmptySpace(family), networks, (value) => value, expected);
}

/**
 * Lays networks over a covering: wherever either changes, `combine` gives the new value.
 * @param combine gets the network's value, 0 between networks, and the value of `under`
 * @param expected how many networks there are, as far as known
 * @throws RangeError when networks overlap or are out of order
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

/** The value of a network, 0 between networks, and that of the covering under it -> the new value. */
type Combine = (over: number, under: number) => number;

class Overlay {
  private readonly under: RangeColumns;
  private readonly combine: Combine;
  private readonly out: RangeColumns;
  /** The range of `under` that holds `start`. */
  private row = 0;
  /** Where the next span starts, and where it ends. */
  private start = new Uint32Array(4);
  private end = new Uint32Array(4);
  /** False once the end of the space is reached. */
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

  /** From `start` up to `end` (or the end of the space), the networks have `value`. */
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

  /** Negative, 0 or positive: the start of the next range of `under` lies before, at or after an address. */
  private compareNext(words: Uint32Array): number {
    const { starts, width } = this.under;
    const at = (this.row + 1) * width;
    for (let k = 0; k < width; k++) {
      const difference = starts[at + k]! - words[k]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Starts a range at the address whose words begin at `words[at]`; RangeColumns of IPv4 drops all but the first. */
  private append(words: Uint32Array, at: number, value: number): void {
    const combined = this.combine(value, this.under.values[this.row]!);
    this.out.append(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!, combined);
  }
}

/** A covering of one range of value 0. */
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
