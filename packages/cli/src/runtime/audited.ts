// audited.ts: changes of files that a command makes: each is in the audit trail before it is made.
//
// err  StoreError where the entry can neither be stored nor kept for later: nothing was changed

import type { Settings } from "@inkling/contract";
import { type HostEntry, openStore, StoreError, storeWaiting, withEntry } from "@inkling/server";
import { cliActor } from "../config/user.ts";
import { type ErrorOutput, warn } from "../terminal/terminal.ts";
import { defaultDatabase } from "./keys.ts";
import { ensureWritable } from "./writable.ts";

/** Records what this user does, then does it. */
export async function audited<T>(
  settings: Settings,
  terminal: ErrorOutput,
  entry: Omit<HostEntry, "actor" | "way">,
  change: () => T | Promise<T>,
): Promise<T> {
  return auditedBy(settings, { ...cliActor(), ...entry }, change, (reason) =>
    warn(terminal, `the audit entry waits in ${settings.dataDir} for the database: ${reason}`),
  );
}

/** @param onWaiting called where the entry waits for the database, with the reason */
export async function auditedBy<T>(
  settings: Settings,
  entry: HostEntry,
  change: () => T | Promise<T>,
  onWaiting: (reason: string) => void,
): Promise<T> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl === defaultDatabase(settings)) ensureWritable(dataDir);
  const store = await openStore(databaseUrl, { mayBeAway: true });
  try {
    await storeWaiting(store.overrides, dataDir).catch(ignoreAway);
    return await withEntry(store.overrides, dataDir, entry, change, onWaiting);
  } finally {
    await store.close();
  }
}

/** What waits goes on to wait. */
export function ignoreAway(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
}
