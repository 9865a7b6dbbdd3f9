// error.ts: what can go wrong with the key and usage store, in one vocabulary for both databases.
//
// in   an error of Bun.SQL, and the database's address without its password
// out  StoreError: a code to act on, one line, a hint

/**
 * - AWAY: not reachable, busy or full; the same call can succeed later
 * - REFUSED: reachable, but not for us: password, rights, no such database, not a database
 * - NEWER: written by a newer program
 * - CONFLICT: what should be new exists already
 * - ADDRESS: the address cannot be understood
 * - BROKEN: our own fault, or rows changed by hand
 */
type StoreErrorCode = "AWAY" | "REFUSED" | "NEWER" | "CONFLICT" | "ADDRESS" | "BROKEN";

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** What to do about it. */
  readonly hint: string;
  /** Can be read, but not written to: the disk is full, or it is read-only. */
  readonly isReadOnly: boolean;

  constructor(code: StoreErrorCode, message: string, hint: string, isReadOnly = false) {
    super(message);
    this.name = "StoreError";
    this.code = code;
    this.hint = hint;
    this.isReadOnly = isReadOnly;
  }
}

type Row = readonly [codes: RegExp, code: StoreErrorCode, hint: string];

// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
const POSTGRES: readonly Row[] = [
  [/^28/, "REFUSED", "check the user and password in the database address, and pg_hba.conf"],
  [/^3D000/, "REFUSED", "create the database first: createdb NAME"],
  [
    /^42501/,
    "REFUSED",
    "the user needs the right to create tables in its schema, or to use those that exist",
  ],
  [/^23505/, "CONFLICT", "it exists already: choose another one"],
  [/^(08|40|53|55P03|57|58|25006|25P03)/, "AWAY", "it is tried again; look at the database server's log"],
];

// https://www.sqlite.org/rescode.html, and what making the file can meet
const SQLITE: readonly Row[] = [
  [
    /^SQLITE_(BUSY|LOCKED|PROTOCOL)/,
    "AWAY",
    "another program holds the file locked: a server tries again, a command can be run again",
  ],
  [
    /^(SQLITE_(FULL|IOERR|NOMEM)|ENOSPC|EIO|EMFILE|ENFILE)/,
    "AWAY",
    "look for free disk space and at the disk's health; it is tried again",
  ],
  [
    /^(SQLITE_(CANTOPEN|READONLY|PERM|AUTH)|EACCES|EPERM|EROFS|EISDIR|ENOTDIR|EEXIST|ENAMETOOLONG)/,
    "REFUSED",
    "the file and its folder must be writable for this user",
  ],
  [/^SQLITE_(NOTADB|CORRUPT)/, "REFUSED", "restore the file from a backup, or move it away to begin anew"],
  [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, "CONFLICT", "it exists already: choose another one"],
];

/** Disk full and read-only, of both databases. */
const READ_ONLY = /^(53100|25006|SQLITE_(FULL|READONLY)|ENOSPC|EROFS)/;

const UNREACHABLE = "check host and port in the database address, and that the database server runs";

/** Turns what Bun.SQL threw into a StoreError. `hide` is cut out of its text wherever it occurs. */
export function storeErrorFrom(cause: unknown, database: string, hide: readonly string[]): StoreError {
  if (cause instanceof StoreError) return cause;
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  let text = error.message;
  for (const secret of hide) text = text.replaceAll(secret, "***");
  const message = `${database}: ${text}`;
  // Errors of a PostgreSQL server have an SQLSTATE; errors of Bun's client about the connection do not.
  const own = typeof code === "string" ? code : "";
  const sqlState = own.startsWith("ERR_POSTGRES_") && typeof errno === "string" ? errno : undefined;
  const row =
    sqlState === undefined
      ? SQLITE.find(([codes]) => codes.test(own))
      : POSTGRES.find(([codes]) => codes.test(sqlState));
  if (row !== undefined) return new StoreError(row[1], message, row[2], READ_ONLY.test(sqlState ?? own));
  if (own.startsWith("ERR_POSTGRES_") && sqlState === undefined) {
    return new StoreError("AWAY", message, UNREACHABLE);
  }
  return new StoreError("BROKEN", message, "please report this with the text above");
}
