// webhooks.ts: defines the events that webhooks report, and how they are delivered (https://www.standardwebhooks.com).
//
// The types of payloads, the choices in the console and on the command line, and the tables of docs/webhooks.md derive
// from these rows. An event never changes its meaning, but later versions may add events and fields.

import { EVIDENCE_ENTRY } from "./fields.ts";
import type { Fields, ValueOf } from "./shapes.ts";

interface WebhookEventRow {
  /** When the event is sent, as the end of the sentence "sent when …". */
  readonly when: string;
  /** The fields of `data` in the event's payload. */
  readonly data: Fields;
}

const VERDICT = {
  type: "object",
  fields: { disposable: { type: "boolean" } },
} as const;

/** The events to which a webhook can subscribe. */
const WEBHOOK_EVENTS = {
  "decision.changed": {
    when: "a release or an override changes the verdict on the email domain of a decision of the last 30 days",
    data: {
      id: { type: "text", docs: "the decision's id" },
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
  "feed.held": {
    when: "a feed's new copy looks wrong, so Inkling does not use it",
    data: {
      feed: { type: "text", docs: "id of the [feed](feeds.md)" },
      sets: { type: "text", docs: "what the feed decides" },
      reason: { type: "text", docs: "what looks wrong" },
      hint: { type: "text", docs: "the command that accepts the copy" },
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
    when: "an API key has used up its daily quota",
    data: {
      key: { type: "text", docs: "the key's id" },
      name: { type: "text", docs: "the key's name" },
      quota: { type: "number", docs: "lookups per UTC day" },
      day: { type: "text", docs: "the UTC day, such as 2026-06-01" },
    },
  },
} as const satisfies Readonly<Record<string, WebhookEventRow>>;

export type WebhookEvent = keyof typeof WEBHOOK_EVENTS;
export const WEBHOOK_EVENT_NAMES = Object.keys(WEBHOOK_EVENTS) as readonly WebhookEvent[];
export const WEBHOOK_EVENT_ROWS: Readonly<Record<WebhookEvent, WebhookEventRow>> = WEBHOOK_EVENTS;

/** The event that an operator sends to test a webhook. The webhook need not subscribe to it. */
export const WEBHOOK_TEST = "webhook.test";

/** The `data` field of an event's payload. */
export type WebhookData<Event extends WebhookEvent> = ValueOf<{
  readonly type: "object";
  readonly fields: (typeof WEBHOOK_EVENTS)[Event]["data"];
}>;

/** An event with its data. */
export type WebhookMessage = {
  readonly [Event in WebhookEvent]: { readonly type: Event; readonly data: WebhookData<Event> };
}[WebhookEvent];

/**
 * Waits between a delivery's attempts, in seconds. If the attempt after the last wait fails, the server gives up the
 * delivery.
 */
export const WEBHOOK_WAITS_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/** Maximum number of webhooks. */
export const MAX_WEBHOOKS = 50;

/** How an attempt ended. "gone" means that the receiver returned 410. */
export const WEBHOOK_OUTCOMES = ["delivered", "failed", "gone"] as const;
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number];

/** The states of a delivery. "ended" means given up, after the last attempt or because the webhook was disabled. */
export const DELIVERY_STATES = ["waiting", "delivered", "ended"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
