// guard-feeds.ts: feeds of networks that other lists include by mistake. The policy removes flags from these networks.
//
// policy/labels.ts defines how each kind affects flags. For some published lists, Inkling includes a fallback file. For
// networks that nobody publishes in machine-readable form, Inkling has its own lists.
//
// Each row of data/guards has the page that it was taken from in August 2026 (Akamai: in November 2026).

import type { Feed } from "./feed.ts";
import { ADDRESSES, AGE, DAY, fixed, github, OURS, WEEK } from "./feed-limits.ts";

const own = (name: string) => `data/guards/${name}.csv`;

/**
 * An operator's list of its own networks. If a row has a fallback file in `own`, the file has the format `ownFormat`.
 */
const PUBLISHED = {
  sets: "guard",
  licence: "none stated; facts that the operator publishes for this use",
  age: AGE.allowList,
  change: 0.5,
  ownFormat: "exit-networks",
} as const;

const OUR_GUARDS = {
  ...OURS,
  sets: "guard",
  format: "exit-networks",
  homepage: "docs/policy.md#guards",
} as const;

/** The addresses of one operator's machines. Inkling does not include a fallback file for them. */
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

type CrawlerRow = readonly [id: string, what: string, file: string, least: number, most: number];

/**
 * Returns rows for the networks from which an operator runs its crawlers, or fetches pages on behalf of its users. The
 * limits of entries are estimates if the publisher's file was not available for counting.
 * @param base the URL of the files, up to their names
 */
const crawlers = (
  operator: string,
  name: string,
  homepage: string,
  base: string,
  rows: readonly CrawlerRow[],
): Feed[] =>
  rows.map(([id, what, file, least, most]) => ({
    ...PUBLISHED,
    id,
    operator,
    format: "prefix-json",
    label: "crawler",
    title: `${name}: the ${what}`,
    homepage,
    urls: fixed(`${base}${file}`),
    cadenceHours: DAY,
    widest: { v4: 20, v6: 48 },
    entries: { least, most },
  }));

const GOOGLE = "https://developers.google.com/search/docs/crawling-indexing";
const GOOGLE_RANGES = "https://developers.google.com/static/search/apis/ipranges/";

const BINGBOT = "https://www.bing.com/webmasters/help/how-to-verify-bingbot-3905dc26";

const CRAWLERS: readonly Feed[] = [
  ...crawlers("openai", "OpenAI", "https://platform.openai.com/docs/bots", "https://openai.com/", [
    ["openai-gptbot", "networks that GPTBot comes from", "gptbot.json", 2, 2_000],
    ["openai-searchbot", "networks that OAI-SearchBot comes from", "searchbot.json", 2, 2_000],
    ["openai-user", "networks from which ChatGPT fetches pages for its users", "chatgpt-user.json", 2, 5_000],
  ]),
  ...crawlers(
    "apple",
    "Apple",
    "https://support.apple.com/en-us/119829",
    "https://search.developer.apple.com/",
    [["applebot", "networks that Applebot comes from", "applebot.json", 10, 400]],
  ),
  ...crawlers(
    "duckduckgo",
    "DuckDuckGo",
    "https://duckduckgo.com/duckduckgo-help-pages/results/duckduckbot",
    "https://duckduckgo.com/",
    [["duckduckbot", "addresses that DuckDuckBot comes from", "duckduckbot.json", 50, 3_000]],
  ),
  ...crawlers("ahrefs", "Ahrefs", "https://ahrefs.com/robot", "https://api.ahrefs.com/v3/public/", [
    ["ahrefsbot", "addresses that AhrefsBot comes from", "crawler-ip-ranges", 100, 50_000],
  ]),
  ...crawlers(
    "commoncrawl",
    "Common Crawl",
    "https://commoncrawl.org/ccbot",
    "https://index.commoncrawl.org/",
    [["ccbot", "networks that CCBot comes from", "ccbot.json", 2, 100]],
  ),
  ...crawlers(
    "perplexity",
    "Perplexity",
    "https://docs.perplexity.ai/guides/bots",
    "https://www.perplexity.com/",
    [
      ["perplexitybot", "networks that PerplexityBot comes from", "perplexitybot.json", 1, 500],
      [
        "perplexity-user",
        "networks from which it fetches pages for its users",
        "perplexity-user.json",
        1,
        500,
      ],
    ],
  ),
  ...crawlers("google", "Google", `${GOOGLE}/overview-google-crawlers`, GOOGLE_RANGES, [
    [
      "google-special-crawlers",
      "networks that its special-case crawlers come from",
      "special-crawlers.json",
      10,
      3_000,
    ],
    [
      "google-user-fetchers",
      "networks that its customers' fetchers come from",
      "user-triggered-fetchers.json",
      10,
      5_000,
    ],
    [
      "google-own-fetchers",
      "networks from which it fetches pages for its users",
      "user-triggered-fetchers-google.json",
      10,
      5_000,
    ],
  ]),
];

/** Lists of bots by service. For some services, they have all networks of the operator, with all its other machines. */
const BOTS = {
  sets: "guard",
  format: "ipverse-bots",
  doubtful: { subject: "guard", label: "crawler_network" },
  licence: "CC0-1.0",
  cadenceHours: DAY,
  age: AGE.allowList,
  change: 0.5,
  widest: { v4: 13, v6: 28 }, // Meta has a /14, and Yandex has a /29
} as const;

/** Lists of networks that other lists report by mistake: open resolvers, and a CDN's networks. */
const WARNING_LIST = {
  sets: "guard",
  format: "misp-json",
  label: "listed_resolver",
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
    label: "public_resolver",
    title: "Inkling: public resolvers, each with its operator's page",
    widest: { v4: 24, v6: 48 },
    entries: { least: 50, most: 2_000 },
    own: own("public-resolvers"),
  },
  {
    ...OUR_GUARDS,
    id: "listed-resolvers",
    label: "listed_resolver",
    title: "Inkling: public resolvers in networks of VPN providers, each with the list that contains it",
    widest: ADDRESSES,
    entries: { least: 10, most: 2_000 },
    own: own("listed-resolvers"),
  },
  {
    ...WARNING_LIST,
    id: "public-dns-v4",
    title: "MISP warning list: open IPv4 resolvers",
    ...github("MISP/misp-warninglists", "main/lists/public-dns-v4/list.json"),
    entries: { least: 20_000, most: 300_000 },
  },
  {
    ...WARNING_LIST,
    id: "public-dns-v6",
    title: "MISP warning list: open IPv6 resolvers",
    ...github("MISP/misp-warninglists", "main/lists/public-dns-v6/list.json"),
    entries: { least: 80, most: 10_000 },
  },
  {
    ...CLOUDFLARE,
    id: "cloudflare-v4",
    operator: "cloudflare",
    title: "Cloudflare: its IPv4 networks",
    urls: fixed("https://www.cloudflare.com/ips-v4"),
    widest: { v4: 12, v6: 128 },
    entries: { least: 8, most: 200 },
    own: own("cloudflare-v4"),
  },
  {
    ...CLOUDFLARE,
    id: "cloudflare-v6",
    operator: "cloudflare",
    title: "Cloudflare: its IPv6 networks",
    urls: fixed("https://www.cloudflare.com/ips-v6"),
    widest: { v4: 32, v6: 28 },
    entries: { least: 3, most: 200 },
    own: own("cloudflare-v6"),
  },
  {
    ...PUBLISHED,
    id: "fastly",
    operator: "fastly",
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
    operator: "akamai",
    label: "cdn_operator",
    rentedOut: [63949, 48337], // Linode
    title: "MISP warning list: Akamai's networks",
    ...github("MISP/misp-warninglists", "main/lists/akamai/list.json"),
    widest: { v4: 10, v6: 24 },
    entries: { least: 15, most: 5_000 },
    ownFormat: "exit-networks",
    own: own("akamai"),
  },
  ...crawlers("google", "Google", `${GOOGLE}/verifying-googlebot`, GOOGLE_RANGES, [
    ["googlebot", "networks that Googlebot comes from", "googlebot.json", 20, 3_000],
  ]).map((feed) => ({ ...feed, own: own("googlebot") })),
  ...crawlers("microsoft", "Microsoft", BINGBOT, "https://www.bing.com/toolbox/", [
    ["bingbot", "networks that Bingbot comes from", "bingbot.json", 8, 1_000],
  ]).map((feed) => ({ ...feed, own: own("bingbot") })),
  ...CRAWLERS,
  {
    ...BOTS,
    id: "ipverse-crawlers",
    label: "crawler",
    title: "ipverse: the networks of crawlers, by service",
    ...github("ipverse/bot-ip-blocks", "master/crawlers.json"),
    entries: { least: 500, most: 20_000 },
  },
  {
    ...BOTS,
    id: "ipverse-monitoring",
    label: "monitor",
    title: "ipverse: the networks of monitoring services, by service",
    ...github("ipverse/bot-ip-blocks", "master/monitoring.json"),
    entries: { least: 400, most: 20_000 },
  },
  {
    ...MACHINES,
    id: "github-hooks",
    operator: "github",
    format: "github-meta",
    label: "webhook_sender",
    title: "GitHub: the networks that webhooks come from",
    homepage: "https://docs.github.com/en/rest/meta/meta",
    urls: fixed("https://api.github.com/meta"),
    widest: { v4: 20, v6: 32 }, // the widest network was a /20 in 2026
    entries: { least: 2, most: 200 },
  },
  {
    ...MACHINES,
    id: "stripe-webhooks",
    operator: "stripe",
    label: "webhook_sender",
    title: "Stripe: the addresses that webhooks come from",
    homepage: "https://docs.stripe.com/ips",
    urls: fixed("https://stripe.com/files/ips/ips_webhooks.txt"),
    entries: { least: 5, most: 500 },
  },
  {
    ...MACHINES,
    id: "betterstack-monitors",
    operator: "betterstack",
    label: "monitor",
    title: "Better Stack: the addresses that its monitors check from",
    homepage: "https://uptime.betterstack.com/",
    urls: fixed("https://uptime.betterstack.com/ips.txt"),
    entries: { least: 10, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "pingdom-monitors-v4",
    operator: "pingdom",
    label: "monitor",
    title: "Pingdom: the IPv4 addresses that its monitors check from",
    homepage: "https://www.pingdom.com/",
    urls: fixed("https://my.pingdom.com/probes/ipv4"),
    entries: { least: 20, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "pingdom-monitors-v6",
    operator: "pingdom",
    label: "monitor",
    title: "Pingdom: the IPv6 addresses that its monitors check from",
    homepage: "https://www.pingdom.com/",
    urls: fixed("https://my.pingdom.com/probes/ipv6"),
    entries: { least: 5, most: 2_000 },
  },
  {
    ...MACHINES,
    id: "uptimerobot-monitors",
    operator: "uptimerobot",
    label: "monitor",
    title: "UptimeRobot: the addresses that its monitors check from",
    homepage: "https://uptimerobot.com/help/locations/",
    urls: fixed("https://uptimerobot.com/inc/files/ips/IPv4andIPv6.txt"),
    entries: { least: 50, most: 5_000 },
  },
  {
    ...OUR_GUARDS,
    id: "mail-senders",
    label: "mail_sender",
    title: "Inkling: networks from which Gmail and Exchange Online Protection send mail",
    widest: { v4: 14, v6: 32 },
    entries: { least: 5, most: 500 },
    own: own("mail-senders"),
  },
];
