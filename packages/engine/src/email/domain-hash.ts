// domain-hash.ts: the keyed hash of a domain name, which reads the name from its last character.
//
// in   a domain name and keys
// out  a uint32; because the hash starts at the end of the name, one pass also visits the hash of every parent domain
// src  packages/engine/segment-format.md: multilinear (Lemire and Kaser, "Strongly universal string hashing is fast",
//      2014), then the last steps of MurmurHash3
// note With random keys, any two names agree in 26 of the 32 bits with a probability of only 2^-26, however they were
//      chosen. With a hash that has only a seed, it is easy to find thousands of names that collide with every seed.

/**
 * ORing a host's character with this value results in the lower-case character. Digits, hyphens and dots do not change.
 */
export const LOWER_CASE = 0x20;

/** Spreads the hash over all bits, as MurmurHash3 does, because the low bits choose the slot in some tables. */
export function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  return h >>> 0;
}

/** An upper bound for the number of characters in a host. */
const MAX_HOST = 256;

/** One key for each position in a name, counted from the last character. */
export type DomainKeys = Int32Array;

/**
 * Derives the keys from a seed of two uint32 words. Every key depends on the whole seed, and no key can be derived from
 * another.
 */
export function domainKeys(low: number, high: number): DomainKeys {
  return Int32Array.from({ length: MAX_HOST }, (_, i) => mix(low ^ mix(high ^ mix(i + 1))));
}

/** Applies the finalizer of MurmurHash3. */
function mix(value: number): number {
  let h = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Returns the keyed hash of a name, as a uint32. */
export function hashWithKeys(name: string, keys: DomainKeys): number {
  let sum = 0;
  for (let i = name.length - 1, at = 0; i >= 0; i--, at++)
    sum = (sum + Math.imul(keys[at]!, name.charCodeAt(i))) | 0;
  return finish(sum);
}
