// nxdomain-cache.ts: which DNS servers know which top-level domains, for a short while.
//
// in   what a server said when it was asked for the SOA record of a top-level domain
// out  is its NXDOMAIN for a name below to be believed? undefined: ask it
// err  none thrown
// src  RFC 8020 2 (NXDOMAIN covers all below), docs/email.md
// cost a look into a map
//
// A captive portal, or the resolver of a network without internet, says NXDOMAIN to everything. That is seen by asking it
// for what is there for certain. For each top-level domain: some networks let a few names through, or block an ending.

import type { DnsServer } from "./dns-client.ts";

/** How long; a server that turns bad is believed for no longer, one that turns good is doubted for no longer. */
export const BELIEF_SECONDS = 1;
/** Of three servers and some 1,500 top-level domains; the oldest goes. */
const MAX_BELIEFS = 1_000;

interface Belief {
  readonly isKnown: boolean;
  readonly until: number;
}

export class Beliefs {
  private readonly elapsed: () => number;
  private readonly max: number;
  /** Oldest first. */
  private readonly kept = new Map<string, Belief>();

  /** @param elapsed milliseconds of a clock that only goes on */
  constructor(elapsed: () => number, max = MAX_BELIEFS) {
    this.elapsed = elapsed;
    this.max = max;
  }

  get size(): number {
    return this.kept.size;
  }

  find(server: DnsServer, topLevel: string): boolean | undefined {
    const key = keyOf(server, topLevel);
    const belief = this.kept.get(key);
    if (belief === undefined) return undefined;
    if (belief.until > this.elapsed()) return belief.isKnown;
    this.kept.delete(key);
    return undefined;
  }

  keep(server: DnsServer, topLevel: string, isKnown: boolean): void {
    const key = keyOf(server, topLevel);
    this.kept.delete(key);
    if (this.kept.size >= this.max) this.kept.delete(this.kept.keys().next().value!);
    this.kept.set(key, { isKnown, until: this.elapsed() + BELIEF_SECONDS * 1000 });
  }
}

export function topLevelOf(host: string): string {
  return host.slice(host.lastIndexOf(".") + 1);
}

function keyOf({ address, port }: DnsServer, topLevel: string): string {
  return `${address} ${port} ${topLevel}`;
}
