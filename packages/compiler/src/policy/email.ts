// email.ts: claims about mail domains -> the disposable ones, with their providers.
//
// in   claims of each loaded feed: disposable lists, two kinds of allow-list (free and relay), popular and shared domains,
//      and the old entries that lists copied from each other
// out  disposable domain -> providers; and every domain that lists disagreed on
// cost 76,000 domains of the default lists: 0.5 s; 140,000 of their seeds: 0.4 s
//
// A claim about a domain is a claim about every name below it, for and against. The rules, in their order
// (docs/mail-policy.md gives their reasons):
//   1 a public suffix, a special-use name, a name under no known suffix: never
//   2 a domain whose names below belong to strangers: never, and claims about it say nothing about these names
//   3 a relay, what is below it, and what is above it (flagging the parent would flag the relay): never
//   4 below a disposable domain: disposable
//   5 on no list of free mail, and nothing else against it (domain-doubts.ts): disposable if a list of its own
//     observation has it, it had a live mail server, or its name says so. A name that is no old copy is also disposable where
//     lists of two publishers have it, or one alone while no other is loaded that could confirm it
//   6 otherwise a vote: weights (domain-weights.ts), a list and its copies once (lineage.ts); as many against as for: not
//     disposable

import { cutSuffix, isSpecialUseDomain, type SuffixCut, toAsciiDomain, walkUp } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { DomainDoubts, type Doubt } from "./domain-doubts.ts";
import {
  hasDisposableName,
  LIVE_MAIL_SERVERS,
  NAME_WEIGHT,
  OWN_OBSERVATION,
  publisherOf,
  weightOf,
} from "./domain-weights.ts";
import { independentWeight, type WeightedList } from "./lineage.ts";

export interface Conflict {
  readonly domain: string;
  readonly verdict: "disposable" | "not disposable";
  /** The lists for and against, with the weight of each. */
  readonly reason: string;
}

export interface DomainVerdicts {
  /** A-labels -> the entry itself, then the service that runs it where that is known and another domain. */
  readonly disposable: ReadonlyMap<string, readonly string[]>;
  /** Between lists, allow-lists included; in order of names. */
  readonly conflicts: readonly Conflict[];
  /** On lists that weigh too little together: not disposable. */
  readonly listed: ReadonlySet<string>;
  /** Disposable because their name says so as well. */
  readonly byName: ReadonlySet<string>;
  /** Listed domains -> what spoke against the listing beside allow-lists. */
  readonly doubts: ReadonlyMap<string, readonly Doubt[]>;
}

/** The disposable domains, and what was decided where lists disagree. */
export function judgeDomains(claims: readonly DomainClaims[]): DomainVerdicts {
  const lists = claims.filter((claim) => claim.subject === "disposable");
  const free = claims.filter((claim) => claim.subject === "free");
  const relays = relayNames(claims.filter((claim) => claim.subject === "relay"));
  const naming = lists.filter(namesServices).toSorted(heaviestFirst);
  const listed = new Set(lists.flatMap(({ domains }) => [...domains.keys()]));

  const shared = sharedNames(claims);
  const doubter = new DomainDoubts(claims);

  const disposable = new Map<string, readonly string[]>();
  const conflicts: Conflict[] = [];
  const doubted = new Map<string, readonly Doubt[]>();
  const undecided = new Set<string>();
  const byName = new Set<string>();
  const copied = claims.filter((claim) => claim.subject === "copied");
  // A short list of the operator's own could not confirm what a collection has.
  const mayConfirm = isConfirmed(
    lists.filter(({ feed, weight }) => weight === undefined && weightOf(feed) < OWN_OBSERVATION),
  );
  for (const domain of byDepth(listed)) {
    const cut = cutSuffix(domain);
    const up = walkUp(domain, cut);
    const path = ownPath(up, shared);
    if (path.length === 0 || !mayHaveMail(domain, cut)) continue;
    if (relays.above.has(domain) || up.some((name) => relays.names.has(name))) continue;
    const parent = path.findLast((name) => name !== domain && disposable.has(name));
    const defended = parent === undefined ? path : path.slice(0, path.indexOf(parent));
    const isFree = free.some((claim) => names(claim, defended));
    const doubts = doubter.about(path);
    if (doubts.length > 0) doubted.set(domain, doubts);
    if (isFree || (parent === undefined && doubts.length > 0)) {
      const conflict = parent === undefined ? vote(domain, path, lists, free, doubts) : below(domain, parent);
      if (isFree) conflicts.push(conflict);
      if (conflict.verdict === "not disposable") continue;
    }
    const isUndoubted = parent === undefined && !isFree && doubts.length === 0;
    const isCopy = copied.some((claim) => names(claim, path));
    const listing = () => lists.filter((claim) => names(claim, path));
    if (isUndoubted && (isCopy || mayConfirm) && !isConfirmed(listing(), isCopy)) {
      if (hasDisposableName(path)) byName.add(domain);
      else {
        undecided.add(domain);
        continue;
      }
    }
    const service = serviceOf(path, naming) ?? parent;
    disposable.set(domain, service === undefined || service === domain ? [domain] : [domain, service]);
  }
  conflicts.sort((a, b) => (a.domain < b.domain ? -1 : 1));
  return { disposable, conflicts, doubts: doubted, listed: undecided, byName };
}

/**
 * Is one of these lists based on its own observation, such as that of live mail servers, or are they of two publishers?
 * @param isCopy an old entry, which a second publisher has only copied as well
 */
function isConfirmed(lists: readonly DomainClaims[], isCopy = false): boolean {
  const [first] = lists;
  return lists.some(
    ({ feed, weight }) =>
      weightOf(feed, weight) >= OWN_OBSERVATION ||
      LIVE_MAIL_SERVERS.has(feed) ||
      (!isCopy && publisherOf(feed) !== publisherOf(first!.feed)),
  );
}

/** Domains whose names below belong to strangers -> the feed that has them. */
export function sharedNames(claims: readonly DomainClaims[]): ReadonlyMap<string, string> {
  const shared = claims.filter(({ subject }) => subject === "shared");
  return new Map(
    shared.flatMap(({ feed, domains }) => [...domains.keys()].map((name) => [name, feed] as const)),
  );
}

/** The names of a path that belong to one owner: those below the closest shared domain; none for such a domain itself. */
export function ownPath(path: readonly string[], shared: ReadonlyMap<string, string>): readonly string[] {
  const end = path.findIndex((name) => shared.has(name));
  return end < 0 ? path : path.slice(0, end);
}

/** Parents before what is below them, so that rule 3 can look back. */
function byDepth(domains: ReadonlySet<string>): string[] {
  const byLabels: string[][] = [];
  for (const domain of domains) {
    const labels = domain.split(".").length;
    const bucket = byLabels[labels];
    if (bucket === undefined) byLabels[labels] = [domain];
    else bucket.push(domain);
  }
  return byLabels.flat();
}

/** A registrable name under a known suffix that no standard reserves. */
export function mayHaveMail(domain: string, { registrableStart, known }: SuffixCut): boolean {
  return registrableStart >= 0 && known && !isSpecialUseDomain(domain);
}

interface RelayNames {
  readonly names: ReadonlySet<string>;
  /** The relays' parents, up to their registrable domains. */
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
  lists: readonly DomainClaims[],
  free: readonly DomainClaims[],
  doubts: readonly Doubt[],
): Conflict {
  const against = [...free.filter((claim) => names(claim, path)).map(weighted), ...doubts];
  const votes = lists.filter((claim) => names(claim, path)).map(weighted);
  if (hasDisposableName(path)) votes.push({ feed: "its name", weight: NAME_WEIGHT });
  const sumFor = independentWeight(votes);
  const sumAgainst = independentWeight(against);
  return {
    domain,
    verdict: sumFor > sumAgainst ? "disposable" : "not disposable",
    reason: `${sumFor} for disposable (${describeVotes(votes)}), ${sumAgainst} against (${describeVotes(against)})`,
  };
}

/** Disposable like its parent, which every lookup of the domain finds. */
function below(domain: string, parent: string): Conflict {
  return { domain, verdict: "disposable", reason: `below ${parent}, which is disposable` };
}

function weighted({ feed, lineage, weight }: DomainClaims): WeightedList {
  return { feed, lineage, weight: weightOf(feed, weight) };
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

/** The service of a domain or its nearest listed parent; a service that is no domain name is no provider. */
function serviceOf(path: readonly string[], naming: readonly DomainClaims[]): string | undefined {
  for (const { domains } of naming) {
    for (const name of path) {
      const service = domains.get(name);
      if (service && toAsciiDomain(service) === service) return service;
    }
  }
  return undefined;
}
