// fields.ts: what inputs and rows have in common: times, known words, and text of one line without invisible characters, which can reorder or
// hide the text around them, or make two names look alike.
//
// Source: Unicode's Bidi_Control and other format characters (Cf), Default_Ignorable_Code_Point, and the Braille blank.

import { parseTime } from "@inkling/engine";
import { z } from "zod";

/** Invisible characters, except those that join emoji or choose their colour form. */
const INVISIBLE =
  /(?!(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic}))[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Formats a character as "U+202E". */
const codeOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** Shows each invisible character as "<U+202E>". Earlier versions may have stored such text. */
export const visibleText = (text: string) => text.replaceAll(INVISIBLE, (it) => `<${codeOf(it)}>`);

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

/** Returns `value` if this version has it. @throws Error */
export function known<T extends string>(values: readonly T[], value: string, what: string): T {
  const found = values.find((each) => each === value);
  if (found === undefined) throw new Error(`unknown ${what} "${value}"`);
  return found;
}

const TIME = "must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z";

/** Converts a date or time to epoch ms. */
export const isoTime = z.string(TIME).transform((text, context): number => {
  const at = parseTime(text);
  if (at !== undefined) return at;
  context.addIssue({ code: "custom", message: TIME });
  return z.NEVER;
});
