// prefix-set.ts: networks at whose edges a larger network has to be cut.
//
// cost one binary search; then one step for each member that begins inside the network

import { type IpAddress, type Prefix, prefixContains } from "@inkling/engine";

export class PrefixSet {
  private readonly v4: readonly Prefix[];
  private readonly v6: readonly Prefix[];

  constructor(prefixes: readonly Prefix[]) {
    const sorted = [...prefixes].sort((a, b) => compare(a.address.words, b.address.words));
    this.v4 = sorted.filter(({ address }) => address.family === 4);
    this.v6 = sorted.filter(({ address }) => address.family === 6);
  }

  /** Does a member lie inside this network without being all of it? */
  cuts(network: IpAddress, bits: number): boolean {
    const members = network.family === 4 ? this.v4 : this.v6;
    let low = 0;
    let high = members.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(members[middle]!.address.words, network.words) < 0) low = middle + 1;
      else high = middle;
    }
    for (
      let i = low;
      i < members.length && prefixContains({ address: network, bits }, members[i]!.address);
      i++
    ) {
      if (members[i]!.bits > bits) return true;
    }
    return false;
  }
}

function compare(a: Uint32Array, b: Uint32Array): number {
  for (let k = 0; k < 4; k++) if (a[k] !== b[k]) return a[k]! - b[k]!;
  return 0;
}
