// backup.ts: `inkling backup` and `inkling restore` save and restore keys, usage, overrides, audit trail and
// configuration files.

import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Settings } from "@inkling/contract";
import {
  buildHint,
  currentName,
  DATA_FOLDER,
  messageOf,
  type Owner,
  PRIVATE_FILE,
  prepareOutput,
  replaceFile,
} from "@inkling/release-store";
import { openStore, type Store } from "@inkling/store";
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
import { withExistingStore, withNewStore } from "../runtime/store.ts";
import { CliError, explainFileError, explainTargetError } from "../terminal/errors.ts";
import { formatBytes, formatCount, warn } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;
/** The data-folder files that a backup contains. All other files can be created again, or belong only to this host. */
const DATA_FILES = [DATA_FOLDER.feedChoice, DATA_FOLDER.channel] as const;
/** The settings file's name in an archive. */
const SETTINGS_FILE = "inkling.toml";
const OWNER_ONLY = 0o600;
const TRAIL = "inkling_audit";
/** Time limit for a backup or a restore, in milliseconds. Each is a single transaction. */
const TIMEOUT_MS = 600_000;

export function addBackup(program: Command, context: Context): void {
  const command = program
    .command("backup")
    .description("write keys, usage, overrides, rulesets, webhooks, audit trail and settings to one file")
    .argument("<file>", "file to write; only this user can read it")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The server can keep running. The file contains key hashes, not keys. It does contain webhook secrets, and the settings
file with its secrets. Releases are not included: \`inkling data update\` builds them again.

Examples:
  inkling backup inkling.backup
  inkling backup /srv/backup/inkling-$(date +%F).backup`,
    );
  addAction(command, context, SETTINGS, async (call, file: string) => {
    const path = resolve(context.cwd, file);
    if (existsSync(path)) throw new CliError(`${path} already exists`, "name another file");
    const target = { path: prepareOutput(path) ?? path, owner: "process" } as const;
    const backup = await withExistingStore(call.settings, () => makeBackup(target, call, context.version));
    return {
      json: { file: path, ...summary(backup) },
      text: `Wrote ${path} (${sizeOf(path)}): ${listing(backup)}.`,
    };
  });
}

export function addRestore(program: Command, context: Context): void {
  const command = program
    .command("restore")
    .description("restore keys, usage, overrides, rulesets, webhooks and audit trail from a backup")
    .argument("<file>", "a file that `inkling backup` wrote")
    .option(
      "--force",
      "replace existing keys, usage and overrides; the old data is kept as FILE.before in the data folder",
    )
    .option("--settings <file>", "write the backup's settings file to this file, which must not exist yet")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The whole file is checked first, and the database changes in one transaction. A running server uses the restored keys
and overrides within a second, and adds new usage to the restored usage. A backup of SQLite can be restored to
PostgreSQL, and vice versa.

Examples:
  inkling restore inkling.backup
  INKLING_DATABASE_URL=postgres://inkling@db/inkling inkling restore inkling.backup`,
    );
  addAction(command, context, SETTINGS, async (call, file: string) => {
    const { settings, flags } = call;
    const path = resolve(context.cwd, file);
    const backup = await checkBackup(path);
    const { files, ignored } = await checkFiles(path, backup.files);
    const toml = settingsTarget(context, flags.settings, files);
    const { target, left } = filesToWrite(settings, files);
    ensureWritable(settings.dataDir); // done before the database changes
    const kept = await withNewStore(settings, async (store) => {
      const filled = await store.dump.filled();
      const isThere = target.some((file) => file.isThere);
      // A database that contains only an audit trail, as after `data update`, can be replaced without --force, but it
      // is backed up first.
      if ((isThere || filled.some((table) => table !== TRAIL)) && flags.force !== true) {
        const before = freeName(join(settings.dataDir, `${basename(path)}.before`));
        throw new CliError(
          `the target is not empty: ${filled.length > 0 ? store.label : settings.dataDir}`,
          `use \`--force\` to replace it; the old data is kept as ${before}`,
        );
      }
      if (!isThere && filled.length === 0) return undefined;
      const before = freeName(join(settings.dataDir, `${basename(path)}.before`));
      await makeBackup({ path: before, owner: "folder" }, call, context.version);
      return before;
    });
    const about = {
      made_at: backup.madeAt,
      sha256: backup.sha256,
      rows: backup.rows,
      files: target.map(({ name }) => name),
    };
    await withLongStore(settings, (store) => replaceFrom(path, store, about));
    for (const { path, text } of target) write(path, text, { mode: PRIVATE_FILE });
    if (toml !== undefined)
      write(prepareOutput(toml.path) ?? toml.path, toml.text, { mode: OWNER_ONLY, owner: "process" });
    for (const { name, why } of ignored)
      warn(
        context.terminal,
        `${visible(name)} was not restored from the backup: ${why}. This host keeps its current file`,
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
        `Restored ${path}, written at ${backup.madeAt}: ${listing(restored)}.`,
        kept === undefined ? "" : `The old data is kept in ${kept}.`,
        left.length === 0
          ? ""
          : `This host's ${left.join(", ")} was not replaced: a channel's version can only rise.`,
        isSettingsLeft ? "The settings file was not restored: `--settings FILE` writes it." : "",
        "Keys revoked after the backup are valid again. Check `inkling keys list` and revoke them with `keys revoke ID`.",
        "Servers still refuse keys revoked in the last day, and warn, until you run `inkling database confirm`.",
        currentName(settings.dataDir) === undefined
          ? `A backup contains no releases: ${buildHint(settings.dataDir)}.`
          : "",
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

/** @throws CliError if the file has changed since the check, or StoreError; in both cases, nothing is changed */
async function replaceFrom(path: string, store: Store, about: unknown): Promise<void> {
  let fault: unknown;
  const rows = async function* () {
    try {
      yield* readBackup(path);
    } catch (error) {
      fault = error; // the database would report this as its own error
      throw error;
    }
  };
  await store.dump.replace(rows(), cliActor(), about).catch((error) => {
    throw fault ?? error;
  });
}

/**
 * Writes a backup. The caller has already opened the database with the usual time limit, so this transaction may take
 * long.
 */
function makeBackup(
  { path, owner }: { readonly path: string; readonly owner: Owner },
  { settings, file }: LoadedSettings,
  program: string,
): Promise<Backup> {
  const files = DATA_FILES.map((name) => ({ name: name as string, path: join(settings.dataDir, name) }));
  if (file !== undefined) files.push({ name: SETTINGS_FILE, path: file });
  const found = files
    .filter((one) => existsSync(one.path))
    .map((one) => ({ name: one.name, text: read(one.path) }));
  return withLongStore(settings, (store) => writeBackup(path, store, found, { program, owner }));
}

interface Target extends BackupFile {
  readonly path: string;
  /** Does the file exist with different content, which would be lost? */
  readonly isThere: boolean;
}

interface Ignored {
  readonly name: string;
  readonly why: string;
}

/**
 * A check for each file. The settings only have to parse, because the version that reads them decides which settings
 * exist.
 */
const CHECKS: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  [DATA_FOLDER.feedChoice]: async (text) =>
    (await import("@inkling/compiler/feed-choice")).parseFeedChoice(text, "it"),
  [DATA_FOLDER.channel]: async (text) =>
    (await import("@inkling/release-store/channel")).parseTrustState(text),
  [SETTINGS_FILE]: async (text) => (await import("smol-toml")).parse(text),
};

/**
 * Separates files that can be restored from files that cannot. A broken file must not prevent the keys from being
 * restored.
 */
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
      ignored.push({ name, why: "this version of Inkling does not support it" });
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

/** Quotes a file name from a backup: shortens it, and replaces control characters with their codes. */
const visible = (name: string) =>
  JSON.stringify(name.slice(0, 80)).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );

/**
 * Returns the data-folder files to restore, and the names of the files that this host keeps. A channel's version must
 * only increase, so a host that follows a channel keeps its own channel file.
 */
function filesToWrite({ dataDir }: Settings, files: readonly BackupFile[]) {
  const target: Target[] = [];
  const left: string[] = [];
  for (const { name, text } of files) {
    if (!DATA_FILES.some((one) => one === name)) continue;
    const path = join(dataDir, name);
    const isThere = existsSync(path);
    if (isThere && read(path) === text) continue; // already restored
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
    throw new CliError("the backup has no readable settings file", "leave out --settings");
  if (existsSync(path)) throw new CliError(`${path} already exists`, "name another file");
  return { path, text };
}

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

function write(path: string, text: string, options: { readonly mode: number; readonly owner?: Owner }): void {
  try {
    replaceFile(path, [text], options);
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
