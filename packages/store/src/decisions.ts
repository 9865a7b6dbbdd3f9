// decisions.ts: keeps decisions and their outcomes in a table of the store.
//
// Cost: SQLite runs inside this process and blocks it during a query: 700,000 decisions took 5.7 s. So a query reads at
// most SLICE rows, and a deletion deletes ROWS_AT_ONCE rows. Requests are answered in between.

import { ACTIONS, type Action, OUTCOMES, type Outcome } from "@inkling/contract";
import type { Memories } from "@inkling/engine/assess";
import type { SQL, TransactionSQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import {
  addCounts,
  type CountedRow,
  type DecisionTally,
  labelChange,
  readTallies,
  storedChange,
} from "./decision-counts.ts";
import { type Found, type MemoryQuestion, memoriesOf, recallQuery } from "./decisions/memory.ts";
import type { AnsweredRow, DecisionRow, NamedDecision, StoredRow } from "./decisions/record.ts";
import { deleteOrphanedDeliveries } from "./deliveries.ts";
import { DAY_MS } from "./keys/day.ts";
import type { EpochMs, KeyId } from "./keys/key.ts";
import { NewestFirst, type Page, type PageRequest } from "./pages.ts";
import { known } from "./text/fields.ts";

/** Milliseconds for which an `Idempotency-Key` identifies its request. */
const IDEMPOTENCY_MS = DAY_MS;
/** Maximum decisions in one INSERT. SQLite needs 2 to 3 ms to insert this many. */
const INSERTED_AT_ONCE = 200;
/** Maximum decisions that one query reads to filter them. SQLite needs about 5 ms for this many. */
const SLICE = 500;
/** Maximum decisions that one query reads from the index `listed`, without their rows. SQLite needs about 5 ms. */
const LISTED_SLICE = 10_000;
/** Maximum milliseconds for one page. A filter may match few of many decisions. */
const LIST_MS = 2_000;
/** Maximum decisions that one line of a file with outcomes labels. */
export const MAX_LABELLED = 100;
/** Maximum decisions that {@link DecisionStore.queued} counts. */
const MAX_QUEUED = 1_000;

/** Selects decisions that match all given fields. */
export interface DecisionFilter {
  readonly action?: Action | undefined;
  readonly event?: string | undefined;
  /** Name of the rule that decided, or of a shadow rule that matched. */
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
  /** "none" selects decisions without a label. */
  readonly outcome?: Outcome | "none" | undefined;
  readonly ref?: string | undefined;
  /** `X-Request-Id` of the request, or the id of the caller's trace. No index has it. */
  readonly request?: string | undefined;
  /** A result of {@link visitorNetworkOf}: the visitor's /24 or /48. */
  readonly network?: string | undefined;
  readonly domain?: string | undefined;
  /** Hashes of the mailbox, by each key. */
  readonly mailbox?: readonly string[] | undefined;
  /** Hashes of the caller's `account`, by each key. */
  readonly account?: readonly string[] | undefined;
  readonly since?: EpochMs | undefined;
  /** The end of the time range, exclusive. */
  readonly until?: EpochMs | undefined;
}

/** Which decisions to delete. */
type Deletion = { readonly ref: string } | { readonly before: EpochMs };

/** Counts of decisions with one action on one UTC day. */
interface DecisionCount {
  readonly day: EpochMs;
  readonly action: Action;
  readonly count: number;
  readonly legitimate: number;
  readonly fraud: number;
}

/** An email domain with the newest decision that involves it. */
export interface DecidedDomain {
  readonly domain: string;
  /** The newest decision before the given time; if there is none, the newest of all. */
  readonly newest: StoredRow;
}

export const DECISION_PAGES = new NewestFirst("asm");
const DECISION_ID = /^asm_[0-9A-Za-z]{16}$/;

/** The outcome of all decisions with a `ref`, or of the decision with this id. */
export interface RefOutcome {
  readonly ref: string;
  /** null removes the outcome. */
  readonly outcome: Outcome | null;
  /** When the outcome was known. Later decisions are not labelled. */
  readonly at?: EpochMs | undefined;
}

/** What became of a {@link RefOutcome}: numbers of decisions. */
interface RefLabelled {
  /** At most MAX_LABELLED + 1. If there are more than MAX_LABELLED, none is labelled. */
  readonly found: number;
  readonly labelled: number;
  /** Decisions that had another outcome, which they kept. */
  readonly kept: number;
}

interface Label {
  readonly outcome: Outcome | null;
  readonly at: EpochMs | null;
  readonly note?: string | undefined;
}

export class DecisionStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Stores decisions. A decision that is already stored does not change, so a batch may be sent again. One commit for
   * 1,000 rows writes fewer pages than five commits.
   */
  async add(rows: readonly DecisionRow[]): Promise<void> {
    await this.database.write(async (tx) => {
      for (let at = 0; at < rows.length; at += INSERTED_AT_ONCE) {
        if (at > 0) await Bun.sleep(0);
        await insert(tx, rows.slice(at, at + INSERTED_AT_ONCE));
      }
    }, false);
  }

  /**
   * Stores decisions about requests with an `Idempotency-Key`, except those whose key already has a decision. Usually
   * this is one statement.
   * @param rows each with a different `idempotency`
   * @returns for each row, the decision about the first request with its key, from any host
   */
  async claim(rows: readonly NamedDecision[]): Promise<AnsweredRow[]> {
    // A fixed order, because two processes that insert in different orders would wait for each other.
    const ordered = rows.toSorted((a, b) => (a.idempotency < b.idempotency ? -1 : 1));
    const stored = await this.database.write((tx) => insert(tx, ordered), false);
    const others = ordered.filter(({ id }) => !stored.has(id));
    const first = others.length === 0 ? undefined : await this.claimTaken(others);
    return rows.map((row) => first?.get(row.idempotency) ?? row);
  }

  /** Returns the earlier decisions by `idempotency`, after replacing those whose key has expired. */
  private async claimTaken(rows: readonly NamedDecision[]): Promise<ReadonlyMap<string, AnsweredRow>> {
    const names = rows.map(({ idempotency }) => idempotency);
    const find = (sql: SQL): Promise<StoredRow[]> =>
      sql`SELECT ${columns(sql)} FROM inkling_decisions WHERE idempotency IN ${sql(names)}`;
    const oldest = this.database.now() - IDEMPOTENCY_MS;
    let found = await this.database.run(find);
    if (found.length < rows.length || found.some((row) => Number(row.created_at) < oldest)) {
      found = await this.database.write(async (tx) => {
        await tx`UPDATE inkling_decisions SET idempotency = NULL, body_hash = NULL
          WHERE idempotency IN ${tx(names)} AND created_at < ${oldest}`;
        await insert(tx, rows);
        return find(tx);
      }, false);
    }
    return new Map(found.map((row) => [row.idempotency ?? "", decisionOf(row)]));
  }

  /**
   * Labels a decision. The last label wins.
   * @param outcome null removes the label
   * @param key the API key that sent the label, which may label only its own decisions; undefined for an operator
   * @param by the operator, for the audit trail. The trail does not record labels by API keys: applications send many.
   * @returns undefined if the decision does not exist, or another key asked for it
   */
  async label(
    id: string,
    outcome: Outcome | null,
    key?: KeyId,
    by?: Author,
    note?: string,
  ): Promise<StoredRow | undefined> {
    return this.database.write(async (tx) => {
      if (by !== undefined) await lockAudit(tx); // before the rows, as a restore locks them
      const at = outcome === null ? null : this.database.now();
      const isOwn = key === undefined ? tx`1 = 1` : tx`(key_id = ${key} OR key_id IS NULL)`;
      const [before] = await this.setOutcomes(tx, new Map([[id, { outcome, at, note }]]), isOwn);
      if (before === undefined) return undefined;
      if (by !== undefined && (before.outcome !== outcome || note !== undefined)) {
        const after = { outcome, ...(note !== undefined && { note }) };
        const entry = { ...by, action: "decision-labelled", subject: id } as const;
        await insertAudit(
          tx,
          [{ ...entry, before: { outcome: before.outcome }, after }],
          this.database.now(),
        );
      }
      return this.findIn(tx, id);
    }, by !== undefined);
  }

  /**
   * Labels the decisions that have one of some `ref`s. The caller limits their number.
   * @param isReplacing whether to replace other outcomes
   * @returns one result for each outcome, in their order
   */
  async labelRefs(wanted: readonly RefOutcome[], isReplacing: boolean, by: Author): Promise<RefLabelled[]> {
    const now = this.database.now();
    const results: { found: number; labelled: number; kept: number }[] = [];
    const labels = new Map<string, Label & { readonly line: number }>();
    for (const [line, { ref, outcome, at }] of wanted.entries()) {
      const rows: Pick<StoredRow, "id" | "outcome">[] = await this.database.run(
        (sql) => sql`SELECT id, outcome FROM inkling_decisions
          WHERE ${DECISION_ID.test(ref) ? sql`(id = ${ref} OR ref = ${ref})` : sql`ref = ${ref}`}
            AND created_at <= ${at ?? Number.MAX_SAFE_INTEGER} LIMIT ${MAX_LABELLED + 1}`,
      );
      const result = { found: rows.length, labelled: 0, kept: 0 };
      results.push(result);
      if (rows.length > MAX_LABELLED) continue;
      for (const { id, outcome: stored } of rows) {
        const earlier = labels.get(id); // an earlier line may be about the same decision
        const before = earlier === undefined ? stored : earlier.outcome;
        if (before === outcome) continue;
        if (before === null || isReplacing) labels.set(id, { outcome, at: outcome && (at ?? now), line });
        else result.kept++;
      }
    }
    const all = [...labels];
    for (let from = 0; from < all.length; from += ROWS_AT_ONCE) {
      const some = new Map(all.slice(from, from + ROWS_AT_ONCE));
      await this.database.write(async (tx) => {
        await lockAudit(tx);
        const changed = await this.setOutcomes(tx, some, isReplacing ? tx`1 = 1` : tx`outcome IS NULL`);
        const after: Record<string, number> = {};
        for (const { id, outcome: before } of changed) {
          const { line, outcome } = some.get(id)!;
          if (before === outcome) continue; // two lines of the file disagree, and the last one changes nothing
          results[line]!.labelled++;
          after[outcome ?? "none"] = (after[outcome ?? "none"] ?? 0) + 1;
        }
        const entry = {
          ...by,
          action: "decisions-labelled",
          subject: "decisions",
          before: undefined,
        } as const;
        if (Object.keys(after).length > 0) await insertAudit(tx, [{ ...entry, after }], now);
      }, true);
      await Bun.sleep(0);
    }
    return results;
  }

  /**
   * Sets outcomes, and counts them. The same outcome again, without a note, changes nothing, so that a repeated label does
   * not remove the note.
   * @returns the selected decisions as they were before
   */
  private async setOutcomes(
    tx: TransactionSQL,
    labels: ReadonlyMap<string, Label>,
    which: SQL.Query<unknown>,
  ): Promise<readonly (CountedRow & Pick<StoredRow, "id" | "outcome">)[]> {
    const rows: (CountedRow & Pick<StoredRow, "id" | "outcome">)[] =
      await tx`SELECT id, outcome, created_at, rule, reasons, shadow, unweighted FROM inkling_decisions
        WHERE id IN ${tx([...labels.keys()])} AND ${which} ORDER BY id ${tx.unsafe(this.database.isShared ? "FOR UPDATE" : "")}`;
    for (const { id, outcome: before } of rows) {
      const { outcome, at, note } = labels.get(id)!;
      if (outcome === before && note === undefined) continue;
      await tx`UPDATE inkling_decisions SET outcome = ${outcome}, outcome_at = ${at}, outcome_note = ${note ?? null}
        WHERE id = ${id}`;
    }
    const changed = rows.filter(({ id, outcome }) => outcome !== labels.get(id)!.outcome);
    await addCounts(
      tx,
      changed.map((row) => labelChange(row, row.outcome, labels.get(row.id)!.outcome)),
    );
    return rows;
  }

  /** Sums the counts of reasons and rules (decision-counts.ts). */
  tallies(since: EpochMs): Promise<{ readonly from: EpochMs; readonly tallies: readonly DecisionTally[] }> {
    return readTallies(this.database, since);
  }

  /**
   * Lists the decisions that a rule sent to review and that have no outcome, oldest first.
   * @returns the first of them, and the number of all, at most MAX_QUEUED
   */
  async queued(limit: number): Promise<{ readonly items: readonly StoredRow[]; readonly waiting: number }> {
    const rows: StoredRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions WHERE review = 1 AND outcome IS NULL
        ORDER BY created_at, id LIMIT ${limit}`,
    );
    const [count]: { n: number | string }[] = await this.database.run(
      (sql) => sql`SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM inkling_decisions
        WHERE review = 1 AND outcome IS NULL LIMIT ${MAX_QUEUED}) queued`,
    );
    return { items: this.readRows(rows), waiting: Number(count!.n) };
  }

  /** Reads what earlier decisions say about a visitor, in one statement. */
  async recall(question: MemoryQuestion): Promise<Memories> {
    const { text, values } = recallQuery(question);
    return memoriesOf(question, await this.database.query<Found>(text, values));
  }

  find(id: string): Promise<StoredRow | undefined> {
    return this.database.run((sql) => this.findIn(sql, id));
  }

  private async findIn(sql: SQL, id: string): Promise<StoredRow | undefined> {
    const rows: StoredRow[] = await sql`SELECT ${columns(sql)} FROM inkling_decisions WHERE id = ${id}`;
    return this.readRows(rows)[0];
  }

  /**
   * Lists decisions, newest first. After {@link LIST_MS}, the page ends early, even without any decision, and `next`
   * continues the search.
   */
  async list({ limit, cursor }: PageRequest, filter: DecisionFilter = {}): Promise<Page<StoredRow>> {
    const end = performance.now() + LIST_MS;
    const items: StoredRow[] = [];
    const read = (rows: readonly StoredRow[]) => this.readRows(rows);
    const { rule, reason, request, domain, mailbox, account } = filter;
    const readsRow = [rule, reason, request, domain, mailbox, account].some((value) => value !== undefined);
    // Most filters match many decisions, so the first slice is small.
    for (let [after, isFirst] = [cursor, true]; ; isFirst = false) {
      const wanted = limit + 1 - items.length;
      const newestFirst = (sql: SQL, most: number) => sql`ORDER BY created_at DESC, id DESC LIMIT ${most}`;
      const rows: StoredRow[] = await this.database.run(
        (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions WHERE id IN (
            SELECT id FROM (${this.slice(sql, LISTED, filter, isFirst, after)}) slice
            WHERE ${matchesListed(sql, filter)} ${newestFirst(sql, readsRow ? LISTED_SLICE : wanted)}
          ) AND ${matchesRow(sql, filter)} ${newestFirst(sql, wanted)}`,
      );
      items.push(...rows);
      if (items.length > limit) return DECISION_PAGES.page(items, limit, read);
      after = await this.nextSlice(filter, isFirst, after);
      if (after === undefined || performance.now() >= end) return { items: read(items), next: after };
      await Bun.sleep(0);
    }
  }

  /** Selects the next decisions after a cursor by the filter's index, or only the last of them. */
  private slice(
    sql: SQL,
    selected: string,
    filter: DecisionFilter,
    isFirst: boolean,
    cursor?: string,
    rows: "all" | "last" = "all",
  ) {
    const { since = 0, until = Number.MAX_SAFE_INTEGER } = filter;
    // Without this bound, SQLite would start each slice at `until` and scan all rows before the cursor.
    const end = cursor === undefined ? until : Math.min(until, Number(cursor.split("-")[0]) + 1);
    const names = sql.unsafe(selected);
    const order = sql`ORDER BY created_at DESC, id DESC`;
    const conditions = indexed(sql, filter);
    const size = conditions === undefined && !isFirst ? LISTED_SLICE : SLICE;
    const [first, second] = (conditions ?? [sql`1 = 1`]).map(
      (condition) => sql`SELECT ${names} FROM inkling_decisions WHERE ${condition}
        AND created_at >= ${since} AND created_at < ${end} AND ${DECISION_PAGES.after(sql, cursor)}`,
    );
    const [limit, offset] = rows === "all" ? [size, 0] : [1, size - 1];
    const found =
      second === undefined
        ? first
        : sql`SELECT * FROM (${first} ${order} LIMIT ${size}) a UNION ALL
            SELECT * FROM (${second} ${order} LIMIT ${size}) b`;
    return sql`${found} ${order} LIMIT ${limit} OFFSET ${offset}`;
  }

  /** Returns the cursor of the next slice; undefined after the last slice. */
  private async nextSlice(
    filter: DecisionFilter,
    isFirst: boolean,
    cursor?: string,
  ): Promise<string | undefined> {
    const rows: Pick<StoredRow, "created_at" | "id">[] = await this.database.run((sql) =>
      this.slice(sql, "created_at, id", filter, isFirst, cursor, "last"),
    );
    return rows[0] && `${rows[0].created_at}-${rows[0].id}`;
  }

  /** Yields pages of decisions, oldest first. */
  async *read({ since = 0, until = Number.MAX_SAFE_INTEGER }: Pick<DecisionFilter, "since" | "until"> = {}) {
    for (let at = since, id = ""; ; ) {
      const rows: StoredRow[] = await this.database.run(
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
    const counts = new Map<string, DecisionCount>();
    for (let after: string | undefined; ; await Bun.sleep(0)) {
      const rows: Record<"days" | "n" | "legitimate" | "fraud", number | string>[] & { action: Action }[] =
        await this.database.run(
          (sql) => sql`SELECT created_at / ${sql.unsafe(String(DAY_MS))} AS days, action, COUNT(*) AS n,
              SUM(CASE WHEN outcome = 'legitimate' THEN 1 ELSE 0 END) AS legitimate,
              SUM(CASE WHEN outcome = 'fraud' THEN 1 ELSE 0 END) AS fraud
            FROM (${this.slice(sql, LISTED, filter, false, after)}) slice
            WHERE ${matchesListed(sql, filter)} GROUP BY days, action`,
        );
      for (const { days, action, n, legitimate, fraud } of rows) {
        const day = Number(days) * DAY_MS;
        const before = counts.get(`${day} ${action}`);
        counts.set(`${day} ${action}`, {
          day,
          action,
          count: (before?.count ?? 0) + Number(n),
          legitimate: (before?.legitimate ?? 0) + Number(legitimate),
          fraud: (before?.fraud ?? 0) + Number(fraud),
        });
      }
      after = await this.nextSlice(filter, false, after);
      if (after === undefined) break;
    }
    return [...counts.values()].sort((a, b) => b.day - a.day || (a.action < b.action ? -1 : 1));
  }

  /**
   * Yields pages of distinct email domains, in alphabetical order, from the decisions since a time. Each domain comes
   * with its newest decision before `before`, if there is one. `list({ … }, { domain, since })` returns all decisions on
   * a domain.
   */
  async *domainsSince(since: EpochMs, before: EpochMs): AsyncGenerator<readonly DecidedDomain[]> {
    for (let after = ""; ; ) {
      const rows: StoredRow[] = await this.database.run(
        (sql) => sql`SELECT ${columns(sql)} FROM inkling_decisions d JOIN (
            SELECT email_domain AS domain,
              COALESCE(MAX(CASE WHEN created_at < ${before} THEN created_at END), MAX(created_at)) AS newest
            FROM inkling_decisions
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
    return this.database.unreadable.read("decisions", rows, checked, ({ id }) => id);
  }

  /**
   * Deletes the decisions that an operator selects. The audit trail does not record the `ref`. If the deletion fails on
   * the way, the trail has the number of decisions that are gone.
   * @returns the number of deleted decisions
   */
  async delete(which: Deletion, by: Author): Promise<number> {
    const { database } = this;
    let deleted = 0;
    const select = (sql: SQL) =>
      "ref" in which ? sql`ref = ${which.ref}` : sql`created_at < ${which.before}`;
    try {
      await database.deleteInSteps("inkling_decisions", "id", select, (sum) => {
        deleted = sum;
      });
      await deleteOrphanedDeliveries(database);
    } catch (error) {
      if (deleted > 0) await this.recordDeletion(which, deleted, by).catch(() => {}); // the caller gets the first error
      throw error;
    }
    await this.recordDeletion(which, deleted, by);
    await database.emptyLog();
    return deleted;
  }

  private async recordDeletion(which: Deletion, deleted: number, by: Author): Promise<void> {
    const named = "ref" in which ? { by: "ref" } : { before: new Date(which.before).toISOString() };
    const entry = { ...by, action: "decisions-deleted", subject: "decisions", before: undefined } as const;
    const after = { ...named, deleted };
    await this.database.write((tx) => insertAudit(tx, [{ ...entry, after }], this.database.now()), true);
  }
}

/**
 * Returns the conditions of the most selective index that the filter can use. A rule, and a hash during a rotation of its
 * key, need two, which exclude each other.
 * @returns undefined if the filter uses the index `listed`, which is all decisions in the order of their time
 */
function indexed(sql: SQL, filter: DecisionFilter) {
  const { rule, reason, outcome, ref, request, network, domain, mailbox, account } = filter;
  if (ref !== undefined) return [sql`ref = ${ref}`];
  if (account !== undefined) return account.map((hash) => sql`account_hash = ${hash}`);
  if (mailbox !== undefined) return mailbox.map((hash) => sql`mailbox_hash = ${hash}`);
  if (domain !== undefined) return [sql`email_domain = ${domain}`];
  if (network !== undefined) return undefined;
  if (outcome !== undefined && outcome !== "none") return [sql`outcome = ${outcome}`];
  if (rule !== undefined)
    return [sql`rule = ${rule}`, sql`shadow <> '[]' AND (rule IS NULL OR rule <> ${rule})`];
  if (reason !== undefined) return [sql`reasons <> '[]'`];
  return request === undefined ? undefined : [sql`1 = 1`]; // has no index, so each row is read
}

/** The part of a filter that the columns of the index `listed` answer. */
function matchesListed(sql: SQL, { action, event, outcome, network }: DecisionFilter) {
  const any = sql`1 = 1`;
  return sql`${action === undefined ? any : sql`action = ${action}`}
    AND ${event === undefined ? any : sql`event = ${event}`}
    AND ${network === undefined ? any : sql`network = ${network}`}
    AND ${outcome === undefined ? any : outcome === "none" ? sql`outcome IS NULL` : sql`outcome = ${outcome}`}`;
}

/** The rest of a filter. */
function matchesRow(sql: SQL, { rule, reason, request, domain, mailbox, account }: DecisionFilter) {
  const any = sql`1 = 1`;
  return sql`${rule === undefined ? any : sql`(rule = ${rule} OR shadow LIKE ${hasRule(rule)} ESCAPE '!')`}
    AND ${reason === undefined ? any : sql`reasons LIKE ${`%"${reason}"%`}`}
    AND ${request === undefined ? any : sql`(request_id = ${request} OR trace_id = ${request})`}
    AND ${domain === undefined ? any : sql`email_domain = ${domain}`}
    AND ${mailbox === undefined ? any : sql`mailbox_hash IN ${sql(mailbox)}`}
    AND ${account === undefined ? any : sql`account_hash IN ${sql(account)}`}`;
}

/**
 * Inserts and counts decisions, except those that are already stored. Leaves out columns that no row uses, because
 * preparing and binding a value takes longer than storing it.
 * @returns the ids of the inserted decisions
 */
async function insert(tx: TransactionSQL, rows: readonly DecisionRow[]): Promise<ReadonlySet<string>> {
  const all = Object.keys(rows[0] ?? {}) as (keyof DecisionRow)[];
  const columns = all.filter((column) => rows.some((row) => row[column] !== null));
  const inserted: { id: string }[] =
    await tx`INSERT INTO inkling_decisions ${tx(rows as Record<keyof DecisionRow, unknown>[], ...columns)}
      ON CONFLICT DO NOTHING RETURNING id`;
  const ids = new Set(inserted.map(({ id }) => id));
  await addCounts(tx, rows.filter(({ id }) => ids.has(id)).map(storedChange));
  return ids;
}

/** Escapes wildcards, so that "_" in a name matches only itself. */
const hasRule = (name: string) => `%"rule":"${name.replaceAll(/[!%_]/g, "!$&")}"%`;

const COLUMNS =
  "id, created_at, event, ref, ruleset, data_version, action, review, score, rule, reasons, shadow, degraded, facts, email_domain, key_id, request_id, trace_id, idempotency, body_hash, unweighted, outcome, outcome_at, outcome_note";
const columns = (sql: SQL) => sql.unsafe(COLUMNS);
/** The columns of the index `listed`. */
const LISTED = "created_at, id, action, event, outcome, network";

/** Checks what a newer version may store otherwise. @throws Error */
function checked(row: StoredRow): StoredRow {
  known(ACTIONS, row.action, "action");
  if (row.outcome !== null) known(OUTCOMES, row.outcome, "outcome");
  return row;
}

function decisionOf({
  outcome,
  outcome_at,
  outcome_note,
  created_at,
  review,
  ...row
}: StoredRow): AnsweredRow {
  return { ...row, created_at: Number(created_at), review: review === 1 ? 1 : 0 };
}
