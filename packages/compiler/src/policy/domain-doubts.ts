// domain-doubts.ts: finds what counts against a listing, apart from allow-lists: popularity, a reserved ending, a
// typing error, or the mail host of a provider of paid mailboxes.
//
// These doubts vote together with the lists of free mail (email.ts). A doubt only counts as a vote, so heavier lists
// outvote it.
//
// Lists that copy other lists also contain domains that people mistyped or made up on a sign-up form: gmai.com,
// army.gov. Only institutions can get names under a reserved ending. But if lists that do not copy contain several
// domains under one ending, such as edu.pl, anybody can buy names there. Such an ending does not count.

import { businessHost, disposableHost, knownHosts, suggestDomain } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import {
  MAIL_HOST_WEIGHT,
  POPULAR_PARENT_WEIGHT,
  popularWeight,
  RESERVED_ENDING_WEIGHT,
  TYPING_ERROR_WEIGHT,
  weightOf,
} from "./domain-weights.ts";
import type { WeightedList } from "./lineage.ts";

export interface Doubt extends WeightedList {
  readonly label: "popular" | "name" | "mail_host";
  /** The domain of the mail host, or the popular name: the domain itself or one of its parents. */
  readonly name?: string;
  readonly why?: string;
}

const RESERVED = /(?:^|\.)((?:gov|edu|mil|int)|(?:gov|govt|gob|gouv|gub|go|mil|edu|ac)\.[a-z]{2})$/;
/** Number of domains on observation-based lists from which an ending counts as open to anybody. */
const OPEN_FROM = 3;

/**
 * Returns a function that finds the doubts about a listed domain. Its argument is from the engine's `walkUp`: the domain
 * and its parents, ending with its registrable domain.
 */
export function domainDoubts(claims: readonly DomainClaims[]): (path: readonly string[]) => readonly Doubt[] {
  const popular = claims.filter(({ subject }) => subject === "popular");
  const open = openEndings(claims);
  const { acquitted } = mailHostsOf(claims);
  return (path) => {
    const doubts: Doubt[] = [];
    for (const { feed, lineage, domains } of popular) {
      const name = path.find((name) => domains.has(name));
      if (name === undefined) continue;
      const weight = name === path[0] ? popularWeight(feed, domains.get(name)) : POPULAR_PARENT_WEIGHT;
      doubts.push({ feed, lineage, weight, label: "popular", name });
    }
    const [name = ""] = path;
    const provider = acquitted.get(name);
    if (provider !== undefined) {
      const why = `its mail goes to ${provider}`;
      doubts.push({ feed: MAIL_HOSTS, label: "mail_host", name, weight: MAIL_HOST_WEIGHT, why });
    }
    const ofName = nameDoubt(path.at(-1), open);
    if (ofName !== undefined) doubts.push({ feed: "its name", label: "name", ...ofName });
    return doubts;
  };
}

function nameDoubt(registrable = "", open: ReadonlySet<string>): Pick<Doubt, "weight" | "why"> | undefined {
  const ending = reservedEnding(registrable);
  if (ending !== undefined && !open.has(ending))
    return { weight: RESERVED_ENDING_WEIGHT, why: `only institutions can get names under ${ending}` };
  if (suggestDomain(registrable) === undefined) return undefined;
  return { weight: TYPING_ERROR_WEIGHT, why: "it looks like a typo of a large provider" };
}

/** Returns the ending of the domain if, almost everywhere, only institutions can get names under it. */
function reservedEnding(registrable: string): string | undefined {
  const ending = RESERVED.exec(registrable)?.[1];
  return ending === registrable ? undefined : ending;
}

function openEndings(claims: readonly DomainClaims[]): ReadonlySet<string> {
  const below = new Map<string, Set<string>>();
  for (const { feed, weight, subject, domains } of claims) {
    if (subject !== "disposable" || weightOf(feed, weight) === 1) continue;
    for (const domain of domains.keys()) {
      const ending = reservedEnding(domain);
      if (ending === undefined) continue;
      const name = domain.slice(domain.lastIndexOf(".", domain.length - ending.length - 2) + 1);
      below.set(ending, (below.get(ending) ?? new Set()).add(name));
    }
  }
  return new Set([...below].flatMap(([ending, names]) => (names.size >= OPEN_FROM ? ending : [])));
}

interface MailHosts {
  /** Maps a domain to the disposable-email service that receives its mail. */
  readonly confirmed: ReadonlyMap<string, string>;
  /** Maps a domain to the provider of its mailboxes. */
  readonly acquitted: ReadonlyMap<string, string>;
}

/** The feed of mail hosts, also in evidence. */
export const MAIL_HOSTS = "mail-hosts";

/**
 * Returns what mail hosts say about listed domains. A working mail server proves nothing, because ordinary domains have
 * one. Only a host that receives mail for a single disposable-email service confirms a listing. A host at which
 * customers pay for their mailboxes counts against it.
 */
export function mailHostsOf(claims: readonly DomainClaims[]): MailHosts {
  const confirmed = new Map<string, string>();
  const acquitted = new Map<string, string>();
  for (const { subject, domains } of claims) {
    if (subject !== "mail_host") continue;
    for (const [domain, text] of domains) {
      const [, ...hosts] = text.split(" ");
      const known = knownHosts(hosts);
      const disposable = disposableHost(known);
      const business = businessHost(known);
      if (disposable !== undefined) confirmed.set(domain, disposable.service);
      if (business !== undefined) acquitted.set(domain, business.service);
    }
  }
  return { confirmed, acquitted };
}
