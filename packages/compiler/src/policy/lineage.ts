// lineage.ts: how much independent witnesses weigh together: a list that copies another is no second witness.
//
// in   what speaks, with its weight and the feeds that it takes entries from (feed.ts, `lineage`)
// out  the greatest weight of those that have no origin in common
// cost exponential in the witnesses that depend on each other, of which there are ten at most; asked once for each
//      set of lists that meet anywhere

export interface Witness {
  readonly feed: string;
  readonly weight: number;
  /** Directly or not: a test holds the feed table to naming all. */
  readonly lineage?: readonly string[] | undefined;
}

/**
 * One more witness never makes it less. Two copies of one list count once even where that list itself is not asked.
 */
export function independentWeight(witnesses: readonly Witness[]): number {
  const [first, ...others] = witnesses;
  if (first === undefined) return 0;
  const independent = others.filter((other) => !haveCommonOrigin(first, other));
  const withFirst = first.weight + independentWeight(independent);
  return independent.length === others.length ? withFirst : Math.max(withFirst, independentWeight(others));
}

function haveCommonOrigin(a: Witness, b: Witness): boolean {
  const origins = new Set([a.feed, ...(a.lineage ?? [])]);
  return origins.has(b.feed) || (b.lineage ?? []).some((feed) => origins.has(feed));
}
