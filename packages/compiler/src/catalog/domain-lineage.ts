// domain-lineage.ts: finds which lists of disposable domains copy which others.
//
// A list copies another if it has at least three quarters of the other's entries. If two lists have that much of each
// other, the one with the larger share is the copy. Stored shares decide (shared-entries.ts), not the copies of each
// build. A build may lack a list, and a share near the limit, such as FakeFilter's 76.7%, could cross it from one build
// to the next. Rows below add sources that the shares do not show, and correct the direction if the larger list is the
// source.

import { SHARED_ENTRIES } from "./shared-entries.ts";

const COPIED_SHARE = 0.75;

interface CopiedList {
  readonly list: string;
  readonly source: string;
  /** Why the source is declared. Absent if the shares show it. */
  readonly why?: string;
}

const HALF = "has about half of its entries, and states no sources for those from before 2025";
const READS = "reads it, according to `generator.py`, but leaves out most entries";
const CONSISTS = "consists of entries of both: 0.1% of its entries are on no other list";

const DECLARED: readonly Required<CopiedList>[] = [
  { list: "disposable-domains", source: "ivolo-domains", why: READS },
  { list: "disposable-domains", source: "wesbos-burner", why: READS },
  { list: "tompec-domains", source: "disposable-domains", why: HALF },
  { list: "tompec-domains", source: "disposable-email-domains", why: HALF },
  { list: "tompec-domains", source: "fakefilter", why: HALF },
  { list: "tompec-domains", source: "mailchecker-domains", why: HALF },
  { list: "wesbos-burner", source: "ivolo-domains", why: CONSISTS },
  { list: "wesbos-burner", source: "mailchecker-domains", why: CONSISTS },
];

/** Returns the share of a list's entries that another list also has. */
export function shareOf(list: string, other: string): number {
  const shared = (of: string) =>
    SHARED_ENTRIES.find(([a, b]) => (a === list && b === of) || (a === of && b === list))?.[2] ?? 0;
  return shared(other) / shared(list);
}

const LISTS = SHARED_ENTRIES.flatMap(([list, other]) => (list === other ? list : []));

/** The sources of each list. */
export const DOMAIN_SOURCES: readonly CopiedList[] = [
  ...LISTS.flatMap((source) =>
    LISTS.flatMap((list): CopiedList | [] => {
      const isReversed = DECLARED.some((row) => row.list === source && row.source === list);
      const isCopy = shareOf(source, list) >= Math.max(COPIED_SHARE, shareOf(list, source));
      return list !== source && !isReversed && isCopy ? { list, source } : [];
    }),
  ),
  ...DECLARED,
];

export const sourcesOf = (list: string): readonly string[] =>
  DOMAIN_SOURCES.flatMap((row) => (row.list === list ? row.source : []));
