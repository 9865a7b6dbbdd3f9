// overrides.ts: overrides and their audit trail, in the tables of the store.
//
// in   checked overrides, who asks for what
// out  overrides, and what a write did; every change leaves an entry in the audit trail, in the same transaction
// err  OverrideConflictError: nothing was written; StoreError
// note There is no way to change or delete an audit entry.

import type { NewOverride, Override } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import { randomBase62 } from "../keys/token.ts";
import type { LoadedOverrides } from "../overrides/cache.ts";
import { MAX_OVERRIDES } from "../overrides/override.ts";
import {
  describeOverride,
  effectText,
  type OverrideRow,
  overrideFromRow,
  overrideJson,
  rowFromOverride,
  subjectText,
} from "../overrides/record.ts";
import { StoreError } from "./error.ts";

/** Rows in one INSERT, and subjects in one SELECT. */
const ROWS_AT_ONCE = 500;
export const MAX_PAGE = 1_000;

/** What this needs of the store around it. */
export interface OverrideTables {
  read<T>(work: (sql: SQL) => Promise<T>): Promise<T>;
  write<T>(work: (tx: TransactionSQL) => Promise<T>, durable: boolean): Promise<T>;
  now(): number;
  randomBytes(n: number): Uint8Array;
}

/** What a write came to. */
export interface OverrideWrite {
  readonly override: Override;
  /** changed: it was in force already, and has a new note or expiry now. */
  readonly outcome: "added" | "changed" | "unchanged";
}

const CONFLICT_HINTS = {
  CONTRADICTS: "remove the other one first: `npx inkling override remove ID`",
  TOO_MANY: "put networks in place of single addresses, or remove what is no longer needed",
} as const;

/** What was asked for cannot be, together with what is in force. */
export class OverrideConflictError extends StoreError {
  readonly why: keyof typeof CONFLICT_HINTS;
  /** One line each. */
  readonly problems: readonly string[];
  constructor(why: keyof typeof CONFLICT_HINTS, problems: readonly string[]) {
    super("CONFLICT", problems.join("; "), CONFLICT_HINTS[why]);
    this.name = "OverrideConflictError";
    this.why = why;
    this.problems = problems;
  }
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  /** What the page before said. */
  readonly cursor?: string | undefined;
}

export const AUDIT_ACTIONS = [
  "override-added",
  "override-changed",
  "override-removed",
  "admin-token-made",
  "key-made",
  "key-changed",
  "key-rotated",
  "key-revoked",
  "data-update-asked",
  "release-rolled-back",
  "release-pinned",
  "release-unpinned",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** One change: who, what, before, after, when. */
export interface AuditEntry {
  /** Grows with each entry. */
  readonly sequence: number;
  /** Epoch ms. */
  readonly at: number;
  readonly actor: string;
  readonly action: AuditAction;
  /** Id of what was changed. */
  readonly subject: string;
  /** As JSON gives it; undefined where there was or is nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

export type NewAuditEntry = Pick<AuditEntry, "actor" | "action" | "subject" | "before" | "after">;

export class OverrideStore {
  private readonly tables: OverrideTables;

  constructor(tables: OverrideTables) {
    this.tables = tables;
  }

  /** A text that changes with any change to overrides. Reads one row. */
  async stamp(): Promise<string> {
    const rows: { stamp: string }[] = await this.tables.read(
      (sql) => sql`SELECT stamp FROM inkling_override_stamp`,
    );
    return rows[0]?.stamp ?? "";
  }

  /** All overrides in force. */
  async load(): Promise<LoadedOverrides> {
    // The stamp comes first: what changes in between is then read again, not missed.
    const stamp = await this.stamp();
    return { stamp, overrides: await this.tables.read((sql) => this.inForce(sql)) };
  }

  /**
   * Puts overrides in force: all of them, or none. One that is in force already stays as it is, with its id, and
   * takes over the note and expiry; so doing it again changes nothing.
   * @throws OverrideConflictError
   */
  async put(wanted: readonly NewOverride[], actor: string): Promise<OverrideWrite[]> {
    return this.change(async (tx) => {
      const inForce = await this.inForce(tx);
      const bySubject = new Map(inForce.map((override) => [subjectText(override), override]));
      const writes = plan(wanted, bySubject, (created) => this.made(created));
      const added = writes.filter(({ outcome }) => outcome === "added").map(({ override }) => override);
      const total = inForce.length + added.length;
      if (total > MAX_OVERRIDES) {
        throw new OverrideConflictError("TOO_MANY", [
          `there would be ${total} overrides in force; the most is ${MAX_OVERRIDES}`,
        ]);
      }
      for (let at = 0; at < added.length; at += ROWS_AT_ONCE) {
        await tx`INSERT INTO inkling_overrides ${tx(added.slice(at, at + ROWS_AT_ONCE).map(rowFromOverride))}`;
      }
      for (const { outcome, override } of writes) {
        if (outcome !== "changed") continue;
        await tx`UPDATE inkling_overrides SET note = ${override.note}, expires_at = ${override.expiresAt ?? null}
          WHERE id = ${override.id}`;
      }
      await this.log(
        tx,
        writes.flatMap(({ outcome, override }): NewAuditEntry[] => {
          if (outcome === "unchanged") return [];
          const before =
            outcome === "added" ? undefined : overrideJson(bySubject.get(subjectText(override))!);
          const action = `override-${outcome}` as const;
          return [{ actor, action, subject: override.id, before, after: overrideJson(override) }];
        }),
      );
      return writes;
    });
  }

  /** Ends an override. One that was removed before stays as it was. @returns undefined when there is none */
  async remove(id: string, actor: string): Promise<Override | undefined> {
    return this.change(async (tx) => {
      const before = await this.findIn(tx, id);
      if (before === undefined || before.removedAt !== undefined) return before;
      const after: Override = Object.freeze({ ...before, removedAt: this.tables.now() });
      await tx`UPDATE inkling_overrides SET removed_at = ${after.removedAt} WHERE id = ${id}`;
      await this.log(tx, [
        {
          actor,
          action: "override-removed",
          subject: id,
          before: overrideJson(before),
          after: overrideJson(after),
        },
      ]);
      return after;
    });
  }

  async find(id: string): Promise<Override | undefined> {
    return this.tables.read((sql) => this.findIn(sql, id));
  }

  /** Newest first. @param ended with those that were removed or have expired */
  async list({ limit, cursor }: PageRequest, ended: boolean): Promise<Page<Override>> {
    const from = cursor === undefined ? undefined : parseCursor(cursor);
    const now = this.tables.now();
    const rows: OverrideRow[] = await this.tables.read(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_overrides o
        WHERE ${from === undefined ? sql`1 = 1` : sql`(created_at < ${from.at} OR (created_at = ${from.at} AND id < ${from.id}))`}
        AND ${ended ? sql`1 = 1` : sql`removed_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    const items = rows.slice(0, limit).map(overrideFromRow);
    const last = items.at(-1);
    const isMore = rows.length > limit && last !== undefined;
    return { items, next: isMore ? `${last.createdAt}-${last.id}` : undefined };
  }

  /** The audit trail, newest first. */
  async audit({ limit, cursor }: PageRequest): Promise<Page<AuditEntry>> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const rows: AuditRow[] = await this.tables.read(
      (sql) => sql`SELECT sequence, at, actor, action, subject, was, became FROM inkling_audit
        WHERE sequence < ${before} ORDER BY sequence DESC LIMIT ${limit + 1}`,
    );
    const items = rows.slice(0, limit).map(auditFromRow);
    const last = items.at(-1);
    return { items, next: rows.length > limit && last !== undefined ? String(last.sequence) : undefined };
  }

  /** Adds entries to the audit trail. Call it in the transaction that makes the change, with the stamp's row locked. */
  private async log(tx: TransactionSQL, entries: readonly NewAuditEntry[]): Promise<void> {
    await insertAudit(tx, entries, this.tables.now());
  }

  /** Adds an entry about what this store does not hold. */
  async record(entry: NewAuditEntry): Promise<void> {
    await this.tables.write(async (tx) => {
      await lockOverrides(tx, (n) => this.tables.randomBytes(n));
      await insertAudit(tx, [entry], this.tables.now());
    }, true);
  }

  private made(wanted: NewOverride): Override {
    const id = `ovr_${randomBase62(16, (n) => this.tables.randomBytes(n))}`;
    return Object.freeze({
      ...wanted,
      id,
      createdAt: wanted.createdAt ?? this.tables.now(),
      removedAt: undefined,
    });
  }

  private async inForce(sql: SQL): Promise<Override[]> {
    const now = this.tables.now();
    const rows: OverrideRow[] = await sql`SELECT ${columns(sql)} FROM inkling_overrides o
      WHERE removed_at IS NULL AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY created_at, id`;
    return rows.map(overrideFromRow);
  }

  private async findIn(sql: SQL, id: string): Promise<Override | undefined> {
    const rows: OverrideRow[] = await sql`SELECT ${columns(sql)} FROM inkling_overrides o WHERE id = ${id}`;
    return rows[0] && overrideFromRow(rows[0]);
  }

  private change<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    return this.tables.write(async (tx) => {
      await lockOverrides(tx, (n) => this.tables.randomBytes(n));
      return work(tx);
    }, true);
  }
}

/** What each wanted override comes to; contradictions are collected, among the wanted ones, too. */
function plan(
  wanted: readonly NewOverride[],
  bySubject: ReadonlyMap<string, Override>,
  make: (wanted: NewOverride) => Override,
): OverrideWrite[] {
  const problems: string[] = [];
  const planned = new Map<string, OverrideWrite>();
  for (const one of wanted) {
    const subject = subjectText(one);
    const before = planned.get(subject)?.override ?? bySubject.get(subject);
    if (before !== undefined && effectText(before) !== effectText(one)) {
      problems.push(`${describeOverride(one)} contradicts ${describeOverride(before)} (${nameOf(before)})`);
      continue;
    }
    const earlier = planned.get(subject);
    planned.set(subject, merged(one, before, earlier?.outcome, make));
  }
  if (problems.length > 0) throw new OverrideConflictError("CONTRADICTS", problems);
  return [...planned.values()];
}

const nameOf = ({ id, note }: Override) => `${id}: ${note}`;

function merged(
  wanted: NewOverride,
  before: Override | undefined,
  earlier: OverrideWrite["outcome"] | undefined,
  make: (wanted: NewOverride) => Override,
): OverrideWrite {
  if (before === undefined) return { override: make(wanted), outcome: "added" };
  const { note, expiresAt } = wanted;
  if (before.note === note && before.expiresAt === expiresAt) {
    return { override: before, outcome: earlier ?? "unchanged" };
  }
  const override = Object.freeze({ ...before, note, expiresAt });
  return { override, outcome: earlier === "added" ? "added" : "changed" };
}

/** Gives the overrides a new stamp. It goes first: its row's lock puts changes of several processes in a row. */
export async function lockOverrides(
  tx: TransactionSQL,
  randomBytes: (n: number) => Uint8Array,
): Promise<void> {
  await tx`UPDATE inkling_override_stamp SET stamp = ${randomBase62(22, randomBytes)}`;
}

/** Adds entries; the caller holds the lock of {@link lockOverrides}. */
export async function insertAudit(
  tx: TransactionSQL,
  entries: readonly NewAuditEntry[],
  at: number,
): Promise<void> {
  if (entries.length === 0) return;
  const last: { sequence: number | string | null }[] =
    await tx`SELECT MAX(sequence) AS sequence FROM inkling_audit`;
  let sequence = Number(last[0]?.sequence ?? 0);
  const rows = entries.map(({ before, after, ...entry }) => ({
    sequence: ++sequence,
    at,
    ...entry,
    was: before === undefined ? null : JSON.stringify(before),
    became: after === undefined ? null : JSON.stringify(after),
  }));
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await tx`INSERT INTO inkling_audit ${tx(rows.slice(from, from + ROWS_AT_ONCE))}`;
  }
}

interface AuditRow {
  readonly sequence: number | string;
  readonly at: number | string;
  readonly actor: string;
  readonly action: AuditAction;
  readonly subject: string;
  readonly was: string | null;
  readonly became: string | null;
}

function auditFromRow({ sequence, at, actor, action, subject, was, became }: AuditRow): AuditEntry {
  return {
    sequence: Number(sequence),
    at: Number(at),
    actor,
    action,
    subject,
    before: was === null ? undefined : JSON.parse(was),
    after: became === null ? undefined : JSON.parse(became),
  };
}

/** An audit entry for programs. */
export function auditJson({ sequence, at, actor, action, subject, before, after }: AuditEntry) {
  return {
    sequence,
    at: new Date(at).toISOString(),
    actor,
    action,
    subject,
    before: before ?? null,
    after: after ?? null,
  };
}

const CURSOR = /^(\d{1,16})-(ovr_[0-9A-Za-z]{16})$/;

function parseCursor(cursor: string): { at: number; id: string } | undefined {
  const parts = CURSOR.exec(cursor);
  return parts === null ? undefined : { at: Number(parts[1]), id: parts[2]! };
}

/** Is this a cursor that a page of overrides could have given? */
export const isOverrideCursor = (text: string) => CURSOR.test(text);
export const isAuditCursor = (text: string) => /^[1-9]\d{0,15}$/.test(text);

function columns(sql: SQL) {
  return sql.unsafe(
    "o.id, o.kind, o.value, o.effect, o.argument, o.note, o.author, o.created_at, o.expires_at, o.removed_at",
  );
}
