// decisions.ts: keeps decisions and their outcomes in a table of the store.
//
// err  StoreError
// cost SQLite runs inside this process and blocks it during a query. Long reads are therefore split into days or pages,
// and long deletions into ROWS_AT_ONCE rows, so that requests are answered in between

import { ACTIONS, type Action, OUTCOMES, type Outcome } from "@inkling/contract";
import type { SQL } from "bun";
import type { DecisionRow, StoredRow } from "../decisions/record.ts";
import type { Actor } from "../keys/actor.ts";
import { DAY_MS } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import { NewestFirst, type Page, type PageRequest, ROWS_AT_ONCE, type Tables } from "./tables.ts";
import { known } from "./unreadable.ts";

/** Milliseconds for which an `Idempotency-Key` identifies its request. */
export const IDEMPOTENCY_MS = DAY_MS;
/** Maximum decisions in one INSERT. SQLite needs 2 to 3 ms to insert this many. */
const INSERTED_AT_ONCE = 200;

/** Selects decisions that match all given members. */
export interface DecisionFilter {
  readonly action?: Action | undefined;
  readonly event?: string | undefined;
  /** Name of the rule that decided, or of a shadow rule that matched. */
  readonly rule?: string | undefined;
  /** Code of a reason. */
  readonly reason?: string | undefined;
  /** "none" selects decisions without a label. */
  readonly outcome?: Outcome | "none" | undefined;
  readonly ref?: string | undefined;
  /** A result of {@link decidedNetwork}: the visitor's /24 or /48. */
  readonly network?: string | undefined;
  /** Domain of the email address. */
  readonly domain?: string | undefined;
  /** The earliest time to include. */
  readonly since?: EpochMs | undefined;
  /** The end of the time range, exclusive. */
  readonly until?: EpochMs | undefined;
}

/** Which decisions to delete. */
export type Deletion = { readonly ref: string } | { readonly before: EpochMs };

/** Counts of decisions with one action on one UTC day. */
export interface DecisionCount {
  readonly day: EpochMs;
  readonly action: Action;
  readonly count: number;
  readonly legitimate: number;
  readonly abuse: number;
}

/** An email domain with the newest decision that involves it. */
export interface DecidedDomain {
  readonly domain: string;
  readonly newest: StoredRow;
}

export const DECISION_PAGES = new NewestFirst("asm");

export class DecisionStore {
  private readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  /** Stores decisions. A decision that is already stored does not change, so a batch may be sent again. */
  async add(rows: readonly DecisionRow[]): Promise<void> {
    for (let at = 0; at < rows.length; at += INSERTED_AT_ONCE) {
      if (at > 0) await Bun.sleep(0);
      const some = rows.slice(at, at + INSERTED_AT_ONCE);
      await this.tables.writeOnce((sql) => insert(sql, some));
    }
  }

  /**
   * Stores the decision about a request with an `Idempotency-Key`, unless the store already has a decision for that
   * key.
   * @returns the decision about the first request with this key, from any host
   */
  claim(row: DecisionRow & { readonly idempotency: string }): Promise<DecisionRow> {
    return this.tables.write(async (tx) => {
      const { idempotency } = row;
      const oldest = this.tables.now() - IDEMPOTENCY_MS;
      await tx`UPDATE inkling_decisions SET idempotency = NULL, body_hash = NULL
        WHERE idempotency = ${idempotency} AND created_at < ${oldest}`;
      await insert(tx, [row]);
      const rows: StoredRow[] = await tx`SELECT ${columns(tx)} FROM inkling_decisions
        WHERE idempotency = ${idempotency}`;
      return rows[0] === undefined ? row : decisionOf(rows[0]);
    }, false);
  }

  /** Labels a decision. The last label wins. @returns undefined if the decision does not exist */
  async label(id: string, outcome: Outcome): Promise<StoredRow | undefined> {
    const rows: StoredRow[] = await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_decisions SET outcome = ${outcome}, outcome_at = ${this.tables.now()}
        WHERE id = ${id} RETURNING ${columns(sql)}`,
    );
    return this.readRows(rows)[0];
  }

  async find(id: string): Promise<StoredRow | undefined> {
    const rows: StoredRow[] = await this.tables.read(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions WHERE id = ${id}`,
    );
    return this.readRows(rows)[0];
  }

  /** Lists decisions, newest first. A filter may match few of many decisions, so each query covers one day. */
  async list({ limit, cursor }: PageRequest, filter: DecisionFilter = {}): Promise<Page<StoredRow>> {
    const items: StoredRow[] = [];
    for await (const [since, until] of this.days(filter, cursor)) {
      const rows: StoredRow[] = await this.tables.read(
        (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions
          WHERE created_at >= ${since} AND created_at < ${until} AND ${DECISION_PAGES.after(sql, cursor)}
          AND ${matches(sql, filter)} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1 - items.length}`,
      );
      items.push(...rows);
      if (items.length > limit) break;
    }
    return DECISION_PAGES.page(items, limit, (shown) => this.readRows(shown));
  }

  /** Yields the days from the newest to the oldest decision, newest first, within the filter's range. */
  private async *days(
    { since = 0, until = Number.MAX_SAFE_INTEGER }: DecisionFilter,
    cursor?: string,
  ): AsyncGenerator<readonly [since: EpochMs, until: EpochMs]> {
    const before = cursor === undefined ? until : Math.min(until, Number(cursor.split("-")[0]) + 1);
    const ends: { oldest: number | string | null; newest: number | string | null }[] = await this.tables.read(
      (sql) => sql`SELECT
        (SELECT MIN(created_at) FROM inkling_decisions WHERE created_at >= ${since}) AS oldest,
        (SELECT MAX(created_at) FROM inkling_decisions WHERE created_at < ${before}) AS newest`,
    );
    const { oldest, newest } = ends[0] ?? {};
    if (oldest == null || newest == null) return;
    for (let end = Number(newest) + 1; end > Number(oldest); ) {
      const start = Math.max(since, Math.floor((end - 1) / DAY_MS) * DAY_MS);
      yield [start, end];
      end = start;
      await Bun.sleep(0);
    }
  }

  /** Yields pages of decisions, oldest first. */
  async *read({ since = 0, until = Number.MAX_SAFE_INTEGER }: Pick<DecisionFilter, "since" | "until"> = {}) {
    for (let at = since, id = ""; ; ) {
      const rows: StoredRow[] = await this.tables.read(
        (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions
          WHERE (created_at, id) > (${at}, ${id}) AND created_at < ${until}
          ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE}`,
      );
      if (rows.length > 0) yield this.readRows(rows);
      const last = rows.at(-1);
      if (rows.length < ROWS_AT_ONCE || last === undefined) return;
      await Bun.sleep(0);
      [at, id] = [Number(last.created_at), last.id];
    }
  }

  /** Counts decisions by UTC day and action, newest day first. */
  async count(filter: Pick<DecisionFilter, "since" | "until" | "event"> = {}): Promise<DecisionCount[]> {
    const counts: DecisionCount[] = [];
    for await (const [since, until] of this.days(filter)) {
      const rows: { action: Action; n: number; legitimate: number; abuse: number }[] = await this.tables.read(
        (sql) => sql`SELECT action, COUNT(*) AS n,
            SUM(CASE WHEN outcome = 'legitimate' THEN 1 ELSE 0 END) AS legitimate,
            SUM(CASE WHEN outcome = 'abuse' THEN 1 ELSE 0 END) AS abuse
          FROM inkling_decisions WHERE created_at >= ${since} AND created_at < ${until}
          AND ${matches(sql, { event: filter.event })} GROUP BY action ORDER BY action`,
      );
      const day = Math.floor(since / DAY_MS) * DAY_MS;
      for (const { action, n, legitimate, abuse } of rows)
        counts.push({ day, action, count: Number(n), legitimate: Number(legitimate), abuse: Number(abuse) });
    }
    return counts;
  }

  /**
   * Yields pages of distinct email domains, in alphabetical order, from the decisions since a time. Each domain comes
   * with its newest decision. `list({ … }, { domain, since })` returns all decisions on a domain.
   */
  async *domainsSince(since: EpochMs): AsyncGenerator<readonly DecidedDomain[]> {
    for (let after = ""; ; ) {
      const rows: StoredRow[] = await this.tables.read(
        (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions d JOIN (
            SELECT email_domain AS domain, MAX(created_at) AS newest FROM inkling_decisions
            WHERE email_domain > ${after} AND created_at >= ${since}
            GROUP BY email_domain ORDER BY email_domain LIMIT ${ROWS_AT_ONCE}
          ) m ON d.email_domain = m.domain AND d.created_at = m.newest ORDER BY d.email_domain, d.id`,
      );
      const byDomain = new Map(rows.map((newest) => [newest.email_domain ?? "", newest]));
      if (byDomain.size > 0) yield Array.from(byDomain, ([domain, newest]) => ({ domain, newest }));
      if (byDomain.size < ROWS_AT_ONCE) return;
      after = [...byDomain.keys()].at(-1)!;
      await Bun.sleep(0);
    }
  }

  private readRows(rows: readonly StoredRow[]): StoredRow[] {
    return this.tables.unreadable.read("decisions", rows, checked, ({ id }) => id);
  }

  /**
   * Deletes the decisions that an operator selects. The audit trail does not record the `ref`.
   * @returns the number of deleted decisions
   */
  async delete(which: Deletion, by: Actor): Promise<number> {
    const deleted = await this.deleteSome(which);
    const named = "ref" in which ? { by: "ref" } : { before: new Date(which.before).toISOString() };
    const entry = { ...by, action: "decisions-deleted", subject: "decisions", before: undefined } as const;
    await this.tables.write(async (tx) => {
      await lockAudit(tx);
      await insertAudit(tx, [{ ...entry, after: { ...named, deleted } }], this.tables.now());
    }, true);
    return deleted;
  }

  /** Deletes decisions that were made before a time. @returns the number of deleted decisions */
  expire(before: EpochMs): Promise<number> {
    return this.deleteSome({ before });
  }

  private async deleteSome(which: Deletion): Promise<number> {
    for (let deleted = 0; ; await Bun.sleep(0)) {
      const rows: unknown[] = await this.tables.writeOnce(
        (sql) => sql`DELETE FROM inkling_decisions WHERE id IN (
            SELECT id FROM inkling_decisions
            WHERE ${"ref" in which ? sql`ref = ${which.ref}` : sql`created_at < ${which.before}`}
            LIMIT ${ROWS_AT_ONCE}
          ) RETURNING id`,
      );
      deleted += rows.length;
      if (rows.length < ROWS_AT_ONCE) return deleted;
    }
  }
}

/**
 * Inserts decisions, except those that are already stored. Leaves out columns that no row uses, because preparing and
 * binding a value takes longer than storing it.
 */
function insert(sql: SQL, rows: readonly DecisionRow[]) {
  const all = Object.keys(rows[0] ?? {}) as (keyof DecisionRow)[];
  const columns = all.filter((column) => rows.some((row) => row[column] !== null));
  return sql`INSERT INTO inkling_decisions ${sql(rows as Record<keyof DecisionRow, unknown>[], ...columns)} ON CONFLICT DO NOTHING`;
}

function matches(sql: SQL, { action, event, rule, reason, outcome, ref, network, domain }: DecisionFilter) {
  const any = sql`1 = 1`;
  return sql`${action === undefined ? any : sql`action = ${action}`}
    AND ${event === undefined ? any : sql`event = ${event}`}
    AND ${rule === undefined ? any : sql`(rule = ${rule} OR shadow LIKE ${hasRule(rule)} ESCAPE '!')`}
    AND ${reason === undefined ? any : sql`reasons LIKE ${`%"${reason}"%`}`}
    AND ${ref === undefined ? any : sql`ref = ${ref}`}
    AND ${network === undefined ? any : sql`facts LIKE ${`%"ip.network":"${network}"%`}`}
    AND ${domain === undefined ? any : sql`email_domain = ${domain}`}
    AND ${outcome === undefined ? any : outcome === "none" ? sql`outcome IS NULL` : sql`outcome = ${outcome}`}`;
}

/** Escapes wildcards, so that "_" in a name matches only itself. */
const hasRule = (name: string) => `%"rule":"${name.replaceAll(/[!%_]/g, "!$&")}"%`;

const columns = (sql: SQL) =>
  sql.unsafe(
    "id, created_at, event, ref, ruleset, data_version, action, review, score, rule, reasons, shadow, degraded, facts, email_domain, idempotency, body_hash, outcome, outcome_at",
  );

/** Checks what a newer version may store otherwise. @throws Error */
function checked(row: StoredRow): StoredRow {
  known(ACTIONS, row.action, "action");
  if (row.outcome !== null) known(OUTCOMES, row.outcome, "outcome");
  return row;
}

function decisionOf({ outcome, outcome_at, created_at, review, ...row }: StoredRow): DecisionRow {
  return { ...row, created_at: Number(created_at), review: review === 1 ? 1 : 0 };
}
