// fields.ts: fields that several inputs have in common.

import { parseTime } from "@inkling/engine";
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

const TIME = "must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z";

/** Converts a date or time to epoch ms. */
export const isoTime = z.string(TIME).transform((text, context): number => {
  const at = parseTime(text);
  if (at !== undefined) return at;
  context.addIssue({ code: "custom", message: TIME });
  return z.NEVER;
});
