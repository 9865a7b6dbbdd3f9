// reputation.ts: turns claims about networks into the flags of every address, and the evidence for them.
//
// Cost: 0.1 s for 45,600 networks of the default feeds, and no more with the 63,000 resolvers of the warning lists.
//
// verdict.ts contains the rules for one address. This file applies them from the first address to the last.

import { append, IpAddress, type Prefix } from "@inkling/engine";
import type { NetworkClaims } from "../catalog/claims.ts";
import type { EvidenceEntry, EvidenceRanges } from "./evidence.ts";
import { EXACT_GUARD_BITS } from "./labels.ts";
import { emptyRanges, type FamilyRanges, sweepNetworks } from "./sweep.ts";
import {
  type EvidenceSource,
  judge,
  SPECIAL_USE_NETWORKS,
  SPECIAL_USE_SOURCE,
  sourceOf,
  type Verdict,
} from "./verdict.ts";

export interface Judgement {
  /** Values are flag bits, or 0 if no flag is set. */
  readonly flags: FamilyRanges;
  /**
   * A value has the bits of the guarded flags, and, shifted by {@link OVERRULED},
   * the bits of those guarded flags that lists set.
   */
  readonly guards: FamilyRanges;
  readonly evidence: EvidenceRanges;
}

interface Listed {
  readonly source: EvidenceSource;
  readonly networks: readonly Network[];
}

interface Network {
  readonly network: Prefix;
  readonly firstSeen?: string | undefined;
  /** The rule that widened the network. */
  readonly why?: string;
}

interface Span extends Network {
  /** Unique among the networks of all lists. */
  readonly id: number;
}

/**
 * Prefix length of an IPv6 subnet (RFC 7421). Devices change their address within the subnet (RFC 8981), so abuse from
 * a smaller network counts for the whole subnet.
 */
const ABUSE_BITS_6 = 64;
const WIDENED = `an address in it is listed: IPv6 abuse counts for its /${ABUSE_BITS_6}`;

/** Number of bits by which {@link Judgement.guards} shifts the flags that a guard overrules. */
export const OVERRULED = 8;

/** Returns the flags of every address, with the evidence for them. */
export function judgeNetworks(claims: readonly NetworkClaims[]): Judgement {
  const lists = listed(claims);
  const verdicts = new Verdicts(lists.map((list) => list.source));
  const [flags, guards, evidence] = [emptyRanges(), emptyRanges(), emptyRanges()];
  let id = 0;
  const spans = lists.map(({ networks }) => networks.map((network): Span => ({ ...network, id: id++ })));
  sweepNetworks(spans, (covers, append) => {
    const verdict = verdicts.verdict(covers);
    append(flags, verdict.flags);
    append(guards, verdict.guarded | (verdict.overruled << OVERRULED));
    append(evidence, verdicts.evidence(verdict, covers));
  });
  return { flags, guards, evidence: { ...evidence, lists: verdicts.lists } };
}

/** A verdict, and the sources that contain the address. */
type Judged = Verdict & { readonly present: readonly number[] };

/**
 * Caches verdicts by set of sources, and evidence by set of networks, so that each is made only once, regardless of how
 * many addresses it covers.
 */
class Verdicts {
  readonly lists: (readonly EvidenceEntry[])[] = [];
  private readonly sources: readonly EvidenceSource[];
  private readonly verdicts = new Map<string, Judged>();
  private readonly numbers = new Map<string, number>();

  constructor(sources: readonly EvidenceSource[]) {
    this.sources = sources;
  }

  /** @param covers for each source, its spans that cover the address */
  verdict(covers: readonly (readonly unknown[])[]): Judged {
    let key = "";
    for (let i = 0; i < covers.length; i++) if (covers[i]!.length > 0) key += `${i} `;
    let judged = this.verdicts.get(key);
    if (judged === undefined) {
      const present = covers.flatMap((spans, i) => (spans.length > 0 ? [i] : []));
      judged = { ...judge(present.map((i) => this.sources[i]!)), present };
      this.verdicts.set(key, judged);
    }
    return judged;
  }

  /** Returns the value that refers to the evidence list (evidence.ts), or 0 for no evidence. */
  evidence(judged: Judged, covers: readonly (readonly Span[])[]): number {
    const { parts, present } = judged;
    if (parts.length === 0) return 0;
    const smallest = parts.map((part) => covers[present[part.index]!]!.at(-1)!);
    const key = smallest.map((span) => span.id).join();
    const number = this.numbers.get(key) ?? this.lists.push(this.entries(judged, smallest));
    this.numbers.set(key, number);
    return number;
  }

  private entries({ parts, present }: Judged, smallest: readonly Span[]): readonly EvidenceEntry[] {
    return parts.map(({ index, effect, flags, why }, i) => {
      const { feed, label, provider } = this.sources[present[index]!]!;
      const { network, firstSeen: first_seen, why: widened } = smallest[i]!;
      const rules = [why, widened].filter((rule) => rule !== undefined);
      const entry = { feed, label, network, effect, flags, provider, first_seen };
      return rules.length === 0 ? entry : { ...entry, why: rules.join("; ") };
    });
  }
}

/**
 * Returns rows for each feed, label and provider, sorted by name. Individual addresses come before networks, and
 * special use comes last.
 */
function listed(claims: readonly NetworkClaims[]): Listed[] {
  const byName = new Map<string, NetworkClaims[]>();
  for (const claim of claims) append(byName, `${claim.feed} ${claim.label} ${claim.provider ?? ""}`, claim);
  const rows = [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  const special = SPECIAL_USE_NETWORKS.map((network) => ({ network }));
  return [...rows.flatMap(bySize), { source: SPECIAL_USE_SOURCE, networks: special }];
}

/** @param claims the claims of one feed under one label, about one provider */
function bySize(claims: readonly NetworkClaims[]): Listed[] {
  const networks = claims.flatMap((claim) => claim.networks);
  const claim = claims[0]!;
  const widened = claim.subject === "is_abuser" ? widen(networks) : [];
  const whyOf = (network: Prefix) => claims.map(({ reasons }) => reasons?.get(network)).find(Boolean);
  const rows = (of: readonly Prefix[]): Network[] =>
    of.map((network) => {
      const why = whyOf(network);
      return { network, firstSeen: claim.firstSeen?.(network), ...(why !== undefined && { why }) };
    });
  const wider = networks.filter((network) => !isHost(network));
  const isYielding = (network: Prefix) => claim.subject === "guard" && yieldsToExact(network);
  return [
    { source: sourceOf(claim, false), networks: rows(networks.filter(isHost)) },
    {
      source: sourceOf(claim, true),
      networks: [...widened, ...rows(wider.filter((network) => !isYielding(network)))],
    },
    { source: sourceOf(claim, true, true), networks: rows(wider.filter(isYielding)) },
  ].filter((row) => row.networks.length > 0);
}

function yieldsToExact({ address, bits }: Prefix): boolean {
  return bits < EXACT_GUARD_BITS[address.family];
}

function isHost({ address, bits }: Prefix): boolean {
  return bits === (address.family === 4 ? 32 : 128);
}

/** Returns the /64s of all longer IPv6 prefixes, without duplicates. */
function widen(networks: readonly Prefix[]): Network[] {
  const wider = new Map<string, Network>();
  for (const { address, bits } of networks) {
    if (address.family === 4 || bits <= ABUSE_BITS_6) continue;
    const start = new IpAddress(6, address.words.subarray(0, ABUSE_BITS_6 / 32));
    wider.set(start.words.join(), { network: { address: start, bits: ABUSE_BITS_6 }, why: WIDENED });
  }
  return [...wider.values()];
}
