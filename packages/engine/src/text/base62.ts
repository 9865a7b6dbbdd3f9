// base62.ts: letters and digits, for ids and tokens.

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Returns `length` characters of base62, each equally likely.
 * @param randomBytes returns `n` unpredictable bytes, as crypto.getRandomValues does
 */
export function randomBase62(length: number, randomBytes: (n: number) => Uint8Array): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      // 248 = 4 * 62: also using the eight remaining byte values would favour the first eight characters
      if (byte < 248) text += BASE62[byte % 62];
    }
  }
  return text;
}

/**
 * Formats a whole number as `length` characters of base62, most significant first. Texts of the same length sort like
 * their numbers.
 */
export function toBase62(number: number, length: number): string {
  let rest = number;
  let digits = "";
  for (let i = 0; i < length; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
