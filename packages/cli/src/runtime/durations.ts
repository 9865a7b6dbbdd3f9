// durations.ts: reads the durations that flags accept, such as 90d or 24h.

import { parseTime } from "@inkling/engine";
import { usage } from "../terminal/errors.ts";

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the milliseconds of a duration in a flag's text.
 * @param flag the flag's name with its dashes
 * @throws CliError if the text is not a duration
 */
export function durationMs(text: string, flag: string, example: string): number {
  const duration = parseDuration(text);
  if (duration !== undefined) return duration;
  throw usage(
    `${flag} must be a number and s, m, h or d: it is ${JSON.stringify(text.slice(0, 60))}`,
    `for example ${flag} ${example}`,
  );
}

/** Converts a duration such as "24h" to milliseconds. Returns undefined for anything else. */
function parseDuration(text: string): number | undefined {
  const parts = /^([0-9]{1,6})(s|m|h|d)$/.exec(text);
  return parts ? Number(parts[1]) * UNITS_MS[parts[2]!]! : undefined;
}

/** Converts a duration such as 90d to the time that is this far in the future. Returns any other value unchanged. */
export const expiryOf = (value: unknown, now: number) => timeOf(value, now, 1);

/** Converts a duration such as 7d to the time that is this long ago. Returns any other value unchanged. */
export const pastOf = (value: unknown, now: number) => timeOf(value, now, -1);

function timeOf(value: unknown, now: number, sign: 1 | -1): unknown {
  const duration = typeof value === "string" ? parseDuration(value) : undefined;
  return duration === undefined ? value : new Date(now + sign * duration).toISOString();
}

/**
 * Returns the time in a flag's text, in epoch ms. A duration counts back from now.
 * @param flag the flag's name with its dashes
 */
export function pastTime(text: string | undefined, flag: string, now: number): number | undefined {
  if (text === undefined) return undefined;
  const duration = parseDuration(text);
  if (duration !== undefined) return now - duration;
  const at = parseTime(text);
  if (at !== undefined) return at;
  const problem = `${flag} must be a duration such as 7d, a date or a time (UTC): it is ${JSON.stringify(text.slice(0, 60))}`;
  throw usage(problem, `for example ${flag} 7d, or ${flag} 2027-01-31`);
}
