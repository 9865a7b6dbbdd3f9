// sweep.ts: divides overlapping intervals of many sources into pieces that cover the whole space once, and cuts
// networks out of other networks.
//
// Intervals may overlap, even within a source. Cost: O(n log n) in the number of intervals.

import { type Prefix, prefixContains, RangeColumns } from "@inkling/engine";
import { halves } from "../parse/network-list.ts";

/** An interval from `start` (inclusive) to `end` (exclusive); `start < end`. */
export interface Interval {
  readonly start: bigint;
  readonly end: bigint;
  readonly source: number;
}

/** Covers each address space. */
export interface FamilyRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
}

export const emptyRanges = (): FamilyRanges => ({ v4: new RangeColumns(4), v6: new RangeColumns(6) });

/**
 * Divides both address spaces into pieces at the boundaries of networks.
 * @param sources the networks of each source
 * @param visit called for each piece as for {@link sweep}, so the smallest network comes last; `append` adds the piece
 *   to ranges, with a value
 */
export function sweepNetworks<Of extends { readonly network: Prefix }>(
  sources: readonly (readonly Of[])[],
  visit: (covers: readonly (readonly Of[])[], append: (ranges: FamilyRanges, value: number) => void) => void,
): void {
  for (const family of [4, 6] as const) {
    const intervals = sources.flatMap((rows, source) =>
      rows
        .filter(({ network }) => network.address.family === family)
        .map((row) => ({ ...row, ...intervalOf(row.network), source })),
    );
    const width = family === 4 ? 32n : 128n;
    const word = (start: bigint, index: bigint) =>
      family === 4 && index > 0n ? 0 : Number((start >> (width - 32n - 32n * index)) & 0xffffffffn);
    sweep(0n, 1n << width, intervals, sources.length, (start, covers) =>
      visit(covers, (ranges, value) =>
        ranges[`v${family}`].append(
          word(start, 0n),
          word(start, 1n),
          word(start, 2n),
          word(start, 3n),
          value,
        ),
      ),
    );
  }
}

function intervalOf({ address: { family, words }, bits }: Prefix): Pick<Interval, "start" | "end"> {
  if (family === 4) return { start: BigInt(words[0]!), end: BigInt(words[0]! + 2 ** (32 - bits)) };
  let start = 0n;
  for (const part of words) start = (start << 32n) | BigInt(part);
  return { start, end: start + (1n << BigInt(128 - bits)) };
}

/**
 * Walks the space from boundary to boundary.
 * @param sources the number of sources; every `Interval.source` is smaller
 * @param visit called with the start of a piece and, for each source, the intervals that cover the piece. The interval
 *   that starts last comes last. If several start together, the shortest comes last. `visit` must not keep the arrays
 */
export function sweep<Of extends Interval>(
  zero: bigint,
  limit: bigint,
  intervals: readonly Of[],
  sources: number,
  visit: (start: bigint, covers: readonly (readonly Of[])[]) => void,
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

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Removes an interval from its source. Networks are nested or disjoint, so this interval is nearly always the last one.
 */
function close<Of extends Interval>(covers: Of[][], interval: Of): void {
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
