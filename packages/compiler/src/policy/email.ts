// email.ts: claims about mail domains -> the disposable ones, with their providers.
//
// in   claims of each loaded feed: disposable lists, and two kinds of allow-list, free and relay
// out  disposable domain -> providers; and every domain that lists disagreed on
// cost 27,700 domains of the default lists: 0.1 s; 131,000 of their seeds: 0.3 s
//
// A claim about a domain is a claim about every name below it, for and against. The rules, in their order
// (docs/policy.md gives their reasons):
//   1 a public suffix, a special-use name, a name under no known suffix: never
//   2 a relay, what is below it, and what is above it (flagging the parent would flag the relay): never
//   3 below a disposable domain: disposable
//   4 on no list of free mail: disposable, one list is enough
//   5 on one: the lists vote with their weights (domain-weights.ts), a list and its copies once (lineage.ts);
//     as many against as for: not disposable

import { cutSuffix, isSpecialUseDomain, type SuffixCut, toAsciiDomain, walkUp } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { hasDisposableName, NAME_WEIGHT, weightOf } from "./domain-weights.ts";
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
  /** In order of names. */
  readonly conflicts: readonly Conflict[];
}

/** The disposable domains, and what was decided where lists disagree. */
export function judgeDomains(claims: readonly DomainClaims[]): DomainVerdicts {
  const lists = claims.filter((claim) => claim.subject === "disposable");
  const free = claims.filter((claim) => claim.subject === "free");
  const relays = relayNames(claims.filter((claim) => claim.subject === "relay"));
  const naming = lists.filter(namesServices).toSorted(heaviestFirst);
  const listed = new Set(lists.flatMap(({ domains }) => [...domains.keys()]));

  const disposable = new Map<string, readonly string[]>();
  const conflicts: Conflict[] = [];
  for (const domain of byDepth(listed)) {
    const cut = cutSuffix(domain);
    const path = walkUp(domain, cut);
    if (!mayHaveMail(domain, cut) || relays.above.has(domain) || path.some((name) => relays.names.has(name)))
      continue;
    const parent = path.findLast((name) => name !== domain && disposable.has(name));
    const defended = parent === undefined ? path : path.slice(0, path.indexOf(parent));
    if (free.some((claim) => names(claim, defended))) {
      const conflict = parent === undefined ? vote(domain, path, lists, free) : below(domain, parent);
      conflicts.push(conflict);
      if (conflict.verdict === "not disposable") continue;
    }
    const service = serviceOf(path, naming) ?? parent;
    disposable.set(domain, service === undefined || service === domain ? [domain] : [domain, service]);
  }
  conflicts.sort((a, b) => (a.domain < b.domain ? -1 : 1));
  return { disposable, conflicts };
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
): Conflict {
  const against = free.filter((claim) => names(claim, path)).map(weighted);
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

function weighted({ feed, lineage }: DomainClaims): WeightedList {
  return { feed, lineage, weight: weightOf(feed) };
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
  return weightOf(b.feed) - weightOf(a.feed) || (a.feed < b.feed ? -1 : 1);
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
