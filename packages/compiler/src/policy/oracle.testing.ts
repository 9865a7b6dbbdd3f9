// oracle.testing.ts: the policy for addresses a second time, as plainly as docs/policy.md reads; slow and small.
//
// Addresses are one bigint and a family: nothing here is shared with the code under test but its types.

import { expect } from "bun:test";
import { formatIp, IpAddress, type Prefix, SPECIAL_USE } from "@inkling/engine";
import type { GuardKind, NetworkClaims } from "../claims.ts";
import type { RangeColumns } from "../range-columns.ts";
import type { EvidenceEntry, EvidenceRanges } from "./evidence.ts";
import { FLAG_BITS, IS_ABUSER, IS_PROXY, IS_TOR_EXIT } from "./flags.ts";
import type { FlagRanges } from "./reputation.ts";

export interface Point {
  readonly family: 4 | 6;
  readonly at: bigint;
}

export function pointOf({ family, words }: IpAddress): Point {
  if (family === 4) return { family, at: BigInt(words[0]!) };
  return { family, at: words.reduce((sum, word) => sum * 4294967296n + BigInt(word), 0n) };
}

export function show({ family, at }: Point): string {
  const address = new IpAddress();
  address.family = family;
  for (let k = 0; k < 4; k++) address.words[k] = Number((at >> BigInt(96 - 32 * k)) & 0xffffffffn);
  if (family === 4) address.words[0] = Number(at);
  return formatIp(address);
}

export const widthOf = (family: 4 | 6) => (family === 4 ? 32n : 128n);

/** The value of the last range that starts at or before the point. */
export function valueAt(ranges: FlagRanges, { family, at }: Point): number {
  const columns: RangeColumns = family === 4 ? ranges.v4 : ranges.v6;
  const start = (i: number) => {
    let value = 0n;
    for (let k = 0; k < columns.width; k++)
      value = value * 4294967296n + BigInt(columns.starts[i * columns.width + k]!);
    return value;
  };
  let low = 0;
  let high = columns.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (start(middle) <= at) low = middle;
    else high = middle - 1;
  }
  return columns.values[low]!;
}

export function evidenceAt(evidence: EvidenceRanges, point: Point): readonly EvidenceEntry[] {
  const value = valueAt(evidence, point);
  return value === 0 ? [] : evidence.lists[value - 1]!;
}

/** Membership by one set of leading bits for each prefix length: exact, and too simple to be wrong. */
export class Members {
  private readonly lengths: { family: 4 | 6; shift: bigint; heads: Set<bigint> }[] = [];

  constructor(prefixes: readonly Prefix[]) {
    for (const { address, bits } of prefixes) {
      const { family, at } = pointOf(address);
      const shift = widthOf(family) - BigInt(bits);
      let length = this.lengths.find((row) => row.family === family && row.shift === shift);
      if (length === undefined) {
        length = { family, shift, heads: new Set() };
        this.lengths.push(length);
      }
      length.heads.add(at >> shift);
    }
    this.lengths.sort((a, b) => Number(a.shift - b.shift));
  }

  has(point: Point): boolean {
    return this.smallest(point) !== undefined;
  }

  /** The smallest network that holds the point. */
  smallest({ family, at }: Point): string | undefined {
    const row = this.lengths.find((row) => row.family === family && row.heads.has(at >> row.shift));
    if (row === undefined) return undefined;
    return `${show({ family, at: (at >> row.shift) << row.shift })}/${widthOf(family) - row.shift}`;
  }
}

/** IPv6 abuse at /64: the bits beyond are not looked at. */
function widened(networks: readonly Prefix[]): Prefix[] {
  return networks.flatMap(({ address, bits }) => {
    if (address.family === 4 || bits <= 64) return [];
    const start = new IpAddress();
    start.family = 6;
    start.words.set([address.words[0]!, address.words[1]!]);
    return [{ address: start, bits: 64 }];
  });
}

/** Who says what, each a set of networks; abuse with its /64s. */
function sides(claims: readonly NetworkClaims[]) {
  const of = (wanted: (c: NetworkClaims) => boolean, hosts = false) =>
    new Members(
      claims
        .filter(wanted)
        .flatMap(({ subject, networks }) =>
          subject === "is_abuser" && !hosts ? [...networks, ...widened(networks)] : networks,
        )
        .filter(({ address, bits }) => !hosts || BigInt(bits) === widthOf(address.family)),
    );
  const isCrime = (c: NetworkClaims) => c.label === "criminal_network" || c.label === "botnet_c2";
  const tor = of((c) => c.subject === "is_tor_exit");
  const proxy = of((c) => c.subject === "is_proxy");
  const crime = of(isCrime);
  const traffic = of((c) => c.label === "attacker");
  const proxyHost = of((c) => c.subject === "is_proxy", true);
  const crimeHost = of(isCrime, true);
  const guarded = (...kinds: GuardKind[]) => of((c) => kinds.some((kind) => kind === c.label));
  const resolver = guarded("listed-resolver");
  return {
    guarded,
    relay: of((c) => c.subject === "relay"),
    isTorExit: (point: Point) => tor.has(point),
    isSaid: (point: Point) => ({
      proxy: proxy.has(point),
      abuse: crime.has(point) || (!tor.has(point) && traffic.has(point)),
    }),
    isSaidOfIt: (point: Point) => ({ proxy: proxyHost.has(point), abuse: crimeHost.has(point) }),
    isResolver: (point: Point) => resolver.has(point),
  };
}

/** The flags of an address: docs/policy.md, once more, for lists whose word is enough. */
export function oracle(claims: readonly NetworkClaims[]): (point: Point) => number {
  const special = new Members(SPECIAL_USE.map((row) => row.prefix));
  const { guarded, relay, isTorExit, isSaid, isSaidOfIt, isResolver } = sides(claims);
  const never = guarded("public-resolver", "crawler");
  const neverAbuser = guarded("cdn", "mail-sender");
  const neverProxy = guarded("mail-sender");
  return (point) => {
    if (special.has(point) || never.has(point)) return 0;
    const said = isResolver(point) ? isSaidOfIt(point) : isSaid(point);
    const ordinary = !relay.has(point);
    const isProxy = ordinary && said.proxy && !neverProxy.has(point);
    const isAbuser = ordinary && said.abuse && !neverAbuser.has(point);
    return (isAbuser ? IS_ABUSER : 0) + (isProxy ? IS_PROXY : 0) + (isTorExit(point) ? IS_TOR_EXIT : 0);
  };
}

/**
 * The networks that the evidence for an address must name, as "feed label network", sorted: of each list that holds it
 * the smallest; listed resolvers where they matter; special use left out.
 */
export function evidenceOracle(claims: readonly NetworkClaims[]): (point: Point) => string[] {
  const lists = claims.map(({ feed, label, subject, networks }) => {
    const all = subject === "is_abuser" ? [...networks, ...widened(networks)] : networks;
    return { label, name: `${feed} ${label}`, members: new Members(all) };
  });
  const { isSaid, isSaidOfIt } = sides(claims);
  const isOutweighed = (point: Point) => {
    const [said, close] = [isSaid(point), isSaidOfIt(point)];
    return (said.proxy && !close.proxy) || (said.abuse && !close.abuse);
  };
  return (point) =>
    lists
      .flatMap(({ label, name, members }) => {
        const network = members.smallest(point);
        if (network === undefined || (label === "listed-resolver" && !isOutweighed(point))) return [];
        return [`${name} ${network}`];
      })
      .sort();
}

/** The flags that the entries come to: those that they set, less those that they remove. */
export function flagsByEvidence(entries: readonly EvidenceEntry[]): number {
  const bits = (effect: EvidenceEntry["effect"]) =>
    entries
      .filter((entry) => entry.effect === effect)
      .flatMap((entry) => entry.flags)
      .reduce((sum, flag) => sum | FLAG_BITS[flag], 0);
  return bits("sets") & ~bits("removes");
}

/** The networks that the entries name, as {@link evidenceOracle} gives them. */
export function namedBy(entries: readonly EvidenceEntry[]): string[] {
  return entries
    .filter(({ label }) => label !== "special_use")
    .map(({ feed, label, network }) => `${feed} ${label} ${formatIp(network.address)}/${network.bits}`)
    .sort();
}

/** Just before, at the start of, at the end of and just after a network. */
export function boundaries({ address, bits }: Prefix): Point[] {
  const { family, at } = pointOf(address);
  const size = 1n << (widthOf(family) - BigInt(bits));
  const limit = 1n << widthOf(family);
  return [at - 1n, at, at + size - 1n, at + size]
    .filter((point) => point >= 0n && point < limit)
    .map((point) => ({ family, at: point }));
}

/** Fails when two neighbours are equal, out of order, or the space is not covered from zero. */
export function expectCovering({ starts, values, length, width }: RangeColumns): void {
  expect([...starts.subarray(0, width)].every((word) => word === 0)).toBe(true);
  for (let i = 1; i < length; i++) {
    if (values[i] === values[i - 1]) throw new Error(`ranges ${i - 1} and ${i} have the same flags`);
    let k = 0;
    while (k < width - 1 && starts[i * width + k] === starts[(i - 1) * width + k]) k++;
    if (starts[i * width + k]! <= starts[(i - 1) * width + k]!) throw new Error(`range ${i} is out of order`);
  }
}
