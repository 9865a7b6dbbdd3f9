// decision-size.ts: measures how much space the stored decisions take, so that the server can delete the oldest before
// they fill the disk.
//
// The sum of each day is kept in memory, and a check adds only the decisions that are new. The first check after a
// start reads all of them in pages, between which requests are answered. 700,000 decisions take about 3 s. Decisions
// that an operator deletes by `ref` still count until their day is over.

import { type Database, ROWS_AT_ONCE } from "./database.ts";
import { DAY_MS } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";

/**
 * About how much a row takes in addition to its texts, with its entries in indexes. 1,409 - 842 bytes were measured,
 * and 121 fewer since one index replaced four.
 */
const ROW_BYTES = 450;
/** A decision from further ahead comes from a wrong clock. It is counted once its time has come. */
const AHEAD_MS = 3_600_000;

interface SizedRow {
  readonly id: string;
  readonly created_at: EpochMs | string;
  readonly bytes: number | string;
}

export class DecisionSize {
  private readonly database: Database;
  /** Bytes by the day's number. */
  private readonly days = new Map<number, number>();
  /** The last decision that was counted. */
  private last: { readonly at: EpochMs; readonly id: string } = { at: 0, id: "" };

  constructor(database: Database) {
    this.database = database;
  }

  /** The size at the last check. */
  get bytes(): number {
    return [...this.days.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Adds the decisions that are new, and drops the days that are no longer stored. */
  async measure(now: EpochMs): Promise<void> {
    if (this.last.at > now + AHEAD_MS) this.begin(); // the clock was corrected
    const oldest: { at: EpochMs | string | null }[] = await this.database.run(
      (sql) => sql`SELECT MIN(created_at) AS at FROM inkling_decisions`,
    );
    const first = oldest[0]?.at == null ? Number.POSITIVE_INFINITY : dayOf(oldest[0].at);
    for (const day of this.days.keys()) if (day < first) this.days.delete(day);
    for (;;) {
      const { at, id } = this.last;
      const rows: SizedRow[] = await this.database.run(
        (
          sql,
        ) => sql`SELECT id, created_at, ${ROW_BYTES} + LENGTH(facts) + LENGTH(reasons) + LENGTH(shadow) AS bytes
          FROM inkling_decisions WHERE (created_at, id) > (${at}, ${id}) AND created_at <= ${now + AHEAD_MS}
          ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE}`,
      );
      for (const row of rows) this.add(row, 1);
      const last = rows.at(-1);
      if (last !== undefined) this.last = { at: Number(last.created_at), id: last.id };
      if (rows.length < ROWS_AT_ONCE) return;
      await Bun.sleep(0);
    }
  }

  /**
   * Deletes the oldest decisions until the rest takes at most `limit` bytes.
   * @returns the number of deleted decisions
   */
  async deleteAbove(limit: number): Promise<number> {
    for (let deleted = 0; ; await Bun.sleep(0)) {
      if (this.bytes <= limit) return deleted;
      const rows: SizedRow[] = await this.database.run(
        (sql) => sql`DELETE FROM inkling_decisions WHERE id IN
            (SELECT id FROM inkling_decisions ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE})
          RETURNING id, created_at, ${ROW_BYTES} + LENGTH(facts) + LENGTH(reasons) + LENGTH(shadow) AS bytes`,
      );
      for (const row of rows) this.add(row, -1);
      deleted += rows.length;
      if (rows.length > 0) continue;
      this.begin();
      return deleted;
    }
  }

  private begin(): void {
    this.days.clear();
    this.last = { at: 0, id: "" };
  }

  private add({ created_at, bytes }: SizedRow, sign: 1 | -1): void {
    const day = dayOf(created_at);
    this.days.set(day, Math.max(0, (this.days.get(day) ?? 0) + sign * Number(bytes)));
  }
}

const dayOf = (at: EpochMs | string) => Math.floor(Number(at) / DAY_MS);
