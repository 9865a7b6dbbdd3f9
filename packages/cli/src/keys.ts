// keys.ts: the store of keys, opened for one command.

import { openStore, type Store } from "@inkling/server";
import { ensureWritable } from "./build.ts";
import type { Settings } from "./settings.ts";

/**
 * Opens the store, hands it to `work`, and closes it.
 * @throws StoreError, with its own hint, when the database cannot be used
 */
export async function withStore<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  if (settings.databaseUrl === defaultDatabase(settings)) ensureWritable(settings.dataDir);
  const store = await openStore(settings.databaseUrl);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const defaultDatabase = (settings: Settings) => `sqlite://${settings.dataDir}/inkling.db`;
