// without-networks.ts: cuts networks out of other networks.

import { IpAddress, type Prefix, prefixContains } from "@inkling/engine";

/**
 * Returns the fewest networks that have all addresses of `networks` except those of `holes`. Cost: for each network, all
 * holes are compared once for each level of bits down to the holes inside it.
 */
export function withoutNetworks(networks: readonly Prefix[], holes: readonly Prefix[]): Prefix[] {
  return networks.flatMap((network) => cut(network, holes));
}

function cut(network: Prefix, holes: readonly Prefix[]): Prefix[] {
  if (holes.some((hole) => hole.bits <= network.bits && prefixContains(hole, network.address))) return [];
  const inside = holes.filter((hole) => hole.bits > network.bits && prefixContains(network, hole.address));
  return inside.length === 0 ? [network] : halves(network).flatMap((half) => cut(half, inside));
}

function halves({ address, bits }: Prefix): Prefix[] {
  return [0, 1].map((bit) => {
    const start = new IpAddress();
    start.family = address.family;
    start.words.set(address.words);
    start.words[bits >>> 5]! += bit * 2 ** (31 - (bits & 31));
    return { address: start, bits: bits + 1 };
  });
}
