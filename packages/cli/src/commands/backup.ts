// backup.ts: `inkling backup` and `inkling restore`: keys, usage, overrides, audit trail and the files that say what to do.

import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, messageOf, PRIVATE_FILE, replaceFile } from "@inkling/release-store";
import { openStore, type Store } from "@inkling/server";
import type { Command } from "commander";
import type { LoadedSettings } from "../config/settings.ts";
import { cliActor } from "../config/user.ts";
import {
  type Backup,
  type BackupFile,
  checkBackup,
  readBackup,
  writeBackup,
} from "../runtime/backup-file.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { withExistingStore, withStore } from "../runtime/store.ts";
import { CliError, explainFileError, explainTargetError } from "../terminal/errors.ts";
import { formatBytes, formatCount, warn } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;
/** Of the data folder. All else there is made again, or belongs to this host. */
const DATA_FILES = [DATA_FOLDER.feedChoice, DATA_FOLDER.channel] as const;
/** The name of the settings file in an archive. */
const SETTINGS_FILE = "inkling.toml";
const OWNER_ONLY = 0o600;
const TRAIL = "inkling_audit";
/** A backup or restore is one transaction. */
const TIMEOUT_MS = 600_000;

export function addBackup(program: Command, context: Context): void {
  const command = program
    .command("backup")
    .description("write keys, usage, overrides, rulesets, webhooks, audit trail and settings to one file")
    .argument("<file>", "where it is written, for this user alone")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
A running server goes on. The file has hashes of keys, not the keys; it has the secrets of webhooks, and the settings file
with the secrets in it. Releases are not in it: \`inkling data update\` makes them.

Examples:
  inkling backup inkling.backup
  inkling backup /srv/backup/inkling-$(date +%F).backup`,
    );
  addAction(command, context, SETTINGS, async (call, file: string) => {
    const path = resolve(context.cwd, file);
    if (existsSync(path)) throw new CliError(`${path} exists already`, "name another file");
    const backup = await withExistingStore(call.settings, () => makeBackup(path, call, context.version));
    return {
      json: { file: path, ...summary(backup) },
      text: `Wrote ${path} (${sizeOf(path)}): ${listing(backup)}.`,
    };
  });
}

export function addRestore(program: Command, context: Context): void {
  const command = program
    .command("restore")
    .description("replace keys, usage, overrides, rulesets, webhooks and audit trail by those of a backup")
    .argument("<file>", "what `inkling backup` wrote")
    .option(
      "--force",
      "also where keys, usage or overrides are there; they are kept in FILE.before in the data folder",
    )
    .option(
      "--settings <file>",
      "write the settings file of the backup to this file, which must not be there",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The whole file is checked first; the database changes in one transaction. A running server takes the keys and overrides
within a second, and stores usage after it. A backup of SQLite can be restored to PostgreSQL, and the reverse.

Examples:
  inkling restore inkling.backup
  INKLING_DATABASE_URL=postgres://inkling@db/inkling inkling restore inkling.backup --force`,
    );
  addAction(command, context, SETTINGS, async (call, file: string) => {
    const { settings, flags } = call;
    const path = resolve(context.cwd, file);
    const backup = await checkBackup(path);
    const { files, ignored } = await checkFiles(path, backup.files);
    const toml = settingsTarget(context, flags.settings, files);
    const { target, left } = filesToWrite(settings, files);
    ensureWritable(settings.dataDir); // before the database changes
    const kept = await withStore(settings, async (store) => {
      const filled = await store.dump.filled();
      const isThere = target.some((file) => file.isThere);
      // An audit trail only, as `data update` leaves it, needs no --force, but is kept.
      if ((isThere || filled.some((table) => table !== TRAIL)) && flags.force !== true) {
        const before = freeName(join(settings.dataDir, `${basename(path)}.before`));
        throw new CliError(
          `the target is not empty: ${filled.length > 0 ? store.label : settings.dataDir}`,
          `use \`--force\` to replace it; the old data is kept as ${before}`,
        );
      }
      if (!isThere && filled.length === 0) return undefined;
      const before = freeName(join(settings.dataDir, `${basename(path)}.before`));
      await makeBackup(before, call, context.version);
      return before;
    });
    const about = {
      made_at: backup.madeAt,
      sha256: backup.sha256,
      rows: backup.rows,
      files: target.map(({ name }) => name),
    };
    await withLongStore(settings, (store) => replaceFrom(path, store, about));
    for (const { path, text } of target) write(path, text, PRIVATE_FILE);
    if (toml !== undefined) write(toml.path, toml.text, OWNER_ONLY);
    for (const { name, why } of ignored)
      warn(
        context.terminal,
        `${visible(name)} of the backup is not restored: ${why}. What this host has of it stays in use`,
      );
    const isSettingsLeft = toml === undefined && files.some(({ name }) => name === SETTINGS_FILE);
    const restored = {
      ...backup,
      files: files.filter(({ name }) => !left.includes(name) && !(isSettingsLeft && name === SETTINGS_FILE)),
    };
    return {
      json: {
        file: path,
        ...summary(restored),
        ignored,
        before: kept ?? null,
        settings_file: toml?.path ?? null,
      },
      text: [
        `Restored ${path} of ${backup.madeAt}: ${listing(restored)}.`,
        kept === undefined ? "" : `What was there is in ${kept}.`,
        left.length === 0 ? "" : `This host's ${left.join(", ")} was left: a channel's version only rises.`,
        isSettingsLeft ? "Its settings file was left: `--settings FILE` writes it." : "",
        "Keys that were revoked since then are valid again: `npx @inkling/cli keys list`, `keys revoke ID`.",
        "Servers keep those of the last day revoked until `npx @inkling/cli database confirm`.",
        "Releases are not part of a backup: `npx @inkling/cli data update` makes one.",
      ]
        .filter((line) => line !== "")
        .join("\n"),
    };
  });
}

const withLongStore = async <T>(settings: Settings, work: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openStore(settings.databaseUrl, { timeoutMs: TIMEOUT_MS });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
};

/** @throws CliError where the file is no longer what was checked, StoreError: nothing is changed */
async function replaceFrom(path: string, store: Store, about: unknown): Promise<void> {
  let fault: unknown;
  const rows = async function* () {
    try {
      yield* readBackup(path);
    } catch (error) {
      fault = error; // the database would treat it as a database error
      throw error;
    }
  };
  await store.dump.replace(rows(), cliActor(), about).catch((error) => {
    throw fault ?? error;
  });
}

/** After the database was found to answer: this one may take its time. */
function makeBackup(path: string, { settings, file }: LoadedSettings, version: string): Promise<Backup> {
  const files = DATA_FILES.map((name) => ({ name: name as string, path: join(settings.dataDir, name) }));
  if (file !== undefined) files.push({ name: SETTINGS_FILE, path: file });
  const found = files
    .filter((one) => existsSync(one.path))
    .map((one) => ({ name: one.name, text: read(one.path) }));
  return withLongStore(settings, (store) => writeBackup(path, store, found, version));
}

interface Target extends BackupFile {
  readonly path: string;
  /** Another content, which would be lost. */
  readonly isThere: boolean;
}

interface Ignored {
  readonly name: string;
  readonly why: string;
}

/** What each file has to be; of the settings that they can be read: which there are is for the version that reads them. */
const CHECKS: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  [DATA_FOLDER.feedChoice]: async (text) =>
    (await import("@inkling/compiler/feed-choice")).parseFeedChoice(text, "it"),
  [DATA_FOLDER.channel]: async (text) =>
    (await import("@inkling/release-store/channel")).parseTrustState(text),
  [SETTINGS_FILE]: async (text) => (await import("smol-toml")).parse(text),
};

/** Those that can be put in place, and the others: a file that is broken must not keep the keys from being restored. */
async function checkFiles(
  path: string,
  all: readonly BackupFile[],
): Promise<{ readonly files: readonly BackupFile[]; readonly ignored: readonly Ignored[] }> {
  const files: BackupFile[] = [];
  const ignored: Ignored[] = [];
  for (const [index, file] of all.entries()) {
    const { name, text } = file;
    if (all.findIndex((one) => one.name === name) < index)
      throw new CliError(
        `${path} is damaged: it has ${visible(name)} twice`,
        "nothing was restored; use another backup",
      );
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    if (check === undefined) {
      ignored.push({ name, why: "this version of Inkling does not know it" });
      continue;
    }
    try {
      await check(text);
      files.push(file);
    } catch (error) {
      ignored.push({ name, why: messageOf(error).replace(/\s+/g, " ").slice(0, 200) });
    }
  }
  return { files, ignored };
}

/** A name that somebody else has chosen, as one short word: its control characters as codes. */
const visible = (name: string) =>
  JSON.stringify(name.slice(0, 80)).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );

/** The files of the data folder. A channel's version only rises: that of a host that follows one remains. */
function filesToWrite({ dataDir }: Settings, files: readonly BackupFile[]) {
  const target: Target[] = [];
  const left: string[] = [];
  for (const { name, text } of files) {
    if (!DATA_FILES.some((one) => one === name)) continue;
    const path = join(dataDir, name);
    const isThere = existsSync(path);
    if (isThere && read(path) === text) continue; // restored already
    if (isThere && name === DATA_FOLDER.channel) left.push(name);
    else target.push({ name, text, path, isThere });
  }
  return { target, left };
}

function settingsTarget(context: Context, flag: unknown, files: readonly BackupFile[]) {
  if (typeof flag !== "string") return undefined;
  const path = resolve(context.cwd, flag);
  const text = files.find(({ name }) => name === SETTINGS_FILE)?.text;
  if (text === undefined)
    throw new CliError("the backup has no settings file that can be read", "leave out --settings");
  if (existsSync(path)) throw new CliError(`${path} exists already`, "name another file");
  return { path, text };
}

/** FILE.before, FILE.before-2 and so on. */
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

function write(path: string, text: string, mode: number): void {
  try {
    replaceFile(path, [text], { mode });
  } catch (error) {
    throw explainTargetError(error, path);
  }
}

const sizeOf = (path: string) => formatBytes(statSync(path).size);

const summary = ({ madeAt, program, rows, files, sha256 }: Backup) => ({
  made_at: madeAt,
  program,
  rows,
  files: files.map(({ name }) => name),
  sha256,
});

const LISTED = {
  inkling_keys: ["key", "keys"],
  inkling_overrides: ["override", "overrides"],
  inkling_audit: ["audit entry", "audit entries"],
} as const;

const counted = (count: number, [one, many]: readonly [string, string]) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

function listing({ rows, files }: Backup): string {
  const usage = (rows.inkling_usage ?? 0) + (rows.inkling_usage_hours ?? 0);
  return [
    ...Object.entries(LISTED).map(([table, names]) => counted(rows[table] ?? 0, names)),
    counted(usage, ["row of usage", "rows of usage"]),
    ...files.map(({ name }) => name),
  ].join(", ");
}
