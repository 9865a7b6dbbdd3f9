// compare-copies.ts: compares a new copy of a feed with its last good one.
//
// err  HeldBack: it differs in a way that the operator has to accept

import { type Feed, FeedError } from "../catalog/feed.ts";
import type { FeedCopy } from "../fetch/copy.ts";
import { isDomainFormat, isNetworkFormat } from "../parse/index.ts";
import {
  type Comparable,
  requireLikeness,
  requireLikeSpace,
  requireNewer,
  requireWholeLines,
} from "./gates.ts";
import { type Readable, readContent } from "./read-copy.ts";

/**
 * @param last with the number of its entries, where that is known
 * @throws HeldBack
 */
export function requireLikeLast(
  feed: Feed,
  copy: FeedCopy,
  read: Readable,
  last: FeedCopy & { readonly entries: number | undefined },
  now: Date,
): void {
  if (last.sha256 === copy.sha256) return;
  requireNewer(copy.publishedAt, last.publishedAt, now);
  if (last.format !== copy.format) return;
  requireWholeLines(copy.format, copy.files[0]!.bytes, last.files[0]!.bytes); // what is fetched is one file
  if (isNetworkFormat(copy.format) || isDomainFormat(copy.format) || feed.label !== undefined) {
    const lastList = findList(feed, last);
    if (lastList === undefined) return;
    const nextList = { entries: read.entries, ...read.content() };
    requireLikeness(feed, nextList, lastList);
    requireLikeSpace(feed, networksOf(nextList), networksOf(lastList));
  } else if (last.entries !== undefined) requireLikeness(feed, read, { entries: last.entries });
}

const networksOf = ({ networks, stated }: Comparable) => networks ?? (stated ? [stated] : []);

/** Undefined for a list that this version of Inkling would refuse. */
function findList(feed: Feed, copy: FeedCopy): Comparable | undefined {
  try {
    const { entries, content } = readContent(feed, copy);
    return { entries, ...content };
  } catch (error) {
    if (error instanceof FeedError) return undefined;
    throw error;
  }
}
