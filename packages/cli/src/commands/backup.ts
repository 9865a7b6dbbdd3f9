// backup.ts: `inkling backup` and `inkling restore` save and restore the database and the configuration files.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { buildHint, currentName, DATA_FOLDER, prepareOutput } from "@inkling/data";
import type { RowCounts } from "@inkling/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/user.ts";
import { createBackup, type Restored, restoreBackup, SETTINGS_FILE } from "../runtime/backup.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { CliError } from "../terminal/errors.ts";
import { formatBytes, formatCount, warn } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;
const DATABASE = DATA_FOLDER.database;

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
  addAction(command, context, SETTINGS, async ({ settings, file: settingsFile, flags }, file: string) => {
    const path = resolve(context.cwd, file);
    if (existsSync(path)) throw new CliError(`${path} already exists`, "name another file");
    const { manifest, bytes, missingDatabase } = await createBackup({
      loaded: { settings, file: settingsFile },
      path: prepareOutput(path) ?? path,
      decisions: flags.decisions === true,
      program: context.version,
      owner: "process",
    });
    if (missingDatabase !== undefined)
      warn(
        context.terminal,
        `the file does not contain the database ${missingDatabase}: save it with pg_dump`,
      );
    const { created_at, program, decisions, rows, files } = manifest;
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
  addAction(command, context, SETTINGS, async ({ settings, file: settingsFile, flags }, file: string) => {
    const path = resolve(context.cwd, file);
    const restored = await restoreBackup({
      loaded: { settings, file: settingsFile },
      path,
      program: context.version,
      force: flags.force === true,
      rotateTokens: flags.rotateTokens === true,
      by: cliAuthor(),
    });
    for (const { name, why } of restored.ignored)
      warn(
        context.terminal,
        `${visible(name)} was not restored from the backup: ${why}. This host keeps its current file`,
      );
    const { manifest, files, ignored, left, before, tokens } = restored;
    return {
      json: {
        file: path,
        created_at: manifest.created_at,
        program: manifest.program,
        decisions: manifest.decisions,
        rows: manifest.rows,
        files,
        ignored,
        left,
        before: before ?? null,
        admin_token: tokens?.token ?? null,
        revoked_admin_tokens: tokens?.revoked.map(({ name, role }) => ({ name, role })) ?? [],
      },
      text: [
        `Restored ${path}, created at ${manifest.created_at}: ${listing(manifest.rows, files)}.`,
        ...notes(restored),
        currentName(settings.dataDir) === undefined
          ? `A backup contains no releases: ${buildHint(settings.dataDir)}.`
          : "",
      ]
        .filter((line) => line !== "")
        .join("\n"),
    };
  });
}

function notes({ manifest, files, left, before, tokens }: Restored): string[] {
  const hasDatabase = files.includes(DATABASE);
  const hasSettings = manifest.files.some(({ name }) => name === SETTINGS_FILE);
  return [
    before === undefined ? "" : `The old data is kept in ${before}.`,
    left.length === 0
      ? ""
      : `This host's ${left.join(", ")} was not replaced: a channel's version can only rise.`,
    hasSettings ? `The settings file was not restored: \`tar -xOf FILE ${SETTINGS_FILE}\` prints it.` : "",
    ...(hasDatabase
      ? [
          "Keys that were revoked after the backup are valid again, except on hosts whose file `revoked` lists them. Check `inkling keys list` and revoke them with `keys revoke ID`.",
          ...tokenNotes(manifest.rows, tokens),
        ]
      : ["The backup has no database: restore the database with pg_restore."]),
  ];
}

function tokenNotes(rows: RowCounts, tokens: Restored["tokens"]): string[] {
  if (tokens === undefined) {
    if (rows.inkling_admin_tokens === 0 && rows.inkling_named_admin_tokens === 0) return [];
    return [
      "Admin tokens that were replaced or revoked after the backup are valid again. Replace all of them: `inkling admin-tokens rotate`, then `inkling admin-tokens list` and `inkling admin-tokens revoke NAME` for each.",
    ];
  }
  const create = tokens.revoked.map(
    ({ name, role }) => `\n  inkling admin-tokens create ${name} --role ${role}`,
  );
  return [
    `All admin tokens of the backup are revoked. The new root token is shown only once: ${tokens.token}`,
    create.length === 0 ? "" : `To create the named tokens again:${create.join("")}`,
  ];
}

/** Quotes a file name from a backup: shortens it, and replaces control characters with their codes. */
const visible = (name: string) =>
  JSON.stringify(name.slice(0, 80)).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );

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
      return count === undefined ? [] : `${formatCount(count)} ${count === 1 ? one : many}`;
    }),
    ...files.filter((name) => name !== DATABASE),
  ].join(", ");
