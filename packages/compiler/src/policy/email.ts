// email.ts: what the lists say of mail domains -> the disposable ones, with their providers.
//
// in   claims of each loaded feed: disposable lists, and two kinds of allow-list, free and relay
// out  disposable domain -> providers; and every domain that lists disagreed on
// err  none thrown
// cost 27,700 domains of the default lists: 0.1 s; 131,000 of their seeds: 0.3 s
//
// A claim about a domain is a claim about every name below it, for and against. The rules, in their order
// (docs/policy.md gives their reasons):
//   1 a public suffix, a special-use name, a name under no known suffix: never
//   2 a relay, what is below it, and what is above it (flagging the parent would flag the relay): never
//   3 below a disposable domain: disposable
//   4 on no list of free mail: disposable, one list is enough
//   5 on one: the witnesses vote with their weights (witnesses.ts), a list and its copies once (lineage.ts);
//     as many against as for: not disposable

import { cutSuffix, isSpecialUseDomain, type SuffixCut, toAsciiDomain, walkUp } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { independentWeight, type Witness } from "./lineage.ts";
import { NAME_WEIGHT, nameSaysDisposable, weightOf } from "./witnesses.ts";

export interface Conflict {
  readonly domain: string;
  readonly verdict: "disposable" | "not disposable";
  /** Who said what, with the weight of each. */
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
  const telling = lists.filter(namesServices).toSorted(heaviestFirst);
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
    const service = serviceOf(path, telling) ?? parent;
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

/** A name that can be registered, under a suffix that is known, and not set aside by a standard. */
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
  const against = free.filter((claim) => names(claim, path)).map(witness);
  const voices = lists.filter((claim) => names(claim, path)).map(witness);
  if (nameSaysDisposable(path)) voices.push({ feed: "its name", weight: NAME_WEIGHT });
  const sumFor = independentWeight(voices);
  const sumAgainst = independentWeight(against);
  return {
    domain,
    verdict: sumFor > sumAgainst ? "disposable" : "not disposable",
    reason: `${sumFor} for disposable (${told(voices)}), ${sumAgainst} against (${told(against)})`,
  };
}

/** No look-up could tell the two apart: it walks up from the domain to its parent. */
function below(domain: string, parent: string): Conflict {
  return { domain, verdict: "disposable", reason: `below ${parent}, which is disposable` };
}

function witness({ feed, lineage }: DomainClaims): Witness {
  return { feed, lineage, weight: weightOf(feed) };
}

function told(voices: readonly Witness[]): string {
  const each = voices.map(({ feed, weight }) => `${feed} ${weight}`).join(", ");
  const added = voices.reduce((sum, { weight }) => sum + weight, 0);
  return independentWeight(voices) < added ? `${each}; copies count once` : each;
}

function namesServices({ domains }: DomainClaims): boolean {
  for (const service of domains.values()) if (service !== "") return true;
  return false;
}

function heaviestFirst(a: DomainClaims, b: DomainClaims): number {
  return weightOf(b.feed) - weightOf(a.feed) || (a.feed < b.feed ? -1 : 1);
}

/** Who runs a domain, or the nearest parent that a list knows; a service that is no domain name is no provider. */
function serviceOf(path: readonly string[], telling: readonly DomainClaims[]): string | undefined {
  for (const { domains } of telling) {
    for (const name of path) {
      const service = domains.get(name);
      if (service && toAsciiDomain(service) === service) return service;
    }
  }
  return undefined;
}
