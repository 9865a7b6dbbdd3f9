// deliveries.ts: keeps the queue of webhook deliveries in a table of the store. A row contains what to send, and the
// result of each attempt.
//
// A host claims a delivery by moving its due time forward by a lease. If the host exits during an attempt, the delivery
// becomes due again, with the same id, when the lease expires. A receiver may therefore get a message twice, but the
// exit loses no message. The message id is a hash of the event's key. As long as its delivery is kept, an event is
// therefore queued only once, even if several hosts detect it, or if one host detects it again after a restart.

import {
  DELIVERY_STATES,
  type DeliveryState,
  WEBHOOK_OUTCOMES,
  WEBHOOK_TEST,
  WEBHOOK_WAITS_SECONDS,
  type WebhookEvent,
  type WebhookMessage,
  type WebhookOutcome,
} from "@inkling/contract";
import { sha256Hex } from "@inkling/data";
import type { SQL, TransactionSQL } from "bun";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import { isoTime, optionalNumber } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";
import { NewestFirst, type Page, type PageRequest } from "./pages.ts";
import { known } from "./text/fields.ts";

/** Milliseconds of a lease, which must be longer than an attempt may take. */
export const LEASE_MS = 60_000;
/**
 * Maximum number of waiting and of finished deliveries for each webhook, so that a receiver that is gone affects no
 * other webhook.
 */
const MAX_WAITING = 10_000;
const MAX_ENDED = 1_000;
/** Number of a webhook's newest deliveries from which its health is computed. */
const RECENT = 100;

export interface QueuedEvent {
  /** Identifies the event. It is the same on every host. */
  readonly key: string;
  readonly message: WebhookMessage;
}

/** One message for one webhook. */
export interface Delivery {
  /** Value of the `webhook-id` header. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly createdAt: EpochMs;
  /** Number of attempts that have begun. */
  readonly attempts: number;
  /** Time of the next attempt, while the delivery waits. */
  readonly dueAt: EpochMs;
  readonly last: (Attempt & { readonly at: EpochMs }) | undefined;
}

/** The result of one attempt. */
export interface Attempt {
  readonly outcome: WebhookOutcome;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  /** Undefined if the message was delivered. */
  readonly reason: string | undefined;
}

/** A delivery that this host has claimed and must send. */
export interface ClaimedDelivery extends Pick<Delivery, "id" | "webhookId" | "event" | "attempts"> {
  readonly body: string;
}

/** A delivery that was not queued, because too many deliveries wait for its webhook. */
export interface Dropped {
  readonly key: QueuedEvent["key"];
  readonly webhook: string;
}

interface QueueResult {
  readonly queued: number;
  readonly dropped: readonly Dropped[];
}

/** How well a webhook's newest deliveries have worked. */
interface WebhookHealth {
  /** Number of deliveries that were attempted, at most {@link RECENT}. */
  readonly deliveries: number;
  /** Number of those whose last attempt failed. */
  readonly failed: number;
  readonly last: (Attempt & { readonly at: EpochMs; readonly event: string }) | undefined;
}

export interface QueueState {
  readonly waiting: number;
  /** When the oldest waiting delivery was queued. */
  readonly oldestAt: EpochMs | undefined;
}

/** The verdict on a domain that an event reports. Only the first host to record it queues the event. */
interface ToldVerdict {
  readonly domain: string;
  readonly disposable: boolean;
}

export const DELIVERY_PAGES = new NewestFirst("msg");

const messageId = (key: string) =>
  `msg_${BigInt(`0x${sha256Hex(key)}`)
    .toString(36)
    .slice(-16)}`;

export class DeliveryStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Queues events for the webhooks that subscribe to them. Events that were queued before are skipped.
   * @param told a verdict to record with the events; if it is unchanged, nothing is queued
   */
  async queue(events: readonly QueuedEvent[], told?: ToldVerdict): Promise<QueueResult> {
    const now = this.database.now();
    return this.database.write(async (tx) => {
      if (told !== undefined && !(await recordVerdict(tx, told, now))) return { queued: 0, dropped: [] };
      const webhooks: { id: string; events: string }[] =
        await tx`SELECT id, events FROM inkling_webhooks WHERE disabled_at IS NULL`;
      const rows = events.flatMap(({ key, message: { type, data } }) => {
        const body = bodyOf(type, data, now);
        return webhooks
          .filter((webhook) => webhook.events.split(" ").includes(type))
          .map(({ id }) => ({ key, row: newRow(messageId(key), id, type, body, now) }));
      });
      const free = await freePlaces(tx);
      const dropped: Dropped[] = [];
      const taken = rows.flatMap(({ key, row }) => {
        const places = free.get(row.webhook_id) ?? MAX_WAITING;
        free.set(row.webhook_id, places - 1);
        if (places > 0) return [row];
        dropped.push({ key, webhook: row.webhook_id });
        return [];
      });
      let queued = 0;
      for (let at = 0; at < taken.length; at += ROWS_AT_ONCE) {
        const inserted: unknown[] =
          await tx`INSERT INTO inkling_deliveries ${tx(taken.slice(at, at + ROWS_AT_ONCE))}
          ON CONFLICT (webhook_id, id) DO NOTHING RETURNING id`;
        queued += inserted.length;
      }
      return { queued, dropped };
    }, true);
  }

  /** Queues a test message for a webhook. The caller sends the message. */
  async queueTest(webhookId: string): Promise<ClaimedDelivery> {
    const now = this.database.now();
    const id = messageId(Buffer.from(this.database.randomBytes(16)).toString("hex"));
    const body = bodyOf(WEBHOOK_TEST, { webhook: webhookId }, now);
    const row = { ...newRow(id, webhookId, WEBHOOK_TEST, body, now), attempts: 1, due_at: now + LEASE_MS };
    await this.database.run((sql) => sql`INSERT INTO inkling_deliveries ${sql(row)}`);
    return { id, webhookId, event: WEBHOOK_TEST, attempts: 1, body };
  }

  /** Finds the webhooks that have due deliveries. */
  async dueWebhooks(): Promise<string[]> {
    const now = this.database.now();
    const rows: { webhook_id: string }[] = await this.database.run(
      (sql) =>
        sql`SELECT DISTINCT webhook_id FROM inkling_deliveries WHERE state = 'waiting' AND due_at <= ${now}`,
    );
    return rows.map(({ webhook_id }) => webhook_id);
  }

  /** Claims a webhook's due deliveries, oldest first. No other host gets them until the lease expires. */
  async claim(webhookId: string, most: number): Promise<ClaimedDelivery[]> {
    const now = this.database.now();
    const rows: (Omit<ClaimedDelivery, "webhookId" | "attempts"> & { attempts: number | string })[] =
      await this.database.run((sql) => {
        const skipLocked = this.database.isShared ? sql`FOR UPDATE SKIP LOCKED` : sql``;
        // Materialized, because PostgreSQL could otherwise run the selection once per row and claim more than `most`
        // deliveries.
        return sql`WITH due AS MATERIALIZED
            (SELECT id FROM inkling_deliveries
              WHERE webhook_id = ${webhookId} AND state = 'waiting' AND due_at <= ${now}
              ORDER BY due_at, id LIMIT ${most} ${skipLocked})
          UPDATE inkling_deliveries SET attempts = attempts + 1, due_at = ${now + LEASE_MS}
          WHERE webhook_id = ${webhookId} AND id IN (SELECT id FROM due)
          RETURNING id, event, body, attempts`;
      });
    return rows.map(({ attempts, ...row }) => ({ ...row, webhookId, attempts: Number(attempts) }));
  }

  /**
   * Records the result of an attempt at a claimed delivery, unless a later attempt has begun.
   * @returns seconds until the next attempt; undefined if there will be none
   */
  async settle(claimed: ClaimedDelivery, { outcome, status, reason }: Attempt): Promise<number | undefined> {
    const { id, webhookId, event, attempts } = claimed;
    const now = this.database.now();
    const wait =
      outcome === "failed" && event !== WEBHOOK_TEST ? WEBHOOK_WAITS_SECONDS[attempts - 1] : undefined;
    const state: DeliveryState =
      outcome === "delivered" ? "delivered" : wait === undefined ? "ended" : "waiting";
    await this.database.run(
      (sql) => sql`UPDATE inkling_deliveries SET state = ${state}, due_at = ${now + (wait ?? 0) * 1_000},
          last_at = ${now}, last_outcome = ${outcome}, last_status = ${status ?? null}, last_reason = ${reason ?? null}
        WHERE webhook_id = ${webhookId} AND id = ${id} AND attempts = ${attempts} AND state = 'waiting'`,
    );
    return wait;
  }

  /** Returns a claimed delivery to the queue as if it had not been claimed, because this host is stopping. */
  async release({ id, webhookId, attempts }: ClaimedDelivery): Promise<void> {
    await this.database.run(
      (sql) => sql`UPDATE inkling_deliveries SET attempts = ${attempts - 1}, due_at = ${this.database.now()}
        WHERE webhook_id = ${webhookId} AND id = ${id} AND attempts = ${attempts} AND state = 'waiting'`,
    );
  }

  /** Lists a webhook's deliveries, newest first. */
  async list(webhookId: string, { limit, cursor }: PageRequest): Promise<Page<Delivery>> {
    const rows: DeliveryRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_deliveries
        WHERE webhook_id = ${webhookId} AND ${DELIVERY_PAGES.after(sql, cursor)}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    return DELIVERY_PAGES.page(rows, limit, (shown) =>
      this.database.unreadable.read("deliveries", shown, fromRow, ({ id }) => id),
    );
  }

  async state(): Promise<QueueState> {
    const [row]: { waiting: number | string; oldest: number | string | null }[] = await this.database.run(
      (sql) =>
        sql`SELECT COUNT(*) AS waiting, MIN(created_at) AS oldest FROM inkling_deliveries WHERE state = 'waiting'`,
    );
    return { waiting: Number(row?.waiting), oldestAt: optionalNumber(row?.oldest ?? null) };
  }

  /**
   * Removes deliveries that have no webhook or no decision any more, and each webhook's oldest finished deliveries
   * above the limit. retention.ts removes deliveries by age.
   */
  async forget(): Promise<void> {
    await deleteOrphanedDeliveries(this.database);
    await this.database.deleteInSteps(
      "inkling_deliveries",
      "webhook_id, id",
      (sql) => sql`webhook_id NOT IN (SELECT id FROM inkling_webhooks)`,
    );
    const full: { webhook_id: string }[] = await this.database.run(
      (sql) => sql`SELECT webhook_id FROM inkling_deliveries WHERE state <> 'waiting'
        GROUP BY webhook_id HAVING COUNT(*) > ${MAX_ENDED}`,
    );
    for (const { webhook_id } of full) {
      await this.database.deleteInSteps(
        "inkling_deliveries",
        "webhook_id, id",
        (sql) => sql`webhook_id = ${webhook_id} AND state <> 'waiting' AND (created_at, id) <= (
          SELECT created_at, id FROM inkling_deliveries WHERE webhook_id = ${webhook_id} AND state <> 'waiting'
          ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ${MAX_ENDED})`,
      );
    }
  }

  /** Reads how well the newest deliveries to a webhook that were attempted have worked. */
  async health(webhookId: string): Promise<WebhookHealth> {
    const rows: DeliveryRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_deliveries
        WHERE webhook_id = ${webhookId} AND last_at IS NOT NULL
        ORDER BY created_at DESC, id DESC LIMIT ${RECENT}`,
    );
    const attempted = rows
      .map(fromRow)
      .flatMap(({ event, last }) => (last === undefined ? [] : [{ event, ...last }]));
    return {
      deliveries: attempted.length,
      failed: attempted.filter(({ outcome }) => outcome !== "delivered").length,
      last: attempted.toSorted((a, b) => b.at - a.at)[0],
    };
  }

  /** Reads the last reported verdicts on these domains. */
  async toldVerdicts(domains: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    if (domains.length === 0) return new Map();
    const rows: { domain: string; disposable: number }[] = await this.database.run(
      (sql) =>
        sql`SELECT domain, disposable FROM inkling_domain_verdicts WHERE domain IN ${sql([...domains])}`,
    );
    return new Map(rows.map(({ domain, disposable }) => [domain, disposable === 1]));
  }

  /**
   * Claims the right to detect changes for the next `ms` milliseconds. Only one of the hosts on a database can have it.
   * @returns true if this host has the right
   */
  async takeWatch(holder: string, ms: number): Promise<boolean> {
    const now = this.database.now();
    const rows: unknown[] = await this.database.run(
      (sql) => sql`UPDATE inkling_webhook_watch SET holder = ${holder}, held_until = ${now + ms}
        WHERE id = 1 AND (holder = ${holder} OR held_until <= ${now}) RETURNING id`,
    );
    return rows.length > 0;
  }

  /** Lets another host detect changes immediately. */
  async leaveWatch(holder: string): Promise<void> {
    await this.database.run(
      (sql) => sql`UPDATE inkling_webhook_watch SET held_until = 0 WHERE id = 1 AND holder = ${holder}`,
    );
  }
}

/** Converts a delivery to JSON for programs. */
export function deliveryJson({ id, event, state, createdAt, attempts, dueAt, last }: Delivery) {
  return {
    id,
    event,
    state,
    created_at: isoTime(createdAt),
    attempts,
    next_attempt_at: state === "waiting" ? isoTime(dueAt) : null,
    last_attempt: last === undefined ? null : { at: isoTime(last.at), ...attemptJson(last) },
  };
}

/** Converts a webhook's health to JSON for programs. */
export const healthJson = ({ deliveries, failed, last }: WebhookHealth) => ({
  deliveries,
  failed,
  last_attempt: last === undefined ? null : { at: isoTime(last.at), event: last.event, ...attemptJson(last) },
});

export const attemptJson = ({ outcome, status, reason }: Attempt) => ({
  outcome,
  status: status ?? null,
  reason: reason ?? null,
});

/** Creates the body of a message, in the format that Standard Webhooks recommends. */
function bodyOf(type: string, data: object, now: EpochMs): string {
  return JSON.stringify({ type, timestamp: isoTime(now), data });
}

const newRow = (id: string, webhookId: string, event: string, body: string, now: EpochMs) => ({
  id,
  webhook_id: webhookId,
  event,
  body,
  state: "waiting",
  attempts: 0,
  due_at: now,
  created_at: now,
});

/** @returns false if this verdict has already been reported */
async function recordVerdict(
  tx: TransactionSQL,
  { domain, disposable }: ToldVerdict,
  now: EpochMs,
): Promise<boolean> {
  const rows: unknown[] = await tx`INSERT INTO inkling_domain_verdicts AS v (domain, disposable, at)
    VALUES (${domain}, ${disposable ? 1 : 0}, ${now})
    ON CONFLICT (domain) DO UPDATE SET disposable = excluded.disposable, at = excluded.at
    WHERE v.disposable <> excluded.disposable RETURNING domain`;
  return rows.length > 0;
}

/** Returns how many more deliveries each webhook may have waiting. Webhooks without waiting deliveries are left out. */
async function freePlaces(sql: SQL): Promise<Map<string, number>> {
  const rows: { webhook_id: string; waiting: number | string }[] =
    await sql`SELECT webhook_id, COUNT(*) AS waiting FROM inkling_deliveries WHERE state = 'waiting' GROUP BY webhook_id`;
  return new Map(rows.map(({ webhook_id, waiting }) => [webhook_id, MAX_WAITING - Number(waiting)]));
}

/** Removes deliveries about decisions that no longer exist, because a delivery contains the decision's `ref`. */
export async function deleteOrphanedDeliveries(database: Database): Promise<void> {
  const event: WebhookEvent = "decision.changed";
  const id = database.isShared
    ? `substring(body from '"data":[{]"id":"([^"]*)"')`
    : "json_extract(body, '$.data.id')";
  await database.deleteInSteps(
    "inkling_deliveries",
    "webhook_id, id",
    (sql) => sql`event = ${event} AND NOT EXISTS
      (SELECT 1 FROM inkling_decisions d WHERE d.id = ${sql.unsafe(id.replace("body", "inkling_deliveries.body"))})`,
  );
}

interface DeliveryRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly state: string;
  readonly attempts: number | string;
  readonly due_at: number | string;
  readonly created_at: number | string;
  readonly last_at: number | string | null;
  readonly last_outcome: string | null;
  readonly last_status: number | null;
  readonly last_reason: string | null;
}

const columns = (sql: SQL) =>
  sql.unsafe(
    "id, webhook_id, event, state, attempts, due_at, created_at, last_at, last_outcome, last_status, last_reason",
  );

function fromRow(row: DeliveryRow): Delivery {
  const { last_at: at, last_outcome: outcome, last_status: status, last_reason: reason } = row;
  return {
    id: row.id,
    webhookId: row.webhook_id,
    event: row.event,
    state: known(DELIVERY_STATES, row.state, "state"),
    createdAt: Number(row.created_at),
    attempts: Number(row.attempts),
    dueAt: Number(row.due_at),
    last:
      at === null || outcome === null
        ? undefined
        : {
            at: Number(at),
            outcome: known(WEBHOOK_OUTCOMES, outcome, "outcome"),
            status: status ?? undefined,
            reason: reason ?? undefined,
          },
  };
}
