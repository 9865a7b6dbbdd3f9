// nxdomain-cache.ts: which DNS servers can be trusted with NXDOMAIN, for each top-level domain.
//
// in   did a server have the SOA record of a top-level domain?
// out  is its NXDOMAIN for a name below to be trusted? undefined: not known
// src  RFC 8020 2 (NXDOMAIN covers all below), docs/email.md
//
// Captive portals, and resolvers of networks without internet, reply NXDOMAIN to everything; asking for a record that
// certainly exists shows it. It is kept for each top-level domain: some networks allow a few names, or block an ending.

import type { DnsServer } from "./dns-servers.ts";
import { ExpiringMap } from "./expiring-map.ts";

/** Short: a server may turn bad or good at any time. */
export const NXDOMAIN_CACHE_SECONDS = 1;
/** Three servers and some 1,500 top-level domains, of which few are in use at once. */
const MAX_ENTRIES = 1_000;

export class NxdomainCache {
  private readonly trusted: ExpiringMap<boolean>;

  /** @param elapsed milliseconds of a monotonic clock */
  constructor(elapsed: () => number, max = MAX_ENTRIES) {
    this.trusted = new ExpiringMap(elapsed, max);
  }

  get size(): number {
    return this.trusted.size;
  }

  find(server: DnsServer, topLevel: string): boolean | undefined {
    return this.trusted.get(keyOf(server, topLevel));
  }

  store(server: DnsServer, topLevel: string, isTrusted: boolean): void {
    this.trusted.set(keyOf(server, topLevel), isTrusted, NXDOMAIN_CACHE_SECONDS);
  }
}

export function topLevelOf(host: string): string {
  return host.slice(host.lastIndexOf(".") + 1);
}

function keyOf({ address, port }: DnsServer, topLevel: string): string {
  return `${address} ${port} ${topLevel}`;
}
