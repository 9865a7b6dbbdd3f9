// server-places.ts: widens what a VPN states about its servers to the /24s in which it has them.
//
// Servers move inside their networks, and a network of a data centre is in one city. Of 11,199 servers of gluetun's lists in
// May 2026 with another server of the same VPN in their /24, 99.8% are within 50 km of that server's city, if the list's
// tenth with the server is left out and DB-IP has both in one country; DB-IP's cities are right for 92%, GeoLite2's for 91%.

import { networkAround, type Prefix } from "@inkling/engine";
import type { StatedPlaces } from "../parse/index.ts";

const WIDENED = 24;

/** Returns the /24s in which a VPN states one place for all its servers, and the servers elsewhere and of IPv6. */
export function placesOfServers({ networks, placeOf, places }: StatedPlaces): StatedPlaces {
  const made: Prefix[] = [];
  const ids: number[] = [];
  const add = (network: Prefix, i: number) => {
    made.push(network);
    ids.push(placeOf[i]!);
  };
  for (let first = 0; first < networks.length; ) {
    const around = blockOf(networks[first]!);
    let next = first + 1;
    while (next < networks.length && around !== undefined && blockOf(networks[next]!) === around) next++;
    const isOnePlace = placeOf.subarray(first, next).every((id) => id === placeOf[first]);
    if (around !== undefined && isOnePlace) add(networkAround(networks[first]!.address, WIDENED), first);
    else for (let i = first; i < next; i++) add(networks[i]!, i);
    first = next;
  }
  return { networks: made, placeOf: Uint32Array.from(ids), places };
}

/** Returns the number of an address's /24, or undefined for IPv6 and for networks that are at least as wide. */
const blockOf = ({ address, bits }: Prefix): number | undefined =>
  address.family === 4 && bits > WIDENED ? address.words[0]! >>> (32 - WIDENED) : undefined;
