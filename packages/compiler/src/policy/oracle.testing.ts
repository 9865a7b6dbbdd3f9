// oracle.testing.ts: implements the address policy a second time, as plainly as docs/policy.md describes it. It is slow
// and short.
//
// An address is one bigint and a family. With the code under test, this file shares only types, the bits of flags and
// the weights of lists.

import { expect } from "bun:test";
import { formatIp, IpAddress, type Prefix, type RangeColumns, SPECIAL_USE } from "@inkling/engine";
import type { Flag, NetworkClaims } from "../catalog/claims.ts";
import type { EvidenceEntry, EvidenceRanges } from "./evidence.ts";
import { FLAG_BITS, IS_ABUSER, IS_PROXY, IS_TOR_EXIT, weightOfList } from "./labels.ts";
import type { FamilyRanges } from "./sweep.ts";

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

/** Returns the value of the last range that starts at or before the point. */
export function valueAt(ranges: FamilyRanges, { family, at }: Point): number {
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

/** Tests membership, with one set of leading bits for each prefix length. It is exact, and too simple to be wrong. */
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

  /** Returns the smallest network that contains the point. */
  smallest({ family, at }: Point): string | undefined {
    const row = this.lengths.find((row) => row.family === family && row.heads.has(at >> row.shift));
    if (row === undefined) return undefined;
    return `${show({ family, at: (at >> row.shift) << row.shift })}/${widthOf(family) - row.shift}`;
  }
}

/** Widens IPv6 abuse to /64. The bits beyond are ignored. */
function widened(networks: readonly Prefix[]): Prefix[] {
  return networks.flatMap(({ address, bits }) => {
    if (address.family === 4 || bits <= 64) return [];
    const start = new IpAddress();
    start.family = 6;
    start.words.set([address.words[0]!, address.words[1]!]);
    return [{ address: start, bits: 64 }];
  });
}

/** The claims of one list about addresses and about networks. For abuse, this includes the /64s. */
interface Side extends Pick<NetworkClaims, "feed" | "subject" | "label"> {
  readonly origins: readonly string[];
  readonly members: Members;
  readonly hosts: Members;
}

function sideOf({ feed, subject, label, lineage = [], networks }: NetworkClaims): Side {
  const hosts = networks.filter(({ address, bits }) => BigInt(bits) === widthOf(address.family));
  const all = subject === "is_abuser" ? [...networks, ...widened(networks)] : networks;
  return {
    ...{ feed, subject, label, origins: [feed, ...lineage] },
    ...{ members: new Members(all), hosts: new Members(hosts) },
  };
}

/** Returns whether some of these lists share no origin and together reach the weight `least`. Tries every subset. */
function isEnough(speaking: readonly Side[], least = 2): boolean {
  for (let set = 0; set < 1 << speaking.length; set++) {
    const chosen = speaking.filter((_, i) => (set & (1 << i)) !== 0);
    const origins = chosen.flatMap((side) => side.origins);
    if (new Set(origins).size < origins.length) continue;
    if (chosen.reduce((sum, { feed }) => sum + weightOfList(feed), 0) >= least) return true;
  }
  return false;
}

/**
 * Returns what lists claim about a point: all lists, and the lists whose claims a listed resolver does not override.
 */
function listVerdicts(sides: readonly Side[]) {
  const of = (subject: Flag, hosts: boolean, traffic: boolean, least?: number) => (point: Point) =>
    isEnough(
      sides.filter(
        (side) =>
          side.subject === subject &&
          (traffic || side.label !== "attacker") &&
          (hosts ? side.hosts : side.members).has(point),
      ),
      least,
    );
  const [isTorExit, isExactTorExit] = [of("is_tor_exit", false, true), of("is_tor_exit", true, true)];
  const [proxy, proxyHost] = [of("is_proxy", false, true), of("is_proxy", true, true)];
  const proxyTwice = of("is_proxy", false, true, 4);
  const [abuse, crime, crimeHost] = [
    of("is_abuser", false, true),
    of("is_abuser", false, false),
    of("is_abuser", true, false),
  ];
  return {
    isTorExit,
    isExactTorExit,
    all: (point: Point) => ({
      proxy: proxy(point),
      abuse: isTorExit(point) ? crime(point) : abuse(point),
    }),
    close: (point: Point) => ({ proxy: proxyHost(point) && proxyTwice(point), abuse: crimeHost(point) }),
  };
}

/** Guards that remove all flags. */
const NEVER_FLAGGED: readonly string[] = ["public_resolver", "crawler", "cdn_operator"];

/** Machines from which nobody browses (docs/policy.md#guards). */
const SENDERS = ["mail_sender", "monitor", "webhook_sender"];

/** Returns the flags of an address by the rules of docs/policy.md. */
export function oracle(claims: readonly NetworkClaims[]): (point: Point) => number {
  const sides = claims.map(sideOf);
  const { isTorExit, isExactTorExit, all, close } = listVerdicts(sides);
  const special = new Members(SPECIAL_USE.map((row) => row.prefix));
  const smallGuards = claims
    .filter(({ label }) => NEVER_FLAGGED.includes(label))
    .flatMap(({ networks }) =>
      networks.filter(({ address, bits }) => bits >= (address.family === 4 ? 24 : 48)),
    );
  const small = new Members(smallGuards);
  const has = (point: Point, ...labels: string[]) =>
    sides.some(({ label, members }) => labels.includes(label) && members.has(point));
  return (point) => {
    if (special.has(point) || small.has(point)) return 0;
    if (has(point, ...NEVER_FLAGGED)) return isExactTorExit(point) ? IS_TOR_EXIT : 0;
    const claimed = has(point, "listed_resolver") ? close(point) : all(point);
    const isProxy = claimed.proxy && !has(point, "relay", ...SENDERS);
    const isAbuser = claimed.abuse && !has(point, "relay", "cdn", ...SENDERS);
    return (isAbuser ? IS_ABUSER : 0) + (isProxy ? IS_PROXY : 0) + (isTorExit(point) ? IS_TOR_EXIT : 0);
  };
}

/**
 * Returns the networks that the evidence for an address must have, as sorted "feed label network" texts. For each list,
 * this is the smallest network that contains the address. Listed resolvers appear only if they have an effect, and
 * special-use networks never appear.
 */
export function evidenceOracle(claims: readonly NetworkClaims[]): (point: Point) => string[] {
  const sides = claims.map(sideOf);
  const { all, close } = listVerdicts(sides);
  const isOutweighed = (point: Point) => {
    const [claimed, left] = [all(point), close(point)];
    return (claimed.proxy && !left.proxy) || (claimed.abuse && !left.abuse);
  };
  return (point) =>
    sides
      .flatMap(({ feed, label, members }) => {
        const network = members.smallest(point);
        if (network === undefined || (label === "listed_resolver" && !isOutweighed(point))) return [];
        return [`${feed} ${label} ${network}`];
      })
      .sort();
}

/** Returns the flags that follow from the entries: the flags they set, minus the flags they remove. */
export function flagsByEvidence(entries: readonly EvidenceEntry[]): number {
  const bits = (effect: EvidenceEntry["effect"]) =>
    entries
      .filter((entry) => entry.effect === effect)
      .flatMap((entry) => entry.flags)
      .reduce((sum, flag) => sum | FLAG_BITS[flag], 0);
  return bits("sets") & ~bits("removes");
}

/** Returns the networks in the entries, in the format of {@link evidenceOracle}. */
export function namedBy(entries: readonly EvidenceEntry[]): string[] {
  return entries
    .filter(({ label }) => label !== "special_use")
    .map(({ feed, label, network }) => `${feed} ${label} ${formatIp(network.address)}/${network.bits}`)
    .sort();
}

/** Returns the points just before, at the start of, at the end of and just after a network. */
export function boundaries({ address, bits }: Prefix): Point[] {
  const { family, at } = pointOf(address);
  const size = 1n << (widthOf(family) - BigInt(bits));
  const limit = 1n << widthOf(family);
  return [at - 1n, at, at + size - 1n, at + size]
    .filter((point) => point >= 0n && point < limit)
    .map((point) => ({ family, at: point }));
}

/** Throws if two neighbouring ranges are equal or out of order, or if the ranges do not start at zero. */
export function expectCovering({ starts, values, length, width }: RangeColumns): void {
  expect([...starts.subarray(0, width)].every((word) => word === 0)).toBe(true);
  for (let i = 1; i < length; i++) {
    if (values[i] === values[i - 1]) throw new Error(`ranges ${i - 1} and ${i} have the same flags`);
    let k = 0;
    while (k < width - 1 && starts[i * width + k] === starts[(i - 1) * width + k]) k++;
    if (starts[i * width + k]! <= starts[(i - 1) * width + k]!) throw new Error(`range ${i} is out of order`);
  }
}
