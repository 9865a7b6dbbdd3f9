// admin-token.ts: creates the tokens of the admin API, and stores their hashes. There is a root token, and there are
// named tokens with a role.
//
// Every request reads its token's row, so a revocation applies immediately on every host, including to sessions. The
// audit trail records the token's name as the author. For the root token, it records the author in the request.

import { ADMIN_ROLES, type AdminRole } from "@inkling/contract";
import type { SQL, TransactionSQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit, lockAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { StoreError } from "./error.ts";
import { changeKeys } from "./key-changes.ts";
import { dayOf, isoTime, isoTimeOrNull, optionalNumber } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";
import type { NewAdminToken } from "./keys/key-input.ts";
import type { RevokedFile } from "./keys/revoked-file.ts";
import { hashToken, newToken, tokenFormat, tokenHint } from "./keys/token.ts";
import { writeRevocations } from "./revocations.ts";
import { known } from "./text/fields.ts";

const ADMIN_PREFIX = "ink_admin_";

/** Returns whether text has the form of an admin token, including a valid checksum. */
export const isAdminToken = tokenFormat(ADMIN_PREFIX);

export interface AdminToken extends NewAdminToken {
  /** The first characters, for display: `ink_admin_3fK9…`. */
  readonly hint: string;
  /** Who created the token. */
  readonly author: string;
  /** Name of the token with which this one was created; undefined for the root token and the command line. */
  readonly parent: string | undefined;
  readonly createdAt: EpochMs;
  /** The last UTC day with a request; undefined if there has been no request. */
  readonly lastUsedOn: string | undefined;
}

/** Returns the JSON form of an admin token, which never contains the token itself. */
export function adminTokenJson(token: AdminToken, now: number) {
  const { name, role, hint, author, createdAt, expiresAt, lastUsedOn, parent } = token;
  const isExpired = expiresAt !== undefined && expiresAt <= now;
  return {
    name,
    role,
    state: isExpired ? ("expired" as const) : ("active" as const),
    hint,
    author,
    parent: parent ?? null,
    created_at: isoTime(createdAt),
    expires_at: isoTimeOrNull(expiresAt),
    last_used_at: lastUsedOn ?? null,
  };
}

export interface ValidAdminToken {
  readonly hash: string;
  /** Undefined for the root token. */
  readonly name: string | undefined;
  readonly role: AdminRole;
  readonly expiresAt: EpochMs | undefined;
  /** The last recorded UTC day of use. Always undefined for the root token. */
  readonly lastUsedOn: string | undefined;
}

/** The token that creates another one was revoked at the same time. */
export class CreatorRevokedError extends StoreError {
  constructor(name: string) {
    super("CONFLICT", `the admin token ${name} was revoked`, "use a token that is valid");
    this.name = "CreatorRevokedError";
  }
}

export interface RevokedAdminToken {
  readonly token: AdminToken;
  readonly created: readonly AdminToken[];
}

/** What replaced all admin tokens. */
export interface ReplacedAdminTokens {
  readonly token: string;
  readonly revoked: readonly AdminToken[];
}

/** A named token with its secret text, which is shown only once. */
export interface IssuedAdminToken {
  readonly adminToken: AdminToken;
  readonly token: string;
}

export class AdminTokenStore {
  private readonly database: Database;
  private readonly revoked: RevokedFile | undefined;

  /** @param revoked the data folder's list of revocations */
  constructor(database: Database, revoked?: RevokedFile) {
    this.database = database;
    this.revoked = revoked;
  }

  /** Finds the root or named token with this hash, unless it was revoked or has expired. */
  async find(hash: string): Promise<ValidAdminToken | undefined> {
    const { database } = this;
    return database.run(async (sql) => {
      if ((await readHash(sql)) === hash)
        return { hash, name: undefined, role: "admin", expiresAt: undefined, lastUsedOn: undefined };
      const rows: AdminTokenRow[] =
        await sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens WHERE hash = ${hash}`;
      const [token] = this.readRows(rows);
      if (token === undefined || (token.expiresAt ?? Number.POSITIVE_INFINITY) <= database.now())
        return undefined;
      const { name, role, expiresAt, lastUsedOn, createdAt } = token;
      if (this.revoked?.hasToken(name, createdAt)) return undefined; // an older database has the token again
      return { hash, name, role, expiresAt, lastUsedOn };
    });
  }

  /** Records today as the last day on which a named token was used. This writes once per token and day. */
  async recordUse({ hash, name, lastUsedOn }: ValidAdminToken): Promise<void> {
    const today = dayOf(this.database.now());
    if (name === undefined || lastUsedOn === today) return;
    await this.database.run(
      (sql) => sql`UPDATE inkling_named_admin_tokens SET last_used_on = ${today} WHERE hash = ${hash}`,
    );
  }

  /** Lists named tokens, including expired ones, oldest first. */
  async list(): Promise<AdminToken[]> {
    const rows: AdminTokenRow[] = await this.database.run(
      (sql) => sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens ORDER BY created_at, name`,
    );
    return this.readRows(rows);
  }

  /** Finds the token with this name, expired or not. */
  async get(name: string): Promise<AdminToken | undefined> {
    return this.database.run((sql) => this.findIn(sql, name));
  }

  /**
   * Creates a named token.
   * @param parent name of the token that creates it; undefined for the root token and the command line
   * @throws StoreError CONFLICT if a token, expired or not, already has this name
   * @throws CreatorRevokedError
   */
  add(wanted: NewAdminToken, by: Author, parent?: string): Promise<IssuedAdminToken> {
    const { database } = this;
    return database.write(async (tx) => {
      await lockAudit(tx);
      const { name, role, expiresAt } = wanted;
      if (parent !== undefined && !(await isTaken(tx, parent))) throw new CreatorRevokedError(parent);
      if (await isTaken(tx, name)) {
        throw new StoreError(
          "CONFLICT",
          `an admin token ${name} already exists`,
          `choose another name, or revoke it first: \`inkling admin-tokens revoke ${name}\``,
        );
      }
      const token = newToken(ADMIN_PREFIX, database.randomBytes);
      const adminToken: AdminToken = Object.freeze({
        ...wanted,
        hint: tokenHint(token),
        author: by.author,
        createdAt: database.now(),
        lastUsedOn: undefined,
        parent,
      });
      const { hint, author, createdAt } = adminToken;
      await tx`INSERT INTO inkling_named_admin_tokens (name, hash, scope, hint, author, created_at, expires_at, parent)
        VALUES (${name}, ${hashToken(token)}, ${role}, ${hint}, ${author}, ${createdAt}, ${expiresAt ?? null},
          ${parent ?? null})`;
      await this.audit(tx, by, "admin-token-created", undefined, adminToken);
      return { adminToken, token };
    }, true);
  }

  /**
   * Revokes a named token and the tokens that it created, directly or through others. Closes their sessions for good.
   * @param keepCreated keeps those tokens. They then count as created by the token that created this one.
   * @returns the revoked tokens; undefined if no token has this name
   */
  revoke(name: string, by: Author, keepCreated = false): Promise<RevokedAdminToken | undefined> {
    // Changes the stamp of the keys, so that every host reads the revocation and lists it.
    return changeKeys(this.database, async (tx) => {
      await lockAudit(tx);
      const rows: AdminTokenRow[] =
        await tx`SELECT ${columns(tx)} FROM inkling_named_admin_tokens ORDER BY created_at, name`;
      const all = rows.map(readablePart);
      const before = all.find((token) => token.name === name);
      if (before === undefined) return undefined;
      const created = keepCreated ? [] : descendants(all, name);
      await tx`UPDATE inkling_named_admin_tokens SET parent = ${before.parent ?? null} WHERE parent = ${name}`;
      for (const { name } of [before, ...created])
        await tx`DELETE FROM inkling_named_admin_tokens WHERE name = ${name}`;
      await this.recordRevoked(tx, by, [before, ...created]);
      return { token: before, created };
    });
  }

  /** Creates the first root token. @returns undefined if there already is one, because only its hash is stored */
  async create(by: Author): Promise<string | undefined> {
    if ((await this.database.run(readHash)) !== undefined) return undefined; // an ordinary start writes nothing
    return this.replace(by, true);
  }

  /** Creates a new root token and invalidates the previous one immediately. Named tokens remain valid. */
  async rotate(by: Author): Promise<string> {
    return (await this.replace(by, false))!;
  }

  /** Creates a new root token, and revokes the previous one and all named tokens. */
  replaceAll(by: Author): Promise<ReplacedAdminTokens> {
    return changeKeys(this.database, async (tx) => {
      await lockAudit(tx);
      const rows: AdminTokenRow[] =
        await tx`SELECT ${columns(tx)} FROM inkling_named_admin_tokens ORDER BY created_at, name`;
      const revoked = rows.map(readablePart);
      await tx`DELETE FROM inkling_named_admin_tokens`;
      await this.recordRevoked(tx, by, revoked);
      return { token: await this.insertRoot(tx, by, await readCreation(tx)), revoked };
    });
  }

  private async recordRevoked(tx: TransactionSQL, by: Author, tokens: readonly AdminToken[]): Promise<void> {
    for (const token of tokens) await this.audit(tx, by, "admin-token-revoked", token, undefined);
    const [at, author] = [this.database.now(), by.author];
    writeRevocations(
      this.revoked,
      tokens.map(({ name: id, createdAt }) => ({ id, createdAt, at, author })),
    );
  }

  private replace(by: Author, onlyFirst: boolean): Promise<string | undefined> {
    return this.database.write(async (tx) => {
      await lockAudit(tx);
      const before = await readCreation(tx);
      if (onlyFirst && before !== undefined) return undefined; // another process has created a token first
      return this.insertRoot(tx, by, before);
    }, true);
  }

  private async insertRoot(tx: TransactionSQL, by: Author, before: object | undefined): Promise<string> {
    const { database } = this;
    const token = newToken(ADMIN_PREFIX, database.randomBytes);
    const at = database.now();
    await tx`DELETE FROM inkling_admin_tokens`;
    await tx`INSERT INTO inkling_admin_tokens (hash, created_at) VALUES (${hashToken(token)}, ${at})`;
    const entry = { ...by, action: "admin-token-created", subject: "admin token" } as const;
    await insertAudit(tx, [{ ...entry, before, after: { created_at: isoTime(at) } }], at);
    return token;
  }

  private async findIn(sql: SQL, name: string): Promise<AdminToken | undefined> {
    const rows: AdminTokenRow[] =
      await sql`SELECT ${columns(sql)} FROM inkling_named_admin_tokens WHERE name = ${name}`;
    return this.readRows(rows)[0];
  }

  private readRows(rows: readonly AdminTokenRow[]): AdminToken[] {
    return this.database.unreadable.read("admin_tokens", rows, fromRow, ({ name }) => name);
  }

  /** Adds an entry to the audit trail. The entry never contains a token. */
  private audit(
    tx: TransactionSQL,
    by: Author,
    action: "admin-token-created" | "admin-token-revoked",
    before: AdminToken | undefined,
    after: AdminToken | undefined,
  ): Promise<void> {
    const at = this.database.now();
    const json = (token: AdminToken | undefined) => token && adminTokenJson(token, at);
    const subject = (after ?? before)!.name;
    return insertAudit(tx, [{ ...by, action, subject, before: json(before), after: json(after) }], at);
  }
}

/** Reads the creation time of the root token, which is all that the audit trail records about the token. */
async function readCreation(sql: SQL): Promise<{ created_at: string } | undefined> {
  const rows: { created_at: number | string }[] = await sql`SELECT created_at FROM inkling_admin_tokens`;
  return rows[0] && { created_at: isoTime(Number(rows[0].created_at)) };
}

async function readHash(sql: SQL): Promise<string | undefined> {
  const rows: { hash: string }[] = await sql`SELECT hash FROM inkling_admin_tokens`;
  return rows[0]?.hash;
}

async function isTaken(sql: SQL, name: string): Promise<boolean> {
  const rows: unknown[] = await sql`SELECT name FROM inkling_named_admin_tokens WHERE name = ${name}`;
  return rows.length > 0;
}

interface AdminTokenRow {
  readonly name: string;
  readonly scope: string;
  readonly hint: string;
  readonly author: string;
  readonly created_at: number | string;
  readonly expires_at: number | string | null;
  readonly last_used_on: string | null;
  readonly parent: string | null;
}

const columns = (sql: SQL) =>
  sql.unsafe("name, scope, hint, author, created_at, expires_at, last_used_on, parent");

/** Finds the tokens that a token created, directly or through others. */
function descendants(all: readonly AdminToken[], name: string): AdminToken[] {
  const names = new Set([name]);
  for (let before = 0; names.size > before; ) {
    before = names.size;
    for (const token of all) if (names.has(token.parent ?? "")) names.add(token.name);
  }
  return all.filter((token) => token.name !== name && names.has(token.name));
}

/** Reads a token for its revocation. A role that only a newer version has counts as the lowest one. */
const readablePart = (row: AdminTokenRow): AdminToken =>
  fromRow(ADMIN_ROLES.some((role) => role === row.scope) ? row : { ...row, scope: "read" });

function fromRow(row: AdminTokenRow): AdminToken {
  return Object.freeze({
    name: row.name,
    role: known(ADMIN_ROLES, row.scope, "role"),
    hint: row.hint,
    author: row.author,
    createdAt: Number(row.created_at),
    expiresAt: optionalNumber(row.expires_at),
    lastUsedOn: row.last_used_on ?? undefined,
    parent: row.parent ?? undefined,
  });
}
