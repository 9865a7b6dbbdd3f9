// retention.ts: deletes stored rows that are too old, in small steps, and decides which clock is right about their age.
//
// A clock that is 40 days ahead once deleted every stored decision within 15 s of a start. So the database keeps the
// time of the last check. If the clock is more than a day ahead of it, the clock may be wrong, or the server was off.
// Nothing is deleted by age until the clock has kept its time for HOLD_MS, which gives an operator time to correct it.

import type { SQL } from "bun";
import type { Database } from "./database.ts";
import { KEEP_COUNTS_MS } from "./decision-counts.ts";
import { DecisionSize } from "./decision-size.ts";
import { DAY_MS, dayOf, HOUR_MS, hourOf } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";

/** Maximum milliseconds between two checks without doubt about the clock. */
const TOLERANCE_MS = DAY_MS;
/** Milliseconds of running time after which a clock that was in doubt is accepted. */
const HOLD_MS = 6 * HOUR_MS;

interface AgedRows {
  readonly table: string;
  /** The columns that identify a row. */
  readonly key: string;
  /** Selects the rows that are too old. */
  readonly isOld: (sql: SQL, now: EpochMs, decisionsDays: number) => SQL.Query<unknown>;
}

/** Milliseconds for which hourly traffic is kept. Usage per day is kept permanently. */
const KEEP_HOURS_MS = 31 * DAY_MS;

/** Every table whose rows are deleted by age. */
const AGED_ROWS: Readonly<Record<string, AgedRows>> = {
  decisions: {
    table: "inkling_decisions",
    key: "id",
    isOld: (sql, now, days) => sql`created_at < ${now - days * DAY_MS}`,
  },
  decision_counts: {
    table: "inkling_decision_counts",
    key: "hour, kind, name",
    isOld: (sql, now) => sql`hour < ${now - KEEP_COUNTS_MS}`,
  },
  deliveries: {
    table: "inkling_deliveries",
    key: "webhook_id, id",
    isOld: (sql, now) => sql`created_at < ${now - 7 * DAY_MS}`,
  },
  verdicts: {
    table: "inkling_domain_verdicts",
    key: "domain",
    isOld: (sql, now) => sql`at < ${now - 30 * DAY_MS}`,
  },
  traffic_hours: {
    table: "inkling_traffic_hours",
    key: "hour, host",
    isOld: (sql, now) => sql`hour < ${hourOf(now - KEEP_HOURS_MS)}`,
  },
  // A recorder that is silent for this long has exited.
  recorders: {
    table: "inkling_recorders",
    key: "id",
    isOld: (sql, now) => sql`flushed_at < ${now - 30 * DAY_MS}`,
  },
  hosts: {
    table: "inkling_hosts",
    key: "id",
    isOld: (sql, now) => sql`contact_at < ${now - DAY_MS}`,
  },
  low_quotas: {
    table: "inkling_low_quotas",
    key: "day, key_id",
    isOld: (sql, now) => sql`day < ${dayOf(now - DAY_MS)}`,
  },
  // A host that has not read a revocation yet may still count the key.
  group_counts: {
    table: "inkling_group_counts",
    key: "key_id",
    isOld: (sql, now) => sql`key_id IN (SELECT id FROM inkling_keys WHERE revoked_at < ${now - DAY_MS})`,
  },
};

/** The number of deleted rows by name, without zeros. */
export type DeletedRows = Readonly<Record<string, number>>;

export class Retention {
  /** The space that decisions take. */
  readonly decisions: DecisionSize;
  /** Milliseconds by which the clock is ahead of the last check; 0 without doubt about the clock. */
  aheadMs = 0;
  private readonly database: Database;
  private readonly elapsed: () => number;
  /** When doubt about the clock began, in milliseconds of running time. */
  private heldSince: number | undefined;

  constructor(database: Database, elapsed = () => performance.now()) {
    this.database = database;
    this.decisions = new DecisionSize(database);
    this.elapsed = elapsed;
  }

  /**
   * Reads the time that determines the age of rows: the database server's, or this host's with SQLite.
   * @returns undefined while the clock is in doubt
   */
  async now(): Promise<EpochMs | undefined> {
    const rows: { checked_at: number | string; now: number | string }[] = await this.database.run(
      (sql) => sql`SELECT checked_at, ${this.database.clock(sql)} AS now FROM inkling_retention`,
    );
    const [now, checkedAt] = [Number(rows[0]?.now), Number(rows[0]?.checked_at)];
    const isInDoubt = checkedAt > 0 && now - checkedAt > TOLERANCE_MS;
    this.heldSince = isInDoubt ? (this.heldSince ?? this.elapsed()) : undefined;
    const isHeld = this.heldSince !== undefined && this.elapsed() - this.heldSince < HOLD_MS;
    this.aheadMs = isHeld ? now - checkedAt : 0;
    if (isHeld) return undefined;
    await this.database.run((sql) => sql`UPDATE inkling_retention SET checked_at = ${now}`);
    return now;
  }

  /** Deletes the rows that are too old. Deletes nothing while the clock is in doubt. */
  async expire(decisionsDays: number): Promise<DeletedRows> {
    const now = await this.now();
    const deleted: Record<string, number> = {};
    if (now === undefined) return deleted;
    for (const [name, { table, key, isOld }] of Object.entries(AGED_ROWS)) {
      const rows = await this.database.deleteInSteps(table, key, (sql) => isOld(sql, now, decisionsDays));
      if (rows > 0) deleted[name] = rows;
    }
    return deleted;
  }

  /** Deletes the oldest decisions if all of them take more than `maxBytes`. @returns the number of deleted decisions */
  async limitDecisions(maxBytes: number): Promise<number> {
    await this.decisions.measure(this.database.now());
    return this.decisions.deleteAbove(maxBytes);
  }
}
