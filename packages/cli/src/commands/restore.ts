// restore.ts: `inkling restore` reads a file of `inkling backup`. It checks the whole file before anything changes.
//
// A restore copies rows in one transaction and does not replace the SQLite file, because a running server, and SQLite
// itself, would continue with the replaced file. Only a file that this version cannot open is put aside. PostgreSQL has
// its own tools; `inkling database copy` moves a restored database there.

import { existsSync, readFileSync, renameSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { currentName, DATA_FOLDER, messageOf, PRIVATE_FILE, remedyFor, replaceFile } from "@inkling/data";
import {
  parseRevocations,
  type ReplacedAdminTokens,
  RevokedFile,
  type RowCounts,
  StoreError,
} from "@inkling/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { maskUrl, SQLITE } from "../config/setting-types.ts";
import { databaseFile } from "../config/settings.ts";
import {
  DATA_FILES,
  DATABASE,
  damaged,
  type Manifest,
  otherTables,
  readArchive,
  SETTINGS_FILE,
} from "../runtime/backup-archive.ts";
import { addResultAction, type Call, type Context } from "../runtime/command.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { withNewStore } from "../runtime/store.ts";
import { CliError, writingTo } from "../terminal/errors.ts";
import { printable, warn } from "../terminal/terminal.ts";
import {
  listing,
  removeDatabase,
  SQLITE_FILES,
  withLongStore,
  withTemporary,
  writeBackup,
} from "./backup.ts";

const TRAIL = "inkling_audit";

export function addRestore(program: Command, context: Context): void {
  const command = program
    .command("restore")
    .description("restore the database and the choice of feeds from a backup")
    .argument("<file>", "a file that `inkling backup` wrote")
    .option("--force", "replace existing data; the old data is kept as FILE.before in the data folder")
    .option("--rotate-tokens", "revoke all admin tokens of the backup, and create a new root token")
    .addHelpText(
      "after",
      `
The whole file is checked first, and the database changes in one transaction. A running server uses the restored keys
and overrides within a second, and adds new usage to the restored usage. Stored decisions are replaced only if the backup
contains decisions.

Admin tokens that were replaced or revoked after the backup are valid again, unless you use --rotate-tokens.

Examples:
  inkling restore inkling.backup
  inkling restore inkling.backup --rotate-tokens`,
    );
  addResultAction(command, context, ["dataDir"], async (loaded, file: string) => {
    const { settings } = loaded;
    const path = resolve(context.cwd, file);
    const { manifest, files, before, tokens } = await restore(loaded, path, context);
    for (const { name, why } of files.ignored)
      warn(
        context.terminal,
        `${printable(JSON.stringify(name.slice(0, 80)))} was not restored from the backup: ${why}. This host keeps its current file`,
      );
    const { created_at, program, decisions, rows } = manifest;
    const { restored, ignored, left } = files;
    return {
      json: {
        ...{ file: path, created_at, program, decisions, rows, files: restored, ignored, left },
        before: before ?? null,
        admin_token: tokens?.token ?? null,
        revoked_admin_tokens: tokens?.revoked.map(({ name, role }) => ({ name, role })) ?? [],
      },
      text: [
        `Restored ${path}, created at ${created_at}: ${listing(rows, restored)}.`,
        ...(before === undefined ? [] : [`The old data is kept in ${before}.`]),
        ...fileNotes(manifest, left),
        ...databaseNotes(rows, restored, tokens),
        ...(currentName(settings.dataDir) === undefined
          ? [`A backup contains no releases: ${remedyFor("none", settings.dataDir)}.`]
          : []),
      ].join("\n"),
    };
  });
}

function fileNotes({ files }: Manifest, left: readonly string[]): string[] {
  return [
    ...(left.length === 0
      ? []
      : [`This host's ${left.join(", ")} was not replaced: a channel's version can only rise.`]),
    ...(files.some(({ name }) => name === SETTINGS_FILE)
      ? [`The settings file was not restored: \`tar -xOf FILE ${SETTINGS_FILE}\` prints it.`]
      : []),
  ];
}

function databaseNotes(
  rows: RowCounts,
  restored: readonly string[],
  tokens: ReplacedAdminTokens | undefined,
): string[] {
  if (!restored.includes(DATABASE))
    return ["The backup has no database: restore the database with pg_restore."];
  const notes = [
    "Keys that were revoked after the backup are valid again, except on hosts whose file `revoked` lists them. Check `inkling keys list` and revoke them with `keys revoke ID`.",
  ];
  if (tokens !== undefined) {
    notes.push(
      `All admin tokens of the backup are revoked. The new root token is shown only once: ${tokens.token}`,
    );
    const lines = tokens.revoked.map(
      ({ name, role }) => `  inkling admin-tokens create ${name} --role ${role}`,
    );
    if (lines.length > 0) notes.push("To create the named tokens again:", ...lines);
  } else if (rows.inkling_admin_tokens !== 0 || rows.inkling_named_admin_tokens !== 0) {
    notes.push(
      "Admin tokens that were replaced or revoked after the backup are valid again. Replace all of them: `inkling admin-tokens rotate`, then `inkling admin-tokens list` and `inkling admin-tokens revoke NAME` for each.",
    );
  }
  return notes;
}

/** @throws CliError, StoreError; the database is then unchanged */
async function restore(call: Call, path: string, context: Context) {
  const { settings, flags } = call;
  const { dataDir } = settings;
  const database = databaseFile(settings);
  ensureWritable(dataDir);
  return withTemporary(join(dirname(database ?? join(dataDir, DATABASE)), DATABASE), async (copy) => {
    const { manifest, texts } = readArchive(path, copy);
    const hasDatabase = texts.has(DATABASE);
    if (flags.rotateTokens && !hasDatabase)
      throw new CliError("the backup has no database, and so no admin tokens", "leave out --rotate-tokens");
    if (hasDatabase && database === undefined)
      throw new CliError(
        `a backup of SQLite cannot be restored into ${maskUrl(settings.databaseUrl)}`,
        "run `INKLING_DATABASE_URL=sqlite://NEW.db inkling restore FILE`, then `inkling database copy --from NEW.db`",
      );
    const target = hasDatabase ? database : undefined;
    const tokens = hasDatabase ? await upgrade(copy, path, manifest, flags.rotateTokens) : undefined;
    const { replaced, revoked, ...files } = await sortFiles(texts, dataDir);
    const isNew = target !== undefined && !existsSync(target);
    const { before, aside } = await keepOld(call, path, context, manifest, target, replaced);
    try {
      // A running server reads this list, and may append to it at the same time.
      const list = new RevokedFile(join(dataDir, DATA_FOLDER.revoked));
      writingTo(list.path, () => list.add(parseRevocations(revoked).revocations));
      if (target !== undefined) await copyRows(target, copy, manifest);
    } catch (error) {
      if (target !== undefined && (isNew || aside)) removeDatabase(target);
      if (target !== undefined && aside) moveDatabase(before!, target);
      throw error;
    }
    for (const [name, text] of replaced) {
      const file = join(dataDir, name);
      writingTo(file, () => replaceFile(file, [text], { mode: PRIVATE_FILE }));
    }
    if (hasDatabase) files.restored.unshift(DATABASE);
    return { manifest, files, before, tokens };
  });
}

/** Brings an extracted database up to date, and replaces its admin tokens if asked to. */
async function upgrade(copy: string, path: string, { program }: Manifest, rotateTokens: boolean | undefined) {
  try {
    return await withLongStore(`${SQLITE}${copy}`, async (store) =>
      rotateTokens ? store.adminToken.replaceAll(cliAuthor()) : undefined,
    );
  } catch (error) {
    if (!isUnusable(error)) throw error;
    throw error.code === "NEWER" ? otherTables(path, program) : damaged(path, `${DATABASE} is invalid`);
  }
}

/** Can this version not use the SQLite database? */
const isUnusable = (error: unknown): error is StoreError =>
  error instanceof StoreError && (error.code === "NEWER" || error.code === "DAMAGED");

/**
 * Decides about each file of an archive. A file of another version must not prevent the keys from being restored. A
 * channel's version must only increase, so a host that follows a channel keeps its own channel file.
 */
async function sortFiles(texts: ReadonlyMap<string, string>, dataDir: string) {
  const replaced: (readonly [name: string, text: string])[] = [];
  const restored: string[] = [];
  const ignored: { readonly name: string; readonly why: string }[] = [];
  const left: string[] = [];
  for (const [name, text] of texts) {
    if (name === DATABASE || name === SETTINGS_FILE) continue;
    try {
      if (!Object.hasOwn(DATA_FILES, name)) throw new Error("this version of Inkling does not support it");
      await DATA_FILES[name]!(text);
    } catch (error) {
      ignored.push({ name, why: messageOf(error).replace(/\s+/g, " ").slice(0, 200) });
      continue;
    }
    const path = join(dataDir, name);
    const old = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    if (name === DATA_FOLDER.revoked) restored.push(name);
    else if (name === DATA_FOLDER.channel && old !== undefined) {
      if (old !== text) left.push(name);
    } else if (old !== text) {
      replaced.push([name, text]);
      restored.push(name);
    }
  }
  const revoked = restored.includes(DATA_FOLDER.revoked) ? texts.get(DATA_FOLDER.revoked)! : "";
  return { replaced, revoked, restored, ignored, left };
}

/**
 * Keeps the old data as a backup. A database that this version cannot use is put aside as it is.
 * @param target the SQLite database to replace; undefined if the backup has none
 * @returns where the old data is; undefined if there was none
 * @throws CliError if there is data to replace, and `--force` is not set
 */
async function keepOld(
  { settings, file, flags }: Call,
  path: string,
  { terminal, version }: Context,
  { decisions }: Manifest,
  target: string | undefined,
  replaced: readonly (readonly [name: string, text: string])[],
): Promise<{ readonly before?: string; readonly aside: boolean }> {
  const { dataDir } = settings;
  const before = freeName(join(dataDir, `${basename(path)}.before`));
  try {
    const isThere = target !== undefined && existsSync(target);
    const filled = isThere ? await withNewStore(settings, terminal, (store) => store.copy.filled()) : [];
    // A database that contains only an audit trail, as after `data update`, can be replaced without --force, but it is
    // kept.
    const isFilled = filled.some((table) => table !== TRAIL);
    const isFileLost = replaced.some(([name]) => existsSync(join(dataDir, name)));
    if ((isFileLost || isFilled) && !flags.force)
      throw new CliError(
        `the target is not empty: ${isFilled ? maskUrl(settings.databaseUrl) : dataDir}`,
        `use \`--force\` to replace it; the old data is kept as ${before}`,
      );
    if (!isFileLost && filled.length === 0) return { aside: false };
    const part = !isThere ? "none" : decisions ? "all" : "without decisions";
    await writeBackup({ settings, file }, before, "folder", version, part);
    return { before, aside: false };
  } catch (error) {
    if (!isUnusable(error)) throw error; // damage in the middle of a file shows only when all of it is read
    const before = freeName(`${target}.before`);
    if (!flags.force)
      throw new CliError(error.message, `use \`--force\` to replace it; the file is kept as ${before}`);
    moveDatabase(target!, before);
    return { before, aside: true };
  }
}

/** Returns the first of FILE.before, FILE.before-2 and so on that does not exist yet. */
function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? path : `${path}-${n}`;
    if (!existsSync(name)) return name;
  }
}

function moveDatabase(from: string, to: string): void {
  for (const suffix of SQLITE_FILES) if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
}

/** Replaces the rows of the database by those of an extracted one, in one transaction. */
const copyRows = (target: string, from: string, { created_at, files, decisions }: Manifest) =>
  withLongStore(`${SQLITE}${target}`, (store) =>
    store.copy.take({
      from,
      restore: { decisions },
      by: cliAuthor(),
      about: { created_at, sha256: files.find(({ name }) => name === DATABASE)?.sha256 },
    }),
  );
