// special-use.ts: networks that never belong to a visitor on the public internet.
//
// src  IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), IPv4 and IPv6 multicast,
//      RFC 4291 2.4 (::/8 is reserved by the IETF; IPv4 inside it is unwrapped first)
// note Networks in these registries that a protocol makes globally reachable (AS112, AMT) count as public.
//      192.0.0.0/24 and 2001::/23 are refused as a whole, because no visitor has such an address.

import { type IpAddress, type Prefix, parsePrefix, prefixContains } from "./ip.ts";

/** A reserved network. `use` fits into the sentence "… is a <use> address". */
interface SpecialUse {
  readonly prefix: Prefix;
  readonly use: string;
}

const ROWS: readonly (readonly [network: string, use: string])[] = [
  ["0.0.0.0/8", "this-network"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "carrier-grade NAT"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "IETF protocol"],
  ["192.0.2.0/24", "documentation"],
  ["192.88.99.0/24", "6to4 relay anycast"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["64:ff9b:1::/48", "local-use NAT64"],
  ["::/8", "reserved"],
  ["100::/64", "discard-only"],
  ["100:0:0:1::/64", "dummy"],
  ["2001::/23", "IETF protocol"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
  ["5f00::/16", "segment routing"],
  ["fc00::/7", "private"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "site-local"],
  ["ff00::/8", "multicast"],
];

/** All special-use networks. If two of them contain an address, the smaller network is listed first. */
export const SPECIAL_USE: readonly SpecialUse[] = ROWS.map(([network, use]) => {
  const prefix = parsePrefix(network);
  if (prefix === undefined) throw new Error(`special-use.ts: ${network} is not a network`);
  return { prefix, use };
});

// For each first octet, the networks that may contain an address that begins with it. For nearly every public address,
// reading this table is enough.
const byOctet4 = byFirstOctet(4);
const byOctet6 = byFirstOctet(6);

function byFirstOctet(family: 4 | 6): readonly (readonly SpecialUse[])[] {
  const rows = SPECIAL_USE.filter(({ prefix }) => prefix.address.family === family);
  return Array.from({ length: 256 }, (_, octet) =>
    rows.filter(({ prefix }) => {
      const from = prefix.address.words[0]! >>> 24;
      const count = prefix.bits >= 8 ? 1 : 1 << (8 - prefix.bits);
      return octet >= from && octet < from + count;
    }),
  );
}

/**
 * Returns the special-use network that contains `address`; undefined if the address is public. The function ignores an
 * IPv4 address inside an IPv6 address, so a visitor's address must be unwrapped first.
 */
export function specialUse(address: IpAddress): SpecialUse | undefined {
  const octet = address.words[0]! >>> 24;
  for (const row of (address.family === 4 ? byOctet4 : byOctet6)[octet]!) {
    if (prefixContains(row.prefix, address)) return row;
  }
  return undefined;
}
