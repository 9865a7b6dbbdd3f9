// day.ts: computes the UTC days and hours by which usage is counted, stored and shown.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Returns the UTC day of a time in epoch ms, such as "2026-06-01". */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, "2026-06-01".length);

/** Returns the UTC hour of a time in epoch ms, such as "2026-06-01T13". */
export const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, "2026-06-01T13".length);
