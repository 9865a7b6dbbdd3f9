// domain-weights.ts: the weight of each list of mail domains, and of a name itself, if there is something against a
// listing.
//
// A weight reflects a list's sources, not its size: lists that copy each other count once.
// docs/mail-policy.md shows how these numbers were found, and all that they decide.

import { FEEDS } from "../catalog/feeds.ts";

/** Feed -> weight; 1 for a feed that is not here. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  // For disposable.
  "disposable-services": 4, // Inkling's: each row with the service's own page as its source
  "disposable-email-domains": 2, // people review each entry in a pull request
  fakefilter: 4, // takes domains from the services' own pages, day by day
  "disposable-domains": 1, // collects other lists, the two above and mailchecker among them: mostly copies
  "disposable-domains-mx": 1, // those of them with a live mail server
  "tompec-domains": 1, // its older part is unreviewed, and states no sources
  // Against.
  "ordinary-mail": 8, // Inkling's: each row with a source; more than all default lists together
  "free-mail": 2, // grown from lists that put every unknown domain under "free": emailondeck.com, mail.tm
  "cloudflare-top-100k": 3, // as much as a reviewed list and a live mail server: services are popular, too
  "tranco-10k": 3,
};

/**
 * Of a list that goes by its own observation or review: it makes a domain disposable only, where nothing speaks against
 * it. Other lists need one of another publisher, or a live mail server, to confirm them. docs/accuracy.md has the recall and the precision of other settings.
 */
export const OWN_OBSERVATION = 2;

/** Lists of domains whose mail server was found alive: new services are there first. */
export const LIVE_MAIL_SERVERS: ReadonlySet<string> = new Set(["disposable-domains-mx"]);

const PUBLISHERS = new Map(FEEDS.map(({ id, homepage }) => [id, homepage]));

/** Whose list a feed is: two lists of one publisher do not confirm each other. */
export const publisherOf = (feed: string) => PUBLISHERS.get(feed) ?? feed;

/** Of a popular domain for a listed name below it. */
export const POPULAR_PARENT_WEIGHT = 1;

/** Against, of a name under a reserved ending: as much as a copied list. */
export const RESERVED_ENDING_WEIGHT = 1;

/** Against, of a name one typing error from a large provider's: as much as a reviewed list, which holds such names, too. */
export const TYPING_ERROR_WEIGHT = 2;

/** @param stated in the row of an operator's own feed */
export function weightOf(feed: string, stated?: number): number {
  return stated ?? WEIGHTS[feed] ?? 1;
}

/** For disposable, of a name with one of DISPOSABLE_WORDS. It never decides alone: only listed domains are voted on. */
export const NAME_WEIGHT = 3;

/** Searched in a name without hyphens and dots. No university's or free-mail provider's name has one. */
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
  "jetable", // French: to be thrown away
];

/**
 * Whether the name has one of DISPOSABLE_WORDS.
 * @param path from the engine's `walkUp`: the domain, its parents, last its registrable domain
 */
export function hasDisposableName(path: readonly string[]): boolean {
  const joined = (path[0] ?? "").replaceAll(/[.-]/g, "");
  return DISPOSABLE_WORDS.some((word) => joined.includes(word));
}
