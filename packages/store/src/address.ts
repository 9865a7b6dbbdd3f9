// address.ts: reads the address of a database, and connects to it.

import { closeSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { giveToFolderOwner, makeFolder } from "@inkling/data";
import { SQL } from "bun";
import { StoreError } from "./error.ts";

export type Dialect = "sqlite" | "postgres";

export interface Address {
  readonly dialect: Dialect;
  /** The address as shown to people, without the password. */
  readonly label: string;
  /** Texts that must not appear in any message. */
  readonly secrets: readonly string[];
  /** Path of an SQLite database. */
  readonly file?: string;
  readonly connect: (timeoutMs: number, options: ConnectionOptions) => SQL;
}

/** Options that differ between the connections of a host. */
type ConnectionOptions = Pick<SQL.PostgresOrMySQLOptions, "max" | "onclose">;

/** Returns whether this is the address of a PostgreSQL server, which several hosts may use. */
export const isSharedDatabase = (address: string) => /^postgres(ql)?:\/\//.test(address);

/**
 * Parses a database address: `postgres://user:password@host:port/database`, `sqlite://path`, `sqlite:path` or a plain
 * path.
 * @throws StoreError ADDRESS
 */
export function parseAddress(text: string): Address {
  if (isSharedDatabase(text)) return postgresAddress(text);
  const path = text.replace(/^sqlite:(\/\/)?/, "");
  if (path === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(path) || path.includes("?")) {
    const shown = path.includes("://") ? `${path.slice(0, path.indexOf("://"))}://…` : path;
    throw new StoreError(
      "ADDRESS",
      `invalid database address: "${shown}"`,
      "write sqlite://PATH or postgres://USER:PASSWORD@HOST:5432/DATABASE",
    );
  }
  return sqliteAddress(path);
}

function postgresAddress(text: string): Address {
  // This function does not use the error from URL, because that error quotes its input, including the password.
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const name = url === undefined ? undefined : decoded(url.pathname.slice(1));
  const password = url === undefined ? undefined : decoded(url.password);
  if (url === undefined || name === undefined || password === undefined || url.hostname === "") {
    throw new StoreError(
      "ADDRESS",
      "invalid database address: not a URL",
      "write postgres://USER:PASSWORD@HOST:5432/DATABASE, with @ : / ? # % in the password as %40 %3A %2F %3F %23 %25",
    );
  }
  const label = `postgres://${url.username}${url.username && "@"}${url.host}${url.pathname}`;
  const inQuery = ["password", "sslpassword"].flatMap((name) => url.searchParams.getAll(name)); // Bun accepts both
  return {
    dialect: "postgres",
    label,
    secrets: [password, url.password, ...inQuery].filter((secret) => secret.length > 0),
    connect: (timeoutMs, options) =>
      new SQL(text, {
        ...options,
        connectionTimeout: Math.max(1, Math.ceil(timeoutMs / 1_000)),
        ...(name === "" ? {} : { database: name }), // otherwise PGDATABASE in the environment overrides the URL
        connection: { application_name: "inkling" },
        // Flushes vary in their number of rows, and each new number of rows would add a prepared statement to every
        // connection. 100 statements took 20 MB of the database server's memory. Unnamed statements are not kept, and
        // poolers such as PgBouncer can pass the connection on after each transaction.
        prepare: false,
      }),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a stray "%", so this is not a valid address
  }
}

function sqliteAddress(path: string): Address {
  const file = path === ":memory:" ? path : resolve(path);
  return {
    dialect: "sqlite",
    label: `sqlite://${file}`,
    secrets: [],
    ...(file !== ":memory:" && { file }),
    connect: () => {
      if (file !== ":memory:") {
        makeFolder(dirname(file));
        createDatabaseFile(file);
      }
      return new SQL({ adapter: "sqlite", filename: file });
    },
  };
}

/** SQLite creates its -wal and -shm files with the mode and the owner of this file. */
function createDatabaseFile(file: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", 0o600);
    giveToFolderOwner(descriptor, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    descriptor = openSync(file, "a", 0o600); // also creates the target of a link
  }
  closeSync(descriptor);
}
