// sweep.ts: from overlapping intervals of many sources to pieces that cover everything once.
//
// in   intervals, in any order, each of one source; sources may overlap themselves and each other
// out  the pieces between any two neighbouring boundaries, in order, from `zero` to `limit`
// cost O(n log n) in intervals. The same code serves number keys (IPv4: 2^32 is exact) and bigint keys (IPv6)

/** From `start` up to, not including, `end`; `start < end`. */
export interface Interval<Key extends number | bigint> {
  readonly start: Key;
  readonly end: Key;
  readonly source: number;
}

/**
 * Walks the space from boundary to boundary.
 * @param sources how many there are; every `Interval.source` is below it
 * @param visit told where a piece starts, and how many intervals of each source cover it; must not keep the array
 */
export function sweep<Key extends number | bigint>(
  zero: Key,
  limit: Key,
  intervals: readonly Interval<Key>[],
  sources: number,
  visit: (start: Key, covers: Readonly<Uint32Array>) => void,
): void {
  const byStart = intervals.toSorted((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
  const byEnd = intervals.toSorted((a, b) => (a.end < b.end ? -1 : a.end > b.end ? 1 : 0));
  const covers = new Uint32Array(sources);
  let opened = 0;
  let closed = 0;
  let at = zero;
  while (at < limit) {
    while (closed < byEnd.length && byEnd[closed]!.end <= at) covers[byEnd[closed++]!.source]!--;
    while (opened < byStart.length && byStart[opened]!.start <= at) covers[byStart[opened++]!.source]!++;
    visit(at, covers);
    at = limit;
    if (opened < byStart.length && byStart[opened]!.start < at) at = byStart[opened]!.start;
    if (closed < byEnd.length && byEnd[closed]!.end < at) at = byEnd[closed]!.end;
  }
}
