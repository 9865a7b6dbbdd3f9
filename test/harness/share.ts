// share.ts: lets slow tests run a part of their cases by default, and all of them with `npm run test:full`.

/** True if everything runs in full size. */
export const FULL = process.env.INKLING_TEST_FULL === "1";

/**
 * Minutes for each fuzzer: 0 by default (a fixed number of cases), 1 in full size; `--fuzz=MINUTES` sets
 * another value.
 */
export const FUZZ_MINUTES = Number(process.env.INKLING_FUZZ_MINUTES ?? (FULL ? 1 : 0));
/** A different seed produces different cases. */
export const FUZZ_SEED = Number(process.env.INKLING_FUZZ_SEED ?? 1);

/** Returns `full` with `npm run test:full`, otherwise `byDefault`: a count or a list of cases. */
export function share<T>(full: T, byDefault: T): T {
  return FULL ? full : byDefault;
}
