// store.ts: opens the database for one command, and adds an audit entry for each change.
//
// An empty database counts as lost, and so as unreachable, if the data folder has copies of its keys.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, isEmptyStamp, messageOf } from "@inkling/data";
import {
  type HostEntry,
  holdsMadeKeys,
  KeyTable,
  openStore,
  RevokedFile,
  readKeyCopy,
  type Store,
  StoreError,
} from "@inkling/store";
import { maskUrl } from "../config/setting-types.ts";
import { databaseFile } from "../config/settings.ts";
import { CliError } from "../terminal/errors.ts";
import { type ErrorOutput, printable, warn } from "../terminal/terminal.ts";
import { ensureWritable } from "./data-folder.ts";

/** Reads the copy of the keys that a server keeps in the data folder; undefined if it is missing or damaged. */
export function copiedKeys(dataDir: string): KeyTable | undefined {
  try {
    return new KeyTable(readKeyCopy(readFileSync(join(dataDir, DATA_FOLDER.keys), "utf8")));
  } catch {
    return undefined; // the server reports a damaged copy
  }
}

/** Does the data folder have a copy of a database in which keys were created? */
export function knowsKeys(dataDir: string): boolean {
  return holdsMadeKeys(copiedKeys(dataDir));
}

/**
 * Returns the error if no command may create the SQLite file, because a new database would invalidate the keys that the
 * data folder still contains. Returns undefined if a command may create it.
 */
export function lostDatabase(settings: Settings): StoreError | undefined {
  const file = databaseFile(settings);
  if (file === undefined || existsSync(file) || !knowsKeys(settings.dataDir)) return undefined;
  return lostError(settings, `${file} does not exist`);
}

function lostError({ dataDir }: Settings, why: string): StoreError {
  const copies = [DATA_FOLDER.keys, DATA_FOLDER.overrides].map((name) => join(dataDir, name));
  return new StoreError(
    "UNREACHABLE",
    `the database was lost: ${why}, but ${copies[0]} has its keys`,
    `restore a backup with \`inkling restore FILE\`; if the database is elsewhere, fix INKLING_DATABASE_URL; to start with an empty one, stop the server and delete ${copies.join(" and ")}`,
  );
}

function requireNotLost(settings: Settings): void {
  const lost = lostDatabase(settings);
  if (lost !== undefined) throw lost;
}

/**
 * Opens the store, passes it to `work`, and closes it. Warns if this creates the database.
 * @param isBuild whether the change matters to any server on the data folder or channel, whatever its database
 * @throws StoreError, with its own hint, if the database cannot be used or was lost
 */
export async function withStore<T>(
  settings: Settings,
  terminal: ErrorOutput,
  work: (store: Store) => Promise<T>,
  { isBuild = false } = {},
): Promise<T> {
  requireNotLost(settings);
  if (!isBuild && lacksDatabase(settings))
    warn(
      terminal,
      `creating a new database at ${databaseFile(settings)}; a running server that uses a different database will not see this change`,
    );
  return withNewStore(settings, terminal, unlessEmpty(settings, work));
}

/** Throws a StoreError instead if the database is empty, but the data folder has copies of its keys. */
function unlessEmpty<T>(settings: Settings, work: (store: Store) => Promise<T>) {
  return async (store: Store): Promise<T> => {
    if (isEmptyStamp(await store.readKeyStamp()) && knowsKeys(settings.dataDir))
      throw lostError(settings, `${store.database.label} is empty`);
    return work(store);
  };
}

/**
 * Like {@link withStore}, but may create a database to replace a lost one. Use it only for work that keeps the lost
 * database's keys or restores them.
 */
export async function withNewStore<T>(
  settings: Settings,
  terminal: ErrorOutput,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { dataDir } = settings;
  if (databaseFile(settings) === join(dataDir, DATA_FOLDER.database)) ensureWritable(dataDir);
  return withOpened(settings, terminal, work);
}

/**
 * Like {@link withStore}, but for commands that create nothing. They do not create a database either, so a misspelt
 * folder is an error.
 * @throws CliError if there is no database; StoreError if it was lost
 */
export async function withExistingStore<T>(
  settings: Settings,
  terminal: ErrorOutput,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  requireNotLost(settings);
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) {
    throw new CliError(
      `there is no database yet: ${file} does not exist`,
      "check --data-dir and INKLING_DATABASE_URL: run `inkling config` to see the active settings",
    );
  }
  return withOpened(settings, terminal, unlessEmpty(settings, work));
}

/** Returns whether there is no database yet, so that a change creates it. */
export function lacksDatabase(settings: Settings): boolean {
  const file = databaseFile(settings);
  return file !== undefined && !existsSync(file) && lostDatabase(settings) === undefined;
}

async function withOpened<T>(
  settings: Settings,
  terminal: ErrorOutput,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { dataDir } = settings;
  const revoked = new RevokedFile(join(dataDir, DATA_FOLDER.revoked));
  try {
    revoked.read();
  } catch (error) {
    const why = `cannot read ${revoked.path}, so keys that only this host refuses are shown as active`;
    warn(terminal, printable(`${why}: ${messageOf(error)}`));
  }
  const store = await openStore(settings.databaseUrl, {
    ...(existsSync(dataDir) && { revoked }), // this machine may have no data folder
    onUpgrade: ({ from, to }) =>
      terminal.err(
        printable(`Upgraded the tables of ${maskUrl(settings.databaseUrl)} from version ${from} to ${to}.\n`),
      ),
    log: {
      error: (_, { table, id, reason } = {}) => {
        if (id === undefined) return;
        const text = `this version of Inkling cannot read all of ${id} (${table}): ${reason}. Upgrade it.`;
        warn(terminal, printable(text));
      },
    },
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/**
 * Records an action, then performs it.
 * @throws StoreError if the action cannot be recorded, in which case nothing changes
 */
export const audited = <T>(
  settings: Settings,
  terminal: ErrorOutput,
  entry: HostEntry,
  change: () => T | Promise<T>,
  options?: { readonly isBuild: boolean },
): Promise<T> => withStore(settings, terminal, (store) => store.audit.around(entry, change), options);
