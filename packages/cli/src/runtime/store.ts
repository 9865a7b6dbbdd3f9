// store.ts: the database for one command: opened, compared with what servers have, and changed with an entry in the audit
// trail.
//
// err  CliError with a hint; StoreError where an entry can neither be stored nor kept for later: nothing was changed

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/release-store";
import {
  type HostEntry,
  judge,
  onlyInCopies,
  openStore,
  RevocationFile,
  readRemembered,
  type Store,
  StoreError,
  storeWaiting,
  withEntry,
} from "@inkling/server";
import { databaseFile } from "../config/settings.ts";
import { cliActor } from "../config/user.ts";
import { CliError } from "../terminal/errors.ts";
import { type ErrorOutput, formatCount, warn } from "../terminal/terminal.ts";
import { ensureWritable } from "./data-folder.ts";

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
 * Says so where a command is about to make the database: a server that uses a different database will not see the change.
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
const defaultDatabase = (settings: Settings) => `sqlite://${settings.dataDir}/${DATA_FOLDER.database}`;

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

/** What waits continues to wait. */
export function ignoreAway(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
}

export const ONLY_IN_COPIES =
  "the database is empty: what follows applies only from the copies in the data folder (origin: copy); `inkling database adopt` writes them into the database";

/** What a server of this data folder knows, compared with the database. */
export async function databaseState(store: Store, { dataDir }: Settings) {
  const known = readRemembered(join(dataDir, DATA_FOLDER.databaseHistory));
  const now = Date.now();
  const found = await store.readHistory(known?.mark ?? undefined, now);
  const { tokens, overrides } = await onlyInCopies(store, dataDir);
  const keyIds = [...new Set(tokens.map(({ key }) => key.id))];
  // Without any entry the database is empty: then what counts is what only the copies hold.
  const isEmpty = found.last === undefined;
  const wentBack = known === undefined || isEmpty ? null : judge(known, found, now).wentBack;
  return {
    database: store.label,
    went_back:
      wentBack === null
        ? null
        : {
            noticed_at: new Date(wentBack.at).toISOString(),
            audit_sequence_known: wentBack.from,
            audit_sequence_now: wentBack.to,
            revocations_kept: known!.revoked.map(({ id }) => id),
          },
    only_in_copies: { keys: keyIds, overrides: overrides.map(({ id }) => id) },
    unstored_revocations: new RevocationFile(join(dataDir, DATA_FOLDER.revocations))
      .read()
      .map(({ id, at, by }) => ({ id, at: new Date(at).toISOString(), actor: by.actor })),
  };
}

type DatabaseState = Awaited<ReturnType<typeof databaseState>>;

/** What is wrong, a line each, with the command that helps; empty when nothing is. */
export function databaseTroubles({
  went_back,
  only_in_copies,
  unstored_revocations,
}: DatabaseState): string[] {
  const { keys, overrides } = only_in_copies;
  const troubles: string[] = [];
  if (keys.length + overrides.length > 0) {
    troubles.push(
      `The database is empty. ${counts(keys.length, overrides.length)} apply only from the copies in the data folder: ${[...keys, ...overrides].join(", ")}. \`inkling database adopt\` writes them into the database; \`inkling database confirm\` discards them.`,
    );
  }
  if (went_back !== null) {
    const { audit_sequence_known, audit_sequence_now, revocations_kept } = went_back;
    const kept =
      revocations_kept.length === 0
        ? "No key was revoked in the day before."
        : `These keys, revoked in the day before, stay revoked: ${revocations_kept.join(", ")}.`;
    troubles.push(
      `The database went back to an earlier state: audit entry ${audit_sequence_known} is not in it, its newest is ${audit_sequence_now}. ${kept} Restore the newest backup, or accept the database as it is with \`inkling database confirm\`.`,
    );
  }
  for (const { id, at, actor } of unstored_revocations) {
    troubles.push(
      `The revocation of ${id} by ${actor} at ${at} is not stored yet: the server of this data folder stores it once the database can be written.`,
    );
  }
  return troubles;
}

export const counts = (keys: number, overrides: number) =>
  `${formatCount(keys)} ${keys === 1 ? "key" : "keys"} and ${formatCount(overrides)} ${overrides === 1 ? "override" : "overrides"}`;
