// network-list.ts: gathers the networks of one feed: each once, sorted, none absurdly wide.

import { IpAddress, type Prefix, parsePrefix, SPECIAL_USE, specialUse } from "@inkling/engine";
import type { Tally } from "./tally.ts";

/**
 * Shortest prefixes accepted. The widest in any default feed are /16 and /29; a /7 or a 2000::/3 is an error or an
 * attack, and would flag a part of the internet.
 */
const SHORTEST = { 4: 8, 6: 16 } as const;

export class NetworkList {
  private readonly networks: Prefix[] = [];
  readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /** Adds the address or CIDR in `text`; anything else is tallied as unusable. @returns what was added */
  add(line: number, text: string): Prefix | undefined {
    const prefix = parsePrefix(text);
    if (prefix === undefined) {
      this.tally.fail(line, "is not an address or a network");
      return undefined;
    }
    const shortest = SHORTEST[prefix.address.family];
    if (prefix.bits < shortest && isSpecialUse(prefix)) {
      this.tally.pass(line, "is special-use");
      return undefined;
    }
    if (prefix.bits < shortest) {
      this.tally.pass(line, `too wide: a /${prefix.bits}, at most /${shortest} is taken`);
      return undefined;
    }
    this.tally.use();
    this.networks.push(prefix);
    return prefix;
  }

  /** All that was added, sorted (IPv4 first), each network once; not merged. */
  result(): { readonly networks: readonly Prefix[] } {
    this.networks.sort(comparePrefixes);
    const isNew = (prefix: Prefix, i: number) =>
      i === 0 || comparePrefixes(this.networks[i - 1]!, prefix) !== 0;
    return { networks: this.networks.filter(isNew) };
  }
}

const WIDEST_SPECIAL = Math.max(
  ...SPECIAL_USE.filter(({ prefix }) => prefix.bits <= 8).map(({ prefix }) => prefix.bits),
);

/**
 * Is all of it special-use, which policy never flags? FireHOL's level 1 holds 10.0.0.0/8 and 224.0.0.0/3, which is
 * multicast and reserved: harmless.
 */
export function isSpecialUse({ address, bits }: Prefix): boolean {
  const row = specialUse(address);
  if (row === undefined) return false;
  if (row.prefix.bits <= bits) return true;
  if (bits >= WIDEST_SPECIAL) return false;
  const upper = new IpAddress();
  upper.family = address.family;
  upper.words.set(address.words);
  upper.words[0]! |= 1 << (31 - bits);
  return isSpecialUse({ address, bits: bits + 1 }) && isSpecialUse({ address: upper, bits: bits + 1 });
}

/** IPv4 before IPv6, then by address, the wider network first. */
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
