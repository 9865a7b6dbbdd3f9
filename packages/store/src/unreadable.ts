// unreadable.ts: remembers the rows that this version cannot read, usually because a newer version wrote them. Such a
// row is left out, and the other rows load.

import type { EventLog } from "@inkling/contract";

/** A row that this version cannot read, or not completely. */
export interface UnreadableRow {
  /** Name of the table without its prefix, such as "keys". */
  readonly table: string;
  readonly id: string;
  readonly reason: string;
}

/** Rows of one table that are reported one by one, and rows that are counted. A newer version may write many. */
const MAX_REPORTED = 20;
const MAX_COUNTED = 10_000;

export class UnreadableRows {
  private readonly log: Pick<EventLog, "error"> | undefined;
  private readonly reasons = new Map<string, Map<string, string>>();

  /** @param log gets an error for the first rows of each table, once for each row and reason */
  constructor(log?: Pick<EventLog, "error">) {
    this.log = log;
  }

  /**
   * Reads rows, and leaves out each row for which `read` throws.
   * @param read may call `report` if it leaves out only a part of the row
   */
  read<Row, T>(
    table: string,
    rows: readonly Row[],
    read: (row: Row, report: (reason: string) => void) => T,
    idOf: (row: Row) => string,
  ): T[] {
    return rows.flatMap((row) => {
      const reasons: string[] = [];
      const items: T[] = [];
      try {
        items.push(read(row, (reason) => reasons.push(reason)));
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : String(error));
      }
      this.note(table, idOf(row), reasons.length === 0 ? undefined : reasons.join("; "));
      return items;
    });
  }

  /** Records why a row cannot be read. @param reason undefined if it can be read */
  note(table: string, id: string, reason: string | undefined): void {
    const known = this.reasons.get(table);
    if (reason === undefined) {
      known?.delete(id);
      return;
    }
    if (known?.get(id) === reason) return;
    const count = known?.size ?? 0;
    if (count >= MAX_COUNTED) return;
    if (known === undefined) this.reasons.set(table, new Map([[id, reason]]));
    else known.set(id, reason);
    if (count < MAX_REPORTED)
      this.log?.error("row-unreadable", { table, id, reason } satisfies UnreadableRow);
  }

  /** Forgets the rows of a table, because it can be read again. */
  forget(table: string): void {
    this.reasons.delete(table);
  }

  /** Counts the rows by table. */
  get counts(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.reasons, ([table, known]) => [table, known.size]));
  }
}
