// assess.ts: what an assessment knows and gives: its actions, its facts, its reasons and the crawlers that it can check.
//
// The reasons of the engine, OpenAPI, the SDKs' types and the tables of docs/decisions.md derive from these rows.

import { ANSWER_MEMBERS, NETWORK_KINDS, NETWORK_SERVICES } from "./members.ts";
import type { Shape, ValueOf } from "./shapes.ts";

/** What to do with a visitor, from the mildest to the strictest. */
export const ACTIONS = ["allow", "challenge", "deny"] as const;
export type Action = (typeof ACTIONS)[number];

/** What became of a visitor, as the operator or the application labels a decision. */
export const OUTCOMES = ["legitimate", "abuse"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Outcomes of comparing the crawler that a user agent claims to be with the ranges that its operator publishes. */
export const CRAWLER_CHECKS = ["verified", "forged", "unverifiable"] as const;
export type CrawlerCheck = (typeof CRAWLER_CHECKS)[number];

/** The score from which on a visitor is challenged, or denied. */
export const DEFAULT_THRESHOLDS = { challenge: 0.5, deny: 0.85 } as const;
/** The least action where a flag that mattered has no data. */
export const DEFAULT_ON_MISSING: Action = "challenge";

/** The type of a fact. Numbers are doubles; a list is one of texts. */
export const FACT_TYPES = ["text", "number", "boolean", "list"] as const;
export type FactType = (typeof FACT_TYPES)[number];

interface FactRow {
  readonly type: FactType;
  readonly meaning: string;
  /** What a release may lack, which leaves the fact unknown: a name in `degraded`. */
  readonly data?: DegradedData;
  /** All that a text can be, or the items of a list; undefined: anything. */
  readonly values?: readonly string[];
}

/** What `degraded` can name. */
export const DEGRADED_DATA = [
  "is_abuser",
  "is_proxy",
  "is_tor_exit",
  "disposable",
  "geolocation",
  "network",
] as const;
export type DegradedData = (typeof DEGRADED_DATA)[number];

/** What `count` counts the assessments of. */
export const COUNT_SUBJECTS = ["network", "mailbox", "domain"] as const;
export type CountSubject = (typeof COUNT_SUBJECTS)[number];
export const COUNT_WINDOWS = ["1h", "24h"] as const;
export type CountWindow = (typeof COUNT_WINDOWS)[number];
export type CountFact = `count.${CountSubject}_${CountWindow}`;
/** The fact that `count(subject, window)` of a condition reads. */
export const countFact = (subject: CountSubject, window: CountWindow): CountFact =>
  `count.${subject}_${window}`;

const counted = (of: string) =>
  ({
    type: "number",
    meaning: `assessments of ${of}, the present one included; known only while a rule reads it`,
  }) as const;

const NETWORK = { data: "network" } as const;
const PLACE = { data: "geolocation" } as const;

const FACTS = {
  event: { type: "text", meaning: "what the visitor does, as sent: `sign_up`" },
  user_agent: { type: "text", meaning: "as sent" },
  expected_country: { type: "text", meaning: "as sent: ISO 3166-1 alpha-2" },
  "ip.network": { type: "text", meaning: "the /24 or /48 around the address" },
  "ip.is_abuser": { type: "boolean", data: "is_abuser", meaning: "flag of the reputation" },
  "ip.is_proxy": { type: "boolean", data: "is_proxy", meaning: "flag of the reputation" },
  "ip.is_tor_exit": { type: "boolean", data: "is_tor_exit", meaning: "flag of the reputation" },
  "ip.kind": {
    type: "text",
    ...NETWORK,
    values: NETWORK_KINDS,
    meaning:
      "kind of the network: `hosting`, `isp`, `mobile`, `education`, `government`, `business` or `unknown`",
  },
  "ip.shared": { type: "boolean", ...NETWORK, meaning: "many people come from one address, as published" },
  "ip.services": {
    type: "list",
    ...NETWORK,
    values: NETWORK_SERVICES,
    meaning:
      "what operators publish: `cdn`, `crawler`, `mail_sender`, `monitor`, `relay`, `resolver`, `webhook_sender`",
  },
  "ip.operator": { type: "text", ...NETWORK, meaning: "who publishes that its service runs there" },
  "ip.asn": { type: "number", ...NETWORK, meaning: "number of the autonomous system" },
  "ip.organization": { type: "text", ...NETWORK, meaning: "name of the autonomous system" },
  "ip.crawler": { type: "text", meaning: "operator of the crawler that the user agent claims to be" },
  "ip.crawler_check": {
    type: "text",
    values: CRAWLER_CHECKS,
    meaning: "that claim against published ranges: `verified`, `forged` or `unverifiable`",
  },
  "ip.country": { type: "text", ...PLACE, meaning: "where the user is: ISO 3166-1 alpha-2" },
  "ip.registered_country": { type: "text", ...PLACE, meaning: "where the block of addresses is registered" },
  "ip.continent": { type: "text", ...PLACE, meaning: "code of the continent: `EU`" },
  "ip.subdivision": { type: "text", ...PLACE, meaning: "ISO 3166-2 of the largest one, after the hyphen" },
  "ip.city": { type: "text", ...PLACE, meaning: "name of the city" },
  "ip.time_zone": { type: "text", ...PLACE, meaning: "IANA name of the time zone" },
  "ip.latitude": { type: "number", ...PLACE, meaning: "degrees" },
  "ip.longitude": { type: "number", ...PLACE, meaning: "degrees" },
  "ip.accuracy_radius": { type: "number", ...PLACE, meaning: "kilometres" },
  "ip.distance": {
    type: "number",
    ...PLACE,
    meaning: "kilometres from `previous`, less both accuracy radii",
  },
  "ip.speed": { type: "number", ...PLACE, meaning: "kilometres an hour that this distance takes" },
  "email.domain": { type: "text", meaning: "domain of the email address, in lower case" },
  "email.valid": { type: "boolean", meaning: "the address could receive mail, as far as its text tells" },
  "email.disposable": {
    type: "boolean",
    data: "disposable",
    meaning: "domain of a disposable-email provider",
  },
  "email.providers": { type: "list", data: "disposable", meaning: "the providers that the answer names" },
  "email.listed": {
    type: "boolean",
    data: "disposable",
    meaning: "on a list of disposable domains that no other list confirms",
  },
  "email.mistyped": { type: "boolean", meaning: "close to the name of a popular domain" },
  "email.confusable": {
    type: "boolean",
    meaning: "its letters look like those of another domain: `gmaіl.com` with a Cyrillic letter",
  },
  "email.role_account": { type: "boolean", meaning: "read by a role, not a person: `info@`" },
  "email.alias": { type: "boolean", meaning: "has a tag: `jane+shop@`" },
  "email.relay": { type: "boolean", data: "disposable", meaning: "a privacy relay forwards its mail" },
  "email.free_mail": { type: "boolean", data: "disposable", meaning: "a provider of ordinary free mail" },
  "count.network_1h": counted("the /24 or /48 in the last hour"),
  "count.network_24h": counted("the /24 or /48 in the last 24 hours"),
  "count.mailbox_1h": counted("the mailbox in the last hour"),
  "count.mailbox_24h": counted("the mailbox in the last 24 hours"),
  "count.domain_1h": counted("the email domain in the last hour"),
  "count.domain_24h": counted("the email domain in the last 24 hours"),
} as const satisfies Readonly<Record<string, FactRow>> & Readonly<Record<CountFact, FactRow>>;

export type FactName = keyof typeof FACTS;
/** The facts that every assessment has; a ruleset declares those below `facts`, which callers send. */
export const FACT_ROWS: Readonly<Record<FactName, FactRow>> = FACTS;
export const FACT_NAMES = Object.keys(FACTS) as readonly FactName[];

interface ReasonRow {
  /** From 0 to 1: how far the reason alone moves the score. 0 leaves it out unless a ruleset gives it a weight. */
  readonly weight: number;
  /** When it applies: a condition as rules have it. */
  readonly when: string;
  readonly meaning: string;
}

const REASONS = {
  tor_exit: { weight: 0.6, when: "ip.is_tor_exit", meaning: "the address is a Tor exit" },
  abuser: { weight: 0.55, when: "ip.is_abuser", meaning: "the address was seen attacking" },
  proxy: { weight: 0.35, when: "ip.is_proxy", meaning: "the address is a VPN or public proxy" },
  hosting_network: {
    weight: 0.25,
    when: 'ip.kind == "hosting" && !("relay" in ip.services)',
    meaning: "the address is in a data centre, and no privacy relay",
  },
  privacy_relay: { weight: 0, when: '"relay" in ip.services', meaning: "the address is a privacy relay's" },
  shared_address: { weight: 0, when: "ip.shared", meaning: "many people come from the address" },
  forged_crawler: {
    weight: 0.7,
    when: 'ip.crawler_check == "forged"',
    meaning: "the user agent names a crawler whose operator does not publish this address",
  },
  country_mismatch: {
    weight: 0.25,
    when: "has(expected_country) && has(ip.country) && ip.country != expected_country && !ip.shared",
    meaning: "the address is in another country than `expected_country`",
  },
  impossible_travel: {
    weight: 0.5,
    when: "ip.speed > 1000.0 && !ip.shared",
    meaning: "no airliner is that fast from `previous`",
  },
  disposable: {
    weight: 0.9,
    when: "email.disposable",
    meaning: "the mailbox is a disposable-email provider's",
  },
  invalid_email: {
    weight: 0.9,
    when: "has(email.valid) && !email.valid",
    meaning: "the text cannot be an address that receives mail",
  },
  listed_domain: {
    weight: 0.3,
    when: "email.listed && !email.disposable",
    meaning: "one list of disposable domains names the domain, and no other confirms it",
  },
  mistyped_domain: { weight: 0.3, when: "email.mistyped", meaning: "the domain looks like a typing error" },
  confusable_domain: {
    weight: 0.6,
    when: "email.confusable",
    meaning: "the domain is written to look like another one",
  },
  role_account: {
    weight: 0.2,
    when: "email.role_account",
    meaning: "a role reads the mailbox, not a person",
  },
  email_relay: { weight: 0, when: "email.relay", meaning: "a privacy relay forwards the mail" },
  free_mail: { weight: 0, when: "email.free_mail", meaning: "the mailbox is a free mail provider's" },
} as const satisfies Readonly<Record<string, ReasonRow>>;

export type ReasonCode = keyof typeof REASONS;
export const REASON_ROWS: Readonly<Record<ReasonCode, ReasonRow>> = REASONS;
export const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];

interface CrawlerRow {
  /** What the user agent has, in lower case. */
  readonly token: string;
  readonly operator: string;
  /** The feed with the ranges that its operator publishes; undefined: none does, and no claim can be verified. */
  readonly feed?: string;
}

/** Crawlers, by what their user agents say. */
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
  { token: "yandexbot", operator: "yandex" },
  { token: "baiduspider", operator: "baidu" },
  { token: "facebookexternalhit", operator: "meta" },
  { token: "meta-externalagent", operator: "meta" },
  { token: "twitterbot", operator: "x" },
  { token: "semrushbot", operator: "semrush" },
  { token: "claudebot", operator: "anthropic" },
  { token: "bytespider", operator: "bytedance" },
];

/** What callers send about a visitor, member by member. */
export const ASSESSMENT_INPUT = {
  type: "object",
  name: "Visitor",
  about: "A visitor: an event, and an address, an email address or both.",
  members: {
    event: {
      type: "text",
      pattern: /^[a-z0-9][a-z0-9_.-]{0,63}$/,
      description: "What the visitor does: `sign_up`, `login`, `checkout` or a name of your own",
    },
    ip: { type: "text", optional: true, description: "The visitor's address" },
    email: { type: "text", optional: true, description: "The email address that the visitor entered" },
    user_agent: { type: "text", optional: true, description: "The `User-Agent` of the visitor's request" },
    ref: {
      type: "text",
      optional: true,
      description:
        "Your name for the visitor or the attempt, at most 128 characters without control characters; stored with a decision",
    },
    expected_country: {
      type: "text",
      pattern: /^[A-Z]{2}$/,
      optional: true,
      description:
        "Where you expect the visitor, as ISO 3166-1 alpha-2: the country of the card or the account",
    },
    previous: {
      type: "object",
      optional: true,
      description: "Where and when you saw the account last, for the speed of its journey",
      members: {
        latitude: { type: "number", minimum: -90, maximum: 90 },
        longitude: { type: "number", minimum: -180, maximum: 180 },
        accuracy_radius: {
          type: "number",
          minimum: 0,
          maximum: 20_000,
          optional: true,
          description: "Kilometres; that of the present location unless given",
        },
        at: { type: "time", description: "When, with an offset: 2026-11-23T09:00:00Z" },
      },
    },
    facts: {
      type: "object",
      optional: true,
      isOpen: true,
      description:
        "At most 32 facts of your own: texts, numbers, booleans and lists of texts, as the ruleset declares them",
      members: {},
    },
  },
} as const satisfies Shape;

/** The answer of an assessment. */
export const ASSESSMENT = {
  type: "object",
  name: "Assessment",
  about: "Should this visitor be let in, and why? (docs/decisions.md)",
  members: {
    id: { type: "text", pattern: /^asm_[0-9A-Za-z]{16}$/, description: "Of this assessment" },
    action: { type: "text", values: ACTIONS, description: "What to do with the visitor" },
    review: { type: "boolean", description: "A rule asks for a person to look" },
    score: {
      type: "number",
      minimum: 0,
      maximum: 1,
      description: "1 - (1 - weight) * (1 - weight) ... over the reasons, to two digits. No probability",
    },
    reasons: {
      type: "list",
      of: {
        type: "object",
        name: "Reason",
        members: {
          code: { type: "text", known: REASON_CODES },
          weight: { type: "number", minimum: 0, maximum: 1 },
        },
      },
      description: "What raised the score. New codes may come",
    },
    rule: { type: "text", nullable: true, description: "The rule that decided; null: the score did" },
    shadow: {
      type: "list",
      of: {
        type: "object",
        name: "ShadowRule",
        members: {
          rule: { type: "text" },
          action: { type: "text", values: ACTIONS },
          review: { type: "true", optional: true },
        },
      },
      description: "What rules in shadow would have decided; they never change the action",
    },
    degraded: {
      type: "list",
      of: { type: "text", values: DEGRADED_DATA },
      description: "Data that the server lacks; the visitor may look more innocent than it is",
    },
    ruleset: { type: "number", minimum: 0, description: "Number of the ruleset; 0: none was published" },
    data_version: { type: "text", description: "The release of the data" },
    facts: {
      type: "object",
      optional: true,
      isOpen: true,
      optIn: "facts",
      description: "Only with `include=facts`: what rules read, by name; unknown facts are left out",
      members: {},
    },
    ip: {
      type: "object",
      optional: true,
      optIn: "evidence",
      description: "Only with `include=evidence`: the answers of the lookups of the address",
      members: {
        geolocate: { ...ANSWER_MEMBERS.geolocate, optional: true },
        reputation: { ...ANSWER_MEMBERS.reputation, optional: true },
      },
    },
    email: {
      ...ANSWER_MEMBERS.email,
      optional: true,
      optIn: "evidence",
      description: "Only with `include=evidence`: the answer of the lookup of the email address",
    },
  },
} as const satisfies Shape;

/** What callers send about a decision. */
export const DECISION_OUTCOME = {
  type: "object",
  name: "DecisionOutcome",
  about: "What became of a visitor.",
  members: { outcome: { type: "text", values: OUTCOMES } },
} as const satisfies Shape;

/** The answer to it. */
export const DECISION_OUTCOME_SET = {
  type: "object",
  name: "DecisionOutcomeSet",
  about: "A decision and its outcome.",
  members: { id: ASSESSMENT.members.id, ...DECISION_OUTCOME.members },
} as const satisfies Shape;

/** With `facts` as callers send them: rows do not describe members whose names they do not know. */
export type VisitorInput = Omit<ValueOf<typeof ASSESSMENT_INPUT>, "facts"> & {
  readonly facts?: Readonly<Record<string, string | number | boolean | readonly string[]>> | undefined;
};
export type DecisionOutcomeSet = ValueOf<typeof DECISION_OUTCOME_SET>;
export type AssessmentAnswer = ValueOf<typeof ASSESSMENT>;
