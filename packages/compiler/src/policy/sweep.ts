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
 * @param visit gets where a piece starts, and for each source its intervals that cover the piece, the one that
 *   starts last at the end (of those that start together the shortest); must not keep the arrays
 */
export function sweep<Key extends number | bigint, Of extends Interval<Key>>(
  zero: Key,
  limit: Key,
  intervals: readonly Of[],
  sources: number,
  visit: (start: Key, covers: readonly (readonly Of[])[]) => void,
): void {
  const byStart = intervals.toSorted((a, b) => compare(a.start, b.start) || compare(b.end, a.end));
  const byEnd = intervals.toSorted((a, b) => compare(a.end, b.end));
  const covers: Of[][] = Array.from({ length: sources }, () => []);
  let opened = 0;
  let closed = 0;
  let at = zero;
  while (at < limit) {
    while (closed < byEnd.length && byEnd[closed]!.end <= at) close(covers, byEnd[closed++]!);
    while (opened < byStart.length && byStart[opened]!.start <= at) {
      const interval = byStart[opened++]!;
      covers[interval.source]!.push(interval);
    }
    visit(at, covers);
    at = limit;
    if (opened < byStart.length && byStart[opened]!.start < at) at = byStart[opened]!.start;
    if (closed < byEnd.length && byEnd[closed]!.end < at) at = byEnd[closed]!.end;
  }
}

function compare<Key extends number | bigint>(a: Key, b: Key): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Networks are nested or disjoint, so it is nearly always the last one. */
function close<Key extends number | bigint, Of extends Interval<Key>>(covers: Of[][], interval: Of): void {
  const open = covers[interval.source]!;
  open.splice(open.lastIndexOf(interval), 1);
}
