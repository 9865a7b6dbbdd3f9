// email.ts: decides which mail domains are disposable, from the claims of all feeds, and finds their providers.
//
// Cost: 0.5 s for 76,000 domains of the default lists; 0.4 s for 140,000 domains of their seeds.
//
// A claim about a domain, for or against, also covers every name below it. The rules apply in this order
// (docs/policy.md#mail-domains gives the reasons):
//   1 a public suffix, a special-use name, or a name under no known suffix: never disposable
//   2 a shared domain, under which anybody can get a name: never disposable; claims about it do not cover the names
//     below it
//   3 a relay, a name below a relay, or a parent of a relay (flagging the parent would flag the relay): never
//     disposable
//   4 a name below a disposable domain: disposable
//   5 a domain that is not on a list of free mail, and has no doubts (domain-doubts.ts): disposable if its name shows
//     its purpose, or if the lists and old collections that contain it, and its mail host, weigh enough. A list and its
//     sources, and all lists of one publisher, count once (lineage.ts). Unless an old collection contains the domain,
//     it is also enough that no loaded list could confirm the list that contains the domain
//   6 any other domain: a vote by weights (domain-weights.ts), without old collections. A tie means not disposable

import { cutSuffix, isSpecialUseDomain, type SuffixCut, toAsciiDomain, walkUp } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { type Doubt, domainDoubts, MAIL_HOSTS, mailHostsOf } from "./domain-doubts.ts";
import {
  COPY_WEIGHT,
  hasDisposableName,
  MAIL_HOST_WEIGHT,
  NAME_WEIGHT,
  OWN_OBSERVATION,
  publisherOf,
  weightOf,
} from "./domain-weights.ts";
import { independentWeight, type WeightedList } from "./lineage.ts";

export interface Conflict {
  readonly domain: string;
  readonly verdict: "disposable" | "not disposable";
  /** The lists for and against, with the weight of each list. */
  readonly reason: string;
}

export interface DomainVerdicts {
  /**
   * Maps a disposable domain (A-labels) to its providers: the domain itself, then the service that runs it, if that is
   * a different, known domain.
   */
  readonly disposable: ReadonlyMap<string, readonly string[]>;
  /** Domains about which lists disagree, including allow-lists, sorted by name. */
  readonly conflicts: readonly Conflict[];
  /** Domains whose lists together weigh too little. They are not disposable. */
  readonly listed: ReadonlySet<string>;
  /** Domains that are disposable partly because of their names. */
  readonly byName: ReadonlySet<string>;
  /** Maps listed domains to what counted against the listing, apart from allow-lists. */
  readonly doubts: ReadonlyMap<string, readonly Doubt[]>;
  /** Maps domains to the disposable-email services that receive their mail. */
  readonly confirmed: ReadonlyMap<string, string>;
}

/** Returns the disposable domains, and the decisions on domains about which lists disagree. */
export function judgeDomains(claims: readonly DomainClaims[]): DomainVerdicts {
  const lists = claims.filter((claim) => claim.subject === "disposable");
  const free = claims.filter((claim) => claim.subject === "free");
  const relays = relayNames(claims.filter((claim) => claim.subject === "relay"));
  const naming = lists.filter(namesServices).toSorted(heaviestFirst);
  const listed = new Set(lists.flatMap(({ domains }) => [...domains.keys()]));

  const shared = sharedNames(claims);
  const doubtsAbout = domainDoubts(claims);

  const disposable = new Map<string, readonly string[]>();
  const conflicts: Conflict[] = [];
  const doubted = new Map<string, readonly Doubt[]>();
  const undecided = new Set<string>();
  const byName = new Set<string>();
  const copied = claims.filter((claim) => claim.subject === "copied");
  const credit = new Credit(claims);
  const { confirmed } = mailHostsOf(claims);
  const votesOf = (of: readonly DomainClaims[], path: readonly string[]) => [
    ...credit.votes(of, path),
    ...(confirmed.has(path[0]!) ? [{ feed: MAIL_HOSTS, weight: MAIL_HOST_WEIGHT }] : []),
  ];
  // A short list that the operator added cannot be expected to confirm the entries of a large collection.
  const collecting = lists.filter(
    ({ feed, lineage = [], weight }) =>
      weight === undefined && (lineage.length > 0 || weightOf(feed) < OWN_OBSERVATION),
  );
  const mayConfirm = new Set(collecting.map(({ feed }) => publisherOf(feed))).size > 1;
  const witnesses = [...lists, ...copied];
  const weightOfVotes = cachedWeight();
  for (const domain of byDepth(listed)) {
    const cut = cutSuffix(domain);
    const up = walkUp(domain, cut);
    const path = ownPath(up, shared);
    if (path.length === 0 || !mayHaveMail(domain, cut)) continue;
    if (relays.above.has(domain) || up.some((name) => relays.names.has(name))) continue;
    const parent = path.findLast((name) => name !== domain && disposable.has(name));
    const defended = parent === undefined ? path : path.slice(0, path.indexOf(parent));
    const isFree = free.some((claim) => names(claim, defended));
    const doubts = doubtsAbout(path);
    if (doubts.length > 0) doubted.set(domain, doubts);
    if (isFree || (parent === undefined && doubts.length > 0)) {
      const conflict =
        parent === undefined ? vote(domain, path, votesOf(lists, path), free, doubts) : below(domain, parent);
      if (isFree) conflicts.push(conflict);
      if (conflict.verdict === "not disposable") continue;
    }
    const isUndoubted = parent === undefined && !isFree && doubts.length === 0;
    const needsWeight = isUndoubted && (mayConfirm || copied.some((claim) => names(claim, path)));
    if (needsWeight && weightOfVotes(votesOf(witnesses, path)) < OWN_OBSERVATION) {
      if (hasDisposableName(path)) byName.add(domain);
      else {
        undecided.add(domain);
        continue;
      }
    }
    const service = serviceOf(path, naming) ?? confirmed.get(domain) ?? parent;
    disposable.set(domain, service === undefined || service === domain ? [domain] : [domain, service]);
  }
  conflicts.sort((a, b) => (a.domain < b.domain ? -1 : 1));
  return { disposable, conflicts, doubts: doubted, listed: undecided, byName, confirmed };
}

/** Credits entries to their origins: an entry that a list shares with one of its sources is a copy. */
export class Credit {
  private readonly sources: ReadonlyMap<string, readonly DomainClaims[]>;
  private readonly weighted: ReadonlyMap<DomainClaims, WeightedList>;

  constructor(claims: readonly DomainClaims[]) {
    this.weighted = new Map(claims.map((claim) => [claim, weighted(claim)]));
    const asSource = claims.filter(({ subject }) => subject === "disposable" || subject === "copied");
    this.sources = new Map(
      claims.map(({ feed, lineage = [] }) => [feed, asSource.filter((one) => lineage.includes(one.feed))]),
    );
  }

  /** @param path the listed domain, and its parents that belong to the same owner */
  weightOf({ feed, domains, weight }: DomainClaims, path: readonly string[]): number {
    const entry = path.find((name) => domains.has(name))!;
    const isCopy = this.sources.get(feed)?.some((source) => source.domains.has(entry)) === true;
    return isCopy ? Math.min(COPY_WEIGHT, weightOf(feed, weight)) : weightOf(feed, weight);
  }

  /** Returns the lists that contain the domain, with their weights and origins. */
  votes(lists: readonly DomainClaims[], path: readonly string[]): WeightedList[] {
    return lists.flatMap((claim) =>
      names(claim, path) ? { ...this.weighted.get(claim)!, weight: this.weightOf(claim, path) } : [],
    );
  }
}

/** Returns {@link independentWeight}, which computes each set of votes once. */
function cachedWeight(): (votes: readonly WeightedList[]) => number {
  const weights = new Map<string, number>();
  return (votes) => {
    const key = votes.map(({ feed, weight }) => `${feed} ${weight}`).join();
    const weight = weights.get(key) ?? independentWeight(votes);
    weights.set(key, weight);
    return weight;
  };
}

/** Maps each shared domain, under which anybody can get a name, to the feed that lists it. */
export function sharedNames(claims: readonly DomainClaims[]): ReadonlyMap<string, string> {
  const shared = claims.filter(({ subject }) => subject === "shared");
  return new Map(
    shared.flatMap(({ feed, domains }) => [...domains.keys()].map((name) => [name, feed] as const)),
  );
}

/**
 * Returns the names on a path that belong to one owner: all names below the closest shared domain. The result is empty
 * if the path starts with a shared domain.
 */
export function ownPath(path: readonly string[], shared: ReadonlyMap<string, string>): readonly string[] {
  const end = path.findIndex((name) => shared.has(name));
  return end < 0 ? path : path.slice(0, end);
}

/** Sorts parents before the names below them, so that rule 4 finds disposable parents. */
function byDepth(domains: ReadonlySet<string>): string[] {
  const labelled = Array.from(domains, (domain) => [domain, domain.split(".").length] as const);
  return labelled.sort(([, a], [, b]) => a - b).map(([domain]) => domain);
}

/** Returns whether the domain lies under a known suffix and is not reserved by a standard. */
export function mayHaveMail(domain: string, { registrableStart, known }: SuffixCut): boolean {
  return registrableStart >= 0 && known && !isSpecialUseDomain(domain);
}

interface RelayNames {
  readonly names: ReadonlySet<string>;
  /** The parents of the relays, up to their registrable domains. */
  readonly above: ReadonlySet<string>;
}

function relayNames(relays: readonly DomainClaims[]): RelayNames {
  const names = new Set(relays.flatMap(({ domains }) => [...domains.keys()]));
  return { names, above: new Set([...names].flatMap((name) => walkUp(name).slice(1))) };
}

function names({ domains }: DomainClaims, path: readonly string[]): boolean {
  return path.some((name) => domains.has(name));
}

function vote(
  domain: string,
  path: readonly string[],
  lists: readonly WeightedList[],
  free: readonly DomainClaims[],
  doubts: readonly Doubt[],
): Conflict {
  const against = [...free.filter((claim) => names(claim, path)).map(weighted), ...doubts];
  const votes = [...lists];
  if (hasDisposableName(path)) votes.push({ feed: "its name", weight: NAME_WEIGHT });
  const sumFor = independentWeight(votes);
  const sumAgainst = independentWeight(against);
  return {
    domain,
    verdict: sumFor > sumAgainst ? "disposable" : "not disposable",
    reason: `${sumFor} for disposable (${describeVotes(votes)}), ${sumAgainst} against (${describeVotes(against)})`,
  };
}

/**
 * Returns the decision for a domain below a disposable domain. Every lookup of the domain finds the parent, so the
 * domain is disposable as well.
 */
function below(domain: string, parent: string): Conflict {
  return { domain, verdict: "disposable", reason: `under ${parent}, which is disposable` };
}

function weighted({ feed, lineage = [], weight }: DomainClaims): WeightedList {
  return { feed, lineage: [...lineage, publisherOf(feed)], weight: weightOf(feed, weight) };
}

function describeVotes(votes: readonly WeightedList[]): string {
  const each = votes.map(({ feed, weight }) => `${feed} ${weight}`).join(", ");
  const added = votes.reduce((sum, { weight }) => sum + weight, 0);
  return independentWeight(votes) < added ? `${each}; copies count once` : each;
}

function namesServices({ domains }: DomainClaims): boolean {
  for (const service of domains.values()) if (service !== "") return true;
  return false;
}

function heaviestFirst(a: DomainClaims, b: DomainClaims): number {
  return weightOf(b.feed, b.weight) - weightOf(a.feed, a.weight) || (a.feed < b.feed ? -1 : 1);
}

/**
 * Returns the service that runs a domain or its nearest listed parent. A service whose name is not a domain is not a
 * provider.
 */
function serviceOf(path: readonly string[], naming: readonly DomainClaims[]): string | undefined {
  for (const { domains } of naming) {
    for (const name of path) {
      const service = domains.get(name);
      if (service && toAsciiDomain(service) === service) return service;
    }
  }
  return undefined;
}
