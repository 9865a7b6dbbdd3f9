// deliveries.ts: the queue of webhook deliveries, in a table of the store: what is to be sent, and how each attempt ended.
//
// in   events, each with a key that says which event it is
// out  deliveries that are due, each to one host only; the outcome of attempts
// err  StoreError
//
// A delivery is claimed by moving its due time on by a lease. A host that ends in the middle of an attempt leaves it due
// again when the lease ends, with the same id: a receiver may get a message twice, and never not at all. The id of a message
// is a hash of the event's key, so an event that several hosts find, or one host after a restart, is queued once.

import {
  type DeliveryState,
  WEBHOOK_TEST,
  WEBHOOK_WAITS_SECONDS,
  type WebhookMessage,
  type WebhookOutcome,
} from "@inkling/contract";
import { sha256Hex } from "@inkling/release-store";
import type { SQL, TransactionSQL } from "bun";
import { DAY_MS } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";
import { NewestFirst, type Page, type PageRequest, ROWS_AT_ONCE, type Tables } from "./tables.ts";

/** Longer than an attempt may take. */
export const LEASE_MS = 60_000;
/** Deliveries are kept for so long, whatever became of them. */
const KEEP_MS = 7 * DAY_MS;
/** So many may wait, of all webhooks; and so many others are kept. */
const MAX_WAITING = 10_000;
const MAX_ENDED = 10_000;

/** An event to be told. */
export interface QueuedEvent {
  /** The same for the same event, on every host. */
  readonly key: string;
  readonly message: WebhookMessage;
}

/** One message for one webhook. */
export interface Delivery {
  /** The header `webhook-id`. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly createdAt: EpochMs;
  /** Begun until now. */
  readonly attempts: number;
  /** Of the next attempt, while it waits. */
  readonly dueAt: EpochMs;
  readonly last: (Attempt & { readonly at: EpochMs }) | undefined;
}

/** How one attempt ended. */
export interface Attempt {
  readonly outcome: WebhookOutcome;
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  /** Undefined if it was delivered. */
  readonly reason: string | undefined;
}

/** A delivery whose attempt this host makes. */
export interface ClaimedDelivery extends Pick<Delivery, "id" | "webhookId" | "event" | "attempts"> {
  readonly body: string;
}

export interface QueueState {
  readonly waiting: number;
  /** When the oldest was queued that waits. */
  readonly oldestAt: EpochMs | undefined;
}

/** A verdict on a domain that is told with events: only the host that records it first queues them. */
export interface ToldVerdict {
  readonly domain: string;
  readonly disposable: boolean;
}

export const DELIVERY_PAGES = new NewestFirst("msg");

const messageId = (key: string) =>
  `msg_${BigInt(`0x${sha256Hex(key)}`)
    .toString(36)
    .slice(-16)}`;

export class DeliveryStore {
  private readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  /**
   * Queues events for the webhooks that subscribe to them. Events that were queued before are left out.
   * @param told recorded with them: without a change of it, nothing is queued
   * @returns deliveries that were queued, and those that were not because too many wait
   */
  async queue(
    events: readonly QueuedEvent[],
    told?: ToldVerdict,
  ): Promise<{ readonly queued: number; readonly dropped: number }> {
    const now = this.tables.now();
    return this.tables.write(async (tx) => {
      if (told !== undefined && !(await recordVerdict(tx, told, now))) return { queued: 0, dropped: 0 };
      const webhooks: { id: string; events: string }[] =
        await tx`SELECT id, events FROM inkling_webhooks WHERE disabled_at IS NULL`;
      const rows = events.flatMap(({ key, message: { type, data } }) => {
        const body = bodyOf(type, data, now);
        return webhooks
          .filter((webhook) => webhook.events.split(" ").includes(type))
          .map(({ id }) => newRow(messageId(key), id, type, body, now));
      });
      const { waiting } = await stateIn(tx);
      const taken = rows.slice(0, Math.max(0, MAX_WAITING - waiting));
      let queued = 0;
      for (let at = 0; at < taken.length; at += ROWS_AT_ONCE) {
        const inserted: unknown[] =
          await tx`INSERT INTO inkling_deliveries ${tx(taken.slice(at, at + ROWS_AT_ONCE))}
          ON CONFLICT (webhook_id, id) DO NOTHING RETURNING id`;
        queued += inserted.length;
      }
      return { queued, dropped: rows.length - taken.length };
    }, true);
  }

  /** Queues a message to try a webhook, which this caller sends. @param id new */
  async queueTest(webhookId: string): Promise<ClaimedDelivery> {
    const now = this.tables.now();
    const id = messageId(Buffer.from(this.tables.randomBytes(16)).toString("hex"));
    const body = bodyOf(WEBHOOK_TEST, { webhook: webhookId }, now);
    const row = { ...newRow(id, webhookId, WEBHOOK_TEST, body, now), attempts: 1, due_at: now + LEASE_MS };
    await this.tables.writeOnce((sql) => sql`INSERT INTO inkling_deliveries ${sql(row)}`);
    return { id, webhookId, event: WEBHOOK_TEST, attempts: 1, body };
  }

  /** The webhooks that have deliveries which are due. */
  async dueWebhooks(): Promise<string[]> {
    const now = this.tables.now();
    const rows: { webhook_id: string }[] = await this.tables.read(
      (sql) =>
        sql`SELECT DISTINCT webhook_id FROM inkling_deliveries WHERE state = 'waiting' AND due_at <= ${now}`,
    );
    return rows.map(({ webhook_id }) => webhook_id);
  }

  /** Takes deliveries of a webhook that are due, the oldest first: no other host gets them until the lease ends. */
  async claim(webhookId: string, most: number): Promise<ClaimedDelivery[]> {
    const now = this.tables.now();
    const rows: (Omit<ClaimedDelivery, "webhookId" | "attempts"> & { attempts: number | string })[] =
      await this.tables.writeOnce((sql) => {
        const skipLocked = this.tables.isShared ? sql`FOR UPDATE SKIP LOCKED` : sql``;
        // Materialized: PostgreSQL could run the selection again for each row, and so take more than `most`.
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
   * Records how the attempt of a claimed delivery ended. An attempt whose lease ended before it is not recorded.
   * @returns seconds until the next attempt; undefined if there is none
   */
  async settle(claimed: ClaimedDelivery, { outcome, status, reason }: Attempt): Promise<number | undefined> {
    const { id, webhookId, event, attempts } = claimed;
    const now = this.tables.now();
    const wait =
      outcome === "failed" && event !== WEBHOOK_TEST ? WEBHOOK_WAITS_SECONDS[attempts - 1] : undefined;
    const state: DeliveryState =
      outcome === "delivered" ? "delivered" : wait === undefined ? "ended" : "waiting";
    await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_deliveries SET state = ${state}, due_at = ${now + (wait ?? 0) * 1_000},
          last_at = ${now}, last_outcome = ${outcome}, last_status = ${status ?? null}, last_reason = ${reason ?? null}
        WHERE webhook_id = ${webhookId} AND id = ${id} AND attempts = ${attempts} AND state = 'waiting'`,
    );
    return wait;
  }

  /** Gives a claimed delivery back, as if it had not been claimed: this host stops. */
  async release({ id, webhookId, attempts }: ClaimedDelivery): Promise<void> {
    await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_deliveries SET attempts = ${attempts - 1}, due_at = ${this.tables.now()}
        WHERE webhook_id = ${webhookId} AND id = ${id} AND attempts = ${attempts} AND state = 'waiting'`,
    );
  }

  /** Deliveries of a webhook, newest first. */
  async list(webhookId: string, { limit, cursor }: PageRequest): Promise<Page<Delivery>> {
    const rows: DeliveryRow[] = await this.tables.read(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_deliveries
        WHERE webhook_id = ${webhookId} AND ${DELIVERY_PAGES.after(sql, cursor)}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    return DELIVERY_PAGES.page(rows.map(fromRow), limit);
  }

  async state(): Promise<QueueState> {
    return this.tables.read(stateIn);
  }

  /** Removes what is older than a week, or too much, or of a webhook that is gone; and what was told of domains long ago. */
  async forget(): Promise<void> {
    const now = this.tables.now();
    await this.tables.write(async (tx) => {
      await tx`DELETE FROM inkling_deliveries WHERE created_at < ${now - KEEP_MS}
        OR webhook_id NOT IN (SELECT id FROM inkling_webhooks)`;
      const newest: { created_at: number | string }[] = await tx`SELECT created_at FROM inkling_deliveries
        WHERE state <> 'waiting' ORDER BY created_at DESC LIMIT 1 OFFSET ${MAX_ENDED}`;
      if (newest[0] !== undefined) {
        await tx`DELETE FROM inkling_deliveries
          WHERE state <> 'waiting' AND created_at <= ${Number(newest[0].created_at)}`;
      }
      await tx`DELETE FROM inkling_domain_verdicts WHERE at < ${now - 30 * DAY_MS}`;
    }, false);
  }

  /** What was told last of these domains. */
  async toldVerdicts(domains: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    if (domains.length === 0) return new Map();
    const rows: { domain: string; disposable: number }[] = await this.tables.read(
      (sql) =>
        sql`SELECT domain, disposable FROM inkling_domain_verdicts WHERE domain IN ${sql([...domains])}`,
    );
    return new Map(rows.map(({ domain, disposable }) => [domain, disposable === 1]));
  }

  /** Among the hosts on one database, one at a time finds out what changed. @returns whether this one may, for so long */
  async takeWatch(holder: string, ms: number): Promise<boolean> {
    const now = this.tables.now();
    const rows: unknown[] = await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_webhook_watch SET holder = ${holder}, held_until = ${now + ms}
        WHERE id = 1 AND (holder = ${holder} OR held_until <= ${now}) RETURNING id`,
    );
    return rows.length > 0;
  }

  /** Another host may find out at once. */
  async leaveWatch(holder: string): Promise<void> {
    await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_webhook_watch SET held_until = 0 WHERE id = 1 AND holder = ${holder}`,
    );
  }
}

/** A delivery for programs. */
export function deliveryJson({ id, event, state, createdAt, attempts, dueAt, last }: Delivery) {
  const time = (ms: EpochMs) => new Date(ms).toISOString();
  return {
    id,
    event,
    state,
    created_at: time(createdAt),
    attempts,
    next_attempt_at: state === "waiting" ? time(dueAt) : null,
    last_attempt: last === undefined ? null : { at: time(last.at), ...attemptJson(last) },
  };
}

export const attemptJson = ({ outcome, status, reason }: Attempt) => ({
  outcome,
  status: status ?? null,
  reason: reason ?? null,
});

/** As Standard Webhooks recommends. */
function bodyOf(type: string, data: object, now: EpochMs): string {
  return JSON.stringify({ type, timestamp: new Date(now).toISOString(), data });
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

/** @returns false if this verdict was told already */
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

async function stateIn(sql: SQL): Promise<QueueState> {
  const rows: { waiting: number | string; oldest: number | string | null }[] =
    await sql`SELECT COUNT(*) AS waiting, MIN(created_at) AS oldest FROM inkling_deliveries WHERE state = 'waiting'`;
  const [row] = rows;
  return {
    waiting: Number(row?.waiting ?? 0),
    oldestAt: row?.oldest == null ? undefined : Number(row.oldest),
  };
}

interface DeliveryRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly attempts: number | string;
  readonly due_at: number | string;
  readonly created_at: number | string;
  readonly last_at: number | string | null;
  readonly last_outcome: WebhookOutcome | null;
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
    state: row.state,
    createdAt: Number(row.created_at),
    attempts: Number(row.attempts),
    dueAt: Number(row.due_at),
    last:
      at === null || outcome === null
        ? undefined
        : { at: Number(at), outcome, status: status ?? undefined, reason: reason ?? undefined },
  };
}
