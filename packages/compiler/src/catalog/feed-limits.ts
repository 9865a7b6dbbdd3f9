// feed-limits.ts: values that rows of the feed table share.

import type { AgeLimits } from "./feed.ts";

export const HOUR = 1;
export const DAY = 24;
export const WEEK = 7 * DAY;
export const MIB = 2 ** 20;

const NEVER = Number.POSITIVE_INFINITY;
/** Of a list that is new each time, or is Inkling's. */
export const ANY_CHANGE = Number.POSITIVE_INFINITY;

/** After how long a copy is stale, and after how long it is dropped; docs/policy.md gives the reasons, policy/age.ts applies them. */
export const AGE = {
  // An open proxy closes within days, and its address goes to someone else.
  openProxies: { staleHours: 12, dropHours: 4 * DAY },
  // A quarter of Tor's exits closes within four months, one in 34 within two weeks.
  exits: { staleHours: 12, dropHours: 14 * DAY },
  // Attackers' addresses are reassigned, and thousands share one behind carrier-grade NAT.
  attackers: { staleHours: 3 * DAY, dropHours: 7 * DAY },
  // Lists of 1 June, 6 August and 1 September 2026: up to 66 days apart. Of 65 locations of ExpressVPN 41 had the same
  // servers three months later.
  vpnServers: { staleHours: 75 * DAY, dropHours: 120 * DAY },
  // Networks of VPN providers and of criminals change hands slowly.
  networks: { staleHours: 7 * DAY, dropHours: 180 * DAY },
  // Dropping an allow-list would flag more people wrongly.
  allowList: { staleHours: 30 * DAY, dropHours: NEVER },
  // A disposable domain hardly ever becomes an ordinary one.
  domains: { staleHours: 14 * DAY, dropHours: 3 * 365 * DAY },
  // Locations change slowly, and an old one is better than none.
  places: { staleHours: 60 * DAY, dropHours: NEVER },
  // Clouds move networks between regions, and relays between countries.
  placeFeeds: { staleHours: 14 * DAY, dropHours: 180 * DAY },
  // MaxMind's licence: older copies have to be destroyed.
  maxmind: { staleHours: 10 * DAY, dropHours: 30 * DAY },
  builtIn: { staleHours: 2 * 365 * DAY, dropHours: NEVER },
} as const satisfies Record<string, AgeLimits>;

/** A list of single addresses. */
export const ADDRESSES = { v4: 32, v6: 128 } as const;

/** A URL that is the same every day. */
export const fixed = (url: string) => () => [url];

/** Rows of Inkling's, each with its source. */
export const OURS = {
  urls: () => [],
  licence: "Apache-2.0",
  cadenceHours: 26 * WEEK,
  age: AGE.builtIn,
  change: ANY_CHANGE,
  maxBytes: MIB,
} as const;
