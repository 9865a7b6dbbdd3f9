// domain-weights.ts: the weight of each list of mail domains, where lists disagree.
//
// A weight reflects a list's sources, not its size: lists that copy each other count once.
// docs/policy.md shows how these numbers were found, and all that they decide.

/** Feed -> weight; 1 for a feed that is not here. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  // For disposable.
  "disposable-services": 3, // ours: each row with the service's own page as its source
  "disposable-email-domains": 2, // people review each entry in a pull request
  fakefilter: 2, // takes domains from the services' own pages, day by day
  "disposable-domains-mx": 1, // collects other lists, the one above and mailchecker among them: mostly copies
  // Against.
  "ordinary-mail": 6, // ours: each row with a source; more than all default lists together
  "free-mail": 2, // grown from lists that put every unknown domain under "free": emailondeck.com, mail.tm
};

export function weightOf(feed: string): number {
  return WEIGHTS[feed] ?? 1;
}

/** Of a name with one of DISPOSABLE_WORDS. It never decides alone: only listed domains are voted on. */
export const NAME_WEIGHT = 2;

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
