// webhooks.ts: stores webhooks in a table of the store: their URLs, their events, and the secrets that sign deliveries.
//
// Signing needs the secrets, so the table contains them in plain text. This file returns them in only two ways: in the
// response to the operator who adds or rotates a webhook, and through `signing`, for a delivery. Backups also contain
// them (copy.ts).

import { type AuditAction, MAX_WEBHOOKS, WEBHOOK_EVENT_NAMES, type WebhookEvent } from "@inkling/contract";
import { randomBase62 } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { StoreError } from "./error.ts";
import { isoTime, isoTimeOrNull, optionalNumber } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";

const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;

interface NewWebhook {
  /** Checked by the caller. The store accepts any text. */
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** May the URL lead to an address outside the public internet? */
  readonly allowPrivate: boolean;
}

export interface Webhook extends NewWebhook {
  readonly id: string;
  readonly author: string;
  readonly createdAt: EpochMs;
  /** After a rotation, the previous secret also signs until this time. */
  readonly oldSecretUntil: EpochMs | undefined;
  /** When the receiver returned 410. After that, the webhook gets no more deliveries. */
  readonly disabledAt: EpochMs | undefined;
}

/** A webhook and its secret, which is shown only once. */
export interface IssuedWebhook {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** A webhook with the secrets that currently sign its deliveries: one, or two after a rotation. */
export interface SigningWebhook {
  readonly webhook: Webhook;
  readonly secrets: readonly string[];
}

export class WebhookStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Lists all webhooks, oldest first. */
  async list(): Promise<Webhook[]> {
    const rows: WebhookRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_webhooks ORDER BY created_at, id`,
    );
    return this.readRows(rows);
  }

  async find(id: string): Promise<Webhook | undefined> {
    return this.database.run((sql) => this.findIn(sql, id));
  }

  /** @throws StoreError CONFLICT if there are MAX_WEBHOOKS already */
  add(wanted: NewWebhook, by: Author): Promise<IssuedWebhook> {
    return this.database.write(async (tx) => {
      await lockAudit(tx);
      const rows: { count: number | string }[] = await tx`SELECT COUNT(*) AS count FROM inkling_webhooks`;
      if (Number(rows[0]?.count) >= MAX_WEBHOOKS)
        throw new StoreError(
          "CONFLICT",
          `there are already ${MAX_WEBHOOKS} webhooks, the maximum`,
          "remove one first: `inkling webhooks remove ID`",
        );
      const webhook: Webhook = Object.freeze({
        ...wanted,
        id: `whk_${randomBase62(16, this.database.randomBytes)}`,
        author: by.author,
        createdAt: this.database.now(),
        oldSecretUntil: undefined,
        disabledAt: undefined,
      });
      const secret = this.newSecret();
      const { id, url, events, allowPrivate, author, createdAt } = webhook;
      await tx`INSERT INTO inkling_webhooks (id, url, events, allow_inner, secret, author, created_at)
        VALUES (${id}, ${url}, ${events.join(" ")}, ${allowPrivate ? 1 : 0}, ${secret}, ${author}, ${createdAt})`;
      await this.audit(tx, by, "webhook-added", undefined, webhook);
      return { webhook, secret };
    }, true);
  }

  /**
   * Creates a new secret for a webhook.
   * @param overlapUntil epoch ms until which the previous secret also signs
   * @returns undefined if no webhook has this id
   */
  rotate(id: string, overlapUntil: EpochMs, by: Author): Promise<IssuedWebhook | undefined> {
    return this.database.write(async (tx) => {
      await lockAudit(tx);
      const before = await this.findIn(tx, id);
      if (before === undefined) return undefined;
      const secret = this.newSecret();
      const webhook: Webhook = Object.freeze({ ...before, oldSecretUntil: overlapUntil });
      await tx`UPDATE inkling_webhooks SET old_secret = secret, old_secret_until = ${overlapUntil}, secret = ${secret}
        WHERE id = ${id}`;
      await this.audit(tx, by, "webhook-rotated", before, webhook);
      return { webhook, secret };
    }, true);
  }

  /** Removes a webhook with its secrets and deliveries. @returns the webhook; undefined if no webhook has this id */
  remove(id: string, by: Author): Promise<Webhook | undefined> {
    return this.database.write(async (tx) => {
      // Before the lock, because changes to keys wait for it.
      await tx`DELETE FROM inkling_deliveries WHERE webhook_id = ${id}`;
      await lockAudit(tx);
      const before = await this.findIn(tx, id);
      if (before === undefined) return undefined;
      await tx`DELETE FROM inkling_webhooks WHERE id = ${id}`;
      await this.audit(tx, by, "webhook-removed", before, undefined);
      return before;
    }, true);
  }

  /**
   * Disables a webhook whose receiver returned 410, and ends its deliveries.
   * @returns false if it is already disabled or removed
   */
  disable(id: string): Promise<boolean> {
    return this.database.write(async (tx) => {
      await tx`UPDATE inkling_deliveries SET state = 'ended' WHERE webhook_id = ${id} AND state = 'waiting'`;
      await lockAudit(tx);
      const before = await this.findIn(tx, id);
      if (before === undefined || before.disabledAt !== undefined) return false;
      const webhook: Webhook = Object.freeze({ ...before, disabledAt: this.database.now() });
      await tx`UPDATE inkling_webhooks SET disabled_at = ${webhook.disabledAt} WHERE id = ${id}`;
      await this.audit(tx, { author: "inkling", source: undefined }, "webhook-disabled", before, webhook);
      return true;
    }, true);
  }

  /**
   * Enables a webhook that was disabled after a 410. It receives events from now on.
   * @returns undefined if no webhook has this id
   */
  enable(id: string, by: Author): Promise<Webhook | undefined> {
    return this.database.write(async (tx) => {
      await lockAudit(tx);
      const before = await this.findIn(tx, id);
      if (before?.disabledAt === undefined) return before;
      const webhook: Webhook = Object.freeze({ ...before, disabledAt: undefined });
      await tx`UPDATE inkling_webhooks SET disabled_at = NULL WHERE id = ${id}`;
      await this.audit(tx, by, "webhook-enabled", before, webhook);
      return webhook;
    }, true);
  }

  /** Reads a webhook with the secrets that sign its deliveries. @returns undefined if no webhook has this id */
  async signing(id: string): Promise<SigningWebhook | undefined> {
    const rows: (WebhookRow & SecretRow)[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)}, secret, old_secret FROM inkling_webhooks WHERE id = ${id}`,
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    const [webhook] = this.readRows([row]);
    if (webhook === undefined) return undefined;
    const isOldInUse = row.old_secret !== null && (webhook.oldSecretUntil ?? 0) > this.database.now();
    return { webhook, secrets: isOldInUse ? [row.secret, row.old_secret!] : [row.secret] };
  }

  private async findIn(sql: SQL, id: string): Promise<Webhook | undefined> {
    const rows: WebhookRow[] = await sql`SELECT ${columns(sql)} FROM inkling_webhooks WHERE id = ${id}`;
    return this.readRows(rows)[0];
  }

  private readRows(rows: readonly WebhookRow[]): Webhook[] {
    return this.database.unreadable.read("webhooks", rows, fromRow, ({ id }) => id);
  }

  private newSecret(): string {
    const bytes = this.database.randomBytes(SECRET_BYTES);
    return `${SECRET_PREFIX}${Buffer.from(bytes).toString("base64")}`;
  }

  /** Adds an entry to the audit trail. The entry never contains a secret. */
  private audit(
    tx: TransactionSQL,
    by: Author,
    action: Extract<AuditAction, `webhook-${string}`>,
    before: Webhook | undefined,
    after: Webhook | undefined,
  ): Promise<void> {
    const json = (webhook: Webhook | undefined) => webhook && webhookJson(webhook);
    const entry = { ...by, action, subject: (after ?? before)!.id, before: json(before), after: json(after) };
    return insertAudit(tx, [entry], this.database.now());
  }
}

/** Returns a webhook's URL without its path and query, which may hold a secret of the receiver. */
export const hostOnly = (url: string): string => `${new URL(url).origin}/…`;

/** Converts a webhook to JSON for programs, without its secrets. */
export function webhookJson(webhook: Webhook) {
  const { id, url, events, allowPrivate, author, createdAt, oldSecretUntil, disabledAt } = webhook;
  return {
    id,
    url,
    events: [...events],
    allow_private: allowPrivate,
    author,
    created_at: isoTime(createdAt),
    old_secret_until: isoTimeOrNull(oldSecretUntil),
    disabled_at: isoTimeOrNull(disabledAt),
  };
}

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: string;
  readonly allow_private: number;
  readonly author: string;
  readonly created_at: number | string;
  readonly old_secret_until: number | string | null;
  readonly disabled_at: number | string | null;
}

interface SecretRow {
  readonly secret: string;
  readonly old_secret: string | null;
}

const columns = (sql: SQL) =>
  sql.unsafe(
    "id, url, events, allow_inner AS allow_private, author, created_at, old_secret_until, disabled_at",
  );

/** Reads a webhook. Leaves out events that only a newer version has. */
function fromRow(row: WebhookRow, report: (reason: string) => void): Webhook {
  const named = row.events.split(" ");
  const isKnown = (name: string) => WEBHOOK_EVENT_NAMES.some((event) => event === name);
  for (const name of named) if (!isKnown(name)) report(`unknown event "${name}"`);
  return Object.freeze({
    id: row.id,
    url: row.url,
    events: WEBHOOK_EVENT_NAMES.filter((event) => named.includes(event)),
    allowPrivate: row.allow_private === 1,
    author: row.author,
    createdAt: Number(row.created_at),
    oldSecretUntil: optionalNumber(row.old_secret_until),
    disabledAt: optionalNumber(row.disabled_at),
  });
}
