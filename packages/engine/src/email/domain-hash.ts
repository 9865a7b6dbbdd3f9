// domain-hash.ts: the hash of a domain name, from its last character to its first.
//
// in   a seed, then one character after the other
// out  a uint32; the hash of each parent falls out on the way to the next
// src  docs/segment-format.md: FNV-1a, then the last steps of MurmurHash3

/** By "or", the lower case of any character that a host may have; digits, hyphens and dots stay what they are. */
export const LOWER_CASE = 0x20;

/** Hash of no character yet (FNV-1a's offset basis, seeded). */
export function basis(seed: number): number {
  return 0x811c9dc5 ^ seed;
}

/** One character more (FNV-1a). */
export function step(hash: number, c: number): number {
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
