// webhooks.ts: adds, lists, shows, enables, tests and removes webhooks, rotates their secrets, and lists their
// deliveries. A secret appears only in the answer that creates it.

import { DELIVERY_STATES, hasRole, WEBHOOK_EVENT_NAMES, WEBHOOK_OUTCOMES } from "@inkling/contract";
import { attemptJson, DELIVERY_PAGES, deliveryJson, healthJson } from "@inkling/store/deliveries";
import { StoreError } from "@inkling/store/error";
import { hostOnly, type Webhook, webhookJson } from "@inkling/store/webhooks";
import { z } from "zod";
import type { OperationContext } from "./context.ts";
import {
  count,
  id,
  nextCursor,
  operation,
  overlap,
  pageInput,
  type Resource,
  text,
  time,
} from "./operation.ts";
import { AdminProblem, found } from "./problem.ts";
import { MAX_WEBHOOK_URL, readWebhookUrl } from "./webhook-destination.ts";

const fields = {
  id: text,
  url: text,
  events: z.array(z.enum(WEBHOOK_EVENT_NAMES)),
  allow_private: z.boolean().meta({ description: "True if the address may be private" }),
  author: text,
  created_at: time,
  old_secret_until: time
    .nullable()
    .meta({ description: "Until this time, messages are also signed with the old secret" }),
  disabled_at: time.nullable().meta({ description: "When the receiver returned 410" }),
};
const secret = text.meta({ description: "Signs deliveries; shown only once" });
const attempt = {
  outcome: z.enum(WEBHOOK_OUTCOMES),
  status: count.nullable().meta({ description: "Status of the receiver's response; null if there was none" }),
  reason: text.nullable(),
};
const recent = z
  .strictObject({
    deliveries: count.meta({ description: "Deliveries that were attempted" }),
    failed: count.meta({ description: "Those whose last attempt failed" }),
    last_attempt: z.strictObject({ at: time, event: text, ...attempt }).nullable(),
  })
  .meta({ description: "How the newest deliveries went, at most 100" });
const webhook = z
  .strictObject({ ...fields, recent })
  .meta({ id: "Webhook", description: "A webhook without its secrets" });
const issued = z.strictObject({ ...fields, secret }).meta({ id: "IssuedWebhook" });
const delivery = z
  .strictObject({
    id: text.meta({ description: "The `webhook-id` header" }),
    event: text,
    state: z.enum(DELIVERY_STATES),
    created_at: time,
    attempts: count,
    next_attempt_at: time.nullable(),
    last_attempt: z.strictObject({ at: time, ...attempt }).nullable(),
  })
  .meta({ id: "Delivery" });

const one = id("The webhook's id");
const problems = ["WEBHOOK_NOT_FOUND"] as const;
const EXAMPLE = "whk_3fK9mB2xQ7vR1tYz";

export const WEBHOOKS = {
  tag: "Webhooks",
  noun: "webhook",
  command: {
    name: "webhooks",
    summary: "manage webhooks, which send signed alerts to your own services",
  },
  operations: {
    list_webhooks: operation({
      route: "GET webhooks",
      summary: "List webhooks, oldest first, without their secrets",
      docs: "all [webhooks](webhooks.md), oldest first, without their secrets",
      input: {},
      output: z.strictObject({ webhooks: z.array(webhook) }),
      command: {
        words: "webhooks list",
        notes:
          'A webhook is "failing" if the last attempt to deliver failed. FAILED counts at most the newest 100 deliveries.',
        examples: ["inkling webhooks list"],
      },
      run: async (context) => {
        const all = await context.store.webhooks.list();
        return { webhooks: await Promise.all(all.map((one) => withHealth(context, one))) };
      },
    }),
    add_webhook: operation({
      route: "POST webhooks",
      summary: "Add a webhook; its secret is shown only once",
      docs: '201: adds a webhook, `{"url":"https://…","events":["data.stale"]}`, and returns its secret, shown once. Optional `allow_private`',
      status: 201,
      audits: ["webhook-added"],
      problems: ["WEBHOOK_URL_REFUSED", "WEBHOOKS_FULL"],
      input: {
        url: z.string().min(1).max(MAX_WEBHOOK_URL).meta({ description: "Where to send messages" }),
        events: z
          .array(z.enum(WEBHOOK_EVENT_NAMES, `must be some of ${WEBHOOK_EVENT_NAMES.join(", ")}`))
          .min(1, "must contain at least one event")
          .transform((given) => WEBHOOK_EVENT_NAMES.filter((event) => given.includes(event)))
          .meta({ description: "Events to send" }),
        allow_private: z
          .boolean()
          .default(false)
          .meta({ description: "Also allow plain http and private addresses" }),
      },
      output: issued,
      command: {
        words: "webhooks add",
        arguments: ["url"],
        flags: {
          events: {
            help: `events to send: ${WEBHOOK_EVENT_NAMES.join(", ")}`,
            none: { word: "all", value: WEBHOOK_EVENT_NAMES },
          },
        },
        hasAuthor: true,
        notes:
          "Running servers send events from now on. The receiver verifies each message with the secret (see docs/webhooks.md).",
        examples: [
          "inkling webhooks add https://example.com/hooks/inkling --events decision.changed,data.stale",
          "SECRET=$(inkling webhooks add http://10.0.0.5:9000/hook --events all --allow-private)",
        ],
      },
      run: async ({ store, by }, { url, events, allow_private }) => {
        const read = readWebhookUrl(url, allow_private);
        if ("problem" in read)
          throw new AdminProblem("WEBHOOK_URL_REFUSED", undefined, [`url: ${read.problem}`]);
        const wanted = { url: read.url, events, allowPrivate: allow_private };
        const added = await store.webhooks.add(wanted, by).catch((error: unknown) => {
          const isFull = error instanceof StoreError && error.code === "CONFLICT";
          throw isFull ? new AdminProblem("WEBHOOKS_FULL", undefined, [], { cause: error }) : error;
        });
        return { ...webhookJson(added.webhook), secret: added.secret };
      },
    }),
    get_webhook: operation({
      route: "GET webhooks/{id}",
      summary: "A webhook, without its secrets",
      docs: "one webhook, without its secrets",
      problems,
      input: one,
      output: webhook,
      run: async (context, { id }) => withHealth(context, await existing(context, id)),
    }),
    remove_webhook: operation({
      route: "DELETE webhooks/{id}",
      summary: "Remove a webhook, its secrets and its deliveries",
      docs: "removes a webhook and its deliveries",
      audits: ["webhook-removed"],
      problems,
      input: one,
      output: webhook,
      command: { words: "webhooks remove", examples: [`inkling webhooks remove ${EXAMPLE}`] },
      run: async (context, { id }) => {
        const { store, by } = context;
        return withHealth(context, found(await store.webhooks.remove(id, by), "WEBHOOK_NOT_FOUND"));
      },
    }),
    rotate_webhook: operation({
      route: "POST webhooks/{id}/rotate",
      summary: "Give a webhook a new secret; messages are also signed with the old secret for a while",
      docs: "rotates the secret and returns the new one. Messages are also signed with the old secret for `overlap_seconds` (default 86,400; at most 30 days)",
      isIdempotent: true,
      audits: ["webhook-rotated"],
      problems,
      input: { ...one, ...overlap("How long messages are also signed with the old secret") },
      output: issued,
      command: { words: "webhooks rotate", examples: [`inkling webhooks rotate ${EXAMPLE} --overlap 7d`] },
      run: async ({ store, now, by }, { id, overlap_seconds }) => {
        const rotated = await store.webhooks.rotate(id, now() + overlap_seconds * 1_000, by);
        const { webhook, secret } = found(rotated, "WEBHOOK_NOT_FOUND");
        return { ...webhookJson(webhook), secret };
      },
    }),
    enable_webhook: operation({
      route: "POST webhooks/{id}/enable",
      summary: "Enable a webhook that was disabled because its receiver returned 410",
      docs: "enables a webhook that was disabled because its receiver returned 410. Inkling does not send abandoned deliveries again",
      audits: ["webhook-enabled"],
      problems,
      input: one,
      output: webhook,
      command: {
        words: "webhooks enable",
        notes:
          "Failed deliveries are not sent again. To check whether the receiver accepts messages, run `webhooks test`.",
        examples: [`inkling webhooks enable ${EXAMPLE}`],
      },
      run: async (context, { id }) => {
        const { store, by } = context;
        return withHealth(context, found(await store.webhooks.enable(id, by), "WEBHOOK_NOT_FOUND"));
      },
    }),
    test_webhook: operation({
      route: "POST webhooks/{id}/test",
      summary: "Send one test message now, and return the result",
      docs: "sends one `webhook.test` message and returns the result",
      problems,
      input: one,
      output: z.strictObject({ delivery: text, ...attempt }).meta({ id: "WebhookAttempt" }),
      command: {
        words: "webhooks test",
        notes:
          "The exit code is 1 if the receiver does not accept the message. The command sends it only once, from this host,\nand `webhooks deliveries` lists it.",
        examples: [`inkling webhooks test ${EXAMPLE}`],
      },
      run: async ({ sendTest }, { id }) => {
        const sent = found(await sendTest(id), "WEBHOOK_NOT_FOUND");
        return { delivery: sent.delivery, ...attemptJson(sent) };
      },
    }),
    list_deliveries: operation({
      route: "GET webhooks/{id}/deliveries",
      summary: "List deliveries of the last 7 days, newest first, with the results of recent attempts",
      docs: "deliveries of the last 7 days, newest first. `limit`, `cursor`",
      problems,
      input: { ...one, ...pageInput((cursor) => DELIVERY_PAGES.isCursor(cursor)) },
      output: z.strictObject({ deliveries: z.array(delivery), ...nextCursor }),
      command: { words: "webhooks deliveries", examples: [`inkling webhooks deliveries ${EXAMPLE}`] },
      run: async (context, { id, ...page }) => {
        await existing(context, id);
        const { items, next } = await context.store.deliveries.list(id, page);
        return { deliveries: items.map(deliveryJson), next_cursor: next ?? null };
      },
    }),
  },
} as const satisfies Resource;

/** If the token is not an administrator's, the URL shows only its host. */
const withHealth = async ({ store, token }: OperationContext, one: Webhook) => ({
  ...webhookJson(
    token === undefined || hasRole(token.role, "admin") ? one : { ...one, url: hostOnly(one.url) },
  ),
  recent: healthJson(await store.deliveries.health(one.id)),
});

const existing = async ({ store }: OperationContext, id: string): Promise<Webhook> =>
  found(await store.webhooks.find(id), "WEBHOOK_NOT_FOUND");
