// error.ts: the store's errors, with the same codes for both databases.

/**
 * - UNREACHABLE: unreachable, busy or full; the same call can succeed later
 * - REFUSED: reachable, but unusable: wrong password, missing rights, no such database
 * - DAMAGED: the file is not an SQLite database, or is damaged
 * - NEWER: written by a newer program, or by one whose tables this program cannot upgrade
 * - UNWRITTEN: the revocation cannot be written to the data folder
 * - CONFLICT: the change contradicts what is stored: the object already exists, or a limit is reached
 * - ADDRESS: the address cannot be parsed
 * - BROKEN: a fault of this program, or rows changed by hand
 */
type StoreErrorCode =
  | "UNREACHABLE"
  | "REFUSED"
  | "DAMAGED"
  | "NEWER"
  | "UNWRITTEN"
  | "CONFLICT"
  | "ADDRESS"
  | "BROKEN";

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** What the operator can do. */
  readonly hint: string;
  /** The database can be read but not written, because the disk is full or read-only. */
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
    "the user needs permission to create tables in its schema, or to use the existing tables",
  ],
  [/^23505/, "CONFLICT", "it already exists: choose a different one"],
  [
    /^(08|40|53|55P03|57|58|25006|25P03)/,
    "UNREACHABLE",
    "a server retries by itself; check the database server's log",
  ],
];

// https://www.sqlite.org/rescode.html, and errors from creating the file
const SQLITE: readonly Row[] = [
  [
    /^SQLITE_(BUSY|LOCKED|PROTOCOL)/,
    "UNREACHABLE",
    "another program has locked the file; a server retries by itself, but a command must be run again",
  ],
  [
    /^(SQLITE_(FULL|IOERR|NOMEM)|ENOSPC|EIO|EMFILE|ENFILE)/,
    "UNREACHABLE",
    "check the free disk space and the disk's health; a server retries by itself",
  ],
  [
    /^(SQLITE_(CANTOPEN|READONLY|PERM|AUTH)|EACCES|EPERM|EISDIR|ENOTDIR|EEXIST|ENAMETOOLONG)/,
    "REFUSED",
    "this user must be able to write to the file and its folder",
  ],
  [
    /^SQLITE_(NOTADB|CORRUPT)/,
    "DAMAGED",
    "restore a backup with `inkling restore FILE --force`; servers use the copies in the data folder until then",
  ],
  [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, "CONFLICT", "it already exists: choose a different one"],
];

/** The error codes of both databases for a full or read-only disk. */
const READ_ONLY = /^(53100|25006|SQLITE_(FULL|READONLY)|ENOSPC|EROFS)/;

const READ_ONLY_HINT =
  "make it writable, or put the database elsewhere: INKLING_DATABASE_URL=sqlite://FILE or postgres://…";

const UNREACHABLE =
  "check the host and port in the database address, and that the database server is running";

/** Converts an error of Bun.SQL into a StoreError. @param hide texts to remove from the message */
export function storeErrorFrom(cause: unknown, database: string, hide: readonly string[]): StoreError {
  if (cause instanceof StoreError) return cause;
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  let text = error.message;
  for (const secret of hide) text = text.replaceAll(secret, "***");
  const message = `${database}: ${text}`;
  // Errors from a PostgreSQL server have an SQLSTATE. Connection errors from Bun's client have none.
  const own = typeof code === "string" ? code : "";
  // Other commands use the same words. The system's message also contains the path, which the label already shows.
  if (own === "EROFS")
    return new StoreError("REFUSED", `${database} is on a read-only file system`, READ_ONLY_HINT, true);
  const sqlState = own.startsWith("ERR_POSTGRES_") && typeof errno === "string" ? errno : undefined;
  const row =
    sqlState === undefined
      ? SQLITE.find(([codes]) => codes.test(own))
      : POSTGRES.find(([codes]) => codes.test(sqlState));
  if (row !== undefined) return new StoreError(row[1], message, row[2], READ_ONLY.test(sqlState ?? own));
  if (own.startsWith("ERR_POSTGRES_") && sqlState === undefined) {
    return new StoreError("UNREACHABLE", message, UNREACHABLE);
  }
  return new StoreError("BROKEN", message, "please report this bug, with the message above");
}
