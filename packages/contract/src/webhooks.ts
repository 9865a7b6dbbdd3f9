// webhooks.ts: what alerts tell, and how they are delivered (https://www.standardwebhooks.com).
//
// The types of payloads, the choices of the console and the command line, and the tables of docs/webhooks.md derive from
// these rows. An event never changes its meaning; new events and new members may come.

import { EVIDENCE_ENTRY } from "./members.ts";
import type { Members, ValueOf } from "./shapes.ts";

interface WebhookEventRow {
  /** When it is sent: completes "sent when …". */
  readonly when: string;
  /** What its payload has under `data`. */
  readonly data: Members;
}

const VERDICT = {
  type: "object",
  members: { disposable: { type: "boolean" } },
} as const;

/** The events that a webhook can subscribe to. */
export const WEBHOOK_EVENTS = {
  "assessment.changed": {
    when: "a release or an override changes the verdict on the email domain of a decision of the last 30 days",
    data: {
      id: { type: "text", docs: "the assessment's id" },
      ref: { type: "text", nullable: true, docs: "your `ref`, or null" },
      domain: { type: "text", docs: "the email domain" },
      before: { ...VERDICT, docs: "the previous verdict" },
      after: { ...VERDICT, docs: "the new verdict" },
      evidence: {
        type: "list",
        of: EVIDENCE_ENTRY,
        docs: "[evidence](evidence.md) of the new verdict",
      },
      data_version: { type: "text", docs: "the release with the new verdict" },
    },
  },
  "release.held": {
    when: "a build waits for an operator, because it flags too much or too little",
    data: {
      release: { type: "text", docs: "the waiting release's id" },
      built_at: { type: "time", docs: "when it was built" },
      reason: { type: "text", docs: "what is unusual about the release" },
      hint: { type: "text", docs: "the command that accepts it" },
    },
  },
  "data.stale": {
    when: "a feed becomes older than it should be",
    data: {
      feed: { type: "text", docs: "id of the [feed](feeds.md)" },
      sets: { type: "text", docs: "what the feed decides" },
      state: {
        type: "text",
        values: ["stale", "expired"],
        docs: "`expired`: Inkling no longer uses its entries",
      },
      age_seconds: { type: "number", nullable: true, docs: "age of the copy in use" },
    },
  },
  "key.quota_reached": {
    when: "an API key has used its daily quota",
    data: {
      key: { type: "text", docs: "the key's id" },
      name: { type: "text", docs: "the key's name" },
      quota: { type: "number", docs: "lookups per UTC day" },
      day: { type: "text", docs: "the UTC day, as 2026-06-01" },
    },
  },
} as const satisfies Readonly<Record<string, WebhookEventRow>>;

export type WebhookEvent = keyof typeof WEBHOOK_EVENTS;
export const WEBHOOK_EVENT_NAMES = Object.keys(WEBHOOK_EVENTS) as readonly WebhookEvent[];
export const WEBHOOK_EVENT_ROWS: Readonly<Record<WebhookEvent, WebhookEventRow>> = WEBHOOK_EVENTS;

/** What an operator sends to try a webhook: every webhook takes it. */
export const WEBHOOK_TEST = "webhook.test";

/** The member `data` of an event's payload. */
export type WebhookData<Event extends WebhookEvent> = ValueOf<{
  readonly type: "object";
  readonly members: (typeof WEBHOOK_EVENTS)[Event]["data"];
}>;

/** An event with its data. */
export type WebhookMessage = {
  readonly [Event in WebhookEvent]: { readonly type: Event; readonly data: WebhookData<Event> };
}[WebhookEvent];

/** Waits between the attempts of a delivery, in seconds; after the last one it is given up. */
export const WEBHOOK_WAITS_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/** So many webhooks can exist. */
export const MAX_WEBHOOKS = 50;

/** How an attempt ended. gone: the receiver answered 410. */
export const WEBHOOK_OUTCOMES = ["delivered", "failed", "gone"] as const;
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number];

/** State of a delivery. ended: given up after the last attempt, or because its webhook was disabled. */
export const DELIVERY_STATES = ["waiting", "delivered", "ended"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
