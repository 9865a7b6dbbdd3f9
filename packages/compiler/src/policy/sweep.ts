// sweep.ts: divides overlapping intervals of many sources into pieces that cover the whole space once, and cuts
// networks out of other networks.
//
// Intervals may overlap, even within a source. Cost: O(n log n) in the number of intervals. The same code serves number
// keys (IPv4: 2^32 is exact) and bigint keys (IPv6).

import { IpAddress, type Prefix, prefixContains } from "@inkling/engine";

/** An interval from `start` (inclusive) to `end` (exclusive); `start < end`. */
export interface Interval<Key extends number | bigint> {
  readonly start: Key;
  readonly end: Key;
  readonly source: number;
}

/**
 * Walks the space from boundary to boundary.
 * @param sources the number of sources; every `Interval.source` is smaller
 * @param visit called with the start of a piece and, for each source, the intervals that cover the piece. The interval
 *   that starts last comes last. If several start together, the shortest comes last. `visit` must not keep the arrays
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

/**
 * Removes an interval from its source. Networks are nested or disjoint, so this interval is nearly always the last one.
 */
function close<Key extends number | bigint, Of extends Interval<Key>>(covers: Of[][], interval: Of): void {
  const open = covers[interval.source]!;
  open.splice(open.lastIndexOf(interval), 1);
}

/**
 * Returns the fewest networks that have all addresses of `networks` except those of `holes`. Cost: for each network,
 * all holes are compared once for each level of bits down to the holes inside it.
 */
export function withoutNetworks(networks: readonly Prefix[], holes: readonly Prefix[]): Prefix[] {
  return networks.flatMap((network) => cut(network, holes));
}

function cut(network: Prefix, holes: readonly Prefix[]): Prefix[] {
  if (holes.some((hole) => hole.bits <= network.bits && prefixContains(hole, network.address))) return [];
  const inside = holes.filter((hole) => hole.bits > network.bits && prefixContains(network, hole.address));
  return inside.length === 0 ? [network] : halves(network).flatMap((half) => cut(half, inside));
}

function halves({ address, bits }: Prefix): Prefix[] {
  return [0, 1].map((bit) => {
    const start = new IpAddress();
    start.family = address.family;
    start.words.set(address.words);
    start.words[bits >>> 5]! += bit * 2 ** (31 - (bits & 31));
    return { address: start, bits: bits + 1 };
  });
}
