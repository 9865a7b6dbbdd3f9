// packed.ts: up to 64 addresses side by side, to be looked up together (bench/README.md, Blocks).

import type { IpAddress, UnwrappedAddress } from "./ip.ts";

/** Addresses that are looked up together: more bring nothing. */
export const BLOCK_ADDRESSES = 64;

/** Words that each takes, IPv4 too. */
export const ADDRESS_WORDS = 4;

export class PackedAddresses {
  /** How many there are; set it to 0 to begin again. */
  length = 0;
  readonly families = new Uint8Array(BLOCK_ADDRESSES);
  readonly words = new Uint32Array(BLOCK_ADDRESSES * ADDRESS_WORDS);

  /** Appends a copy, while `length` is below {@link BLOCK_ADDRESSES}. */
  add({ family, words }: UnwrappedAddress): void {
    const at = this.length * ADDRESS_WORDS;
    this.families[this.length++] = family;
    this.words[at] = words[0]!;
    if (family === 4) return;
    this.words[at + 1] = words[1]!;
    this.words[at + 2] = words[2]!;
    this.words[at + 3] = words[3]!;
  }

  /** Copies one of them. */
  read(index: number, into: IpAddress): void {
    const at = index * ADDRESS_WORDS;
    into.family = this.families[index] === 4 ? 4 : 6;
    for (let k = 0; k < ADDRESS_WORDS; k++) into.words[k] = this.words[at + k]!;
  }
}
