// backup.ts: `inkling backup` and `inkling restore` save and restore the database and the configuration files, and
// `inkling database copy` moves an installation from SQLite to PostgreSQL.

import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildHint, currentName, DATA_FOLDER, prepareOutput } from "@inkling/data";
import type { RowCounts } from "@inkling/store";
import { isSharedDatabase } from "@inkling/store/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { maskUrl } from "../config/settings.ts";
import {
  copyDatabase,
  createBackup,
  type Restored,
  restoreBackup,
  SETTINGS_FILE,
} from "../runtime/backup.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { STDIN_OR_OUT } from "../runtime/input.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { LiveLine } from "../terminal/progress.ts";
import { counted, formatBytes, formatCount, printable, warn } from "../terminal/terminal.ts";

const DATABASE = DATA_FOLDER.database;
/** Minimum number of rows of a table whose progress is shown. */
const LONG_TABLE = 10_000;

export function addBackup(program: Command, context: Context): void {
  const command = program
    .command("backup")
    .description("write the SQLite database, the choice of feeds and the settings to one file")
    .argument("<file>", "tar file to write; only this user can read it")
    .option("--decisions", "include stored decisions")
    .option("--json", "print JSON")
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
  addAction(command, context, ["dataDir"], async (loaded, file: string) => {
    if (file === STDIN_OR_OUT)
      throw usage("a backup cannot be written to standard output", "name a file, such as inkling.backup");
    const path = resolve(context.cwd, file);
    if (existsSync(path)) throw new CliError(`${path} already exists`, "name another file");
    const input = { loaded, path: prepareOutput(path) ?? path, program: context.version };
    const { created_at, program, decisions, rows, files } = await createBackup(
      input,
      loaded.flags.decisions === true,
    );
    const { databaseUrl } = loaded.settings;
    if (isSharedDatabase(databaseUrl))
      warn(
        context.terminal,
        `the file does not contain the database ${maskUrl(databaseUrl)}: save it with pg_dump`,
      );
    const { size: bytes } = statSync(input.path);
    const names = files.map(({ name }) => name);
    return {
      json: { file: path, bytes, created_at, program, decisions, rows, files },
      text: `Wrote ${path} (${formatBytes(bytes)}): ${listing(rows, names)}.`,
    };
  });
}

export function addRestore(program: Command, context: Context): void {
  const command = program
    .command("restore")
    .description("restore the database and the choice of feeds from a backup")
    .argument("<file>", "a file that `inkling backup` wrote")
    .option("--force", "replace existing data; the old data is kept as FILE.before in the data folder")
    .option("--rotate-tokens", "revoke all admin tokens of the backup, and create a new root token")
    .option("--json", "print JSON")
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
  addAction(command, context, ["dataDir"], async (loaded, file: string) => {
    const { settings, flags } = loaded;
    const path = resolve(context.cwd, file);
    const restored = await restoreBackup({
      loaded,
      path,
      program: context.version,
      force: flags.force === true,
      rotateTokens: flags.rotateTokens === true,
      by: cliAuthor(),
    });
    const { manifest, files, ignored, left, before, tokens } = restored;
    for (const { name, why } of ignored)
      warn(
        context.terminal,
        `${printable(JSON.stringify(name.slice(0, 80)))} was not restored from the backup: ${why}. This host keeps its current file`,
      );
    const { created_at, program, decisions, rows } = manifest;
    return {
      json: {
        ...{ file: path, created_at, program, decisions, rows, files, ignored, left },
        before: before ?? null,
        admin_token: tokens?.token ?? null,
        revoked_admin_tokens: tokens?.revoked.map(({ name, role }) => ({ name, role })) ?? [],
      },
      text: [
        `Restored ${path}, created at ${created_at}: ${listing(rows, files)}.`,
        ...notes(restored),
        ...(currentName(settings.dataDir) === undefined
          ? [`A backup contains no releases: ${buildHint(settings.dataDir)}.`]
          : []),
      ].join("\n"),
    };
  });
}

function notes({ manifest, files, left, before, tokens }: Restored): string[] {
  const notes: string[] = [];
  if (before !== undefined) notes.push(`The old data is kept in ${before}.`);
  if (left.length > 0)
    notes.push(`This host's ${left.join(", ")} was not replaced: a channel's version can only rise.`);
  if (manifest.files.some(({ name }) => name === SETTINGS_FILE))
    notes.push(`The settings file was not restored: \`tar -xOf FILE ${SETTINGS_FILE}\` prints it.`);
  if (!files.includes(DATABASE))
    return [...notes, "The backup has no database: restore the database with pg_restore."];
  notes.push(
    "Keys that were revoked after the backup are valid again, except on hosts whose file `revoked` lists them. Check `inkling keys list` and revoke them with `keys revoke ID`.",
  );
  const { inkling_admin_tokens: root, inkling_named_admin_tokens: named } = manifest.rows;
  if (tokens !== undefined) {
    notes.push(
      `All admin tokens of the backup are revoked. The new root token is shown only once: ${tokens.token}`,
    );
    const lines = tokens.revoked.map(
      ({ name, role }) => `  inkling admin-tokens create ${name} --role ${role}`,
    );
    if (lines.length > 0) notes.push("To create the named tokens again:", ...lines);
  } else if (root !== 0 || named !== 0) {
    notes.push(
      "Admin tokens that were replaced or revoked after the backup are valid again. Replace all of them: `inkling admin-tokens rotate`, then `inkling admin-tokens list` and `inkling admin-tokens revoke NAME` for each.",
    );
  }
  return notes;
}

const LISTED = {
  inkling_keys: ["key", "keys"],
  inkling_overrides: ["override", "overrides"],
  inkling_audit: ["audit entry", "audit entries"],
  inkling_usage: ["row of usage", "rows of usage"],
  inkling_decisions: ["decision", "decisions"],
} as const;

/** Lists what a backup or a copy contains, such as "3 keys, 1 override, feeds.json". */
const listing = (rows: RowCounts, files: readonly string[]): string =>
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
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Stop the server first, because later changes are not copied. Set INKLING_DATABASE_URL to the PostgreSQL database, copy, and
start the server. The copy is one transaction, and includes stored decisions, usage and the hashes of all tokens, so keys and
admin tokens remain valid. The SQLite database does not change.

Examples:
  inkling database copy`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const line = new LiveLine(context.terminal);
    const showRows = (table: string, done: number, total: number) => {
      if (total >= LONG_TABLE) line.show(`${table}: ${formatCount(done)} of ${formatCount(total)} rows`);
    };
    const file = resolve(flags.from ?? join(settings.dataDir, DATA_FOLDER.database));
    const copying = copyDatabase(settings, file, cliAuthor(), showRows);
    const { from, to, rows } = await copying.finally(() => line.clear());
    return {
      json: { from, to, rows },
      text: `Copied ${listing(rows, [])} from ${from} to ${to}. Start the server.`,
    };
  });
}
