// store.ts: opens the database for one command, compares it with the servers' copies, and adds an audit entry for each
// change.
//
// err  CliError with a hint; StoreError if the audit entry can neither be stored nor kept for later, in which case
//      nothing was changed

import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/release-store";
import {
  type Copies,
  findLeftovers,
  type HostEntry,
  holdsMadeKeys,
  judge,
  type Leftovers,
  onlyInCopies,
  openStore,
  RevocationFile,
  readCopies,
  readKeySnapshot,
  readRemembered,
  type Store,
  StoreError,
  storeWaiting,
  withEntry,
} from "@inkling/store";
import { databaseFile } from "../config/settings.ts";
import { cliActor } from "../config/user.ts";
import { CliError } from "../terminal/errors.ts";
import { type ErrorOutput, formatCount, warn } from "../terminal/terminal.ts";
import { ensureWritable } from "./data-folder.ts";

/** Does the data folder have a copy of a database in which keys were created? */
export function knowsKeys(dataDir: string): boolean {
  try {
    return holdsMadeKeys(readKeySnapshot(readFileSync(join(dataDir, DATA_FOLDER.keys), "utf8")));
  } catch {
    return false; // the copy is missing or damaged; the server reports that
  }
}

/**
 * Returns the error if no command may create the SQLite file, because a new database would invalidate the keys that the
 * data folder still contains. Returns undefined if a command may create it.
 */
export function lostDatabase(settings: Settings): StoreError | undefined {
  const file = databaseFile(settings);
  if (file === undefined || existsSync(file) || !knowsKeys(settings.dataDir)) return undefined;
  return new StoreError(
    "AWAY",
    `the database was lost: ${file} does not exist, but ${join(settings.dataDir, DATA_FOLDER.keys)} has its keys`,
    "restore a backup with `inkling restore FILE`, or run `inkling database adopt`; if the database is elsewhere, fix INKLING_DATABASE_URL",
  );
}

function requireNotLost(settings: Settings): void {
  const lost = lostDatabase(settings);
  if (lost !== undefined) throw lost;
}

/**
 * Opens the store, passes it to `work`, and closes it.
 * @throws StoreError, with its own hint, if the database cannot be used or was lost
 */
export async function withStore<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  requireNotLost(settings);
  return withNewStore(settings, work);
}

/**
 * Like {@link withStore}, but may create a database to replace a lost one. Use it only for work that keeps the lost
 * database's keys or writes them back.
 */
export async function withNewStore<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  if (settings.databaseUrl === defaultDatabase(settings)) ensureWritable(settings.dataDir);
  return withOpened(settings, work);
}

/**
 * Like {@link withStore}, but for commands that create nothing. They do not create a database either, so a misspelt
 * folder is an error.
 * @throws CliError if there is no database; StoreError if it was lost
 */
export async function withExistingStore<T>(
  settings: Settings,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  requireNotLost(settings);
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) {
    throw new CliError(
      `there is no database yet: ${file} does not exist`,
      "check --data-dir and INKLING_DATABASE_URL: `inkling config` shows the active settings",
    );
  }
  return withOpened(settings, work);
}

/**
 * Warns if a command is about to create the database. A server that uses another database will not see the
 * change.
 * @returns whether the command is about to create it
 */
export function warnOfNewDatabase(settings: Settings, terminal: ErrorOutput): boolean {
  if (!lacksDatabase(settings)) return false;
  warn(
    terminal,
    `creating a new database at ${databaseFile(settings)}; a running server that uses a different database will not see this change`,
  );
  return true;
}

/** Returns whether there is no database yet, so that a change creates it. */
export function lacksDatabase(settings: Settings): boolean {
  const file = databaseFile(settings);
  return file !== undefined && !existsSync(file) && lostDatabase(settings) === undefined;
}

async function withOpened<T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(settings.databaseUrl, {
    onUnreadable: ({ table, id, reason }) =>
      process.stderr.write(
        `warning: this version of Inkling cannot read all of ${id} (${table}): ${reason}. Upgrade it.\n`,
      ),
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Returns the URL of the database in the data folder. */
const defaultDatabase = (settings: Settings) => `sqlite://${settings.dataDir}/${DATA_FOLDER.database}`;

/** Records an action of this user, then performs it. */
export async function audited<T>(
  settings: Settings,
  terminal: ErrorOutput,
  entry: Omit<HostEntry, "actor" | "way">,
  change: () => T | Promise<T>,
): Promise<T> {
  return auditedBy(settings, { ...cliActor(), ...entry }, change, (reason) =>
    warn(terminal, `the audit entry is kept in ${settings.dataDir} until the database accepts it: ${reason}`),
  );
}

/** @param onWaiting called with the reason if the audit entry has to wait for the database */
export async function auditedBy<T>(
  settings: Settings,
  entry: HostEntry,
  change: () => T | Promise<T>,
  onWaiting: (reason: string) => void,
): Promise<T> {
  const { dataDir, databaseUrl } = settings;
  const lost = lostDatabase(settings);
  if (lost !== undefined) {
    return withEntry({ record: () => Promise.reject(lost) }, dataDir, entry, change, onWaiting);
  }
  if (databaseUrl === defaultDatabase(settings)) ensureWritable(dataDir);
  const store = await openStore(databaseUrl, { mayBeAway: true });
  try {
    await storeWaiting(store.overrides, dataDir).catch(ignoreAway);
    return await withEntry(store.overrides, dataDir, entry, change, onWaiting);
  } finally {
    await store.close();
  }
}

/** Ignores an unreachable database, because entries that wait for it keep waiting. */
export function ignoreAway(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
}

export const ONLY_IN_COPIES =
  "the database is empty: the entries below apply only from the copies in the data folder (origin: copy); `inkling database adopt` writes them into the database";

/** Compares the database with what a server on this data folder remembers. */
export async function databaseState(store: Store, { dataDir }: Settings): Promise<DatabaseState> {
  const known = readRemembered(join(dataDir, DATA_FOLDER.databaseHistory));
  const now = Date.now();
  const found = await store.readHistory(known, now);
  const copies = await onlyInCopies(store, dataDir);
  // A database without any audit entry is empty. In that case, only the data that exists solely in the copies matters.
  const isEmpty = found.last === undefined;
  const wentBack = known === undefined || isEmpty ? null : judge(known, found, now).wentBack;
  const outdated = [
    ...(copies.tokens.length === 0 ? [DATA_FOLDER.keys] : []),
    ...(copies.overrides.length === 0 ? [DATA_FOLDER.overrides] : []),
  ];
  return {
    database: store.label,
    went_back:
      wentBack === null
        ? null
        : {
            noticed_at: new Date(wentBack.at).toISOString(),
            audit_sequence_known: wentBack.from,
            audit_sequence_now: wentBack.to,
            revocations_kept: found.takenBack.revoked.map(({ id }) => id),
          },
    missing_file: null,
    leftovers: await findLeftovers(store, dataDir, wentBack === null ? [] : outdated),
    ...stateOfCopies(copies, dataDir),
  };
}

/** Returns the state of a database whose file is missing. Reads only the data folder. */
export function lostDatabaseState({ dataDir, databaseUrl }: Settings): DatabaseState {
  const { revoked = [] } = readRemembered(join(dataDir, DATA_FOLDER.databaseHistory)) ?? {};
  return {
    database: databaseUrl,
    went_back: null,
    missing_file: { revocations_kept: revoked.map(({ id }) => id) },
    leftovers: [],
    ...stateOfCopies(readCopies(dataDir), dataDir),
  };
}

function stateOfCopies({ tokens, overrides }: Copies, dataDir: string) {
  return {
    only_in_copies: {
      keys: [...new Set(tokens.map(({ key }) => key.id))],
      overrides: overrides.map(({ id }) => id),
    },
    unstored_revocations: new RevocationFile(join(dataDir, DATA_FOLDER.revocations))
      .read()
      .map(({ id, at, by, state }) => ({
        id,
        at: new Date(at).toISOString(),
        actor: by.actor,
        applied: state === "applied",
      })),
  };
}

interface DatabaseState extends ReturnType<typeof stateOfCopies> {
  readonly database: string;
  readonly went_back: {
    readonly noticed_at: string;
    readonly audit_sequence_known: number;
    readonly audit_sequence_now: number;
    readonly revocations_kept: readonly string[];
  } | null;
  /** Set if the SQLite file is missing: keys that were revoked in the last day, and remain revoked. */
  readonly missing_file: { readonly revocations_kept: readonly string[] } | null;
  /** Files with keys or overrides that the database lacks. */
  readonly leftovers: readonly Leftovers[];
}

/** Was the database lost or replaced? */
export const isLostOrReplaced = ({ went_back, missing_file, only_in_copies }: DatabaseState) =>
  went_back !== null ||
  missing_file !== null ||
  only_in_copies.keys.length + only_in_copies.overrides.length > 0;

/** Describes each file that has what the database lacks on one line, with the command that helps. */
export const leftoverTexts = ({ leftovers }: DatabaseState): string[] =>
  leftovers.map(({ file, keys, overrides }) => {
    const found = `${file} has ${counts(keys.length, overrides.length)} that the database does not have: ${[...keys, ...overrides].join(", ")}.`;
    const adopt = `\`inkling database adopt ${file}\` writes them into the database.`;
    return basename(file).includes(".before")
      ? `${found} ${adopt} If you do not need them, delete the file.`
      : `${found} ${adopt}`;
  });

/** Describes each problem on one line, with the command that helps. Empty if there is no problem. */
export function databaseTroubles({
  went_back,
  missing_file,
  only_in_copies,
  unstored_revocations,
}: DatabaseState): string[] {
  const { keys, overrides } = only_in_copies;
  const troubles: string[] = [];
  if (keys.length + overrides.length > 0) {
    troubles.push(
      `The database is ${missing_file === null ? "empty" : "missing"}. ${counts(keys.length, overrides.length)} apply only from the copies in the data folder: ${[...keys, ...overrides].join(", ")}. \`inkling database adopt\` writes them into ${missing_file === null ? "the database; `inkling database confirm` discards them" : "a new database"}.`,
    );
  }
  if (missing_file !== null && missing_file.revocations_kept.length > 0) {
    troubles.push(`These keys remain revoked: ${missing_file.revocations_kept.join(", ")}.`);
  }
  if (went_back !== null) {
    const { audit_sequence_known, audit_sequence_now, revocations_kept } = went_back;
    const kept =
      revocations_kept.length === 0
        ? "No revoked key became valid again."
        : `These keys were revoked since then, and remain revoked: ${revocations_kept.join(", ")}.`;
    const newest =
      audit_sequence_now < audit_sequence_known
        ? `the newest entry is ${audit_sequence_now}`
        : "a different entry has this number";
    troubles.push(
      `The database went back to an earlier state: audit entry ${audit_sequence_known} is missing; ${newest}. ${kept} Restore the newest backup, or accept the database as it is with \`inkling database confirm\`.`,
    );
  }
  for (const { id, at, actor, applied } of unstored_revocations) {
    troubles.push(
      applied
        ? `The revocation of ${id} by ${actor} at ${at} is not stored yet. The server of this data folder refuses the key. It stores the revocation when the database accepts writes again.`
        : `The revocation of ${id} by ${actor} at ${at} is waiting for a server of this data folder to confirm it. A running server does so within seconds; otherwise start one.`,
    );
  }
  return troubles;
}

export const counts = (keys: number, overrides: number) =>
  `${formatCount(keys)} ${keys === 1 ? "key" : "keys"} and ${formatCount(overrides)} ${overrides === 1 ? "override" : "overrides"}`;
