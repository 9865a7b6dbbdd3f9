// waiting-entries.ts: records an audit entry before the change that it describes. If the database is unreachable, the
// entry waits as a file in the data folder, so that a rollback need not wait for the database.
//
// in   the store and the data folder
// out  each entry in the trail once, with the time of its change
// err  StoreError if an entry can be neither stored nor kept, in which case nothing may be changed

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { AUDIT_ACTIONS } from "@inkling/contract";
import { DATA_FOLDER, makeFolder, messageOf, replaceJson, TEMPORARY } from "@inkling/release-store";
import { z } from "zod";
import type { NewAuditEntry } from "./audit.ts";
import { StoreError } from "./error.ts";
import { WAYS } from "./keys/actor.ts";
import type { OverrideStore } from "./overrides.ts";

const waitingEntry = z.object({
  at: z.number(),
  actor: z.string(),
  way: z.enum(WAYS).optional(),
  action: z.enum(AUDIT_ACTIONS),
  subject: z.string(),
  before: z.unknown(),
  after: z.unknown(),
});

type Trail = Pick<OverrideStore, "record">;

/** An entry about something that belongs to a single host. The host's name is added to `after`. */
export type HostEntry = NewAuditEntry & { readonly after: object };

/**
 * Records `entry`, then makes the change that it describes. If the change fails, a second entry records the failure.
 * @param onWaiting called with the reason if the entry waits for the database
 * @throws StoreError if nothing can be recorded, in which case `change` was not called; also the errors of `change`
 */
export async function withEntry<T>(
  trail: Trail,
  dataDir: string,
  entry: HostEntry,
  change: () => T | Promise<T>,
  onWaiting: (reason: string) => void = () => {},
): Promise<T> {
  await recordOrKeep(trail, dataDir, entry, onWaiting);
  try {
    return await change();
  } catch (error) {
    const after = { action: entry.action, reason: messageOf(error) };
    await recordOrKeep(trail, dataDir, { ...entry, action: "change-failed", after }, onWaiting);
    throw error;
  }
}

async function recordOrKeep(
  trail: Trail,
  dataDir: string,
  { after, ...rest }: HostEntry,
  onWaiting: (reason: string) => void,
): Promise<void> {
  const entry = { ...rest, after: { ...after, host: hostname() } };
  // The entry has the same time in both places, because a database that falls silent may already have stored it.
  const at = Date.now();
  try {
    await trail.record(entry, at);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
    try {
      const folder = join(dataDir, DATA_FOLDER.waitingEntries);
      makeFolder(folder);
      replaceJson(join(folder, `${at}-${crypto.randomUUID()}.json`), { at, ...entry });
    } catch (fault) {
      const message = `${error.message}; and the entry cannot be stored in the data folder: ${messageOf(fault)}`;
      throw new StoreError("AWAY", message, `${error.hint}; nothing was changed`);
    }
    onWaiting(error.message);
  }
}

/**
 * Stores the waiting entries, oldest first.
 * @param onDamaged called with a file that is not an entry; the file remains
 * @returns the number of stored entries
 * @throws StoreError; the remaining entries keep waiting
 */
export async function storeWaiting(
  trail: Trail,
  dataDir: string,
  onDamaged: (file: string) => void = () => {},
): Promise<number> {
  const folder = join(dataDir, DATA_FOLDER.waitingEntries);
  if (!existsSync(folder)) return 0;
  let stored = 0;
  for (const name of readdirSync(folder).sort()) {
    if (name.startsWith(TEMPORARY)) continue; // another process is still writing this file
    const path = join(folder, name);
    const read = readEntry(path);
    if (read === undefined) continue; // another process has stored this entry
    if (read === "damaged") {
      onDamaged(path);
      continue;
    }
    const { at, way, before = undefined, after = undefined, ...entry } = read;
    await trail.record({ ...entry, way, before: before ?? undefined, after: after ?? undefined }, at);
    rmSync(path, { force: true });
    stored++;
  }
  return stored;
}

function readEntry(path: string): z.output<typeof waitingEntry> | "damaged" | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return waitingEntry.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "damaged";
  }
}
