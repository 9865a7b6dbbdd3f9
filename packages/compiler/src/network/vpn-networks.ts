// vpn-networks.ts: finds the networks in which a VPN runs several servers, because servers move inside their networks.
//
// The limits were chosen on half of the clean networks in docs/accuracy.md, and no network of the other half is in a
// VPN network. If the build lacks a tenth of NordVPN's servers, VPN networks raise the share of these servers that it
// recognizes from 58 to 88%. With two servers in a /27, monitors are flagged.
//
// Cost: 0.3 s for 22,000 servers and 730,000 announced networks.

import { IpAddress, networkAround, type Prefix } from "@inkling/engine";
import type { KindClaims, NetworkClaims, NetworkKind } from "../catalog/claims.ts";
import { OURS } from "../geo/evidence.ts";
import { type AsnNetworks, networksOfSystems } from "../parse/asn.ts";
import { judgeKind } from "./kinds.ts";

interface Rule {
  readonly family: 4 | 6;
  readonly bits: number;
  /** The number of one VPN's servers that make a network of this size a VPN network. */
  readonly servers: number;
}
/** A /24 and a /48 are the smallest networks that operators announce, and a /27 is the size that many rent. */
const RULES: readonly Rule[] = [
  { family: 4, bits: 24, servers: 4 },
  { family: 4, bits: 27, servers: 3 },
  { family: 6, bits: 48, servers: 4 },
];
const [WHOLE] = RULES as readonly [Rule];
/** The number of /24s that a system must have, so that one network among two does not decide. */
const MIN_NETWORKS = 4;
/** Visitors from other kinds of networks are people, and some of them run a VPN server at home. */
const KINDS: ReadonlySet<NetworkKind> = new Set(["hosting", "unknown"]);

/** The reasons do not count the servers, because equal reasons are stored once: counting them took 0.7 MB. */
const whyOf = ({ bits, servers }: Rule) =>
  `at least ${servers} of its servers are or were in this /${bits} within 120 days`;
const MAJORITY = "such networks are more than half of the networks of this autonomous system";

/** The networks around one VPN's servers, by the first bits of the address. */
type Networks = Map<number, { readonly network: Prefix; readonly servers: Set<string> }>;

interface Found {
  readonly key: number;
  readonly network: Prefix;
  readonly provider: string;
}

/** A network of a VPN's servers inside a network that a system announces. */
interface Covered {
  readonly rule: Rule;
  readonly found: Found;
  readonly asn: number;
}

/** A system with VPN networks: the VPNs, and the keys of the /24s. */
interface System {
  readonly providers: Set<string>;
  readonly keys: Set<number>;
}

/**
 * Returns claims about the networks around VPN servers, and about systems in which such networks are the majority.
 * @param claims only the claims with a `provider` are used
 * @param isTooWide whether a network is wider than a list of VPN networks may contain
 */
export function vpnNetworks(
  claims: readonly NetworkClaims[],
  asns: AsnNetworks,
  kinds: readonly KindClaims[],
  isTooWide: (network: Prefix) => boolean,
): NetworkClaims[] {
  const lists = claims.filter(({ subject, provider }) => subject === "is_proxy" && provider !== undefined);
  const { covered, sizes } = coveredNetworks(lists, asns, kinds);
  const systems = vpnSystems(covered);
  const isMajority = (asn: number) => {
    const count = systems.get(asn)?.keys.size ?? 0;
    return count >= MIN_NETWORKS && 2 * count > sizes.get(asn)!;
  };
  const lineage = [...new Set(lists.map(({ feed }) => feed))];
  const made = (provider: string, reasons: ReadonlyMap<Prefix, string>): NetworkClaims => ({
    feed: OURS,
    subject: "is_proxy",
    label: "vpn_network",
    provider,
    lineage,
    networks: [...reasons.keys()],
    reasons,
  });
  const majorities = Array.from(networksOfSystems(asns, { has: isMajority }), ([asn, networks]) => {
    const providers = [...systems.get(asn)!.providers].sort().join(", ");
    const narrow = networks.filter((network) => !isTooWide(network));
    return made(providers, new Map(narrow.map((network) => [network, MAJORITY])));
  });
  return [
    ...Array.from(reasonsByProvider(covered), ([provider, reasons]) => made(provider, reasons)),
    ...majorities,
  ];
}

/**
 * Returns the networks of servers that a system of one of {@link KINDS} announces, rule by rule, and for each system
 * how many /24s it announces.
 */
function coveredNetworks(
  lists: readonly NetworkClaims[],
  asns: AsnNetworks,
  kinds: readonly KindClaims[],
): { readonly covered: readonly Covered[]; readonly sizes: ReadonlyMap<number, number> } {
  const byRule = RULES.map((rule) => ({
    rule,
    networks: serverNetworks(lists, rule),
    covered: [] as Covered[],
  }));
  const sizes = new Map<number, number>();
  for (const family of [4, 6] as const) {
    const ofFamily = byRule.filter(({ rule }) => rule.family === family);
    asns.walk(family, (w0, w1, _w2, _w3, bits, id) => {
      const { asn, organization } = asns.systems[id]!;
      if (family === 4) sizes.set(asn, (sizes.get(asn) ?? 0) + 2 ** (WHOLE.bits - bits));
      for (const { rule, networks, covered } of ofFamily) {
        const first = keyOf(rule, w0, w1);
        const after = first + 2 ** (rule.bits - Math.min(bits, rule.bits));
        for (let i = firstAtLeast(networks, first); i < networks.length && networks[i]!.key < after; i++)
          if (KINDS.has(judgeKind(asn, organization, kinds).kind))
            covered.push({ rule, found: networks[i]!, asn });
      }
    });
  }
  return { covered: byRule.flatMap(({ covered }) => covered), sizes };
}

/** Returns the systems that announce VPN networks, by number. */
function vpnSystems(covered: readonly Covered[]): ReadonlyMap<number, System> {
  const systems = new Map<number, System>();
  for (const { rule, found, asn } of covered) {
    if (rule !== WHOLE) continue;
    const system = systems.get(asn) ?? { providers: new Set(), keys: new Set() };
    systems.set(asn, system);
    system.providers.add(found.provider);
    system.keys.add(found.key);
  }
  return systems;
}

/** Returns each VPN's networks with their reasons. A /24 makes the smaller networks inside it unnecessary. */
function reasonsByProvider(covered: readonly Covered[]): ReadonlyMap<string, ReadonlyMap<Prefix, string>> {
  const whole = new Set<string>();
  const byProvider = new Map<string, Map<Prefix, string>>();
  for (const { rule, found } of covered) {
    const { key, provider, network } = found;
    if (rule === WHOLE) whole.add(`${provider} ${key}`);
    else if (rule.family === 4 && whole.has(`${provider} ${key >>> (rule.bits - WHOLE.bits)}`)) continue;
    const reasons = byProvider.get(provider) ?? new Map<Prefix, string>();
    byProvider.set(provider, reasons.set(network, whyOf(rule)));
  }
  return byProvider;
}

/** Returns the networks with enough servers of one VPN, in address order. */
function serverNetworks(lists: readonly NetworkClaims[], rule: Rule): Found[] {
  const byProvider = new Map<string, Networks>();
  for (const { provider = "", networks, earlier = [] } of lists) {
    const found: Networks = byProvider.get(provider) ?? new Map();
    byProvider.set(provider, found);
    for (const { address, bits } of [...networks, ...earlier]) {
      if (address.family !== rule.family || bits !== (rule.family === 4 ? 32 : 128)) continue;
      const key = keyOf(rule, address.words[0]!, address.words[1]!);
      let known = found.get(key);
      if (known === undefined) {
        const start = new IpAddress(rule.family, address.words);
        known = { network: networkAround(start, rule.bits), servers: new Set() };
        found.set(key, known);
      }
      known.servers.add(address.words.join());
    }
  }
  return Array.from(byProvider, ([provider, found]) =>
    [...found]
      .filter(([, { servers }]) => servers.size >= rule.servers)
      .map(([key, { network }]) => ({ key, network, provider })),
  )
    .flat()
    .sort((a, b) => a.key - b.key);
}

/** Returns the first bits of an address, at most 48, as a number. */
const keyOf = ({ family, bits }: Rule, w0: number, w1: number): number =>
  family === 4 ? w0 >>> (32 - bits) : w0 * 2 ** (bits - 32) + (w1 >>> (64 - bits));

function firstAtLeast(found: readonly Found[], key: number): number {
  let [low, high] = [0, found.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (found[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
