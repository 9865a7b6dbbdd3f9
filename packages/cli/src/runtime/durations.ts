// durations.ts: reads the durations that flags accept, such as 90d or 24h.

import { CliError, EXIT } from "../terminal/errors.ts";
import type { Flags } from "./command.ts";

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Converts a duration such as "24h" to milliseconds. Returns undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const parts = /^([0-9]{1,6})(s|m|h|d)$/.exec(text);
  return parts ? Number(parts[1]) * UNITS_MS[parts[2]!]! : undefined;
}

/** Converts a duration, such as 90d, to the time that is this far from now. Leaves every other value as it is. */
export function expiryOf(value: unknown, now: number): unknown {
  const duration = typeof value === "string" ? parseDuration(value) : undefined;
  return duration === undefined ? value : new Date(now + duration).toISOString();
}

/** The admin API has the same limit. */
const MAX_OVERLAP_MS = 30 * 86_400_000;

/** Reads `--overlap` in milliseconds. @throws CliError */
export function overlapOf({ overlap }: Flags): number {
  const duration = parseDuration(overlap);
  if (duration !== undefined && duration <= MAX_OVERLAP_MS) return duration;
  throw new CliError(
    `--overlap must be a number and s, m, h or d, at most 30d: it is "${overlap}"`,
    "for example --overlap 24h",
    EXIT.usage,
  );
}
