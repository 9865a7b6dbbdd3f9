// day.ts: the times of stored rows: UTC days and hours, by which usage is counted, and times as JSON shows them.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Returns the UTC day of a time in epoch ms, such as "2026-06-01". */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, "2026-06-01".length);

/** Returns the UTC hour of a time in epoch ms, such as "2026-06-01T13". */
export const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, "2026-06-01T13".length);

/** Returns a time in epoch ms as ISO 8601. */
export const isoTime = (ms: number) => new Date(ms).toISOString();

/** Returns a time as ISO 8601; null if there is none. */
export const isoTimeOrNull = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms));

/** Reads a number from a column. PostgreSQL returns 64-bit integers as text. */
export const optionalNumber = (value: number | string | null): number | undefined =>
  value === null ? undefined : Number(value);
