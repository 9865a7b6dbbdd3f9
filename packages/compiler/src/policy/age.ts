// age.ts: how long the copy of a feed is used.
//
// in   the feed's limits (feed.ts, AgeLimits), the dates of the copy, and the time now
// out  "fresh"; "stale", which is reported and still used; "dropped", which is ignored. A copy without a date is ours,
//      or a seed that states none: fresh

import type { AgeLimits } from "../catalog/feed.ts";

export type Age = "fresh" | "stale" | "dropped";

export interface CopyDates {
  /** When its source last confirmed it as its newest copy; of a file in a mirror: when it was put there. */
  readonly confirmedAt?: Date | undefined;
  /** When the publisher made it, as far as the copy or its source states that. */
  readonly publishedAt?: Date | undefined;
  /** Did the operator put it there, in a mirror? Then its age counts from that day, however old the file. */
  readonly vouched?: boolean;
}

const HOUR_MS = 3_600_000;

/**
 * A publisher whose program died goes on confirming its last file: the older of the two dates counts. A copy that
 * the operator vouches for is stale by that rule, too, but dropped only by when it was put there.
 */
export function ageOf({ age }: { readonly age: AgeLimits }, dates: CopyDates, now: Date): Age {
  const { confirmedAt, publishedAt, vouched = false } = dates;
  const known = [confirmedAt, publishedAt].filter((date) => date !== undefined);
  if (known.length === 0) return "fresh";
  const since = Math.min(...known.map(Number));
  const speaksSince = vouched && confirmedAt !== undefined ? confirmedAt.getTime() : since;
  if (now.getTime() - speaksSince > age.dropHours * HOUR_MS) return "dropped";
  return now.getTime() - since > age.staleHours * HOUR_MS ? "stale" : "fresh";
}
