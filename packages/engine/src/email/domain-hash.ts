// domain-hash.ts: the two hashes of a domain name, both from its last character to its first.
//
// in   a seed or keys, then one character after the other
// out  a uint32; the hash of each parent falls out on the way to the next
// src  packages/engine/segment-format.md. Plain: FNV-1a, then the last steps of MurmurHash3. Keyed: multilinear (Lemire and Kaser,
//      "Strongly universal string hashing is fast", 2014), then the same steps
// note the plain hash is for names that nobody can add at will: whoever has its seed can make thousands of names that
//      collide, and with FNV-1a they collide with every seed. With random keys any two names collide in 26 of the 32
//      bits with a probability of 2^-26, however they were chosen

/** By "or", the lower case of any character that a host may have; digits, hyphens and dots remain what they are. */
export const LOWER_CASE = 0x20;

/** Hash of no character yet (FNV-1a's offset basis, seeded). */
function basis(seed: number): number {
  return 0x811c9dc5 ^ seed;
}

/** One character more (FNV-1a). */
function step(hash: number, c: number): number {
  return Math.imul(hash ^ c, 0x01000193);
}

/** Spreads the hash over all bits (as MurmurHash3): the low ones choose the slot. */
export function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  return h >>> 0;
}

/** The hash of a name, as a uint32. */
export function hashDomain(name: string, seed: number): number {
  let hash = basis(seed);
  for (let i = name.length - 1; i >= 0; i--) hash = step(hash, name.charCodeAt(i));
  return finish(hash);
}

/** More characters than any host has. */
const MAX_HOST = 256;

/** The key of each position of a name, counted from its last character. */
export type DomainKeys = Int32Array;

/** The keys that a seed of two uint32 stands for: each needs all of the seed, and no key follows from another. */
export function domainKeys(low: number, high: number): DomainKeys {
  return Int32Array.from({ length: MAX_HOST }, (_, i) => mix(low ^ mix(high ^ mix(i + 1))));
}

/** The finalizer of MurmurHash3. */
function mix(value: number): number {
  let h = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** The keyed hash of a name, as a uint32. */
export function hashWithKeys(name: string, keys: DomainKeys): number {
  let sum = 0;
  for (let i = name.length - 1, at = 0; i >= 0; i--, at++)
    sum = (sum + Math.imul(keys[at]!, name.charCodeAt(i))) | 0;
  return finish(sum);
}
