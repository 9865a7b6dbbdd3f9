// guard-feeds.ts: feeds of networks that lists name by mistake: policy removes their flags.
//
// policy/guards.ts has the effect of each kind. Published lists have a fallback file of ours; networks that are not
// published in machine-readable form are our own lists.
// src  each row of data/guards names the page it was read on, in August 2026

import type { Feed } from "./feed.ts";
import { ADDRESSES, AGE, DAY, fixed, MIB, OURS, WEEK } from "./feed-limits.ts";

const own = (name: string) => `data/guards/${name}.csv`;

/** An operator's list of its own networks, with a fallback file of ours. */
const PUBLISHED = {
  sets: "guard",
  licence: "none stated; facts that the operator publishes for this use",
  age: AGE.allowList,
  change: 0.5,
  ownFormat: "exit-networks",
  maxBytes: MIB,
} as const;

const OUR_GUARDS = { ...OURS, sets: "guard", format: "exit-networks", homepage: "docs/policy.md" } as const;

/** Machines of one operator, a list of addresses; none of ours stands in for it. */
const MACHINES = {
  ...PUBLISHED,
  format: "ip-lines",
  cadenceHours: DAY,
  widest: { v4: 20, v6: 48 },
} as const;

const CLOUDFLARE = {
  ...PUBLISHED,
  format: "ip-lines",
  label: "cdn",
  homepage: "https://www.cloudflare.com/ips/",
  cadenceHours: DAY,
} as const;

/** Lists of what is reported by mistake: open resolvers, and a CDN's networks. */
const WARNING_LIST = {
  sets: "guard",
  format: "misp-json",
  label: "listed-resolver",
  homepage: "https://github.com/MISP/misp-warninglists",
  licence: "CC0-1.0",
  cadenceHours: WEEK,
  age: AGE.allowList,
  change: 0.5,
  widest: ADDRESSES,
} as const;

export const GUARD_FEEDS: readonly Feed[] = [
  {
    ...OUR_GUARDS,
    id: "public-resolvers",
    label: "public-resolver",
    title: "Inkling: public resolvers, each with the page of its operator",
    widest: { v4: 24, v6: 48 },
    entries: { least: 50, most: 2_000 },
    own: own("public-resolvers"),
  },
  {
    ...OUR_GUARDS,
    id: "listed-resolvers",
    label: "listed-resolver",
    title: "Inkling: public resolvers in networks of VPN providers, each with the list that names it",
    widest: ADDRESSES,
    entries: { least: 10, most: 2_000 },
    own: own("listed-resolvers"),
  },
  {
    ...WARNING_LIST,
    id: "public-dns-v4",
    title: "MISP warning list: open IPv4 resolvers",
    urls: fixed(
      "https://raw.githubusercontent.com/MISP/misp-warninglists/main/lists/public-dns-v4/list.json",
    ),
    entries: { least: 20_000, most: 300_000 },
    maxBytes: 16 * MIB,
  },
  {
    ...WARNING_LIST,
    id: "public-dns-v6",
    title: "MISP warning list: open IPv6 resolvers",
    urls: fixed(
      "https://raw.githubusercontent.com/MISP/misp-warninglists/main/lists/public-dns-v6/list.json",
    ),
    entries: { least: 80, most: 10_000 },
    maxBytes: 4 * MIB,
  },
  {
    ...CLOUDFLARE,
    id: "cloudflare-v4",
    title: "Cloudflare: its IPv4 networks",
    urls: fixed("https://www.cloudflare.com/ips-v4"),
    widest: { v4: 12, v6: 128 },
    entries: { least: 8, most: 200 },
    own: own("cloudflare-v4"),
  },
  {
    ...CLOUDFLARE,
    id: "cloudflare-v6",
    title: "Cloudflare: its IPv6 networks",
    urls: fixed("https://www.cloudflare.com/ips-v6"),
    widest: { v4: 32, v6: 28 },
    entries: { least: 3, most: 200 },
    own: own("cloudflare-v6"),
  },
  {
    ...PUBLISHED,
    id: "fastly",
    format: "fastly-json",
    label: "cdn",
    title: "Fastly: its networks",
    homepage: "https://www.fastly.com/documentation/reference/api/utils/public-ip-list/",
    urls: fixed("https://api.fastly.com/public-ip-list"),
    cadenceHours: DAY,
    widest: { v4: 14, v6: 30 },
    entries: { least: 10, most: 500 },
    own: own("fastly"),
  },
  {
    ...WARNING_LIST,
    id: "akamai",
    label: "cdn-operator",
    title: "MISP warning list: Akamai's networks",
    urls: fixed("https://raw.githubusercontent.com/MISP/misp-warninglists/main/lists/akamai/list.json"),
    widest: { v4: 10, v6: 24 },
    entries: { least: 15, most: 5_000 },
    maxBytes: 4 * MIB,
    ownFormat: "exit-networks",
    own: own("akamai"),
  },
  {
    ...PUBLISHED,
    id: "googlebot",
    format: "prefix-json",
    label: "crawler",
    title: "Google: the networks that Googlebot comes from",
    homepage: "https://developers.google.com/search/docs/crawling-indexing/verifying-googlebot",
    urls: fixed("https://developers.google.com/static/search/apis/ipranges/googlebot.json"),
    cadenceHours: DAY,
    widest: { v4: 20, v6: 48 },
    entries: { least: 20, most: 3_000 },
    own: own("googlebot"),
  },
  {
    ...PUBLISHED,
    id: "bingbot",
    format: "prefix-json",
    label: "crawler",
    title: "Microsoft: the networks that Bingbot comes from",
    homepage: "https://www.bing.com/webmasters/help/how-to-verify-bingbot-3905dc26",
    urls: fixed("https://www.bing.com/toolbox/bingbot.json"),
    cadenceHours: DAY,
    widest: { v4: 20, v6: 48 },
    entries: { least: 8, most: 1_000 },
    own: own("bingbot"),
  },
  {
    ...MACHINES,
    id: "github-hooks",
    format: "github-meta",
    label: "webhook-sender",
    title: "GitHub: the networks that webhooks come from",
    homepage: "https://docs.github.com/en/rest/meta/meta",
    urls: fixed("https://api.github.com/meta"),
    widest: { v4: 20, v6: 32 }, // a /20 in 2026
    maxBytes: 16 * MIB, // it has all other networks as well
    entries: { least: 2, most: 200 },
  },
  {
    ...MACHINES,
    id: "stripe-webhooks",
    label: "webhook-sender",
    title: "Stripe: the addresses that webhooks come from",
    homepage: "https://docs.stripe.com/ips",
    urls: fixed("https://stripe.com/files/ips/ips_webhooks.txt"),
    entries: { least: 5, most: 500 },
  },
  {
    ...MACHINES,
    id: "betterstack-monitors",
    label: "monitor",
    title: "Better Stack: the addresses that its monitors check from",
    homepage: "https://uptime.betterstack.com/",
    urls: fixed("https://uptime.betterstack.com/ips.txt"),
    entries: { least: 10, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "pingdom-monitors-v4",
    label: "monitor",
    title: "Pingdom: the IPv4 addresses that its monitors check from",
    homepage: "https://www.pingdom.com/",
    urls: fixed("https://my.pingdom.com/probes/ipv4"),
    entries: { least: 20, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "pingdom-monitors-v6",
    label: "monitor",
    title: "Pingdom: the IPv6 addresses that its monitors check from",
    homepage: "https://www.pingdom.com/",
    urls: fixed("https://my.pingdom.com/probes/ipv6"),
    entries: { least: 5, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "uptimerobot-monitors",
    label: "monitor",
    title: "UptimeRobot: the addresses that its monitors check from",
    homepage: "https://uptimerobot.com/help/locations/",
    urls: fixed("https://uptimerobot.com/inc/files/ips/IPv4andIPv6.txt"),
    entries: { least: 50, most: 5_000 },
  },
  {
    ...OUR_GUARDS,
    id: "mail-senders",
    label: "mail-sender",
    title: "Inkling: networks that Gmail and Exchange Online Protection send mail from",
    widest: { v4: 14, v6: 32 },
    entries: { least: 5, most: 500 },
    own: own("mail-senders"),
  },
];
