// assess.ts: defines the input and output of a decision, with its actions and reasons. facts.ts defines the facts
// that rules read, and lists the crawlers that a decision can check.
//
// The engine's reasons, OpenAPI, the SDKs' types and the tables of docs/decision-reference.md derive from these rows.

import { DEGRADED_DATA, flagFact, HISTORY_FACTS } from "./facts.ts";
import { ANSWER_FIELDS } from "./fields.ts";
import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";
import type { Shape, ValueOf } from "./shapes.ts";

/** What to do with a visitor, from the mildest to the strictest. */
export const ACTIONS = ["allow", "challenge", "deny"] as const;
export type Action = (typeof ACTIONS)[number];

/** How a visitor turned out. The operator or the application labels a decision with one of these outcomes. */
export const OUTCOMES = ["legitimate", "fraud"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The lowest scores at which a visitor is challenged or denied. */
export const DEFAULT_THRESHOLDS = { challenge: 0.5, deny: 0.85 } as const;
/** The mildest possible action if missing data might have changed the decision. */
export const DEFAULT_ON_MISSING: Action = "challenge";

interface ReasonRow {
  /**
   * The score that results from this reason only, from 0 to 1. A reason with weight 0 counts only if a ruleset changes
   * the weight.
   */
  readonly weight: number;
  /** The condition under which the reason applies, in the language of rules. */
  readonly when: string;
  readonly meaning: string;
}

type FlagReason = ReputationFlag extends `is_${infer Code}` ? Code : never;
/** The reasons that follow from flags, the heaviest first. */
const FLAG_REASONS = Object.fromEntries(
  REPUTATION_FLAGS.map(
    (flag) => [flag.slice("is_".length), { ...FLAG_ROWS[flag].reason, when: flagFact(flag) }] as const,
  ).sort(([, a], [, b]) => b.weight - a.weight),
) as Readonly<Record<FlagReason, ReasonRow>>;

const REASONS = {
  ...FLAG_REASONS,
  hosting_network: {
    weight: 0.25,
    when: 'ip.kind == "hosting" && !("relay" in ip.services) && !("gateway" in ip.services)',
    meaning: "the address is in a data centre, and is neither a privacy relay nor a corporate gateway",
  },
  proxy_seen: {
    weight: 0,
    when: '"proxy_seen" in ip.services',
    meaning: "bots used addresses in the network as proxies, but ordinary people use them too",
  },
  privacy_relay: {
    weight: 0,
    when: '"relay" in ip.services',
    meaning: "the address belongs to a privacy relay",
  },
  shared_address: { weight: 0, when: "ip.shared", meaning: "many people share the address" },
  forged_crawler: {
    weight: 0.7,
    when: 'ip.crawler_check == "forged"',
    meaning:
      "the user agent claims to be a crawler, but the crawler's operator does not publish this address",
  },
  country_mismatch: {
    weight: 0.25,
    when: "has(expected_country) && has(ip.country) && ip.country != expected_country && !ip.shared",
    meaning: "the address is in a different country than `expected_country`",
  },
  impossible_travel: {
    weight: 0.5,
    when: "ip.speed > 1000.0 && !ip.shared",
    meaning: "the visitor would have travelled from `previous` faster than an airliner",
  },
  disposable: {
    weight: 0.9,
    when: "email.disposable",
    meaning: "the domain belongs to a disposable-email provider",
  },
  invalid_email: {
    weight: 0.9,
    when: "has(email.valid) && !email.valid",
    meaning: "the text cannot be an address that receives mail",
  },
  listed_domain: {
    weight: 0.3,
    when: "email.listed && !email.disposable",
    meaning: "the domain is on one list of disposable domains, and no other list confirms it",
  },
  mistyped_domain: { weight: 0.3, when: "email.mistyped", meaning: "the domain looks like a typo" },
  confusable_domain: {
    weight: 0.6,
    when: "email.confusable",
    meaning: "the domain uses similar-looking letters to imitate another domain",
  },
  role_account: {
    weight: 0.2,
    when: "email.role_account",
    meaning: "the mailbox belongs to a role, not a person",
  },
  email_relay: { weight: 0, when: "email.relay", meaning: "a privacy relay forwards the mail" },
  free_mail: { weight: 0, when: "email.free_mail", meaning: "the domain belongs to a free mail provider" },
  // No outcomes have been measured yet, so what the server remembers has no weight by default.
  mailbox_seen: {
    weight: 0,
    when: "history.mailbox_seen",
    meaning: "an earlier decision was about this mailbox",
  },
  mailbox_fraud: {
    weight: 0,
    when: "history.mailbox_fraud",
    meaning: "an earlier decision about this mailbox was labelled `fraud`",
  },
  domain_fraud: {
    weight: 0,
    when: "history.domain_fraud_30d >= 3",
    meaning: "three or more decisions about the email domain were labelled `fraud` in 30 days",
  },
  network_fraud: {
    weight: 0,
    when: "history.network_fraud_30d >= 3",
    meaning: "three or more decisions about the /24 or /48 were labelled `fraud` in 30 days",
  },
  many_networks: {
    weight: 0,
    when: "history.account_networks_30d >= 20",
    meaning: "the account was used from 20 or more networks in 30 days",
  },
  failed_logins: {
    weight: 0,
    when: "history.account_failures_1h >= 10",
    meaning: "ten or more logins to the account failed within an hour",
  },
} as const satisfies Readonly<Record<string, ReasonRow>>;

export type ReasonCode = keyof typeof REASONS;
export const REASON_ROWS: Readonly<Record<ReasonCode, ReasonRow>> = REASONS;
export const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];

/** What callers send about a visitor, field by field. */
export const DECISION_INPUT = {
  type: "object",
  name: "Visitor",
  about: "A visitor: an event with an address, an email address, or both.",
  fields: {
    event: {
      type: "text",
      pattern: /^[a-z0-9][a-z0-9_.-]{0,63}$/,
      description: "What the visitor is doing: `sign_up`, `login`, `checkout` or a name of your choice",
    },
    ip: { type: "text", optional: true, description: "The visitor's address" },
    email: { type: "text", optional: true, description: "The email address that the visitor entered" },
    user_agent: { type: "text", optional: true, description: "The `User-Agent` of the visitor's request" },
    account: {
      type: "text",
      optional: true,
      description:
        "Your id of the account that the visitor uses or tries to use: at most 128 characters, without control characters. Only an HMAC of it is stored",
    },
    ref: {
      type: "text",
      optional: true,
      description:
        "Your name for the visitor or the attempt: at most 128 characters, without control characters. Stored with the decision",
    },
    expected_country: {
      type: "text",
      pattern: /^[A-Z]{2}$/,
      optional: true,
      description: "The country of the card or account, as ISO 3166-1 alpha-2",
    },
    previous: {
      type: "object",
      optional: true,
      description: "Where and when you last saw the account, to compute the travel speed",
      fields: {
        latitude: { type: "number", minimum: -90, maximum: 90 },
        longitude: { type: "number", minimum: -180, maximum: 180 },
        accuracy_radius: {
          type: "number",
          minimum: 0,
          maximum: 20_000,
          optional: true,
          description: "Accuracy radius in kilometres; by default the radius of the current location",
        },
        at: { type: "time", description: "The time, with an offset: 2026-11-23T09:00:00Z" },
      },
    },
    facts: {
      type: "object",
      optional: true,
      isOpen: true,
      description:
        "At most 32 facts of your own, as declared in the ruleset: strings, numbers, booleans and lists of strings",
      fields: {},
    },
  },
} as const satisfies Shape;

/** The answer of a decision. */
export const DECISION = {
  type: "object",
  name: "Decision",
  about: "The decision about a visitor, and why.",
  fields: {
    id: { type: "text", pattern: /^asm_[0-9A-Za-z]{16}$/, description: "The decision's id" },
    action: { type: "text", values: ACTIONS, description: "What to do with the visitor" },
    review: {
      type: "boolean",
      description: "True if a rule asks for a manual review",
      docs: "`true` if the `rule` asks for a manual review",
    },
    score: {
      type: "number",
      minimum: 0,
      maximum: 1,
      description:
        "1 - (1 - weight) * (1 - weight) ... over the reasons, rounded to two decimals. It is not a probability",
      docs: "[the score](#score), from 0 to 1",
    },
    reasons: {
      type: "list",
      of: {
        type: "object",
        name: "Reason",
        fields: {
          code: { type: "text", known: REASON_CODES },
          weight: { type: "number", minimum: 0, maximum: 1 },
          precision: {
            type: "number",
            minimum: 0,
            maximum: 1,
            optional: true,
            description:
              "The share of labelled decisions with this reason that were fraud, rounded to two decimals. Only if at least 20 decisions of the last 90 days with this reason are labelled",
          },
        },
      },
      description: "The reasons behind the score. Later versions may add codes",
      docs: "[the reasons](decision-reference.md#reasons) behind the score. `precision` says how often the reason was right: of the labelled decisions of the last 90 days with this reason, the share labelled `fraud`. It is omitted if fewer than [20](rulesets.md#calibration) are labelled",
    },
    rule: {
      type: "text",
      nullable: true,
      description:
        "The first live rule that matched; null if none did. The rule decided, unless its action is milder than the decision's: then the score decided, because the rule has `at_least`, or `on_missing`, if `degraded` lists data",
      docs: "the first live rule that matched; `null` if none did, so that the score decided. The rule decided, unless the score was stricter and the rule has [`at_least`](rulesets.md#rules-and-the-score), or `degraded` is not empty and [`on_missing`](#missing-data) was stricter",
    },
    shadow: {
      type: "list",
      of: {
        type: "object",
        name: "ShadowRule",
        fields: {
          rule: { type: "text" },
          action: { type: "text", values: ACTIONS },
          review: { type: "true", optional: true },
        },
      },
      description: "What each matching shadow rule would have decided. Shadow rules never change the action",
      docs: "what each matching [shadow rule](rulesets.md#a-rule-from-shadow-to-live) would have decided; `review` is `true` or omitted",
    },
    degraded: {
      type: "list",
      of: { type: "text", values: DEGRADED_DATA },
      description: "Data that was missing. The visitor may be riskier than the answer suggests",
      docs: `[missing data](#missing-data): ${DEGRADED_DATA.map((name) => `\`${name}\``).join(", ")}`,
    },
    history: {
      type: "list",
      optional: true,
      of: {
        type: "object",
        name: "Remembered",
        fields: {
          fact: { type: "text", known: HISTORY_FACTS },
          text: { type: "text", description: "What the server remembers, as a sentence" },
          decision: { type: "text", optional: true, description: "The newest decision behind it" },
          at: { type: "time", optional: true, description: "When this decision was made or labelled" },
        },
      },
      description:
        "What earlier decisions say about this visitor, if the ruleset reads facts about it and something is remembered",
      docs: "[what the server remembers](#what-the-server-remembers) about this visitor; omitted unless the ruleset reads it and there is something",
    },
    ruleset: {
      type: "integer",
      minimum: 0,
      description: "The ruleset's number; 0 before the first one is published",
    },
    data_version: { type: "text", description: "The data release" },
    did_you_mean: {
      type: "text",
      optional: true,
      description:
        "The email address that the visitor probably meant. Only if the address looks mistyped. Ask the visitor, and never send mail to it unasked",
      docs: "the address that the visitor [probably meant](email.md#labels), such as `jane@gmail.com` for `jane@gmail.con`; omitted unless the address looks mistyped. A confusable domain only gets the reason `confusable_domain`. Ask the visitor, as [`protect()`](sign-up-protection.md) does, and send no mail to it, because it may belong to another person",
    },
    facts: {
      type: "object",
      optional: true,
      isOpen: true,
      optIn: "facts",
      description: "Only with `include=facts`: the facts that rules read, by name. Unknown facts are omitted",
      docs: "with `?include=facts`: the [facts](decision-reference.md#facts) that rules can read, by name",
      fields: {},
    },
    ip: {
      type: "object",
      optional: true,
      optIn: "evidence",
      description: "Only with `include=evidence`: the address lookups",
      docs: "with `?include=evidence`: `{ geolocate?, reputation? }`, the [answers](api.md) about the address, each with its [evidence](evidence.md); `reputation` also has its [network](api.md#network)",
      fields: {
        geolocate: { ...ANSWER_FIELDS.geolocate, optional: true },
        reputation: { ...ANSWER_FIELDS.reputation, optional: true },
      },
    },
    email: {
      ...ANSWER_FIELDS.email,
      optional: true,
      optIn: "evidence",
      description: "Only with `include=evidence`: the email lookup",
      docs: "with `?include=evidence`: the [answer](email.md) about the email address, with its evidence",
    },
  },
} as const satisfies Shape;

/** What callers send about a decision. */
export const DECISION_OUTCOME = {
  type: "object",
  name: "DecisionOutcome",
  about: "The outcome of a decision: was the visitor legitimate?",
  fields: { outcome: { type: "text", values: OUTCOMES } },
} as const satisfies Shape;

/** The answer to a {@link DECISION_OUTCOME}. */
export const DECISION_OUTCOME_SET = {
  type: "object",
  name: "DecisionOutcomeSet",
  about: "A decision and its outcome.",
  fields: { id: DECISION.fields.id, ...DECISION_OUTCOME.fields },
} as const satisfies Shape;

/** A visitor as callers send it. `facts` is typed by hand, because its fields depend on the ruleset. */
export type VisitorInput = Omit<ValueOf<typeof DECISION_INPUT>, "facts"> & {
  readonly facts?: Readonly<Record<string, string | number | boolean | readonly string[]>> | undefined;
};
export type DecisionOutcomeSet = ValueOf<typeof DECISION_OUTCOME_SET>;
export type DecisionAnswer = ValueOf<typeof DECISION>;
