// backup.ts: `inkling backup` writes the database and the configuration files to one file, and `inkling database copy`
// moves an installation from SQLite to PostgreSQL. restore.ts reads the file again.

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DATA_FOLDER, type Owner, prepareOutput, temporaryPath } from "@inkling/data";
import { openStore, type RowCounts, type Store, StoreError } from "@inkling/store";
import { isSharedDatabase } from "@inkling/store/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { maskUrl, SQLITE } from "../config/setting-types.ts";
import type { LoadedSettings } from "../config/settings.ts";
import {
  type BackupFile,
  DATA_FILES,
  DATABASE,
  type Manifest,
  OWNER_ONLY,
  SETTINGS_FILE,
  writeArchive,
} from "../runtime/backup-archive.ts";
import { addResultAction, type Context } from "../runtime/command.ts";
import { STDIN_OR_OUT } from "../runtime/input.ts";
import { withExistingStore } from "../runtime/store.ts";
import { CliError, usage, writingTo } from "../terminal/errors.ts";
import { LiveLine } from "../terminal/progress.ts";
import { counted, formatBytes, formatCount, warn } from "../terminal/terminal.ts";

/** The same name for every backup in a folder, so that the next backup removes what a killed one left. */
const TEMPORARY_COPY = "inkling-backup.db";
/** Time limit for copying a whole database, in milliseconds. */
const TIMEOUT_MS = 6 * 3_600_000;
/** The suffixes of the files that SQLite keeps for one database. */
export const SQLITE_FILES = ["", "-wal", "-shm", "-journal"] as const;

export function addBackup(program: Command, context: Context): void {
  const command = program
    .command("backup")
    .description("write the SQLite database, the choice of feeds and the settings to one file")
    .argument("<file>", "tar file to write; only this user can read it")
    .option("--decisions", "include stored decisions")
    .addHelpText(
      "after",
      `
The server can keep running. The file contains keys, usage, overrides, rulesets, webhooks, admin tokens and the audit
trail. It has hashes of keys and admin tokens, not the tokens, but it does contain webhook secrets, and the settings file
with its secrets. Releases are not included: \`inkling data update\` builds them again.

With PostgreSQL, the file has everything but the database. Save the database with pg_dump.

Examples:
  inkling backup inkling.backup
  inkling backup /srv/backup/inkling-$(date +%F).backup
  tar -tf inkling.backup`,
    );
  addResultAction(command, context, ["dataDir"], async (loaded, file: string) => {
    if (file === STDIN_OR_OUT)
      throw usage("a backup cannot be written to standard output", "name a file, such as inkling.backup");
    const path = resolve(context.cwd, file);
    if (existsSync(path)) throw new CliError(`${path} already exists`, "name another file");
    const target = prepareOutput(path) ?? path;
    const { databaseUrl } = loaded.settings;
    const isShared = isSharedDatabase(databaseUrl);
    const part = isShared ? "none" : loaded.flags.decisions ? "all" : "without decisions";
    const write = () => writeBackup(loaded, target, "process", context.version, part);
    const manifest = isShared
      ? await write()
      : await withExistingStore(loaded.settings, context.terminal, write);
    if (isShared)
      warn(
        context.terminal,
        `the file does not contain the database ${maskUrl(databaseUrl)}: save it with pg_dump`,
      );
    const { created_at, program, decisions, rows, files } = manifest;
    const { size: bytes } = statSync(target);
    const names = files.map(({ name }) => name);
    return {
      json: { file: path, bytes, created_at, program, decisions, rows, files },
      text: `Wrote ${path} (${formatBytes(bytes)}): ${listing(rows, names)}.`,
    };
  });
}

/**
 * Writes an archive of the data folder's files, the settings file and the SQLite database.
 * @param program this version of Inkling
 * @param part how much of the database
 * @throws CliError, StoreError; an existing file then remains unchanged
 */
export async function writeBackup(
  { settings, file }: Pick<LoadedSettings, "settings" | "file">,
  path: string,
  owner: Owner,
  program: string,
  part: "none" | "without decisions" | "all",
): Promise<Manifest> {
  const write = (about: Pick<Manifest, "decisions" | "rows">, databases: readonly BackupFile[]) => {
    const files = Object.keys(DATA_FILES).map((name) => ({ name, path: join(settings.dataDir, name) }));
    if (file !== undefined) files.push({ name: SETTINGS_FILE, path: file });
    const found = files.filter((one) => existsSync(one.path));
    const contents = found.map(({ name, path }) => ({ name, content: readFileSync(path) }));
    return writeArchive(path, owner, { program, ...about }, [...databases, ...contents]);
  };
  if (part === "none") return write({ decisions: false, rows: {} }, []);
  const decisions = part === "all";
  return withTemporary(join(dirname(path), TEMPORARY_COPY), async (copy) => {
    // "wx" follows no link of another user.
    writingTo(path, () => writeFileSync(copy, "", { mode: OWNER_ONLY, flag: "wx" }));
    const rows = await withLongStore(settings.databaseUrl, (store) =>
      store.copy.writeTo(copy, decisions).catch((error) => {
        if (!(error instanceof StoreError) || !error.isReadOnly) throw error;
        // The database is only read, so the full disk is that of the copy.
        const hint = "free space for a copy of the database, or choose another folder";
        throw new CliError(`${path}: no space left on the disk`, hint);
      }),
    );
    return write({ decisions, rows }, [{ name: DATABASE, path: copy }]);
  });
}

/** Opens a database for a transaction that may take long. */
export async function withLongStore<T>(databaseUrl: string, work: (store: Store) => Promise<T>): Promise<T> {
  await (await openStore(databaseUrl)).close(); // fails within the usual time limit
  const store = await openStore(databaseUrl, { timeoutMs: TIMEOUT_MS });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Calls `work` with a temporary name beside `path`, and removes the SQLite files that it creates there. */
export async function withTemporary<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
  for (const suffix of SQLITE_FILES) prepareOutput(path + suffix); // removes what a killed process left
  const temporary = temporaryPath(path);
  removeDatabase(temporary);
  try {
    return await work(temporary);
  } finally {
    removeDatabase(temporary);
  }
}

export function removeDatabase(file: string): void {
  for (const suffix of SQLITE_FILES) rmSync(file + suffix, { force: true });
}

const LISTED = {
  inkling_keys: ["key", "keys"],
  inkling_overrides: ["override", "overrides"],
  inkling_audit: ["audit entry", "audit entries"],
  inkling_usage: ["row of usage", "rows of usage"],
  inkling_decisions: ["decision", "decisions"],
} as const;

/** Lists what a backup or a copy contains, such as "3 keys, 1 override, feeds.json". */
export const listing = (rows: RowCounts, files: readonly string[]): string =>
  [
    ...Object.entries(LISTED).flatMap(([table, [one, many]]) => {
      const count = rows[table];
      return count === undefined ? [] : counted(count, one, many);
    }),
    ...files.filter((name) => name !== DATABASE),
  ].join(", ");

export function addDatabase(program: Command, context: Context): void {
  const command = program
    .command("database")
    .description("copy the database to another one")
    .command("copy")
    .description("copy all tables of the SQLite database to an empty PostgreSQL database")
    .option("--from <file>", "SQLite database (default: inkling.db in the data folder)")
    .addHelpText(
      "after",
      `
Stop the server first, because later changes are not copied. Set INKLING_DATABASE_URL to the PostgreSQL database, copy, and
start the server. The copy is one transaction, and includes stored decisions, usage and the hashes of all tokens, so keys and
admin tokens remain valid. The SQLite database does not change.

Examples:
  inkling database copy`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const { databaseUrl } = settings;
    // The URL is not a flag, because other users of the machine could read the password.
    if (!isSharedDatabase(databaseUrl)) {
      throw usage(
        `the database of the settings is not a PostgreSQL database: ${maskUrl(databaseUrl)}`,
        "set `INKLING_DATABASE_URL`, or write `credentials/database_url` next to the settings file: " +
          "postgres://USER:PASSWORD@HOST:5432/DATABASE",
      );
    }
    const file = resolve(flags.from ?? join(settings.dataDir, DATA_FOLDER.database));
    const source = { ...settings, databaseUrl: `${SQLITE}${file}` };
    const from = await withExistingStore(source, context.terminal, async (store) => store.database.label);
    const line = new LiveLine(context.terminal);
    const copying = withLongStore(databaseUrl, async (store) => {
      const rows = await store.copy.take({
        from: file,
        by: cliAuthor(),
        about: { from },
        onRows: (table, done, total) =>
          line.show(() => `${table}: ${formatCount(done)} of ${formatCount(total)} rows`),
      });
      return { from, to: store.database.label, rows };
    });
    const copied = await copying.finally(() => line.clear());
    return {
      json: copied,
      text: `Copied ${listing(copied.rows, [])} from ${from} to ${copied.to}. Start the server.`,
    };
  });
}
