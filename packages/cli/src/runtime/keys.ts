// keys.ts: the store of keys, opened for one command.

import { existsSync } from "node:fs";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/release-store";
import { openStore, type Store } from "@inkling/server";
import { databaseFile } from "../config/settings.ts";
import { CliError } from "../terminal/errors.ts";
import { type ErrorOutput, warn } from "../terminal/terminal.ts";
import { ensureWritable } from "./writable.ts";

/**
 * Opens the store, hands it to `work`, and closes it.
 * @throws StoreError, with its own hint, when the database cannot be used
 */
export async function withStore<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  if (settings.databaseUrl === defaultDatabase(settings)) ensureWritable(settings.dataDir);
  return withOpened(settings, work);
}

/**
 * As {@link withStore}, for commands that make nothing new: they make no database either, so a misspelt folder is an error.
 * @throws CliError when there is none
 */
export async function withExistingStore<T>(
  settings: Settings,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) {
    throw new CliError(
      `there is no database yet: ${file} does not exist`,
      "check --data-dir and INKLING_DATABASE_URL: `npx @inkling/cli config` shows the settings in force",
    );
  }
  return withOpened(settings, work);
}

/**
 * Says so where a command is about to make the database: a server that uses another one learns nothing of the change.
 * @returns whether it is
 */
export function warnOfNewDatabase(settings: Settings, terminal: ErrorOutput): boolean {
  const file = databaseFile(settings);
  if (file === undefined || existsSync(file)) return false;
  warn(
    terminal,
    `there was no database yet, ${file} is made: a server that uses another one learns nothing of this`,
  );
  return true;
}

async function withOpened<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(settings.databaseUrl);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The database that is in the data folder. */
export const defaultDatabase = (settings: Settings) => `sqlite://${settings.dataDir}/${DATA_FOLDER.database}`;
