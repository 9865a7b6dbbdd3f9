// retry.ts: how long to wait before the next try.
//
// src  RFC 9110 10.2.3 (Retry-After: seconds or a date)

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Clients that were refused together should not retry together. */
const SPREAD = 0.25;

/** Seconds, at least 0; undefined without the header or when it cannot be read. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - nowMs) / 1000));
}

/**
 * Milliseconds to wait: Retry-After and up to a quarter more; otherwise a random part of a pause that
 * doubles from one failure to the next.
 * @param failures before this pause, from 1
 * @param random from 0 to 1
 */
export function pauseMs(failures: number, retryAfterSeconds: number | undefined, random: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000 * (1 + SPREAD * random);
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
  return longest * (0.5 + 0.5 * random);
}
