// feed-limits.ts: limits that several rows of the feed table share.

import type { AgeLimits } from "./feed.ts";

export const HOUR = 1;
export const DAY = 24;
export const WEEK = 7 * DAY;
export const MIB = 2 ** 20;

const NEVER = Number.POSITIVE_INFINITY;
/** For a list whose content is different each time, and for Inkling's own lists. */
export const ANY_CHANGE = Number.POSITIVE_INFINITY;

/**
 * The age at which a copy becomes stale, and the age at which it is dropped. docs/policy.md gives the reasons;
 * `ageOf` (validate/copy-gates.ts) applies the limits.
 */
export const AGE = {
  // An open proxy closes within days, and then someone else gets its address.
  openProxies: { staleHours: 12, dropHours: 4 * DAY },
  // A quarter of Tor's exits close within four months, and one in 34 closes within two weeks.
  exits: { staleHours: 12, dropHours: 14 * DAY },
  // Attackers' addresses are reassigned, and behind carrier-grade NAT, thousands of people share one address.
  attackers: { staleHours: 3 * DAY, dropHours: 7 * DAY },
  // The lists of 1 June, 6 August and 1 September 2026 were up to 66 days apart. After three months, 41 of 65
  // ExpressVPN locations still had the same servers.
  vpnServers: { staleHours: 75 * DAY, dropHours: 120 * DAY },
  // The lists are new each day, so an older copy shows that the publisher has stopped.
  dailyServers: { staleHours: 7 * DAY, dropHours: 120 * DAY },
  // The networks of VPN providers and criminals rarely change hands.
  networks: { staleHours: 7 * DAY, dropHours: 180 * DAY },
  // Dropping an allow-list would flag more people by mistake.
  allowList: { staleHours: 30 * DAY, dropHours: NEVER },
  // A disposable domain hardly ever becomes an ordinary domain.
  domains: { staleHours: 14 * DAY, dropHours: 3 * 365 * DAY },
  // Locations change slowly, and an old location is better than none.
  places: { staleHours: 60 * DAY, dropHours: NEVER },
  // Clouds move networks between regions, and relays move networks between countries.
  placeFeeds: { staleHours: 14 * DAY, dropHours: 180 * DAY },
  // An access network's cities hardly change: GeoLite2 of June 2026 agrees with 95% of the networks that T-Mobile US
  // listed in January.
  accessPlaces: { staleHours: 365 * DAY, dropHours: 3 * 365 * DAY },
  // MaxMind's licence requires users to destroy old copies.
  maxmind: { staleHours: 10 * DAY, dropHours: 30 * DAY },
  builtIn: { staleHours: 2 * 365 * DAY, dropHours: NEVER },
} as const satisfies Record<string, AgeLimits>;

/** For a list of individual addresses. */
export const ADDRESSES = { v4: 32, v6: 128 } as const;

/** Returns a `urls` function for a URL that does not depend on the date. */
export const fixed = (url: string) => () => [url];

/** Returns the fields of a list in a repository on GitHub. @param file its branch and path */
export const github = (repository: string, file: string) => ({
  homepage: `https://github.com/${repository}`,
  urls: fixed(`https://raw.githubusercontent.com/${repository}/${file}`),
});

/** The fields that all of Inkling's own lists share. Each row of such a list has its source. */
export const OURS = {
  urls: () => [],
  licence: "Apache-2.0",
  cadenceHours: 26 * WEEK,
  age: AGE.builtIn,
  change: ANY_CHANGE,
} as const;
