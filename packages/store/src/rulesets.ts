// rulesets.ts: keeps published rulesets in a table of the store. Rows are only added, except by a restore (copy.ts).

import type { SQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { StoreError } from "./error.ts";
import { optionalNumber } from "./keys/day.ts";
import type { Page, PageRequest } from "./pages.ts";
import { NO_RULESET, type PublishedRuleset, rulesetJson, rulesetStamp, textHash } from "./rulesets/record.ts";

export interface NewRuleset {
  /** Parsed by the caller. The store accepts any text. */
  readonly text: string;
  readonly note: string;
  /**
   * The number of the newest ruleset that the author has read. If undefined, the ruleset is published no matter which
   * ruleset is newest.
   */
  readonly current?: number | undefined;
  /** The number of the ruleset that this one restores. */
  readonly restores?: number | undefined;
}

export class RulesetStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Reads the stamp of the newest ruleset. This reads one row; PostgreSQL sends the text's hash and not the text. */
  async readStamp(): Promise<string> {
    const isPostgres = this.database.isShared;
    const rows: { number: number | string; text: string }[] = await this.database.run((sql) =>
      isPostgres
        ? sql`SELECT number, encode(sha256(convert_to(text, 'UTF8')), 'hex') AS text FROM inkling_rulesets
            ORDER BY number DESC LIMIT 1`
        : sql`SELECT number, text FROM inkling_rulesets ORDER BY number DESC LIMIT 1`,
    );
    const [{ number, text } = { number: 0, text: "" }] = rows;
    return rulesetStamp(Number(number), isPostgres ? text : textHash(text));
  }

  /** Reads the newest ruleset, or NO_RULESET before the first one. */
  newest(): Promise<PublishedRuleset> {
    return this.database.run(newestIn);
  }

  /** Reads the newest ruleset with a lower number. */
  async before(number: number): Promise<PublishedRuleset | undefined> {
    const { items } = await this.list({ limit: 1, cursor: String(number) });
    return items[0];
  }

  async find(number: number): Promise<PublishedRuleset | undefined> {
    const rows: RulesetRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_rulesets WHERE number = ${number}`,
    );
    return rows[0] && fromRow(rows[0]);
  }

  /** Lists rulesets, newest first. A cursor is the number of the last ruleset on the previous page. */
  async list({ limit, cursor }: PageRequest): Promise<Page<PublishedRuleset>> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const rows: RulesetRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_rulesets WHERE number < ${before}
        ORDER BY number DESC LIMIT ${limit + 1}`,
    );
    const items = rows.slice(0, limit).map(fromRow);
    const last = items.at(-1);
    return { items, next: rows.length > limit && last !== undefined ? String(last.number) : undefined };
  }

  /**
   * Publishes a text under the next number, unless it equals the text of the newest ruleset.
   * @returns the ruleset that is active afterwards
   * @throws StoreError CONFLICT if the newest ruleset is not the one that the author has read
   */
  publish({ text, note, current, restores }: NewRuleset, by: Author): Promise<PublishedRuleset> {
    return this.database.write(async (tx) => {
      await lockAudit(tx); // so that the numbers have no gaps
      const newest = await newestIn(tx);
      if (newest.number > 0 && newest.text === text) return newest;
      if (current !== undefined && current !== newest.number)
        throw new StoreError(
          "CONFLICT",
          `ruleset ${newest.number} was published in the meantime`,
          "compare the two with `inkling rules diff`, then publish again",
        );
      const published: PublishedRuleset = Object.freeze({
        number: newest.number + 1,
        text,
        note,
        author: by.author,
        createdAt: this.database.now(),
        restores,
      });
      const { number, author, createdAt } = published;
      await tx`INSERT INTO inkling_rulesets (number, text, note, author, created_at, restores)
        VALUES (${number}, ${text}, ${note}, ${author}, ${createdAt}, ${restores ?? null})`;
      const action = restores === undefined ? "ruleset-published" : "ruleset-rolled-back";
      const before = newest.number === 0 ? undefined : rulesetJson(newest);
      const entry = {
        ...by,
        action,
        subject: `ruleset ${number}`,
        before,
        after: rulesetJson(published),
      } as const;
      await insertAudit(tx, [entry], createdAt);
      await this.database.notify(tx, "rulesets");
      return published;
    }, true);
  }
}

interface RulesetRow {
  readonly number: number | string;
  readonly text: string;
  readonly note: string;
  readonly author: string;
  readonly created_at: number | string;
  readonly restores: number | string | null;
}

const columns = (sql: SQL) => sql.unsafe("number, text, note, author, created_at, restores");

async function newestIn(sql: SQL): Promise<PublishedRuleset> {
  const rows: RulesetRow[] =
    await sql`SELECT ${columns(sql)} FROM inkling_rulesets ORDER BY number DESC LIMIT 1`;
  return rows[0] === undefined ? NO_RULESET : fromRow(rows[0]);
}

function fromRow({ number, text, note, author, created_at, restores }: RulesetRow): PublishedRuleset {
  return Object.freeze({
    number: Number(number),
    text,
    note,
    author,
    createdAt: Number(created_at),
    restores: optionalNumber(restores),
  });
}

/** Returns whether the text is a cursor of {@link RulesetStore.list}. */
export const isRulesetCursor = (text: string) => /^[1-9]\d{0,8}$/.test(text);
