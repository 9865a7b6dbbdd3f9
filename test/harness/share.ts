// share.ts: what is slow by nature runs a share by default, and in full with `npm run test:full`.

/** Does everything run in full size? */
export const FULL = process.env.INKLING_TEST_FULL === "1";

/** Minutes of each fuzzer: 0 by default (a fixed number of cases), 1 in full size, others with `--fuzz=MINUTES`. */
export const FUZZ_MINUTES = Number(process.env.INKLING_FUZZ_MINUTES ?? (FULL ? 1 : 0));
/** Another seed, other cases. */
export const FUZZ_SEED = Number(process.env.INKLING_FUZZ_SEED ?? 1);

/** A count, or a list of cases: the whole with `npm run test:full`, otherwise the share. */
export function share<T>(full: T, byDefault: T): T {
  return FULL ? full : byDefault;
}
