// share.ts: what is slow by nature runs a share by default, and in full with `npm run test:full`.

/** Does everything run in full size? */
export const FULL = process.env.INKLING_TEST_FULL === "1";

/** A count, or a list of cases: the whole with `npm run test:full`, otherwise the share. */
export function share<T>(full: T, byDefault: T): T {
  return FULL ? full : byDefault;
}
