// network-list.ts: collects the networks of one feed, sorted and without duplicates. It refuses implausibly wide
// networks.

import {
  formatPrefix,
  HOLDS_IPV4,
  holdsIpv4,
  IpAddress,
  type Prefix,
  parsePrefix,
  SPECIAL_USE,
  specialUse,
  withoutHostBits,
} from "@inkling/engine";
import type { Skipped, Tally } from "./tally.ts";

/**
 * Shortest accepted prefixes. The widest networks in default feeds are a /11 (AWS) and a /24 (Akamai). A /7 or 2000::/3
 * is an error or an attack, and would flag part of the internet.
 */
const SHORTEST = { 4: 8, 6: 16 } as const;

const NO_NETWORK = "is not an address or a network";

/** How the reason begins for a network that no list may contain. requireNarrow refuses a copy that contains one. */
export const TOO_WIDE = "is too wide";

export class NetworkList {
  private readonly networks: Prefix[] = [];
  private special: Skipped | undefined;
  readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /**
   * Adds the address or CIDR in `text`. Skips a network that is too wide, and counts anything else as unusable.
   * @returns the network that was added, or undefined
   */
  add(line: number, text: string): Prefix | undefined {
    const prefix = parsePrefix(text);
    if (prefix !== undefined) return this.addNetwork(line, prefix);
    const meant = withoutHostBits(text);
    this.tally.fail(line, meant === undefined ? NO_NETWORK : `has host bits set: use ${meant}`);
    return undefined;
  }

  /** Adds a network that was parsed before. Skips a network that is too wide, or that lookups never use. */
  addNetwork(line: number, prefix: Prefix): Prefix | undefined {
    if (holdsIpv4(prefix)) {
      this.tally.pass(line, `${formatPrefix(prefix)} ${HOLDS_IPV4}`);
      return undefined;
    }
    const shortest = SHORTEST[prefix.address.family];
    if (prefix.bits < shortest && isSpecialUse(prefix)) {
      this.tally.pass(line, "is special-use");
      return undefined;
    }
    if (prefix.bits < shortest) {
      this.tally.pass(line, `${TOO_WIDE}: a /${prefix.bits}; the widest allowed is /${shortest}`);
      return undefined;
    }
    this.tally.use();
    this.networks.push(prefix);
    if (this.special === undefined && isSpecialUse(prefix))
      this.special = { line, reason: neverFlagged(prefix) };
    return prefix;
  }

  /**
   * Returns all added networks, sorted (IPv4 first) and without duplicates. They are not merged. Also returns the first
   * special-use network, if there is one.
   */
  result(): { readonly networks: readonly Prefix[]; readonly special?: Skipped } {
    this.networks.sort(comparePrefixes);
    const isNew = (prefix: Prefix, i: number) =>
      i === 0 || comparePrefixes(this.networks[i - 1]!, prefix) !== 0;
    return { networks: this.networks.filter(isNew), ...(this.special && { special: this.special }) };
  }
}

/** Describes a special-use network: "10.0.0.0/8 is private: never flagged". */
export const neverFlagged = (network: Prefix): string =>
  `${formatPrefix(network)} is ${specialUse(network.address)!.use}: never flagged`;

const WIDEST_SPECIAL = Math.max(
  ...SPECIAL_USE.filter(({ prefix }) => prefix.bits <= 8).map(({ prefix }) => prefix.bits),
);

/**
 * Returns whether a network consists only of special-use addresses, which the policy never flags. FireHOL level 1 lists
 * 10.0.0.0/8 and 224.0.0.0/3 (multicast and reserved), which does no harm.
 */
export function isSpecialUse({ address, bits }: Prefix): boolean {
  const row = specialUse(address);
  if (row === undefined) return false;
  if (row.prefix.bits <= bits) return true;
  return bits < WIDEST_SPECIAL && halves({ address, bits }).every(isSpecialUse);
}

export function halves({ address: { family, words }, bits }: Prefix): Prefix[] {
  return [0, 1].map((bit) => {
    const address = new IpAddress(family, words);
    address.words[bits >>> 5]! += bit * 2 ** (31 - (bits & 31));
    return { address, bits: bits + 1 };
  });
}

/** Sorts IPv4 before IPv6, then by address, then wider networks first. */
export function comparePrefixes(a: Prefix, b: Prefix): number {
  return a.address.family - b.address.family || compareWords(a.address, b.address) || a.bits - b.bits;
}

function compareWords(a: IpAddress, b: IpAddress): number {
  const words = a.family === 4 ? 1 : 4;
  for (let k = 0; k < words; k++) {
    const difference = a.words[k]! - b.words[k]!;
    if (difference !== 0) return difference;
  }
  return 0;
}
