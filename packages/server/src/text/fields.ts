// fields.ts: members that several inputs have in common.

import { z } from "zod";
import { codeOf, INVISIBLE } from "./visible-text.ts";

/** Creates the schema of one line of text, without invisible characters. */
export const oneLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(most, `must have at most ${most} characters`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not contain control characters or line breaks")
    .superRefine((text, context) => {
      const found = [...text.matchAll(INVISIBLE)].map(([it]) => codeOf(it));
      if (found.length === 0) return;
      const message = `must not contain invisible characters or text-direction controls: ${[...new Set(found)].join(", ")}`;
      context.addIssue({ code: "custom", message });
    });

/** Converts ISO 8601 to epoch ms. A date without a time means its first moment in UTC. */
export const isoTime = z
  .union(
    [z.iso.datetime({ offset: true }), z.iso.date()],
    "must be a time such as 2027-01-31T12:00:00Z or a date",
  )
  .transform((text) => Date.parse(text));
