// lineage.ts: computes the combined weight of lists. A list that copies another list does not count again.
//
// Cost: exponential in the number of lists that depend on each other, directly or through other lists; the weights of
// independent lists are just added. The combined weight is computed once for each set of lists that share an address.

export interface WeightedList {
  readonly feed: string;
  readonly weight: number;
  /** Direct and indirect sources. A test checks that the feed table is complete. */
  readonly lineage?: readonly string[] | undefined;
}

/**
 * Returns the combined weight. An additional list never lowers it. Two copies of the same list count once, even if that
 * list itself is absent.
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

/** Returns the lists that depend on this list, directly or through other lists. */
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
