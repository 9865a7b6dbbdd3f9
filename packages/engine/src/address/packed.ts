// packed.ts: stores up to 64 addresses side by side, so that they can be looked up together (bench/README.md, Blocks).

import type { IpAddress, UnwrappedAddress } from "./ip.ts";

/** Number of addresses that are looked up together. A larger number would not be faster. */
export const BLOCK_ADDRESSES = 64;

/** Number of words per address, even for IPv4. */
export const ADDRESS_WORDS = 4;

export class PackedAddresses {
  /** The number of addresses. Set it to 0 to start over. */
  length = 0;
  readonly families = new Uint8Array(BLOCK_ADDRESSES);
  readonly words = new Uint32Array(BLOCK_ADDRESSES * ADDRESS_WORDS);

  /** Appends a copy of an address. `length` must be below {@link BLOCK_ADDRESSES}. */
  add({ family, words }: UnwrappedAddress): void {
    const at = this.length * ADDRESS_WORDS;
    this.families[this.length++] = family;
    this.words[at] = words[0]!;
    if (family === 4) return;
    this.words[at + 1] = words[1]!;
    this.words[at + 2] = words[2]!;
    this.words[at + 3] = words[3]!;
  }

  /** Copies one address to `into`. */
  read(index: number, into: IpAddress): void {
    const at = index * ADDRESS_WORDS;
    into.family = this.families[index] === 4 ? 4 : 6;
    for (let k = 0; k < ADDRESS_WORDS; k++) into.words[k] = this.words[at + k]!;
  }
}
