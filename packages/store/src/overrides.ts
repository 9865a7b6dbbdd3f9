// overrides.ts: keeps overrides in the store's tables.

import type { NewOverride, Override } from "@inkling/engine";
import { randomBase62 } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit, type NewAuditEntry } from "./audit.ts";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import { StoreError } from "./error.ts";
import { MAX_OVERRIDES } from "./overrides/override.ts";
import {
  describeOverride,
  effectText,
  type OverrideRow,
  overrideFromRow,
  overrideJson,
  rowFromOverride,
  subjectText,
} from "./overrides/record.ts";
import { NewestFirst, type Page, type PageRequest } from "./pages.ts";

export interface LoadedOverrides {
  /** Changes whenever any override changes. */
  readonly stamp: string;
  /** Overrides that were not removed. Some may have expired. */
  readonly overrides: readonly Override[];
}

/** The result of one write. */
interface OverrideWrite {
  readonly override: Override;
  /** "changed": the override was already active, and now has a new note or expiry. */
  readonly outcome: "added" | "changed" | "unchanged";
}

const CONFLICT_HINTS = {
  CONTRADICTS:
    "remove the other override first: `inkling overrides remove ID`; of two overrides of a file, keep only one",
  TOO_MANY: "replace single addresses with networks, or remove overrides that you no longer need",
} as const;

/** The request contradicts an active override, or exceeds a limit. */
export class OverrideConflictError extends StoreError {
  readonly why: keyof typeof CONFLICT_HINTS;
  /** One line for each conflict. */
  readonly problems: readonly string[];
  constructor(why: keyof typeof CONFLICT_HINTS, problems: readonly string[]) {
    super("CONFLICT", problems.join("; "), CONFLICT_HINTS[why]);
    this.name = "OverrideConflictError";
    this.why = why;
    this.problems = problems;
  }
}

export const OVERRIDE_PAGES = new NewestFirst("ovr");

export class OverrideStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Reads a text that changes with every change to overrides. This reads one row. */
  async readStamp(): Promise<string> {
    const rows: { stamp: string }[] = await this.database.run(
      (sql) => sql`SELECT stamp FROM inkling_override_stamp`,
    );
    return rows[0]?.stamp ?? "";
  }

  /** Loads all active overrides. */
  async load(): Promise<LoadedOverrides> {
    // Reads the stamp first. A change that happens in between is then read again rather than missed.
    const stamp = await this.readStamp();
    return { stamp, overrides: await this.database.run((sql) => this.readActive(sql)) };
  }

  /**
   * Activates all of the overrides, or none. An override that is already active keeps its id and gets the new note and
   * expiry. Repeating the call changes nothing.
   * @throws OverrideConflictError
   */
  async put(wanted: readonly NewOverride[], by: Author): Promise<OverrideWrite[]> {
    return this.change(async (tx) => {
      const active = await this.readActive(tx);
      const bySubject = new Map(active.map((override) => [subjectText(override), override]));
      const writes = plan(wanted, bySubject, (created) => this.makeOverride(created));
      const added = writes.filter(({ outcome }) => outcome === "added").map(({ override }) => override);
      const total = active.length + added.length;
      if (total > MAX_OVERRIDES) {
        throw new OverrideConflictError("TOO_MANY", [
          `${total} overrides would be active; the maximum is ${MAX_OVERRIDES}`,
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
      await insertAudit(
        tx,
        writes.flatMap(({ outcome, override }): NewAuditEntry[] => {
          if (outcome === "unchanged") return [];
          const before =
            outcome === "added" ? undefined : overrideJson(bySubject.get(subjectText(override))!);
          const action = `override-${outcome}` as const;
          return [{ ...by, action, subject: override.id, before, after: overrideJson(override) }];
        }),
        this.database.now(),
      );
      return writes;
    });
  }

  /**
   * Removes an override. Nothing changes if it has already been removed.
   * @returns undefined if the override does not exist
   */
  async remove(id: string, by: Author): Promise<Override | undefined> {
    return this.change(async (tx) => {
      const before = await this.findIn(tx, id);
      if (before === undefined || before.removedAt !== undefined) return before;
      const after: Override = Object.freeze({ ...before, removedAt: this.database.now() });
      await tx`UPDATE inkling_overrides SET removed_at = ${after.removedAt} WHERE id = ${id}`;
      const entry = { ...by, subject: id, before: overrideJson(before), after: overrideJson(after) };
      await insertAudit(tx, [{ ...entry, action: "override-removed" }], this.database.now());
      return after;
    });
  }

  async find(id: string): Promise<Override | undefined> {
    return this.database.run((sql) => this.findIn(sql, id));
  }

  /** Lists overrides, newest first. @param ended whether to include removed and expired overrides */
  async list({ limit, cursor }: PageRequest, ended: boolean): Promise<Page<Override>> {
    const now = this.database.now();
    const rows: OverrideRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_overrides o
        WHERE ${OVERRIDE_PAGES.after(sql, cursor)}
        AND ${ended ? sql`1 = 1` : sql`removed_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    return OVERRIDE_PAGES.page(rows, limit, (shown) => this.readRows(shown));
  }

  private makeOverride(wanted: NewOverride): Override {
    const id = `ovr_${randomBase62(16, this.database.randomBytes)}`;
    return Object.freeze({
      ...wanted,
      id,
      createdAt: wanted.createdAt ?? this.database.now(),
      removedAt: undefined,
    });
  }

  private async readActive(sql: SQL): Promise<Override[]> {
    const now = this.database.now();
    const rows: OverrideRow[] = await sql`SELECT ${columns(sql)} FROM inkling_overrides o
      WHERE removed_at IS NULL AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY created_at, id`;
    return this.readRows(rows);
  }

  private async findIn(sql: SQL, id: string): Promise<Override | undefined> {
    const rows: OverrideRow[] = await sql`SELECT ${columns(sql)} FROM inkling_overrides o
      WHERE id = ${id}`;
    return this.readRows(rows)[0];
  }

  private readRows(rows: readonly OverrideRow[]): Override[] {
    return this.database.unreadable.read("overrides", rows, overrideFromRow, ({ id }) => id);
  }

  /** Runs a change to overrides. It writes the stamp first, because the lock on that row makes processes take turns. */
  private change<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    return this.database.write(async (tx) => {
      await tx`UPDATE inkling_override_stamp SET stamp = ${randomBase62(22, this.database.randomBytes)}`;
      await this.database.notify(tx, "overrides");
      return work(tx);
    }, true);
  }
}

/**
 * Plans a write for each requested override. Collects conflicts with active overrides, and among the requested
 * overrides.
 * @throws OverrideConflictError with all conflicts
 */
function plan(
  wanted: readonly NewOverride[],
  bySubject: ReadonlyMap<string, Override>,
  make: (wanted: NewOverride) => Override,
): OverrideWrite[] {
  const problems: string[] = [];
  const planned = new Map<string, OverrideWrite>();
  for (const one of wanted) {
    const subject = subjectText(one);
    const earlier = planned.get(subject);
    const before = earlier?.override ?? bySubject.get(subject);
    if (before !== undefined && effectText(before) !== effectText(one)) {
      const other = earlier?.outcome === "added" ? before.note : `${before.id}: ${before.note}`;
      problems.push(`${describeOverride(one)} contradicts ${describeOverride(before)} (${other})`);
      continue;
    }
    planned.set(subject, merged(one, before, earlier?.outcome, make));
  }
  if (problems.length > 0) throw new OverrideConflictError("CONTRADICTS", problems);
  return [...planned.values()];
}

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

function columns(sql: SQL) {
  return sql.unsafe(
    "o.id, o.kind, o.value, o.effect, o.argument, o.note, o.author, o.created_at, o.expires_at, o.removed_at",
  );
}
