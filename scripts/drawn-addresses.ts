// drawn-addresses.ts: samples public addresses, and finds a database's places for them.

import { IpAddress, specialUse, unwrapIpv4 } from "@inkling/engine";
import type { GeoSource, NetworkWalk } from "../packages/compiler/src/geo/place-source.ts";

export type Family = 4 | 6;
/** Sorted addresses: the first 64 bits of each (IPv4: 32), as two words, low word first. */
export type Addresses = BigUint64Array<ArrayBuffer>;
/** Returns 32 random bits. */
type Random = () => number;

/** Draws addresses so that every public IPv4 address is equally likely. */
export function drawAddresses(count: number, random: Random): Addresses {
  const addresses = new BigUint64Array(count);
  const words = new Uint32Array(addresses.buffer);
  const address = new IpAddress();
  for (let i = 0; i < count; ) {
    address.words[0] = random();
    if (specialUse(address) !== undefined) continue;
    words[2 * i + 1] = address.words[0];
    i++;
  }
  return addresses.sort();
}

/**
 * Draws networks so that every DB-IP network of either family is equally likely, and then an address (IPv6: a /64) in
 * each network. Uniformly drawn IPv6 addresses would come from very few networks, because a /20 is 268 million times as
 * large as a /48.
 * @param inAll sample size over both families
 */
export function drawNetworks(source: GeoSource, family: Family, inAll: number, random: Random): Addresses {
  const { networks } = source;
  const count = Math.round((inAll * networks[family]) / (networks[4] + networks[6]));
  const draws = Float64Array.from({ length: count }, () =>
    Math.floor((random() / 2 ** 32) * networks[family]),
  ).sort();
  const addresses = new BigUint64Array(count);
  const words = new Uint32Array(addresses.buffer);
  const isPublic = publicTest(family);
  let drawn = 0;
  let kept = 0;
  let network = 0;
  source.walk(family, (w0, w1, _w2, _w3, bits) => {
    for (; draws[drawn] === network; drawn++) {
      const first = (w0 | (random() & hostMask(bits))) >>> 0;
      const second = family === 4 ? 0 : (w1 | (random() & hostMask(bits - 32))) >>> 0;
      if (!isPublic(first, second)) continue;
      words[2 * kept + 1] = first;
      words[2 * kept] = second;
      kept++;
    }
    network++;
  });
  return addresses.slice(0, kept).sort();
}

/** Returns a test that an address is not special-use, and not IPv4 inside IPv6, which is looked up as IPv4. */
function publicTest(family: Family): (w0: number, w1: number) => boolean {
  const address = new IpAddress();
  return (w0, w1) => {
    address.family = family;
    address.words.set([w0, w1, 0, 0]);
    if (specialUse(address) !== undefined) return false;
    unwrapIpv4(address);
    return address.family === family;
  };
}

/** Returns the index of each address's place, or -1 if it has none. */
export function placesOf(source: NetworkWalk, family: Family, addresses: Addresses): Int32Array {
  const places = new Int32Array(addresses.length).fill(-1);
  const words = new Uint32Array(addresses.buffer);
  const compareAt = (i: number, w0: number, w1: number) => words[2 * i + 1]! - w0 || words[2 * i]! - w1;
  let next = 0;
  source.walk(family, (w0, w1, _w2, _w3, bits, id) => {
    const last0 = (w0 | hostMask(bits)) >>> 0;
    const last1 = family === 4 ? 0 : (w1 | hostMask(bits - 32)) >>> 0;
    while (next < places.length && compareAt(next, w0, w1) < 0) next++;
    while (next < places.length && compareAt(next, last0, last1) <= 0) places[next++] = id;
  });
  return places;
}

/** Returns the host bits that a network with this prefix length leaves in a word. */
function hostMask(bits: number): number {
  if (bits <= 0) return 0xffffffff;
  return bits >= 32 ? 0 : 0xffffffff >>> bits;
}
