// request-id.ts: short random names for requests, in logs and responses.
//
// out  10 characters of Crockford's base 32: 50 bits, so that a million ids have a duplicate with a probability of 1/2,000
// cost random bytes are drawn 4 KiB at a time, and written two characters at a time: 20 ns for each id

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
/** All pairs of digits: ten bits each. */
const PAIRS = Array.from({ length: 1024 }, (_, n) => DIGITS[n >> 5]! + DIGITS[n & 31]!);
const POOL = 2048;
const PAIRS_PER_ID = 5;

/** @param fill writes random bytes, such as crypto.getRandomValues */
export function requestIds(fill: (bytes: Uint16Array<ArrayBuffer>) => void): () => string {
  const pool = new Uint16Array(POOL);
  let at = POOL;
  const pair = () => PAIRS[pool[at++]! & 1023]!;
  return () => {
    if (at + PAIRS_PER_ID > POOL) {
      fill(pool);
      at = 0;
    }
    return pair() + pair() + pair() + pair() + pair();
  };
}
