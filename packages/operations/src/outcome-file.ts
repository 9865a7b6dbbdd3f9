// outcome-file.ts: reads the lines of a file with outcomes, such as a payment provider's list of chargebacks.
//
// The file is CSV with the columns ref, outcome and at, in this order, or has one JSON object with these fields per line.
// Each line yields a label, or what is wrong with it. A good line never depends on a bad one.

import { OUTCOMES } from "@inkling/contract";
import { issueLines } from "@inkling/engine";
import type { RefOutcome } from "@inkling/store/decisions";
import { DAY_MS } from "@inkling/store/keys/day";
import { isoTime } from "@inkling/store/text/fields";
import { z } from "zod";
import { oneOf } from "./operation.ts";

/** Maximum lines in one request, and characters in one line. */
export const MAX_LINES = 500;
const MAX_LINE = 1_024;
/** A time further ahead comes from a wrong clock or a wrong column. */
const AHEAD_MS = 3_600_000;
/** A date without a time means the whole day. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const HEADER = /^"?ref"?,"?outcome"?(,"?at"?)?$/i;
/** A field of CSV after its comma. Quotation marks in a quoted field are doubled (RFC 4180). */
const FIELD = /,\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))/y;

const row = z.strictObject({
  ref: z
    .string("must be text")
    .min(1, "is empty")
    .max(128, "is longer than 128 characters")
    .regex(/^\P{Cc}*$/u, "contains a control character, which no stored `ref` has"),
  outcome: oneOf([...OUTCOMES, "none"]).transform((outcome) => (outcome === "none" ? null : outcome)),
  at: isoTime.optional(),
});

/** @returns the line's label; undefined for a header or an empty line; a text that states what is wrong */
export function readOutcomeLine(line: string, now: number): RefOutcome | string | undefined {
  if (line.length > MAX_LINE) return `is longer than ${MAX_LINE.toLocaleString("en")} characters`;
  const text = line.replace(/^\uFEFF/, "").trim();
  if (text === "" || HEADER.test(text)) return undefined;
  const given = text.startsWith("{") ? jsonOf(text) : csvOf(text);
  if (typeof given === "string") return given;
  const read = row.safeParse(given);
  if (!read.success) return issueLines(read.error, "line", given).join("; ");
  const { at, ...label } = read.data;
  if (at === undefined) return label;
  if (at > now + AHEAD_MS) return "`at` is in the future";
  const isDate = DATE.test(String((given as { at: unknown }).at));
  return { ...label, at: isDate ? Math.max(at, Math.min(at + DAY_MS - 1, now)) : at };
}

function jsonOf(text: string): unknown {
  try {
    const { at, ...given } = JSON.parse(text);
    return at === null ? given : { ...given, at };
  } catch {
    return "is not JSON";
  }
}

function csvOf(text: string): object | string {
  const fields: string[] = [];
  const line = `,${text}`;
  FIELD.lastIndex = 0;
  for (let end = 0; end < line.length; end = FIELD.lastIndex) {
    const found = FIELD.exec(line);
    if (found === null) return "has a quotation mark in the wrong place";
    fields.push(found[1]?.replaceAll('""', '"') ?? found[2]!.trim());
  }
  const [ref, outcome, at, ...more] = fields;
  if (outcome === undefined || more.length > 0)
    return "must have the columns ref, outcome and, optionally, at";
  return { ref, outcome: outcome.toLowerCase(), ...(at && { at }) };
}
