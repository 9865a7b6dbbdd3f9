// grow.ts: splits ranges that cover the address space into more ranges, as a more detailed database of the same world
// would have.
//
// Every known range is split at multiples of a power of two into 1 to 2n - 1 pieces, with the factor n as the average.
// Ranges that are too small for their share leave the missing pieces to later ranges. A piece keeps its range's place,
// takes one of the 64 last places (a town nearby), or gets a new place. The number of places grows with the 0.7th power
// of the number of ranges. Measured on DB-IP City (June 2026): compared with a tenth of the database, in blocks of
// 4,096 ranges, the whole database has 10.1 times as many ranges, and 5.2 (IPv4) or 5.8 times (IPv6) as many records.

import { RangeColumns } from "@inkling/engine";

const PLACE_EXPONENT = 0.7;
const RECENT = 64;
/** Number of units of 2^11 in the second word. IPv6 is split within its first 53 bits, which a number holds exactly. */
const LOW_UNITS = 2 ** 21;
const LOW_UNIT = 2 ** 11;

interface Grown {
  readonly columns: RangeColumns;
  /** For each new place, counted from `firstNew`, the value of the place that it lies beside. */
  readonly besides: readonly number[];
}

/**
 * @param factor with a factor of 1, the ranges are returned unchanged
 * @param newShare the share of the added pieces that get their own place; from {@link newPlaceShare}
 * @param firstNew the first value for new places
 * @param next returns the next random uint32
 */
export function growRanges(
  ranges: RangeColumns,
  factor: number,
  newShare: number,
  firstNew: number,
  next: () => number,
): Grown {
  const { family, width, starts, values, length } = ranges;
  const columns = new RangeColumns(family, Math.ceil(length * factor * 1.1) + 16);
  const besides: number[] = [];
  const recent = new Uint32Array(RECENT);
  let seen = 0;
  let owed = 0; // pieces that did not fit into earlier ranges
  const end = width === 1 ? 2 ** 32 : 2 ** 53;
  const startOf = (i: number) => {
    if (i === length) return end;
    const at = i * width;
    return width === 1 ? starts[at]! : starts[at]! * LOW_UNITS + Math.floor(starts[at + 1]! / LOW_UNIT);
  };
  const append = (start: number, value: number) => {
    if (width === 1) columns.append(start, 0, 0, 0, value);
    else columns.append(Math.floor(start / LOW_UNITS), (start % LOW_UNITS) * LOW_UNIT, 0, 0, value);
  };
  const nearby = (value: number) => {
    const chosen = recent[next() % Math.min(seen, RECENT)]!;
    return chosen === value ? recent[(seen + RECENT - 2) % RECENT] || value : chosen;
  };
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    const words = starts.subarray(i * width, (i + 1) * width);
    columns.append(words[0]!, words[1] ?? 0, words[2] ?? 0, words[3] ?? 0, value);
    if (value === 0 || factor === 1) continue;
    recent[seen++ % RECENT] = value;
    const [from, to] = [startOf(i), startOf(i + 1)];
    const wanted = 1 + Math.floor((next() / 2 ** 32) * (2 * factor - 1));
    const pieces = Math.min(to - from, wanted + Math.floor(Math.min(owed, 4 * factor)));
    owed += factor - Math.max(1, pieces);
    if (pieces < 2) continue;
    const step = 2 ** Math.floor(Math.log2((to - from) / pieces));
    let last = value;
    let cut = (Math.floor(from / step) + 1) * step;
    for (let made = 1; made < pieces && cut < to; made++, cut += step) {
      let chosen = value;
      if (next() / 2 ** 32 < newShare) {
        chosen = firstNew + besides.length;
        besides.push(value);
      } else if (last === value) chosen = nearby(value);
      append(cut, chosen);
      last = chosen;
    }
  }
  return { columns, besides };
}

/**
 * Returns the share of added pieces that are new places, if `ranges` ranges with `places` places grow by this factor.
 */
export function newPlaceShare(ranges: number, places: number, factor: number): number {
  return factor === 1 ? 0 : (places * (factor ** PLACE_EXPONENT - 1)) / (ranges * (factor - 1));
}
