// target.ts: defines what a fuzzer attacks, and how it damages inputs.
//
// A case is a pure function of seed and number, so it is the same in every run and on every machine.

import { randomBelow } from "../harness/random.ts";

export interface Target {
  /** Good inputs. Each case is a damaged copy of one. */
  readonly corpus: readonly Uint8Array[];
  /** Pieces of text that have a meaning for the reader. */
  readonly tokens?: readonly string[];
  /** Changes an input after the damage, for example to update a checksum. */
  readonly repair?: (bytes: Uint8Array, random: Random) => Uint8Array;
  /**
   * Checks one input.
   * @returns the reader's result, which is counted
   * @throws Error if the reader does what it must never do
   */
  readonly check: (input: Uint8Array) => string | Promise<string>;
  /** @throws Error if the result of all cases together is wrong */
  readonly close?: () => void | Promise<void>;
}

export type Random = (below: number) => number;

/** Maximum size of an input after insertions. */
const MAX_BYTES = 1 << 20;
/** Bytes at the limits of number ranges and delimiters. */
const EDGES = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, 0x0a, 0x0d, 0x20, 0x22, 0x2c];
const NUMBERS = ["0", "-1", "00", "255", "65536", "4294967296", "18446744073709551616", "1e9", "0x10", "NaN"];

/** Returns case `number` of a seed. */
export function makeCase({ corpus, tokens = [], repair }: Target, seed: number, number: number): Uint8Array {
  const random = randomBelow(Math.imul(seed, 0x9e3779b1) ^ number);
  // A Buffer's `slice` would share memory with the corpus.
  let bytes: Uint8Array = Uint8Array.from(corpus[random(corpus.length)]!);
  for (let i = random(random(2) === 0 ? 1 : 4); i >= 0; i--) bytes = damaged(bytes, corpus, tokens, random);
  return repair?.(bytes, random) ?? bytes;
}

function damaged(
  bytes: Uint8Array,
  corpus: readonly Uint8Array[],
  tokens: readonly string[],
  random: Random,
): Uint8Array {
  const at = offset(bytes.length, random);
  const most = random(2) === 0 ? 3 : Math.min(600, bytes.length >> 1);
  const end = Math.min(bytes.length, at + 1 + random(most + 1));
  const put = (piece: Uint8Array, until = at) => {
    const left = bytes.length - (until - at);
    if (left + piece.length > MAX_BYTES) return bytes;
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(until)]);
  };
  const text = (all: readonly string[]) => Buffer.from(all[random(all.length)]!, "latin1");
  switch (random(tokens.length > 0 ? 12 : 10)) {
    case 0: // flip a bit
      if (at < bytes.length) bytes[at]! ^= 1 << random(8);
      return bytes;
    case 1: // overwrite a few bytes in a row
      for (let i = at; i < Math.min(end, at + 8); i++)
        bytes[i] = random(2) === 0 ? EDGES[random(EDGES.length)]! : random(256);
      return bytes;
    case 2: // cut the end
      return bytes.subarray(0, at);
    case 3: // remove a piece
      return put(new Uint8Array(), end);
    case 4: // repeat a piece once or a hundred times
      return put(Buffer.concat(Array(random(8) === 0 ? 100 : 1).fill(bytes.subarray(at, end))));
    case 5: {
      // append another input's end
      const other = corpus[random(corpus.length)]!;
      return put(other.subarray(random(2) === 0 ? at : offset(other.length, random)), bytes.length);
    }
    case 6:
      return put(text(NUMBERS), random(2) === 0 ? end : at);
    case 7:
      return put(Uint8Array.of(EDGES[random(EDGES.length)]!));
    case 8:
    case 9: {
      // insert a byte from another input, which uses the same alphabet
      const other = corpus[random(corpus.length)]!;
      const from = random(other.length);
      return put(other.subarray(from, from + 1), Math.min(bytes.length, at + random(2)));
    }
    default:
      return put(text(tokens), random(3) === 0 ? end : at);
  }
}

/**
 * Returns a random offset: one third anywhere, one third in the first 600 bytes, one third in the last 300. Headers and
 * indexes are at both ends.
 */
function offset(length: number, random: Random): number {
  const part = random(3);
  if (part === 0) return random(length + 1);
  return part === 1 ? random(Math.min(600, length) + 1) : length - random(Math.min(300, length) + 1);
}
