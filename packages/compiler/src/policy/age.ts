// age.ts: how long the copy of a feed is used.
//
// in   the feed's limits (feed.ts, AgeLimits), the dates of the copy, and the time now
// out  "fresh"; "stale": reported and used; "dropped": ignored. A copy without a date (Inkling's, or a seed's) is fresh

import type { AgeLimits } from "../catalog/feed.ts";

export type Age = "fresh" | "stale" | "dropped";

export interface CopyDates {
  /** When its source last confirmed it as current; for a file in a mirror: when it was put there. */
  readonly confirmedAt?: Date | undefined;
  /** When the publisher made it, if the copy or its source states that. */
  readonly publishedAt?: Date | undefined;
}

const HOUR_MS = 3_600_000;

/**
 * The publisher's own date decides, if there is one: a publisher whose job has failed keeps confirming its last file,
 * and an old list does not become new when somebody puts it into a mirror.
 */
export function ageOf({ age }: { readonly age: AgeLimits }, dates: CopyDates, now: Date): Age {
  const madeAt = dates.publishedAt ?? dates.confirmedAt;
  if (madeAt === undefined) return "fresh";
  const ageMs = now.getTime() - madeAt.getTime();
  if (ageMs > age.dropHours * HOUR_MS) return "dropped";
  return ageMs > age.staleHours * HOUR_MS ? "stale" : "fresh";
}
