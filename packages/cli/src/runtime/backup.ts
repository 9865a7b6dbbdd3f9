// backup.ts: creates and restores backups, and copies a database to another one. Commands only print what these
// functions return.
//
// A restore copies rows in one transaction and does not replace the file, because a running server, and SQLite itself,
// would continue with the replaced file. Only a file that this version cannot open is put aside.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Settings } from "@inkling/contract";
import {
  DATA_FOLDER,
  messageOf,
  type Owner,
  PRIVATE_FILE,
  prepareOutput,
  replaceFile,
  temporaryPath,
} from "@inkling/data";
import {
  type Author,
  openStore,
  parseRevocations,
  type ReplacedAdminTokens,
  RevokedFile,
  type RowCounts,
  type Store,
  StoreError,
} from "@inkling/store";
import { isSharedDatabase } from "@inkling/store/store";
import { databaseFile, type LoadedSettings, maskUrl } from "../config/settings.ts";
import { CliError, usage, writingTo } from "../terminal/errors.ts";
import { Archive, damaged, type Manifest, OWNER_ONLY, otherTables, writeArchive } from "./backup-archive.ts";
import { ensureWritable } from "./data-folder.ts";
import { withExistingStore, withNewStore } from "./store.ts";

const DATABASE = DATA_FOLDER.database;
/** The settings file's name in an archive. A restore leaves it out, because it belongs to the operator. */
export const SETTINGS_FILE = "inkling.toml";
/**
 * The data-folder files that a backup contains, each with a check that throws. All other files can be created again, or
 * belong only to this host.
 */
const DATA_FILES: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  [DATA_FOLDER.feedChoice]: async (text) =>
    (await import("@inkling/compiler/feed-choice")).parseFeedChoice(text, "it"),
  [DATA_FOLDER.channel]: async (text) => (await import("@inkling/data/channel")).parseTrustState(text),
  [DATA_FOLDER.revoked]: async (text) => {
    const [line] = parseRevocations(text).invalid;
    if (line !== undefined) throw new Error(`${JSON.stringify(line.slice(0, 100))} is not a revocation`);
  },
};
/** The same name for every backup in a folder, so that the next backup removes what a killed one left. */
const TEMPORARY_COPY = "inkling-backup.db";
const TRAIL = "inkling_audit";
/** Time limit for copying a whole database, in milliseconds. */
const TIMEOUT_MS = 6 * 3_600_000;
/** The suffixes of the files that SQLite keeps for one database. */
const SQLITE_FILES = ["", "-wal", "-shm", "-journal"] as const;
const SQLITE = "sqlite://";

interface BackupInput {
  readonly loaded: Pick<LoadedSettings, "settings" | "file">;
  readonly path: string;
  /** This version of Inkling. */
  readonly program: string;
}

/**
 * Writes an archive of the SQLite database, feeds.json, channel.json, `revoked` and the settings file. A PostgreSQL
 * database is left out.
 * @param decisions whether to include stored decisions
 * @throws CliError, StoreError; an existing file then remains unchanged
 */
export async function createBackup(input: BackupInput, decisions: boolean): Promise<Manifest> {
  const { settings } = input.loaded;
  if (isSharedDatabase(settings.databaseUrl)) return writeBackup(input, "process");
  return withExistingStore(settings, () => writeWithDatabase(input, "process", decisions));
}

/** @param database a copy of the database */
function writeBackup(
  { loaded: { settings, file }, path, program }: BackupInput,
  owner: Owner,
  database?: { readonly path: string; readonly decisions: boolean; readonly rows: RowCounts },
): Manifest {
  const paths = Object.keys(DATA_FILES).map((name) => [name, join(settings.dataDir, name)] as const);
  if (file !== undefined) paths.push([SETTINGS_FILE, file]);
  const found = paths.filter(([, from]) => existsSync(from));
  const files = found.map(([name, from]) => ({ name, content: readFileSync(from) }));
  if (database === undefined)
    return writeArchive(path, owner, { program, decisions: false, rows: {} }, files);
  const { decisions, rows } = database;
  const copy = { name: DATABASE, path: database.path };
  return writeArchive(path, owner, { program, decisions, rows }, [copy, ...files]);
}

function writeWithDatabase(input: BackupInput, owner: Owner, decisions: boolean): Promise<Manifest> {
  const { path, loaded } = input;
  return withTemporary(join(dirname(path), TEMPORARY_COPY), async (copy) => {
    // "wx" follows no link of another user.
    writingTo(path, () => writeFileSync(copy, "", { mode: OWNER_ONLY, flag: "wx" }));
    const rows = await withLongStore(loaded.settings.databaseUrl, (store) =>
      store.copy.writeTo(copy, decisions).catch((error) => {
        if (!(error instanceof StoreError) || !error.isReadOnly) throw error;
        // The database is only read, so the full disk is that of the copy.
        const hint = "free space for a copy of the database, or choose another folder";
        throw new CliError(`${path}: no space left on the disk`, hint);
      }),
    );
    return writeBackup(input, owner, { path: copy, decisions, rows });
  });
}

interface RestoreInput extends BackupInput {
  /** Whether to replace what is there. */
  readonly force: boolean;
  /** Whether to replace all admin tokens of the backup. */
  readonly rotateTokens: boolean;
  readonly by: Author;
}

export interface Restored {
  readonly manifest: Manifest;
  /** The files that were restored. */
  readonly files: readonly string[];
  /** Files in the archive that cannot be used. */
  readonly ignored: readonly { readonly name: string; readonly why: string }[];
  /** Files that this host keeps. */
  readonly left: readonly string[];
  /** Where the old data is; undefined if there was none. */
  readonly before: string | undefined;
  /** The tokens that `rotateTokens` replaced. */
  readonly tokens: ReplacedAdminTokens | undefined;
}

/**
 * Restores an archive. Checks all of it before anything changes.
 * @throws CliError, StoreError; the database is then unchanged
 */
export async function restoreBackup(input: RestoreInput): Promise<Restored> {
  const archive = new Archive(input.path);
  try {
    const { settings } = input.loaded;
    const { dataDir } = settings;
    const { manifest } = archive;
    const hasDatabase = archive.has(DATABASE);
    if (input.rotateTokens && !hasDatabase)
      throw new CliError("the backup has no database, and so no admin tokens", "leave out --rotate-tokens");
    const { replaced, revoked, restored, ignored, left } = await sortFiles(archive, dataDir);
    ensureWritable(dataDir); // before anything changes
    const folder = dirname(databaseFile(settings) ?? join(dataDir, DATABASE));
    return await withTemporary(join(folder, DATABASE), async (from) => {
      const tokens = hasDatabase ? await extractDatabase(archive, from, input) : undefined;
      const found = hasDatabase ? await inspect(settings) : undefined;
      const isFileLost = replaced.some(({ path }) => existsSync(path));
      const { before, undo } = await keepOld(input, found, isFileLost, manifest.decisions);
      try {
        // A running server reads this list, and may append to it at the same time.
        const list = new RevokedFile(join(dataDir, DATA_FOLDER.revoked));
        writingTo(list.path, () => list.add(parseRevocations(revoked).revocations));
        if (hasDatabase) await copyRows(input, manifest, from);
      } catch (error) {
        undo(error);
      }
      for (const { path, text } of replaced)
        writingTo(path, () => replaceFile(path, [text], { mode: PRIVATE_FILE }));
      const files = hasDatabase ? [DATABASE, ...restored] : restored;
      return { manifest, files, ignored, left, before, tokens };
    });
  } finally {
    archive.close();
  }
}

/**
 * Decides about each file of an archive. A file of another version must not prevent the keys from being restored. A
 * channel's version must only increase, so a host that follows a channel keeps its own channel file.
 */
async function sortFiles(archive: Archive, dataDir: string) {
  const replaced: { readonly path: string; readonly text: string }[] = [];
  const restored: string[] = [];
  const ignored: { readonly name: string; readonly why: string }[] = [];
  const left: string[] = [];
  let revoked = "";
  for (const { name } of archive.manifest.files) {
    if (name === DATABASE || name === SETTINGS_FILE) continue;
    const check = Object.hasOwn(DATA_FILES, name) ? DATA_FILES[name] : undefined;
    if (check === undefined) {
      ignored.push({ name, why: "this version of Inkling does not support it" });
      continue;
    }
    const text = archive.text(name);
    try {
      await check(text);
    } catch (error) {
      ignored.push({ name, why: messageOf(error).replace(/\s+/g, " ").slice(0, 200) });
      continue;
    }
    const path = join(dataDir, name);
    const old = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    if (name === DATA_FOLDER.revoked) {
      revoked = text;
      restored.push(name);
    } else if (name === DATA_FOLDER.channel && old !== undefined) {
      if (old !== text) left.push(name);
    } else if (old !== text) {
      replaced.push({ path, text });
      restored.push(name);
    }
  }
  return { replaced, revoked, restored, ignored, left };
}

/** Extracts the database, brings it up to date, and replaces its admin tokens if asked to. */
async function extractDatabase(
  archive: Archive,
  to: string,
  { path, by, rotateTokens }: RestoreInput,
): Promise<ReplacedAdminTokens | undefined> {
  archive.extract(DATABASE, to);
  try {
    return await withLongStore(`${SQLITE}${to}`, async (store) =>
      rotateTokens ? store.adminToken.replaceAll(by) : undefined,
    );
  } catch (error) {
    if (error instanceof StoreError && error.code === "NEWER")
      throw otherTables(path, archive.manifest.program);
    if (isDamage(error)) throw damaged(path, `${DATABASE} is invalid`);
    throw error;
  }
}

/**
 * Keeps the old data: as a backup, or as the database's file if this version cannot use the database.
 * @param found what {@link inspect} found; undefined if the restore replaces no database
 * @param isFileLost whether the restore replaces files
 * @throws CliError if there is data to replace, and `force` is not set
 */
async function keepOld(
  input: RestoreInput,
  found: string[] | StoreError | undefined,
  isFileLost: boolean,
  decisions: boolean,
): Promise<{
  readonly before: string | undefined;
  /** Restores the database's file after a failed restore, and throws the error. */
  readonly undo: (error: unknown) => never;
}> {
  const { settings } = input.loaded;
  const { databaseUrl, dataDir } = settings;
  const file = databaseFile(settings); // undefined for PostgreSQL
  const path = freeName(join(dataDir, `${basename(input.path)}.before`));
  const isNew = file !== undefined && !existsSync(file);
  const undo = (error: unknown) => {
    if (isNew) removeDatabase(file);
    throw error;
  };
  if (found instanceof StoreError) return putAside(input, file!, found);
  if (file === undefined && found !== undefined && found.length > 0) {
    throw new CliError(
      `the target is not empty: ${maskUrl(databaseUrl)}`,
      "create an empty database, and set INKLING_DATABASE_URL to it",
    );
  }
  // A database that contains only an audit trail, as after `data update`, can be replaced without --force, but it is
  // kept.
  const isFilled = found?.some((table) => table !== TRAIL) ?? false;
  if ((isFileLost || isFilled) && !input.force) {
    throw new CliError(
      `the target is not empty: ${isFilled ? maskUrl(databaseUrl) : dataDir}`,
      `use \`--force\` to replace it; the old data is kept as ${path}`,
    );
  }
  if (!isFileLost && (found ?? []).length === 0) return { before: undefined, undo };
  try {
    if (file === undefined || found === undefined) writeBackup({ ...input, path }, "folder");
    else await writeWithDatabase({ ...input, path }, "folder", decisions);
    return { before: path, undo };
  } catch (error) {
    // Damage in the middle of a file shows only when all of it is read.
    if (isDamage(error)) return putAside(input, file!, error);
    throw error;
  }
}

/** Puts aside a database that this version cannot use. */
function putAside({ force }: RestoreInput, file: string, { message }: StoreError) {
  const before = freeName(`${file}.before`);
  if (!force) throw new CliError(message, `use \`--force\` to replace it; the file is kept as ${before}`);
  moveDatabase(file, before);
  const undo = (error: unknown) => {
    removeDatabase(file);
    moveDatabase(before, file);
    throw error;
  };
  return { before, undo };
}

/** Replaces the rows of the database by those of an extracted one, in one transaction. */
function copyRows({ loaded, by }: RestoreInput, { created_at, files, decisions }: Manifest, from: string) {
  const { databaseUrl } = loaded.settings;
  return withLongStore(databaseUrl, (store) =>
    store.copy.take({
      from,
      what: "backup",
      decisions,
      replace: !isSharedDatabase(databaseUrl),
      action: "database-restored",
      by,
      about: { created_at, sha256: files.find(({ name }) => name === DATABASE)?.sha256 },
    }),
  );
}

/**
 * Lists the tables with rows, or returns why this version cannot use the SQLite database.
 * @returns undefined if there is no database
 */
async function inspect(settings: Settings): Promise<string[] | StoreError | undefined> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return undefined;
  try {
    return await withNewStore(settings, (store) => store.copy.filled());
  } catch (error) {
    if (!(error instanceof StoreError) || file === undefined) throw error;
    if (error.code !== "NEWER" && error.code !== "DAMAGED") throw error;
    return error;
  }
}

const isDamage = (error: unknown): error is StoreError =>
  error instanceof StoreError && error.code === "DAMAGED";

function moveDatabase(from: string, to: string): void {
  for (const suffix of SQLITE_FILES) if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
}

function removeDatabase(file: string): void {
  for (const suffix of SQLITE_FILES) rmSync(file + suffix, { force: true });
}

/**
 * Copies all tables of an SQLite database to the empty database of the settings. Its URL is not a flag, because other
 * users of the machine could read the password.
 * @param from the file of the SQLite database
 * @throws CliError, StoreError; the target then remains empty
 */
export async function copyDatabase(
  settings: Settings,
  from: string,
  by: Author,
  onRows: (table: string, done: number, total: number) => void,
): Promise<{ readonly from: string; readonly to: string; readonly rows: RowCounts }> {
  const to = settings.databaseUrl;
  if (!isSharedDatabase(to)) {
    throw usage(
      `the database of the settings is not a PostgreSQL database: ${maskUrl(to)}`,
      "set `INKLING_DATABASE_URL`, or write `credentials/database_url` next to the settings file: " +
        "postgres://USER:PASSWORD@HOST:5432/DATABASE",
    );
  }
  const source = await withExistingStore(
    { ...settings, databaseUrl: `${SQLITE}${from}` },
    async (store) => store.label,
  );
  return withLongStore(to, async (store) => {
    const rows = await store.copy.take({
      from,
      what: "everything",
      decisions: true,
      replace: false,
      action: "database-copied",
      by,
      about: { from: source },
      onRows,
    });
    return { from: source, to: store.label, rows };
  });
}

/** Opens a database for a transaction that may take long. */
async function withLongStore<T>(databaseUrl: string, work: (store: Store) => Promise<T>): Promise<T> {
  await (await openStore(databaseUrl)).close(); // fails within the usual time limit
  const store = await openStore(databaseUrl, { timeoutMs: TIMEOUT_MS });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Calls `work` with a temporary name beside `path`, and removes the SQLite files that it creates there. */
async function withTemporary<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
  for (const suffix of SQLITE_FILES) prepareOutput(path + suffix); // removes what a killed process left
  const temporary = temporaryPath(path);
  removeDatabase(temporary);
  try {
    return await work(temporary);
  } finally {
    removeDatabase(temporary);
  }
}

/** Returns the first of FILE.before, FILE.before-2 and so on that does not exist yet. */
function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? path : `${path}-${n}`;
    if (!existsSync(name)) return name;
  }
}
