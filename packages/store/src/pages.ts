// pages.ts: pages of a list of rows.

import type { SQL } from "bun";
import type { EpochMs } from "./keys/key.ts";

export const MAX_PAGE = 1_000;

export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; undefined after the last page. */
  readonly next: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

interface CreatedRow {
  readonly id: string;
  readonly created_at: EpochMs | string;
}

/**
 * Reads pages of rows with created_at and id, newest first. A cursor identifies the last row of a page:
 * "1780272000000-key_3fK9…".
 */
export class NewestFirst {
  private readonly pattern: RegExp;

  /** @param idPrefix "key" for ids such as key_3fK9… */
  constructor(idPrefix: string) {
    this.pattern = new RegExp(`^(\\d{1,16})-(${idPrefix}_[0-9A-Za-z]{16})$`);
  }

  isCursor(text: string): boolean {
    return this.pattern.test(text);
  }

  /** Returns the condition for rows of the page that follows the cursor. */
  after(sql: SQL, cursor: string | undefined) {
    const parts = cursor === undefined ? null : this.pattern.exec(cursor);
    if (parts === null) return sql`1 = 1`;
    return sql`(created_at, id) < (${Number(parts[1])}, ${parts[2]})`;
  }

  /**
   * Creates a page.
   * @param rows up to one row more than the limit, which shows that there is a next page
   * @param read returns an item for each row, except for rows that it cannot read
   */
  page<Row extends CreatedRow, T>(
    rows: readonly Row[],
    limit: number,
    read: (rows: readonly Row[]) => readonly T[],
  ): Page<T> {
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const isMore = rows.length > limit && last !== undefined;
    return { items: read(shown), next: isMore ? `${last.created_at}-${last.id}` : undefined };
  }
}
