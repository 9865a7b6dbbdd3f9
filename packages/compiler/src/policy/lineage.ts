// lineage.ts: how much independent lists weigh together: a list that copies another does not count again.
//
// in   lists with their weights and the feeds that they take entries from (feed.ts, `lineage`)
// out  the greatest weight of those that have no origin in common
// cost exponential in the lists that depend on each other, directly or through others; lists that do not are added up. It
//      is computed once for each set of lists that share an address

export interface WeightedList {
  readonly feed: string;
  readonly weight: number;
  /** Direct and indirect sources; a test checks that the feed table is complete. */
  readonly lineage?: readonly string[] | undefined;
}

/**
 * Never lower with one more list. Two copies of one list count once even without that list.
 */
export function independentWeight(lists: readonly WeightedList[]): number {
  let sum = 0;
  for (let rest = lists; rest.length > 0; ) {
    const related = relatedTo(rest[0]!, rest);
    sum += bestWeight(related);
    rest = rest.filter((list) => !related.includes(list));
  }
  return sum;
}

/** The lists that depend on this one, those that depend on them, and so on. */
function relatedTo(first: WeightedList, lists: readonly WeightedList[]): readonly WeightedList[] {
  const related = [first];
  for (const one of related)
    related.push(...lists.filter((list) => !related.includes(list) && haveCommonOrigin(one, list)));
  return related;
}

function bestWeight(lists: readonly WeightedList[]): number {
  const [first, ...others] = lists;
  if (first === undefined) return 0;
  const independent = others.filter((other) => !haveCommonOrigin(first, other));
  const withFirst = first.weight + bestWeight(independent);
  return independent.length === others.length ? withFirst : Math.max(withFirst, bestWeight(others));
}

function haveCommonOrigin(a: WeightedList, b: WeightedList): boolean {
  const origins = new Set([a.feed, ...(a.lineage ?? [])]);
  return origins.has(b.feed) || (b.lineage ?? []).some((feed) => origins.has(feed));
}
