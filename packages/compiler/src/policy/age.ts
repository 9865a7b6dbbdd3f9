// age.ts: decides how long a copy of a feed may be used.
//
// A copy without a date, such as Inkling's own file, is fresh.

import type { AgeLimits } from "../catalog/feed.ts";

export type Age = "fresh" | "stale" | "dropped";

export interface CopyDates {
  /** When the source last confirmed that the copy is current. For a file in a mirror: when the file was put there. */
  readonly confirmedAt?: Date | undefined;
  /** When the publisher created the copy, if the copy or its source states that. */
  readonly publishedAt?: Date | undefined;
}

const HOUR_MS = 3_600_000;

/**
 * Rates a copy's age by the publisher's own date, if there is one. A publisher whose job has failed keeps confirming
 * its last file, and an old list does not become new when somebody puts it into a mirror.
 */
export function ageOf({ age }: { readonly age: AgeLimits }, dates: CopyDates, now: Date): Age {
  const madeAt = dates.publishedAt ?? dates.confirmedAt;
  if (madeAt === undefined) return "fresh";
  const ageMs = now.getTime() - madeAt.getTime();
  if (ageMs > age.dropHours * HOUR_MS) return "dropped";
  return ageMs > age.staleHours * HOUR_MS ? "stale" : "fresh";
}
