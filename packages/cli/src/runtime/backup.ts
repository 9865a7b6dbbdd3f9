// backup.ts: creates and restores backups, and copies a database to another one. Commands only print what these
// functions return.
//
// A restore copies rows in one transaction and does not replace the file, because a running server, and SQLite itself,
// would continue with the replaced file. Only a file that this version cannot open is put aside.

import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Settings } from "@inkling/contract";
import {
  AtomicFile,
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
import { CliError, EXIT, explainFileError, explainTargetError } from "../terminal/errors.ts";
import { Archive, damaged, type Manifest, newerBackup, writeArchive } from "./backup-archive.ts";
import { ensureWritable } from "./data-folder.ts";
import { withExistingStore, withNewStore } from "./store.ts";

/** The data-folder files that a backup contains. All other files can be created again, or belong only to this host. */
const DATA_FILES = [DATA_FOLDER.feedChoice, DATA_FOLDER.channel, DATA_FOLDER.revoked] as const;
const DATABASE = DATA_FOLDER.database;
/** The same name for every backup in a folder, so that the next backup removes what a killed one left. */
const TEMPORARY_COPY = "inkling-backup.db";
/** The settings file's name in an archive. A restore leaves it out, because it belongs to the operator. */
export const SETTINGS_FILE = "inkling.toml";
const OWNER_ONLY = 0o600;
const TRAIL = "inkling_audit";
/** Time limit for copying a whole database, in milliseconds. */
const TIMEOUT_MS = 6 * 3_600_000;
/** The suffixes of the files that SQLite keeps for one database. */
const SQLITE_FILES = ["", "-wal", "-shm", "-journal"] as const;
const SQLITE = "sqlite://";

interface BackupInput {
  readonly loaded: Pick<LoadedSettings, "settings" | "file">;
  readonly path: string;
  /** Whether to include stored decisions. */
  readonly decisions: boolean;
  /** This version of Inkling. */
  readonly program: string;
  readonly owner: Owner;
}

export interface Backup {
  readonly manifest: Manifest;
  /** The size of the archive. */
  readonly bytes: number;
  /** The PostgreSQL database that the archive does not contain. */
  readonly missingDatabase: string | undefined;
}

/**
 * Writes an archive of the SQLite database, feeds.json, channel.json, `revoked` and the settings file.
 * @throws CliError, StoreError; an existing file then remains unchanged
 */
export async function createBackup(input: BackupInput): Promise<Backup> {
  const { settings } = input.loaded;
  const isShared = isSharedDatabase(settings.databaseUrl);
  const manifest = isShared
    ? await writeBackup(input, false)
    : await withExistingStore(settings, () => writeBackup(input, true));
  return {
    manifest,
    bytes: statSync(input.path).size,
    missingDatabase: isShared ? maskUrl(settings.databaseUrl) : undefined,
  };
}

async function writeBackup(input: BackupInput, hasDatabase: boolean): Promise<Manifest> {
  const { path, decisions, program, owner } = input;
  const { settings, file: settingsFile } = input.loaded;
  const files = DATA_FILES.map((name) => ({ name: name as string, path: join(settings.dataDir, name) }));
  if (settingsFile !== undefined) files.push({ name: SETTINGS_FILE, path: settingsFile });
  const found = files.filter((file) => existsSync(file.path));
  if (!hasDatabase) return writeArchive(path, owner, { program, decisions: false, rows: {} }, found);
  return withTemporary(join(dirname(path), TEMPORARY_COPY), async (copy) => {
    createEmpty(copy, path);
    const rows = await withLongStore(settings.databaseUrl, (store) =>
      store.copy.writeTo(copy, decisions).catch((error) => {
        // The database is only read, so the full disk is that of the copy.
        throw error instanceof StoreError && error.isReadOnly ? fullDisk(path) : error;
      }),
    );
    return writeArchive(path, owner, { program, decisions, rows }, [
      { name: DATABASE, path: copy },
      ...found,
    ]);
  });
}

interface RestoreInput extends Omit<BackupInput, "decisions" | "owner"> {
  /** Whether to replace what is there. */
  readonly force: boolean;
  /** Whether to replace all admin tokens of the backup. */
  readonly rotateTokens: boolean;
  readonly by: Author;
}

export interface Ignored {
  readonly name: string;
  readonly why: string;
}

export interface Restored {
  readonly manifest: Manifest;
  /** The files that were restored. */
  readonly files: readonly string[];
  /** Files in the archive that cannot be used. */
  readonly ignored: readonly Ignored[];
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
    const { manifest } = archive;
    const hasDatabase = archive.has(DATABASE);
    if (input.rotateTokens && !hasDatabase)
      throw new CliError("the backup has no database, and so no admin tokens", "leave out --rotate-tokens");
    const { files, ignored } = await checkFiles(archive);
    const { targets, left } = filesToWrite(settings, files);
    const isFileThere = targets.some(({ isThere }) => isThere);
    ensureWritable(settings.dataDir); // before anything changes
    addRevoked(settings.dataDir, files);
    const folder = dirname(databaseFile(settings) ?? join(settings.dataDir, DATABASE));
    return await withTemporary(join(folder, DATABASE), async (from) => {
      if (hasDatabase) archive.extract(DATABASE, from);
      const tokens = hasDatabase ? await prepare(input, manifest, from) : undefined;
      const keepAs = freeName(join(settings.dataDir, `${basename(input.path)}.before`));
      const there = { keepAs, isFileThere };
      const before = hasDatabase
        ? await replaceDatabase(input, manifest, from, there)
        : await keepFiles(input, there);
      for (const target of targets) write(target);
      const restored = targets.map(({ name }) => name);
      if (files.some(({ name }) => name === DATA_FOLDER.revoked)) restored.push(DATA_FOLDER.revoked);
      return {
        manifest,
        files: hasDatabase ? [DATABASE, ...restored] : restored,
        ignored,
        left,
        before,
        tokens,
      };
    });
  } finally {
    archive.close();
  }
}

/** Brings the extracted database up to date, and replaces its admin tokens if asked to. */
async function prepare({ path, by, rotateTokens }: RestoreInput, { program }: Manifest, from: string) {
  try {
    return await withLongStore(`${SQLITE}${from}`, (store) =>
      rotateTokens ? store.adminToken.replaceAll(by) : Promise.resolve(undefined),
    );
  } catch (error) {
    if (error instanceof StoreError && error.code === "NEWER") throw newerBackup(path, program);
    if (error instanceof StoreError && error.code === "DAMAGED")
      throw damaged(path, `${DATABASE} is invalid`);
    throw error;
  }
}

/** What a restore finds. */
interface There {
  /** Where to keep the old data. */
  readonly keepAs: string;
  /** Does a file exist that the restore would replace? */
  readonly isFileThere: boolean;
}

/** @returns where the old data is */
async function replaceDatabase(
  input: RestoreInput,
  { created_at, files, decisions }: Manifest,
  from: string,
  { keepAs, isFileThere }: There,
): Promise<string | undefined> {
  const { settings } = input.loaded;
  const { databaseUrl } = settings;
  const isShared = isSharedDatabase(databaseUrl);
  const sha256 = files.find(({ name }) => name === DATABASE)?.sha256;
  const take = () =>
    withLongStore(databaseUrl, (store) =>
      store.copy.take({
        from,
        what: "backup",
        decisions,
        replace: !isShared,
        action: "database-restored",
        by: input.by,
        about: { created_at, sha256 },
      }),
    );
  const found = await inspect(settings);
  if (found instanceof StoreError) return replaceUnusable(input, found, take);
  if (isShared && found !== undefined && found.length > 0) {
    throw new CliError(
      `the target is not empty: ${maskUrl(databaseUrl)}`,
      "create an empty database, and set INKLING_DATABASE_URL to it",
    );
  }
  // A database that contains only an audit trail, as after `data update`, can be replaced without --force, but it is
  // kept.
  const isFilled = found?.some((table) => table !== TRAIL) ?? false;
  if ((isFileThere || isFilled) && !input.force)
    throw notEmpty(isFilled ? maskUrl(databaseUrl) : settings.dataDir, keepAs);
  let before: string | undefined;
  if (isFileThere || (found?.length ?? 0) > 0) {
    try {
      before = await keepOld(input, keepAs, { hasDatabase: !isShared && found !== undefined, decisions });
    } catch (error) {
      // Damage in the middle of a file shows only when all of it is read.
      if (!(error instanceof StoreError) || error.code !== "DAMAGED") throw error;
      return replaceUnusable(input, error, take);
    }
  }
  try {
    await take();
  } catch (error) {
    if (found === undefined) removeDatabase(databaseFile(settings)!);
    throw error;
  }
  return before;
}

/** @returns where the old files are */
async function keepFiles(input: RestoreInput, { keepAs, isFileThere }: There): Promise<string | undefined> {
  if (!isFileThere) return undefined;
  if (!input.force) throw notEmpty(input.loaded.settings.dataDir, keepAs);
  return keepOld(input, keepAs, { hasDatabase: false, decisions: false });
}

/**
 * Lists the tables with rows, or returns why this version cannot use the database.
 * @returns undefined if there is no database
 */
async function inspect(settings: Settings): Promise<string[] | StoreError | undefined> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return undefined;
  try {
    return await withNewStore(settings, (store) => store.copy.filled());
  } catch (error) {
    const isUnusable = error instanceof StoreError && (error.code === "NEWER" || error.code === "DAMAGED");
    if (isUnusable && file !== undefined) return error;
    throw error;
  }
}

/** Puts aside the files of a database that cannot be used, and puts them back if the restore fails. */
async function replaceUnusable(
  { loaded, force }: RestoreInput,
  reason: StoreError,
  take: () => Promise<unknown>,
): Promise<string> {
  const file = databaseFile(loaded.settings)!;
  const aside = freeName(`${file}.before`);
  if (!force)
    throw new CliError(reason.message, `use \`--force\` to replace it; the file is kept as ${aside}`);
  moveDatabase(file, aside);
  try {
    await take();
  } catch (error) {
    removeDatabase(file);
    moveDatabase(aside, file);
    throw error;
  }
  return aside;
}

function moveDatabase(from: string, to: string): void {
  for (const suffix of SQLITE_FILES) if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
}

function removeDatabase(file: string): void {
  for (const suffix of SQLITE_FILES) rmSync(file + suffix, { force: true });
}

async function keepOld(
  input: RestoreInput,
  path: string,
  { hasDatabase, decisions }: { readonly hasDatabase: boolean; readonly decisions: boolean },
): Promise<string> {
  await writeBackup({ ...input, path, decisions, owner: "folder" }, hasDatabase);
  return path;
}

export interface Copied {
  readonly from: string;
  readonly to: string;
  readonly rows: RowCounts;
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
): Promise<Copied> {
  const to = settings.databaseUrl;
  if (!isSharedDatabase(to)) {
    throw new CliError(
      `the database of the settings is not a PostgreSQL database: ${maskUrl(to)}`,
      "set `INKLING_DATABASE_URL`, or write `credentials/database_url` next to the settings file: " +
        "postgres://USER:PASSWORD@HOST:5432/DATABASE",
      EXIT.usage,
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

/** @param shown the file that the user named */
function createEmpty(path: string, shown: string): void {
  try {
    const file = new AtomicFile(path, OWNER_ONLY, "process");
    file.commit();
  } catch (error) {
    throw explainTargetError(error, shown);
  }
}

interface Target {
  readonly name: string;
  readonly text: string;
  readonly path: string;
  /** Does the file exist with different content, which would be lost? */
  readonly isThere: boolean;
}

/** A check for each file. */
const CHECKS: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  [DATA_FOLDER.feedChoice]: async (text) =>
    (await import("@inkling/compiler/feed-choice")).parseFeedChoice(text, "it"),
  [DATA_FOLDER.channel]: async (text) => (await import("@inkling/data/channel")).parseTrustState(text),
  [DATA_FOLDER.revoked]: async (text) => {
    const [line] = parseRevocations(text).invalid;
    if (line !== undefined) throw new Error(`${JSON.stringify(line.slice(0, 100))} is not a revocation`);
  },
};

type TextFile = Pick<Target, "name" | "text">;

/**
 * Separates files that can be restored from files that cannot. A file of another version must not prevent the keys from
 * being restored.
 */
async function checkFiles(
  archive: Archive,
): Promise<{ readonly files: readonly TextFile[]; readonly ignored: readonly Ignored[] }> {
  const files: TextFile[] = [];
  const ignored: Ignored[] = [];
  for (const { name } of archive.manifest.files) {
    if (name === DATABASE || name === SETTINGS_FILE) continue;
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    if (check === undefined) {
      ignored.push({ name, why: "this version of Inkling does not support it" });
      continue;
    }
    const text = archive.text(name);
    try {
      await check(text);
      files.push({ name, text });
    } catch (error) {
      ignored.push({ name, why: messageOf(error).replace(/\s+/g, " ").slice(0, 200) });
    }
  }
  return { files, ignored };
}

/** Adds the revocations of the backup to this host's. A running server reads them, and may append at the same time. */
function addRevoked(dataDir: string, files: readonly TextFile[]): void {
  const text = files.find(({ name }) => name === DATA_FOLDER.revoked)?.text ?? "";
  const path = join(dataDir, DATA_FOLDER.revoked);
  try {
    new RevokedFile(path).add(parseRevocations(text).revocations);
  } catch (error) {
    throw explainTargetError(error, path);
  }
}

/**
 * Returns the data-folder files to restore, and the names of the files that this host keeps. A channel's version must
 * only increase, so a host that follows a channel keeps its own channel file.
 */
function filesToWrite({ dataDir }: Settings, files: readonly TextFile[]) {
  const targets: Target[] = [];
  const left: string[] = [];
  for (const { name, text } of files) {
    if (!DATA_FILES.some((one) => one === name) || name === DATA_FOLDER.revoked) continue;
    const path = join(dataDir, name);
    const isThere = existsSync(path);
    if (isThere && read(path) === text) continue; // already restored
    if (isThere && name === DATA_FOLDER.channel) left.push(name);
    else targets.push({ name, text, path, isThere });
  }
  return { targets, left };
}

function write({ path, text }: Target): void {
  try {
    replaceFile(path, [text], { mode: PRIVATE_FILE });
  } catch (error) {
    throw explainTargetError(error, path);
  }
}

const fullDisk = (path: string): CliError =>
  new CliError(
    `${path}: no space left on the disk`,
    "free space for a copy of the database, or choose another folder",
  );

const notEmpty = (what: string, keepAs: string): CliError =>
  new CliError(
    `the target is not empty: ${what}`,
    `use \`--force\` to replace it; the old data is kept as ${keepAs}`,
  );

/** Returns the first of FILE.before, FILE.before-2 and so on that does not exist yet. */
function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? path : `${path}-${n}`;
    if (!existsSync(name)) return name;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw explainFileError(error, path);
  }
}
