// admin-token.ts: tokens of the admin API: the root token, and named tokens with a scope; their text, and the rows that keep
// their hashes.
//
// in   the store's tables
// out  ink_admin_, 32 random characters, _, checksum: shown once, kept as SHA-256
// err  StoreError; CONFLICT for a name that is taken
// note Every request reads the row of its token, so a revocation applies at once on every host, to sessions as well. With
//      the root token, the audit trail has the author that a request names; with a named token, the token's name.

import type { AdminScope } from "@inkling/contract";
import type { SQL, TransactionSQL } from "bun";
import type { Actor } from "../keys/actor.ts";
import { type AdminToken, adminTokenJson, type NewAdminToken } from "../keys/admin-token.ts";
import { dayOf } from "../keys/day.ts";
import { hashToken, newToken, tokenFormat, tokenHint } from "../keys/token.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import { StoreError } from "./error.ts";
import type { Tables } from "./tables.ts";

const ADMIN_PREFIX = "ink_admin_";
const isWellFormed = tokenFormat(ADMIN_PREFIX);

/** Has `text` the form of an admin token, checksum included? */
export function isAdminToken(text: string): boolean {
  return isWellFormed(text);
}

/** A token that is valid now. */
export interface ValidAdminToken {
  readonly hash: string;
  /** Undefined for the root token. */
  readonly name: string | undefined;
  readonly scope: AdminScope;
  /** The last UTC day that is recorded; undefined also for the root token. */
  readonly lastUsedOn: string | undefined;
}

/** A named token, and its text, which is shown this once. */
export interface IssuedAdminToken {
  readonly adminToken: AdminToken;
  readonly token: string;
}

export class AdminTokenStore {
  private readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  /** SHA-256 of the valid root token, in hex; undefined if none was created yet. */
  async hash(): Promise<string | undefined> {
    return this.tables.read(readHash);
  }

  /** The token with this hash, root or named, unless it was revoked or has expired. */
  async find(hash: string): Promise<ValidAdminToken | undefined> {
    const { tables } = this;
    return tables.read(async (sql) => {
      if ((await readHash(sql)) === hash)
        return { hash, name: undefined, scope: "write", lastUsedOn: undefined };
      const rows: AdminTokenRow[] =
        await sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens WHERE hash = ${hash}`;
      const token = rows[0] && fromRow(rows[0]);
      if (token === undefined || (token.expiresAt ?? Number.POSITIVE_INFINITY) <= tables.now())
        return undefined;
      const { name, scope, lastUsedOn } = token;
      return { hash, name, scope, lastUsedOn };
    });
  }

  /** Records today as the last day of use of a named token: one write for each token and day. */
  async recordUse({ hash, name, lastUsedOn }: ValidAdminToken): Promise<void> {
    const today = dayOf(this.tables.now());
    if (name === undefined || lastUsedOn === today) return;
    await this.tables.writeOnce(
      (sql) => sql`UPDATE inkling_named_admin_tokens SET last_used_on = ${today} WHERE hash = ${hash}`,
    );
  }

  /** Named tokens, expired ones too, oldest first. */
  async list(): Promise<AdminToken[]> {
    const rows: AdminTokenRow[] = await this.tables.read(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens ORDER BY created_at, name`,
    );
    return rows.map(fromRow);
  }

  /** The token with this name, expired or not. */
  async get(name: string): Promise<AdminToken | undefined> {
    return this.tables.read((sql) => findIn(sql, name));
  }

  /** Creates a named token. @throws StoreError CONFLICT when one has this name, expired or not */
  add(wanted: NewAdminToken, by: Actor): Promise<IssuedAdminToken> {
    const { tables } = this;
    return tables.write(async (tx) => {
      await lockAudit(tx);
      const { name, scope, expiresAt } = wanted;
      if ((await findIn(tx, name)) !== undefined) {
        throw new StoreError(
          "CONFLICT",
          `there is an admin token ${name} already`,
          `choose another name, or revoke it first: \`npx @inkling/cli admin-tokens revoke ${name}\``,
        );
      }
      const token = newToken(ADMIN_PREFIX, tables.randomBytes);
      const adminToken: AdminToken = Object.freeze({
        ...wanted,
        hint: tokenHint(token),
        author: by.actor,
        createdAt: tables.now(),
        lastUsedOn: undefined,
      });
      const { hint, author, createdAt } = adminToken;
      await tx`INSERT INTO inkling_named_admin_tokens (name, hash, scope, hint, author, created_at, expires_at)
        VALUES (${name}, ${hashToken(token)}, ${scope}, ${hint}, ${author}, ${createdAt}, ${expiresAt ?? null})`;
      await this.audit(tx, by, "admin-token-made", undefined, adminToken);
      return { adminToken, token };
    }, true);
  }

  /** Ends a named token and its sessions for good. @returns it; undefined if there is none with this name */
  revoke(name: string, by: Actor): Promise<AdminToken | undefined> {
    return this.tables.write(async (tx) => {
      await lockAudit(tx);
      const before = await findIn(tx, name);
      if (before === undefined) return undefined;
      await tx`DELETE FROM inkling_named_admin_tokens WHERE name = ${name}`;
      await this.audit(tx, by, "admin-token-revoked", before, undefined);
      return before;
    }, true);
  }

  /** Creates the first root token. @returns undefined if there is one already, because only its hash is stored */
  async create(by: Actor): Promise<string | undefined> {
    if ((await this.hash()) !== undefined) return undefined; // the usual start writes nothing
    return this.replace(by, true);
  }

  /** Makes a new root token; the one before ends at once. Named tokens remain. */
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

  /** An entry of the audit trail, which never has a token's text. */
  private audit(
    tx: TransactionSQL,
    by: Actor,
    action: "admin-token-made" | "admin-token-revoked",
    before: AdminToken | undefined,
    after: AdminToken | undefined,
  ): Promise<void> {
    const at = this.tables.now();
    const json = (token: AdminToken | undefined) => token && adminTokenJson(token, at);
    const subject = (after ?? before)!.name;
    return insertAudit(tx, [{ ...by, action, subject, before: json(before), after: json(after) }], at);
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** All that the audit trail says of a root token: when it was created. */
async function readCreation(sql: SQL): Promise<{ created_at: string } | undefined> {
  const rows: { created_at: number | string }[] = await sql`SELECT created_at FROM inkling_admin_tokens`;
  return rows[0] && { created_at: isoTime(Number(rows[0].created_at)) };
}

async function readHash(sql: SQL): Promise<string | undefined> {
  const rows: { hash: string }[] = await sql`SELECT hash FROM inkling_admin_tokens`;
  return rows[0]?.hash;
}

interface AdminTokenRow {
  readonly name: string;
  readonly scope: string;
  readonly hint: string;
  readonly author: string;
  readonly created_at: number | string;
  readonly expires_at: number | string | null;
  readonly last_used_on: string | null;
}

const columns = (sql: SQL) => sql.unsafe("name, scope, hint, author, created_at, expires_at, last_used_on");

async function findIn(sql: SQL, name: string): Promise<AdminToken | undefined> {
  const rows: AdminTokenRow[] =
    await sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens WHERE name = ${name}`;
  return rows[0] && fromRow(rows[0]);
}

function fromRow(row: AdminTokenRow): AdminToken {
  return Object.freeze({
    name: row.name,
    scope: row.scope === "write" ? "write" : "read", // whatever is not "write" changes nothing
    hint: row.hint,
    author: row.author,
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    lastUsedOn: row.last_used_on ?? undefined,
  });
}
