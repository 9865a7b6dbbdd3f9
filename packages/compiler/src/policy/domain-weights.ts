// domain-weights.ts: the weights of the mail domain lists and of a domain's name. They apply if something counts
// against a listing.
//
// A weight reflects a list's sources, not its size. Lists that copy each other count once.
// docs/policy.md#where-lists-disagree gives the reasons, and docs/accuracy.md#disposable-domains measures the effect.

import { FEEDS } from "../catalog/feeds.ts";

/** Maps each feed to its weight. Feeds that are not in the table have weight 1. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  // lists of disposable domains
  "disposable-services": 4, // Inkling's: the source of each row is the service's own page
  "disposable-email-domains": 2, // people review each entry in a pull request
  fakefilter: 4, // takes domains from the services' own pages every day
  "castle-domains": 2, // reads the services' pages and looks up their mail hosts; imports no other list
  "disposable-domains": 2, // reads services' pages; entries that one of its sources has count as copies
  "tompec-domains": 1, // states no sources
  // lists that count against a listing
  "ordinary-mail": 8, // Inkling's: each row has a source; no two lists of disposable domains outweigh it
  "free-mail": 2, // grew from lists that put every unknown domain under "free": emailondeck.com, mail.tm
  // Popular domains weigh more than one reviewed list, but less than two, because disposable services are also popular.
  "cloudflare-top-100k": 3,
  "tranco-10k": 3,
  "tranco-1m": 3,
  organisations: 3,
};

/** Domains with a higher rank number weigh less than other popular domains, as much as a reviewed list. */
const POPULAR_RANK = 100_000;
const UNPOPULAR_WEIGHT = 2;

/** @param rank the rank that the list states, or "" */
export const popularWeight = (feed: string, rank = ""): number =>
  Number(rank) > POPULAR_RANK ? UNPOPULAR_WEIGHT : weightOf(feed);

/**
 * The weight of independent evidence that makes a domain disposable if nothing counts against the domain. One list that
 * relies on its own observation or review has this weight. For any other list, a list of another origin must confirm
 * the domain. docs/accuracy.md gives the recall and precision for other settings.
 */
export const OWN_OBSERVATION = 2;

/** Weight of an entry that a list shares with one of its sources, and of an entry of an old collection. */
export const COPY_WEIGHT = 1;

const PUBLISHERS = new Map(FEEDS.map(({ id, homepage }) => [id, homepage]));

/** Returns the publisher of a feed. Two lists of one publisher have one origin. */
export const publisherOf = (feed: string) => PUBLISHERS.get(feed) ?? feed;

/** Weight of a mail host, for or against a listing: as much as a reviewed list. */
export const MAIL_HOST_WEIGHT = 2;

/** Weight that a popular parent domain has against a listed name below it. */
export const POPULAR_PARENT_WEIGHT = 1;

/** Weight against a name under a reserved ending. It equals the weight of one copied list. */
export const RESERVED_ENDING_WEIGHT = 1;

/**
 * Weight against a name that is one typing error away from a large provider. It equals the weight of a reviewed list,
 * because reviewed lists also contain such names.
 */
export const TYPING_ERROR_WEIGHT = 2;

/** @param stated the weight in the row, if it is an operator's own feed */
export function weightOf(feed: string, stated?: number): number {
  return stated ?? WEIGHTS[feed] ?? 1;
}

/**
 * Weight in favour of "disposable" for a name that contains one of DISPOSABLE_WORDS. It never decides by itself,
 * because only listed domains are voted on.
 */
export const NAME_WEIGHT = 3;

/**
 * Words to search for in a name after its hyphens and dots are removed. No name of a university or free-mail provider
 * contains any of them.
 */
export const DISPOSABLE_WORDS: readonly string[] = [
  "tempmail",
  "tempemail",
  "tempinbox",
  "temporarymail",
  "temporaryemail",
  "tmpmail",
  "trashmail",
  "throwaway",
  "disposable",
  "10minute",
  "minutemail",
  "fakemail",
  "fakeinbox",
  "burnermail",
  "mailinator",
  "guerrillamail",
  "yopmail",
  "wegwerf", // German: disposable
  "jetable", // French: disposable
];

/**
 * Returns whether the name contains one of DISPOSABLE_WORDS.
 * @param path from the engine's `walkUp`: the domain and its parents, ending with its registrable domain
 */
export function hasDisposableName(path: readonly string[]): boolean {
  const joined = (path[0] ?? "").replaceAll(/[.-]/g, "");
  return DISPOSABLE_WORDS.some((word) => joined.includes(word));
}
