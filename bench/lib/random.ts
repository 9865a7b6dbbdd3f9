// random.ts: creates random addresses and orders that are the same in every run.

import { formatIp, IpAddress, specialUse, unwrapIpv4 } from "@inkling/engine";
import { randomWords } from "../../test/harness/random.ts";

export const SEED = 20_261_121;

/** Returns public IPv4 addresses, all equally likely. */
export function publicIpv4(count: number, seed = SEED): string[] {
  const next = randomWords(seed);
  const address = new IpAddress();
  const made: string[] = [];
  while (made.length < count) {
    address.words[0] = next();
    if (specialUse(address) === undefined) made.push(formatIp(address));
  }
  return made;
}

/** Visits every network of a source, with its first address as four words and its prefix length. */
type WalkNetworks = (visit: (w0: number, w1: number, w2: number, w3: number, bits: number) => void) => void;

function standsForIpv4(address: IpAddress): boolean {
  unwrapIpv4(address);
  return address.family === 4;
}

/**
 * Returns IPv6 addresses in a source's networks. All networks are equally likely, and the bits after the prefix are
 * random. Hardly any uniformly drawn address would be in a network.
 * @throws RangeError if the source has no public IPv6 network
 */
export function networkIpv6(count: number, walk: WalkNetworks, seed = SEED): string[] {
  const next = randomWords(seed);
  const words = new Uint32Array(count * 5);
  let seen = 0;
  const address = new IpAddress();
  walk((w0, w1, w2, w3, bits) => {
    address.family = 6;
    address.words.set([w0, w1, w2, w3]);
    if (standsForIpv4(address) || specialUse(address) !== undefined) return;
    // Reservoir sampling needs one pass and no list of millions of networks.
    const at = seen < count ? seen : Math.floor((next() / 2 ** 32) * (seen + 1));
    seen++;
    if (at < count) words.set([w0, w1, w2, w3, bits], at * 5);
  });
  if (seen === 0) throw new RangeError("no public IPv6 network");
  const made = Array.from({ length: count }, (_, i) => {
    const at = (seen < count ? i % seen : i) * 5;
    address.family = 6;
    for (let k = 0; k < 4; k++)
      address.words[k] = words[at + k]! | randomTail(next(), words[at + 4]! - 32 * k);
    return formatIp(address);
  });
  return shuffle(made, next);
}

/** Returns the bits of a random word after a prefix that covers the first `bits` bits of the word. */
function randomTail(random: number, bits: number): number {
  if (bits >= 32) return 0;
  return bits <= 0 ? random : random & (0xffffffff >>> bits);
}

/** Shuffles values in place. */
export function shuffle<T>(values: T[], next: () => number): T[] {
  for (let i = values.length - 1; i > 0; i--) {
    const j = next() % (i + 1);
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
  return values;
}
