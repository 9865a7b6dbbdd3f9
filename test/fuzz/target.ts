// target.ts: what a fuzzer attacks, and the damaged inputs that it makes.
//
// A case is a pure function of seed and number: the same in every run, on every machine.

import { randomBelow } from "../harness/random.ts";

export interface Target {
  /** Good inputs: each case is a damaged copy of one. */
  readonly corpus: readonly Uint8Array[];
  /** Pieces that mean something to the reader. */
  readonly tokens?: readonly string[];
  /** Changes an input after the damage: renews a checksum. */
  readonly repair?: (bytes: Uint8Array, random: Random) => Uint8Array;
  /** @returns what the reader made of it, counted. @throws Error when it is what a reader must never do */
  readonly check: (input: Uint8Array) => string | Promise<string>;
  /** @throws Error when what all cases together did is wrong */
  readonly close?: () => void | Promise<void>;
}

export type Random = (below: number) => number;

/** Inputs grow to this, whatever is put in. */
const MAX_BYTES = 1 << 20;
/** Bytes at the edges of what a number can be. */
const EDGES = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, 0x0a, 0x0d, 0x20, 0x22, 0x2c];
const NUMBERS = ["0", "-1", "00", "255", "65536", "4294967296", "18446744073709551616", "1e9", "0x10", "NaN"];

/** Case `number` of a seed. */
export function makeCase({ corpus, tokens = [], repair }: Target, seed: number, number: number): Uint8Array {
  const random = randomBelow(Math.imul(seed, 0x9e3779b1) ^ number);
  // `slice` of a Buffer would be the corpus itself.
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
    case 0: // a bit
      if (at < bytes.length) bytes[at]! ^= 1 << random(8);
      return bytes;
    case 1: // bytes in a row, as many as before
      for (let i = at; i < Math.min(end, at + 8); i++)
        bytes[i] = random(2) === 0 ? EDGES[random(EDGES.length)]! : random(256);
      return bytes;
    case 2: // the end is missing
      return bytes.subarray(0, at);
    case 3: // a piece is missing
      return put(new Uint8Array(), end);
    case 4: // a piece is there twice, or a hundred times
      return put(Buffer.concat(Array(random(8) === 0 ? 100 : 1).fill(bytes.subarray(at, end))));
    case 5: {
      // another's end
      const other = corpus[random(corpus.length)]!;
      return put(other.subarray(random(2) === 0 ? at : offset(other.length, random)), bytes.length);
    }
    case 6:
      return put(text(NUMBERS), random(2) === 0 ? end : at);
    case 7:
      return put(Uint8Array.of(EDGES[random(EDGES.length)]!));
    case 8:
    case 9: {
      // a byte that stands elsewhere: of the same alphabet
      const other = corpus[random(corpus.length)]!;
      const from = random(other.length);
      return put(other.subarray(from, from + 1), Math.min(bytes.length, at + random(2)));
    }
    default:
      return put(text(tokens), random(3) === 0 ? end : at);
  }
}

/** Anywhere; one time in three in the first 600 bytes, one in three in the last 300: where headers and indexes are. */
function offset(length: number, random: Random): number {
  const part = random(3);
  if (part === 0) return random(length + 1);
  return part === 1 ? random(Math.min(600, length) + 1) : length - random(Math.min(300, length) + 1);
}
