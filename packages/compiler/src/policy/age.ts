// age.ts: how long the copy of a feed is used.
//
// in   the feed's limits (feed.ts, AgeLimits), the dates of the copy, and the time now
// out  "fresh"; "stale": reported and used; "dropped": ignored. A copy without a date (ours, or a seed's) is fresh

import type { AgeLimits } from "../catalog/feed.ts";

export type Age = "fresh" | "stale" | "dropped";

export interface CopyDates {
  /** When its source last confirmed it as current; for a file in a mirror: when it was put there. */
  readonly confirmedAt?: Date | undefined;
  /** When the publisher made it, as far as the copy or its source states that. */
  readonly publishedAt?: Date | undefined;
  /** It is from the operator's mirror: it is dropped by the time since it was put there. */
  readonly vouched?: boolean;
}

const HOUR_MS = 3_600_000;

/**
 * The older of the two dates counts: a publisher whose job has failed keeps confirming its last file. A copy that the
 * operator vouches for is stale by that rule as well, but dropped by `confirmedAt` alone.
 */
export function ageOf({ age }: { readonly age: AgeLimits }, dates: CopyDates, now: Date): Age {
  const { confirmedAt, publishedAt, vouched = false } = dates;
  const known = [confirmedAt, publishedAt].filter((date) => date !== undefined);
  if (known.length === 0) return "fresh";
  const since = Math.min(...known.map(Number));
  const usableSince = vouched && confirmedAt !== undefined ? confirmedAt.getTime() : since;
  if (now.getTime() - usableSince > age.dropHours * HOUR_MS) return "dropped";
  return now.getTime() - since > age.staleHours * HOUR_MS ? "stale" : "fresh";
}
