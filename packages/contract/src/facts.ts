// facts.ts: the facts about a visitor that the conditions of rules and reasons read, and the crawlers that
// they can check.

import { CONTINENT_CODES, COUNTRY_CODES } from "./countries.ts";
import { NETWORK_KINDS, NETWORK_SERVICES } from "./fields.ts";
import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";

/**
 * Results of a crawler check, which compares the address with the ranges that the claimed crawler's operator publishes.
 */
const CRAWLER_CHECKS = ["verified", "forged", "unverifiable"] as const;
export type CrawlerCheck = (typeof CRAWLER_CHECKS)[number];

interface CrawlerRow {
  /** A part of the user agent, in lower case. */
  readonly token: string;
  readonly operator: string;
  /**
   * The feed with the operator's ranges; undefined if there is none, so that no claim can be verified. If the ranges
   * are all of the operator's networks, a claim can be forged, but not verified.
   */
  readonly feed?: string;
}

/** The known crawlers. */
export const CRAWLERS: readonly CrawlerRow[] = [
  { token: "googlebot", operator: "google", feed: "googlebot" },
  { token: "bingbot", operator: "microsoft", feed: "bingbot" },
  { token: "applebot", operator: "apple", feed: "applebot" },
  { token: "duckduckbot", operator: "duckduckgo", feed: "duckduckbot" },
  { token: "gptbot", operator: "openai", feed: "openai-gptbot" },
  { token: "oai-searchbot", operator: "openai", feed: "openai-searchbot" },
  { token: "chatgpt-user", operator: "openai", feed: "openai-user" },
  { token: "ahrefsbot", operator: "ahrefs", feed: "ahrefsbot" },
  { token: "ccbot", operator: "commoncrawl", feed: "ccbot" },
  { token: "perplexitybot", operator: "perplexity", feed: "perplexitybot" },
  { token: "perplexity-user", operator: "perplexity", feed: "perplexity-user" },
  { token: "duckassistbot", operator: "duckduckgo", feed: "duckduckbot" },
  { token: "claudebot", operator: "anthropic", feed: "ipverse-crawlers" },
  { token: "claude-user", operator: "anthropic", feed: "ipverse-crawlers" },
  { token: "claude-searchbot", operator: "anthropic", feed: "ipverse-crawlers" },
  { token: "amazonbot", operator: "amazon", feed: "ipverse-crawlers" },
  { token: "kagibot", operator: "kagi", feed: "ipverse-crawlers" },
  { token: "sebot-wa", operator: "seranking", feed: "ipverse-crawlers" },
  { token: "serankingbacklinksbot", operator: "seranking", feed: "ipverse-crawlers" },
  { token: "yandexbot", operator: "yandex", feed: "ipverse-crawlers" },
  { token: "facebookexternalhit", operator: "meta", feed: "ipverse-crawlers" },
  { token: "meta-externalagent", operator: "meta", feed: "ipverse-crawlers" },
  { token: "meta-externalfetcher", operator: "meta", feed: "ipverse-crawlers" },
  { token: "baiduspider", operator: "baidu" },
  { token: "twitterbot", operator: "x" },
  { token: "semrushbot", operator: "semrush" },
  { token: "bytespider", operator: "bytedance" },
];

/** The types of facts. Numbers are doubles, and lists contain texts. */
export const FACT_TYPES = ["text", "number", "boolean", "list"] as const;
export type FactType = (typeof FACT_TYPES)[number];

interface FactRow {
  readonly type: FactType;
  readonly meaning: string;
  /** The data behind the fact, as named in `degraded`. If a release lacks this data, the fact is unknown. */
  readonly data?: DegradedData;
  /** The possible values of a text, or of the items of a list; undefined if any value is possible. */
  readonly values?: readonly string[];
  /** Is the text always in upper case, as codes of subdivisions are? */
  readonly isUpperCase?: boolean;
}

/** The names that `degraded` can contain. */
export const DEGRADED_DATA = [
  ...REPUTATION_FLAGS,
  "disposable",
  "geolocation",
  "network",
  "history",
] as const;
export type DegradedData = (typeof DEGRADED_DATA)[number];

/** The subjects whose decisions `count` can count. */
export const COUNT_SUBJECTS = ["network", "mailbox", "domain"] as const;
export type CountSubject = (typeof COUNT_SUBJECTS)[number];
export const COUNT_WINDOWS = ["1h", "24h"] as const;
type CountWindow = (typeof COUNT_WINDOWS)[number];
export type CountFact = `count.${CountSubject}_${CountWindow}`;
/** Returns the name of the fact that `count(subject, window)` in a condition reads. */
export const countFact = (subject: CountSubject, window: CountWindow): CountFact =>
  `count.${subject}_${window}`;

const counted = (of: string) =>
  ({
    type: "number",
    meaning: `decisions about ${of}, including the current decision; known only if a rule reads this fact`,
  }) as const;

const remembered = (type: "number" | "boolean", meaning: string) =>
  ({ type, data: "history", meaning: `${meaning}; known only if a rule or reason reads it` }) as const;

type FlagFact = `ip.${ReputationFlag}`;
/** Returns the name of a flag's fact. */
export const flagFact = (flag: ReputationFlag): FlagFact => `ip.${flag}`;
const FLAG_FACTS = Object.fromEntries(
  REPUTATION_FLAGS.map((flag) => [
    flagFact(flag),
    { type: "boolean", data: flag, meaning: FLAG_ROWS[flag].reason.meaning },
  ]),
) as Readonly<Record<FlagFact, { readonly type: "boolean" } & FactRow>>;

const NETWORK = { data: "network" } as const;
const CODE = { type: "text", isUpperCase: true } as const;
const COUNTRY = { type: "text", values: COUNTRY_CODES } as const;
const PLACE = { data: "geolocation" } as const;

const FACTS = {
  event: { type: "text", meaning: "what the visitor is doing, as sent by the caller: `sign_up`" },
  user_agent: { type: "text", meaning: "the `User-Agent` sent by the caller" },
  expected_country: {
    ...COUNTRY,
    meaning: "the country sent by the caller, such as the card's: ISO 3166-1 alpha-2",
  },
  "ip.network": { type: "text", meaning: "the /24 or /48 around the address" },
  ...FLAG_FACTS,
  "ip.kind": {
    type: "text",
    ...NETWORK,
    values: NETWORK_KINDS,
    meaning:
      "the network's kind: `hosting`, `isp`, `mobile`, `education`, `government`, `business` or `unknown`",
  },
  "ip.shared": {
    type: "boolean",
    ...NETWORK,
    meaning: "the operator declares that many people share one address",
  },
  "ip.services": {
    type: "list",
    ...NETWORK,
    values: NETWORK_SERVICES,
    meaning:
      "services that operators publish for the network: `cdn`, `crawler`, `gateway`, `mail_sender`, `monitor`, `relay`, `resolver`, `webhook_sender`; and `proxy_seen`",
  },
  "ip.operator": {
    type: "text",
    ...NETWORK,
    meaning: "the operator that publishes the network for its service",
  },
  "ip.asn": { type: "number", ...NETWORK, meaning: "the autonomous system's number" },
  "ip.organization": { type: "text", ...NETWORK, meaning: "the autonomous system's name" },
  "ip.crawler": { type: "text", meaning: "the operator of the crawler that the user agent claims to be" },
  "ip.crawler_check": {
    type: "text",
    values: CRAWLER_CHECKS,
    meaning: "the user agent's claim, compared with published ranges: `verified`, `forged` or `unverifiable`",
  },
  "ip.country": { ...COUNTRY, ...PLACE, meaning: "where the user is: ISO 3166-1 alpha-2" },
  "ip.registered_country": { ...COUNTRY, ...PLACE, meaning: "where the address block is registered" },
  "ip.continent": { type: "text", values: CONTINENT_CODES, ...PLACE, meaning: "the continent's code: `EU`" },
  "ip.subdivision": {
    ...CODE,
    ...PLACE,
    meaning: "the largest subdivision: the part of its ISO 3166-2 code after the hyphen",
  },
  "ip.city": { type: "text", ...PLACE, meaning: "the city's name" },
  "ip.time_zone": { type: "text", ...PLACE, meaning: "the time zone's IANA name" },
  "ip.latitude": { type: "number", ...PLACE, meaning: "the location's latitude in degrees" },
  "ip.longitude": { type: "number", ...PLACE, meaning: "the location's longitude in degrees" },
  "ip.accuracy_radius": {
    type: "number",
    ...PLACE,
    meaning: "how far the address may be from the location, in kilometres",
  },
  "ip.distance": {
    type: "number",
    ...PLACE,
    meaning: "kilometres from `previous`, minus both accuracy radii",
  },
  "ip.speed": {
    type: "number",
    ...PLACE,
    meaning: "speed needed to travel this distance, in kilometres per hour",
  },
  "email.domain": { type: "text", meaning: "the email address's domain, in lower case" },
  "email.valid": { type: "boolean", meaning: "the address could receive mail, judging by its text only" },
  "email.disposable": {
    type: "boolean",
    data: "disposable",
    meaning: "the domain belongs to a disposable-email provider",
  },
  "email.providers": {
    type: "list",
    data: "disposable",
    meaning: "the providers in the email lookup's answer",
  },
  "email.listed": {
    type: "boolean",
    data: "disposable",
    meaning: "the domain is on one list of disposable domains, and no other list confirms it",
  },
  "email.mistyped": { type: "boolean", meaning: "the domain differs slightly from a popular one" },
  "email.confusable": {
    type: "boolean",
    meaning: "the domain imitates another domain with similar letters: `gmaіl.com` with a Cyrillic letter",
  },
  "email.role_account": { type: "boolean", meaning: "the mailbox belongs to a role, not a person: `info@`" },
  "email.alias": { type: "boolean", meaning: "the address has a tag: `jane+shop@`" },
  "email.relay": { type: "boolean", data: "disposable", meaning: "a privacy relay forwards the mail" },
  "email.free_mail": {
    type: "boolean",
    data: "disposable",
    meaning: "the domain belongs to a free mail provider",
  },
  "count.network_1h": counted("the /24 or /48 in the last hour"),
  "count.network_24h": counted("the /24 or /48 in the last 24 hours"),
  "count.mailbox_1h": counted("the mailbox in the last hour"),
  "count.mailbox_24h": counted("the mailbox in the last 24 hours"),
  "count.domain_1h": counted("the email domain in the last hour"),
  "count.domain_24h": counted("the email domain in the last 24 hours"),
  "history.mailbox_seen": remembered("boolean", "an earlier decision was about this mailbox"),
  "history.mailbox_fraud": remembered(
    "boolean",
    "an earlier decision about this mailbox was labelled `fraud`",
  ),
  "history.domain_fraud_30d": remembered(
    "number",
    "decisions of the last 30 days about the email domain that were labelled `fraud`",
  ),
  "history.network_fraud_30d": remembered(
    "number",
    "decisions of the last 30 days about the /24 or /48 that were labelled `fraud`",
  ),
  "history.account_networks_30d": remembered(
    "number",
    "networks (/24 or /48) from which `account` was used in the last 30 days",
  ),
  "history.account_failures_1h": remembered("number", "`login_failed` events of `account` in the last hour"),
  "history.address_failures_1h": remembered(
    "number",
    "`login_failed` events from the IPv4 address or IPv6 /64 in the last hour",
  ),
  "history.network_failures_1h": remembered(
    "number",
    "`login_failed` events from the /24 or /48 in the last hour",
  ),
  "history.network_failed_accounts_1h": remembered(
    "number",
    "accounts with a `login_failed` event from the /24 or /48 in the last hour",
  ),
  "history.network_logins_1h": remembered("number", "`login` events from the /24 or /48 in the last hour"),
} as const satisfies Readonly<Record<string, FactRow>> & Readonly<Record<CountFact, FactRow>>;

export type FactName = keyof typeof FACTS;
/** The built-in facts. A ruleset can declare further facts, which callers send in `facts`. */
export const FACT_ROWS: Readonly<Record<FactName, FactRow>> = FACTS;
export const FACT_NAMES = Object.keys(FACTS) as readonly FactName[];

/** The facts that come from stored decisions. */
export type HistoryFact = Extract<FactName, `history.${string}`>;
export const HISTORY_FACTS = FACT_NAMES.filter((name): name is HistoryFact => name.startsWith("history."));
