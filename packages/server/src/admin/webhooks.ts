// webhooks.ts: adds, lists, shows, enables, tests and removes webhooks over the admin API, rotates their secrets, and
// lists their deliveries.
//
// err  AdminProblem, StoreError
// src  docs/webhooks.md
// note A secret appears only in the response to the request that creates it.

import {
  ADMIN_PATH,
  DELIVERY_STATES,
  hasRole,
  WEBHOOK_EVENT_NAMES,
  WEBHOOK_OUTCOMES,
} from "@inkling/contract";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import { attemptJson, DELIVERY_PAGES, deliveryJson, healthJson } from "@inkling/store/deliveries";
import { hostOnly, type Webhook, WebhooksFullError, webhookJson } from "@inkling/store/webhooks";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { MAX_WEBHOOK_URL, readWebhookUrl } from "../webhooks/destination.ts";
import { sendTest } from "../webhooks/sender.ts";
import {
  type AdminContext,
  type AdminHandlers,
  count,
  handler,
  nextCursor,
  pageQuery,
  text,
  time,
} from "./handler.ts";
import { rotationBody } from "./keys.ts";

const members = {
  id: text,
  url: text,
  events: z.array(z.enum(WEBHOOK_EVENT_NAMES)),
  allow_inner: z.boolean().meta({ description: "True if the address may be private" }),
  author: text,
  created_at: time,
  old_secret_until: time.nullable().meta({ description: "Until this time, the old secret also signs" }),
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
export const webhookAnswer = z
  .strictObject({ ...members, recent })
  .meta({ id: "Webhook", description: "A webhook without its secrets" });
export const issuedWebhookAnswer = z.strictObject({ ...members, secret }).meta({ id: "IssuedWebhook" });
export const attemptAnswer = z.strictObject({ delivery: text, ...attempt }).meta({ id: "WebhookAttempt" });
export const deliveryAnswer = z
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

const newWebhook = z
  .strictObject({
    url: z.string().min(1).max(MAX_WEBHOOK_URL),
    events: z
      .array(z.enum(WEBHOOK_EVENT_NAMES, `must be some of ${WEBHOOK_EVENT_NAMES.join(", ")}`))
      .min(1, "must contain at least one event")
      .transform((given) => WEBHOOK_EVENT_NAMES.filter((event) => given.includes(event))),
    allow_inner: z
      .boolean()
      .default(false)
      .meta({ description: "Also allow plain http and private addresses" }),
  })
  .meta({ id: "NewWebhook" });

export const WEBHOOK_HANDLERS = {
  list_webhooks: handler({
    answer: z.strictObject({ webhooks: z.array(webhookAnswer) }),
    run: async (context, { token }) => {
      const all = await context.store.webhooks.list();
      return {
        document: { webhooks: await Promise.all(all.map((webhook) => withHealth(context, webhook, token))) },
      };
    },
  }),
  add_webhook: handler({
    body: { schema: newWebhook },
    answer: issuedWebhookAnswer,
    run: async ({ store }, { body, by }) => {
      const read = readWebhookUrl(body.url, body.allow_inner);
      if ("problem" in read)
        throw new AdminProblem("WEBHOOK_URL_REFUSED", undefined, [`url: ${read.problem}`]);
      const wanted = { url: read.url, events: body.events, allowInner: body.allow_inner };
      const { webhook, secret } = await store.webhooks.add(wanted, by).catch((error: unknown) => {
        throw error instanceof WebhooksFullError ? new AdminProblem("WEBHOOKS_FULL") : error;
      });
      const document = { ...webhookJson(webhook), secret };
      return { document, headers: { Location: `${ADMIN_PATH}webhooks/${webhook.id}` } };
    },
  }),
  get_webhook: handler({
    answer: webhookAnswer,
    run: async (context, { id, token }) => ({
      document: await withHealth(context, await existing(context, id), token),
    }),
  }),
  remove_webhook: handler({
    answer: webhookAnswer,
    run: async (context, { id, by }) => ({
      document: await withHealth(context, found(await context.store.webhooks.remove(id, by))),
    }),
  }),
  rotate_webhook: handler({
    body: { schema: rotationBody },
    answer: issuedWebhookAnswer,
    run: async ({ store, now }, { id, body, by }) => {
      const until = now() + body.overlap_seconds * 1_000;
      const { webhook, secret } = found(await store.webhooks.rotate(id, until, by));
      return { document: { ...webhookJson(webhook), secret } };
    },
  }),
  enable_webhook: handler({
    answer: webhookAnswer,
    run: async (context, { id, by }) => ({
      document: await withHealth(context, found(await context.store.webhooks.enable(id, by))),
    }),
  }),
  test_webhook: handler({
    answer: attemptAnswer,
    run: async ({ store, status, now }, { id }) => {
      const attempt = found(await sendTest(store, id, { version: status.version, now }));
      return { document: { delivery: attempt.delivery, ...attemptJson(attempt) } };
    },
  }),
  list_deliveries: handler({
    query: pageQuery((cursor) => DELIVERY_PAGES.isCursor(cursor)),
    answer: z.strictObject({ deliveries: z.array(deliveryAnswer), ...nextCursor }),
    run: async (context, { id, query }) => {
      await existing(context, id);
      const { items, next } = await context.store.deliveries.list(id, query);
      return { document: { deliveries: items.map(deliveryJson), next_cursor: next ?? null } };
    },
  }),
} satisfies AdminHandlers;

/** @param reader the token that asks. If it is not an administrator's, the URL shows only its host. */
const withHealth = async ({ store }: AdminContext, webhook: Webhook, reader?: ValidAdminToken) => ({
  ...webhookJson(
    reader === undefined || hasRole(reader.role, "admin")
      ? webhook
      : { ...webhook, url: hostOnly(webhook.url) },
  ),
  recent: healthJson(await store.deliveries.health(webhook.id)),
});

const existing = async ({ store }: AdminContext, id: string): Promise<Webhook> =>
  found(await store.webhooks.find(id));

/** @throws AdminProblem if the webhook does not exist */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new AdminProblem("WEBHOOK_NOT_FOUND");
  return value;
}
