// fields.ts: members that several inputs have.

import { z } from "zod";

/** Text of one line. */
export const oneLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(most, `must have at most ${most} characters`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not contain control characters or line breaks");

/** ISO 8601 -> epoch ms; a bare date is its first moment in UTC. */
export const isoTime = z
  .union(
    [z.iso.datetime({ offset: true }), z.iso.date()],
    "must be a time such as 2027-01-31T12:00:00Z or a date",
  )
  .transform((text) => Date.parse(text));
