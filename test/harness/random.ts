// random.ts: the same "random" values in every run, so that a failure can be reproduced.
//
// Source: splitmix32.

/** Returns a function that returns the next uint32. */
export function randomWords(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}

/** Returns a function that returns a whole number from 0 up to, but not including, its argument. */
export function randomBelow(seed: number): (below: number) => number {
  const next = randomWords(seed);
  return (below) => Math.floor((next() / 2 ** 32) * below);
}
