// grow.ts: ranges that cover the address space -> more of them, as a more detailed database of the same world would have.
//
// in   ranges of one family (value 0: nothing known), how many times as many are wanted
// out  ranges, and for each new place the place that it lies beside
// cost one pass; 50 ns a range
//
// How geolocation grows, as far as today's data tells: every known range is split where it lies, at borders of networks
// (multiples of a power of two), into 1 to 2n - 1 pieces, n on average; ranges too small for their share leave it to
// larger ones. A piece keeps its range's place, takes one of the 64 last seen (a town nearby in the address space), or
// gets a new one. Places grow slower than ranges, with their 0.7th power: that is what DB-IP City of June 2026 shows when
// a tenth of it, in blocks of 4,096 ranges, is compared with all of it (10.1 times the ranges, 5.2 times the records in
// IPv4, 5.8 times in IPv6).

import { RangeColumns } from "../../packages/engine/src/segment/range-columns.ts";

export const PLACE_EXPONENT = 0.7;
const RECENT = 64;

export interface Grown {
  readonly columns: RangeColumns;
  /** Value of a new place, counted on from `firstNew` -> the value that it lies beside. */
  readonly besides: readonly number[];
}

/**
 * @param factor 1 gives the same ranges again
 * @param newShare of the pieces that are added, how many get a place of their own; from {@link newPlaceShare}
 * @param firstNew values from here on are new places
 * @param next gives the next random uint32
 */
export function growRanges(
  ranges: RangeColumns,
  factor: number,
  newShare: number,
  firstNew: number,
  next: () => number,
): Grown {
  const { family, width, starts, values, length } = ranges;
  const out = new RangeColumns(family, Math.ceil(length * factor * 1.1) + 16);
  const besides: number[] = [];
  const recent = new Uint32Array(RECENT);
  let seen = 0;
  let owed = 0; // pieces that ranges before were too small for
  // The part of an address that is split, as two words: all 32 bits of IPv4, the first 64 of IPv6.
  const high = (i: number) => (width === 1 ? 0 : starts[i * 4]!);
  const low = (i: number) => (width === 1 ? starts[i]! : starts[i * 4 + 1]!);
  const cut = new Cut();
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    const at = i * width;
    if (width === 1) out.append(starts[at]!, 0, 0, 0, value);
    else out.append(starts[at]!, starts[at + 1]!, starts[at + 2]!, starts[at + 3]!, value);
    if (value === 0 || factor === 1) continue;
    recent[seen++ % RECENT] = value;
    const isLast = i + 1 === length;
    const endHigh = isLast ? (width === 1 ? 1 : 2 ** 32) : high(i + 1);
    const endLow = isLast ? 0 : low(i + 1);
    const size = (endHigh - high(i)) * 2 ** 32 + (endLow - low(i));
    const wanted = 1 + Math.floor((next() / 2 ** 32) * (2 * factor - 1));
    const pieces = Math.min(Math.floor(size), wanted + Math.floor(Math.min(owed, 4 * factor)));
    owed += factor - Math.max(1, pieces);
    if (pieces < 2) continue;
    const step = 2 ** Math.floor(Math.log2(size / pieces));
    const isPartial = width === 4 && (starts[at + 2] !== 0 || starts[at + 3] !== 0);
    cut.begin(high(i), low(i), isPartial, step);
    let last = value;
    for (let made = 1; made < pieces && cut.isBefore(endHigh, endLow); made++, cut.advance(step)) {
      let chosen = value;
      if (next() / 2 ** 32 < newShare) {
        chosen = firstNew + besides.length;
        besides.push(value);
      } else if (last === value) {
        chosen = recent[next() % Math.min(seen, RECENT)]!;
        if (chosen === value) chosen = recent[(seen + RECENT - 2) % RECENT] || value;
      }
      if (width === 1) out.append(cut.low, 0, 0, 0, chosen);
      else out.append(cut.high, cut.low, 0, 0, chosen);
      last = chosen;
    }
  }
  return { columns: out, besides };
}

/** Of pieces that are added to `ranges` ranges with `places` places, the share that are new places. */
export function newPlaceShare(ranges: number, places: number, factor: number): number {
  return factor === 1 ? 0 : (places * (factor ** PLACE_EXPONENT - 1)) / (ranges * (factor - 1));
}

/** A border between two pieces: a multiple of a power of two, in 64 bits. */
class Cut {
  high = 0;
  low = 0;

  /** The first multiple of `step` after a start. */
  begin(high: number, low: number, isPartial: boolean, step: number): void {
    this.high = high;
    this.low = low;
    if (step >= 2 ** 32) {
      const unit = step / 2 ** 32;
      const isOn = high % unit === 0 && low === 0 && !isPartial;
      this.high = isOn ? high + unit : Math.ceil((high + 1) / unit) * unit;
      this.low = 0;
      return;
    }
    this.low = (Math.floor(low / step) + 1) * step;
    this.carry();
  }

  advance(step: number): void {
    if (step >= 2 ** 32) this.high += step / 2 ** 32;
    else this.low += step;
    this.carry();
  }

  isBefore(high: number, low: number): boolean {
    return this.high < high || (this.high === high && this.low < low);
  }

  private carry(): void {
    if (this.low < 2 ** 32) return;
    this.low -= 2 ** 32;
    this.high += 1;
  }
}
