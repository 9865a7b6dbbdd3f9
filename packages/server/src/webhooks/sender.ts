// sender.ts: sends the due webhook deliveries in the background.
//
// If the database is unreachable, the sender retries. Cost: without webhooks, one query every 5 s; otherwise, three per
// second, and more while deliveries are due.

import { WEBHOOK_OUTCOMES, type WebhookOutcome } from "@inkling/contract";
import { messageOf, Poller } from "@inkling/data";
import type { Attempt, ClaimedDelivery, DeliveryStore, QueueState } from "@inkling/store/deliveries";
import type { WebhookStore } from "@inkling/store/webhooks";
import type { Log } from "../telemetry/log.ts";
import type { WebhookEvents } from "./events.ts";
import { type SendOptions, send } from "./send.ts";

const POLL_MS = 1_000;
/** Milliseconds between two polls while there are no webhooks. */
const IDLE_MS = 5_000;
const FORGET_MS = 600_000;
/** Maximum simultaneous attempts for each webhook, so that a slow receiver does not delay other webhooks. */
const MAX_AT_ONCE = 4;

interface WebhookSenderOptions extends Omit<SendOptions, "signal"> {
  readonly store: { readonly webhooks: WebhookStore; readonly deliveries: DeliveryStore };
  readonly log: Pick<Log, "info" | "error">;
  readonly pollMs?: number;
  /** Finds events with each poll. */
  readonly events?: WebhookEvents;
}

export class WebhookSender {
  /** Attempts since startup, by outcome. */
  readonly attempts = new Map<WebhookOutcome, number>(WEBHOOK_OUTCOMES.map((outcome) => [outcome, 0]));
  /** The queue's size and age as of the last poll. */
  queue: QueueState = { waiting: 0, oldestAt: undefined };
  private readonly options: WebhookSenderOptions;
  private readonly stopping = new AbortController();
  /** Running attempts by webhook. */
  private readonly underWay = new Map<string, Set<Promise<void>>>();
  private readonly poller: Poller;
  private waitMs: number;
  private forgotAt = Number.NEGATIVE_INFINITY;
  private failure: string | undefined;

  constructor(options: WebhookSenderOptions) {
    this.options = options;
    this.waitMs = options.pollMs ?? POLL_MS;
    this.poller = new Poller({ check: () => this.poll(), waitMs: () => this.waitMs });
  }

  start(): void {
    this.poller.schedule();
  }

  /** Aborts running attempts. Another host repeats them, or this host after its next start. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.poller.stop();
    await Promise.all([...this.underWay.values()].flatMap((attempts) => [...attempts]));
    await this.options.events?.stop();
  }

  /** Deliveries that were dropped since startup, because too many waited for their webhook. */
  get dropped(): number {
    return this.options.events?.dropped ?? 0;
  }

  private async poll(): Promise<void> {
    const { pollMs = POLL_MS, log } = this.options;
    try {
      const hasWebhooks = await this.work();
      if (this.failure !== undefined) log.info("webhooks-back");
      this.failure = undefined;
      this.waitMs = hasWebhooks ? pollMs : Math.max(pollMs, IDLE_MS);
    } catch (error) {
      if (this.failure === undefined) log.error("webhooks-stopped", { reason: messageOf(error) });
      this.failure = messageOf(error);
      this.waitMs = Math.max(pollMs, IDLE_MS);
    }
  }

  /** @returns true if there are any webhooks */
  private async work(): Promise<boolean> {
    const { store, events: found } = this.options;
    const webhooks = await store.webhooks.list();
    if (webhooks.length === 0) {
      this.queue = { waiting: 0, oldestAt: undefined };
      return false;
    }
    const enabled = webhooks.filter(({ disabledAt }) => disabledAt === undefined);
    // If this fails, due deliveries are still sent.
    const failure = await found
      ?.find(new Set(enabled.flatMap(({ events }) => events)))
      .catch((error: unknown) => ({ error }));
    await this.sendDue();
    this.queue = await store.deliveries.state();
    if (performance.now() - this.forgotAt >= FORGET_MS) {
      await store.deliveries.forget();
      this.forgotAt = performance.now();
    }
    if (failure) throw failure.error;
    return true;
  }

  private async sendDue(): Promise<void> {
    const { deliveries } = this.options.store;
    for (const webhookId of await deliveries.dueWebhooks()) {
      const attempts = this.underWay.get(webhookId) ?? new Set();
      this.underWay.set(webhookId, attempts);
      const free = MAX_AT_ONCE - attempts.size;
      if (free <= 0 || this.stopping.signal.aborted) continue;
      for (const claimed of await deliveries.claim(webhookId, free)) {
        const attempt: Promise<void> = this.attempt(claimed).finally(() => attempts.delete(attempt));
        attempts.add(attempt);
      }
    }
  }

  /** Never rejects. */
  private async attempt(claimed: ClaimedDelivery): Promise<void> {
    const { store, log, events: _, ...options } = this.options;
    const { signal } = this.stopping;
    try {
      const found = await store.webhooks.signing(claimed.webhookId);
      if (found === undefined) return; // the webhook was removed in the meantime, along with its deliveries
      const attempt = await send(found, claimed, { ...options, signal });
      if (signal.aborted && attempt.outcome === "failed") return await store.deliveries.release(claimed);
      await this.settle(claimed, attempt);
      void this.poller.now(); // more deliveries may be due
    } catch (error) {
      // The database is unreachable. When the lease expires, the delivery becomes due again.
      log.error("webhooks-stopped", { reason: messageOf(error) });
    }
  }

  private async settle(claimed: ClaimedDelivery, attempt: Attempt): Promise<void> {
    const { store, log } = this.options;
    const { outcome, reason } = attempt;
    this.attempts.set(outcome, this.attempts.get(outcome)! + 1);
    const wait = await store.deliveries.settle(claimed, attempt);
    const { webhookId: webhook, event: type, attempts } = claimed;
    if (outcome === "gone" && (await store.webhooks.disable(webhook)))
      log.error("webhook-disabled", { webhook });
    if (outcome !== "failed") return;
    const fields = { webhook, type, delivery: claimed.id, attempts, reason };
    if (wait === undefined) log.error("webhook-given-up", fields);
    else log.info("webhook-failed", { ...fields, retry_in_s: wait });
  }
}

/** Immediately sends one message of the type webhook.test. @returns undefined if the webhook does not exist */
export async function sendTest(
  { webhooks, deliveries }: WebhookSenderOptions["store"],
  webhookId: string,
  options: SendOptions,
): Promise<(Attempt & { readonly delivery: string }) | undefined> {
  const found = await webhooks.signing(webhookId);
  if (found === undefined) return undefined;
  const claimed = await deliveries.queueTest(webhookId);
  const attempt = await send(found, claimed, options);
  await deliveries.settle(claimed, attempt);
  return { ...attempt, delivery: claimed.id };
}
