// admin-token.ts: the one token of the admin API: its text, and the row that keeps its hash.
//
// in   the store's tables
// out  ink_admin_, 32 random characters, _, checksum: shown once, kept as SHA-256
// err  StoreError
// note There is one for all operators: the audit trail has the author that a request names.

import type { SQL, TransactionSQL } from "bun";
import type { Actor } from "../keys/actor.ts";
import { hashToken, newToken, tokenFormat } from "../keys/token.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import type { Tables } from "./tables.ts";

const ADMIN_PREFIX = "ink_admin_";
const isWellFormed = tokenFormat(ADMIN_PREFIX);

/** Has `text` the form of an admin token, checksum included? */
export function isAdminToken(text: string): boolean {
  return isWellFormed(text);
}

export class AdminTokenStore {
  private readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  /** SHA-256 of the token in force, in hex; undefined when none was made yet. */
  async hash(): Promise<string | undefined> {
    return this.tables.read(readHash);
  }

  /** Makes the first token. @returns undefined when there is one already: its text is not known any more */
  async create(by: Actor): Promise<string | undefined> {
    if ((await this.hash()) !== undefined) return undefined; // the usual start writes nothing
    return this.replace(by, true);
  }

  /** Makes a new token; the one before ends at once. */
  async rotate(by: Actor): Promise<string> {
    return (await this.replace(by, false))!;
  }

  private replace(by: Actor, onlyFirst: boolean): Promise<string | undefined> {
    const { tables } = this;
    return tables.write(async (tx: TransactionSQL) => {
      await lockAudit(tx);
      const before = await readCreation(tx);
      if (onlyFirst && before !== undefined) return undefined; // another process was quicker
      const token = newToken(ADMIN_PREFIX, tables.randomBytes);
      const at = tables.now();
      await tx`DELETE FROM inkling_admin_tokens`;
      await tx`INSERT INTO inkling_admin_tokens (hash, created_at) VALUES (${hashToken(token)}, ${at})`;
      const entry = { ...by, action: "admin-token-made", subject: "admin token" } as const;
      await insertAudit(tx, [{ ...entry, before, after: { created_at: isoTime(at) } }], at);
      return token;
    }, true);
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** All that the audit trail says of a token: when it was created. */
async function readCreation(sql: SQL): Promise<{ created_at: string } | undefined> {
  const rows: { created_at: number | string }[] = await sql`SELECT created_at FROM inkling_admin_tokens`;
  return rows[0] && { created_at: isoTime(Number(rows[0].created_at)) };
}

async function readHash(sql: SQL): Promise<string | undefined> {
  const rows: { hash: string }[] = await sql`SELECT hash FROM inkling_admin_tokens`;
  return rows[0]?.hash;
}
