// settings.ts: reads the settings.
//
// An empty value counts as not set. A relative path is resolved against the folder of the file that contains it.
// Credentials are files. A service reads the credentials that the service manager shows only to that service
// (https://systemd.io/CREDENTIALS). A command reads `credentials/` next to the settings file. The two folders should
// contain the same files, so that the service and its commands use one database.

import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import {
  flagName,
  type OwnFeed,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  type SettingType,
  settingRow,
  shownFeed,
  tomlKey,
  variableName,
} from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import { nearest, urlHost } from "@inkling/engine";
import { parse as parseToml, TomlError } from "smol-toml";
import { z } from "zod";
import { SettingsError } from "../terminal/errors.ts";
import { COMMAND_VARIABLE, type Environment, LAUNCHER_VARIABLE } from "./environment.ts";
import { feedProblems, withAbsoluteFile } from "./feed-rows.ts";
import { typeOf } from "./setting-types.ts";
import {
  type Origin,
  pickNamed,
  type Raw,
  readCredential,
  type SettingsFile,
  type SettingsInput,
} from "./sources.ts";

const DEFAULT_FILE = "inkling.toml";
const FILE_VARIABLE = "INKLING_CONFIG";
/**
 * Variables that are not settings: the path of the settings file, and variables of the launcher and the project's
 * tests.
 */
const KNOWN_OTHERS = [
  FILE_VARIABLE,
  LAUNCHER_VARIABLE,
  COMMAND_VARIABLE,
  "INKLING_VECTORS",
  "INKLING_TEST_FULL",
];

/** The settings before computed values are filled in. */
type Parsed = Omit<Settings, "databaseUrl" | "workers"> & {
  readonly databaseUrl: string | undefined;
  readonly workers: number | undefined;
};

const settingsSchema = z.object(
  Object.fromEntries(
    SETTING_NAMES.map((name) => {
      const { type, default: standard } = settingRow(name);
      const { schema } = typeOf(type);
      return [name, standard === undefined ? schema.optional() : schema];
    }),
  ),
) as unknown as z.ZodType<Parsed>; // the types of the rows match their schemas (setting-types.ts)

export interface LoadedSettings {
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** Absolute path of the settings file that was read. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads and checks all settings.
 * @throws SettingsError, which lists every problem
 */
export function loadSettings(input: SettingsInput): LoadedSettings {
  const problems: string[] = [];
  const file = readSettingsFile(input, problems);
  const raw = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, pickRaw(name, input, file, problems)]),
  ) as Record<SettingName, Raw>;
  const parsed = settingsSchema.safeParse(
    Object.fromEntries(SETTING_NAMES.map((name) => [name, raw[name].value])),
  );
  problems.push(...problemsOf(parsed.error?.issues ?? [], raw, file));
  if (parsed.success) problems.push(...portConflict(parsed.data, raw));
  problems.push(...maxmindConflict(raw));
  if (!parsed.success || problems.length > 0) throw new SettingsError(problems);
  const origins = Object.fromEntries(SETTING_NAMES.map((name) => [name, raw[name].origin]));
  return {
    settings: settle(parsed.data, raw),
    origins: origins as Record<SettingName, Origin>,
    file: file?.path,
    warnings: unknownVariables(input.env),
  };
}

type Issues = readonly z.core.$ZodIssue[];

function problemsOf(
  issues: Issues,
  raw: Record<SettingName, Raw>,
  file: SettingsFile | undefined,
): readonly string[] {
  const ofFeeds = issues.filter(({ path }) => path[0] === "feed");
  return [
    ...issues.flatMap((issue) => {
      const [name, key] = issue.path as [SettingName, string | undefined];
      if (name === "feed") return [];
      const { value, label } = raw[name];
      const of = settingRow(name).named && key !== undefined ? `${label}: ${key}` : label;
      return `${of} ${issue.message}${shownValue(name, value)}`;
    }),
    ...(ofFeeds.length > 0 && file !== undefined ? feedProblems(ofFeeds, raw.feed.value, file) : []),
  ];
}

/** Types of settings whose values are URLs that may contain a password. */
const MASKED: readonly SettingType[] = ["database url", "mirror", "channel"];

function shownValue(name: SettingName, value: unknown): string {
  const { secret, type } = settingRow(name);
  if (secret && !MASKED.includes(type)) return "";
  // A token may follow these characters, or a password may surround them. No mask fits both, so nothing is shown.
  if (type === "mirror" && /[?#]/.test(String(value))) return "";
  const shown = MASKED.includes(type) ? maskUrl(String(value)) : value;
  return `: it is ${(JSON.stringify(shown) ?? "nothing").slice(0, 200)}`;
}

function portConflict({ port, host, adminPort, adminHost }: Parsed, raw: Record<SettingName, Raw>): string[] {
  if (port !== adminPort || host !== adminHost) return [];
  return [`${raw.adminPort.label} must differ from ${raw.port.label}: both are ${port}`];
}

/** MaxMind needs both an account and a key, even if another setting is wrong. */
function maxmindConflict(raw: Record<SettingName, Raw>): string[] {
  const names = ["maxmindAccountId", "maxmindLicenseKey"] as const;
  const there = names.find((name) => raw[name].value !== undefined);
  const lacking = names.find((name) => raw[name].value === undefined);
  if (there === undefined || lacking === undefined) return [];
  return [`${raw[there].label} is set, but ${variableName(lacking)} is not: MaxMind needs both`];
}

/** Makes paths absolute, and computes values that are not set. */
function settle(settings: Parsed, raw: Record<SettingName, Raw>): Settings {
  const absolute = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, absoluteValue(settingRow(name).type, settings[name], raw[name].base)]),
  ) as unknown as Parsed; // the same settings, with absolute paths
  const {
    databaseUrl = `${SQLITE}${resolve(absolute.dataDir, DATA_FOLDER.database)}`,
    workers = defaultWorkers(process.platform, availableParallelism()),
  } = absolute;
  return { ...absolute, databaseUrl, workers };
}

/**
 * Resolves a relative path against the folder of the file that contains it, or otherwise against the current folder.
 */
function absoluteValue(type: SettingType, value: unknown, base: string): unknown {
  if (type === "feeds") return (value as readonly OwnFeed[]).map((feed) => withAbsoluteFile(feed, base));
  if (typeof value !== "string") return value;
  switch (type) {
    case "folder":
    case "file":
      return resolve(base, value);
    case "mirror":
    case "channel":
      return isUrl(value) ? value : resolve(base, value);
    case "database url": {
      const file = databaseFile({ databaseUrl: value });
      return file === undefined ? value : `${SQLITE}${resolve(base, file)}`;
    }
    default:
      return value;
  }
}

const isUrl = (text: string) => /^[a-z0-9]+:\/\//i.test(text);

export const SQLITE = "sqlite://";
/** Returns the path of the SQLite database file; undefined for other databases. */
export function databaseFile({ databaseUrl }: Pick<Settings, "databaseUrl">): string | undefined {
  return databaseUrl.startsWith(SQLITE) ? databaseUrl.slice(SQLITE.length) : undefined;
}

const MAX_WORKERS_BY_DEFAULT = 8;

/** Only Linux distributes connections to one port across all sockets that listen on it. */
export function defaultWorkers(platform: string, cores: number): number {
  return platform === "linux" ? Math.max(1, Math.min(cores, MAX_WORKERS_BY_DEFAULT)) : 1;
}

function pickRaw(
  name: SettingName,
  input: SettingsInput,
  file: SettingsFile | undefined,
  problems: string[],
): Raw {
  if (settingRow(name).named) return pickNamed(name, input, file, problems);
  const flag = settingRow(name).fileOnly ? undefined : input.flags[name];
  if (flag !== undefined) return { value: flag, origin: "flag", label: flagName(name), base: input.cwd };
  const variable = settingRow(name).fileOnly ? undefined : input.env[variableName(name)];
  if (variable !== undefined && variable !== "") {
    return { value: variable, origin: "environment", label: variableName(name), base: input.cwd };
  }
  const credential = settingRow(name).secret && readCredential(tomlKey(name), input.env, file, problems);
  if (credential) return credential;
  const inFile = file?.values[tomlKey(name)];
  if (file !== undefined && inFile !== undefined && inFile !== "") {
    const label = `${tomlKey(name)} in ${file.path}`;
    return { value: inFile, origin: "file", label, base: dirname(file.path) };
  }
  const value = input.defaults?.[name] ?? settingRow(name).default;
  return { value, origin: "default", label: variableName(name), base: input.cwd };
}

function readSettingsFile(input: SettingsInput, problems: string[]): SettingsFile | undefined {
  const named = (input.flags.config as string | undefined) ?? (input.env[FILE_VARIABLE] || undefined);
  const path = resolve(input.cwd, named ?? DEFAULT_FILE);
  if (named === undefined && !existsSync(path)) return undefined;
  let values: Record<string, unknown>;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
    values = parseToml(text);
  } catch (error) {
    const why =
      error instanceof TomlError
        ? `line ${error.line}: ${error.message.split("\n")[0]}`
        : (error as Error).message;
    problems.push(
      (error as NodeJS.ErrnoException).code === "ENOENT"
        ? `Configuration file not found: ${path}. Check ${input.flags.config === undefined ? FILE_VARIABLE : "`--config`"}.`
        : `${path} cannot be read: ${why}`,
    );
    return undefined;
  }
  const keys = SETTING_NAMES.map(tomlKey);
  for (const key of Object.keys(values)) {
    if (!keys.includes(key)) problems.push(`${key} in ${path} is not a setting${didYouMean(key, keys)}`);
  }
  return { path, text, values };
}

/**
 * Returns a warning for each unknown variable, because a misspelt variable would silently have no effect. The prefix
 * may also belong to another program, so an unknown variable is not an error.
 */
function unknownVariables(env: Environment): string[] {
  const names = SETTING_NAMES.filter((name) => !settingRow(name).fileOnly);
  const known = names.filter((name) => !settingRow(name).named).map(variableName);
  const starts = names.filter((name) => settingRow(name).named).map((name) => `${variableName(name)}_`);
  const isNamed = (variable: string) => starts.some((start) => variable.startsWith(start));
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith("INKLING_") &&
        !isNamed(name) &&
        !known.includes(name) &&
        !KNOWN_OTHERS.includes(name),
    )
    .map((name) => `${name} is not a setting${didYouMean(name, known)}`);
}

function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/**
 * Masks the password in a URL. The mask extends to the last "@", even after a "?", because hiding too much is better
 * than hiding too little. A user name without a password is a token in an HTTP URL, but a plain name in a database URL.
 * A database URL may also have the password in its query.
 */
export function maskUrl(url: string): string {
  return url
    .replace(/^([a-z]+:\/\/[^:/@?#]*):(.*\?.*@.*|.*@)/is, "$1:***@")
    .replace(/^(https?:\/\/)[^:/@?#]+@/i, "$1***@")
    .replace(
      /^([a-z]+:\/\/[^?]*)(\?.*)/is,
      (_, address: string, query: string) => address + maskQuery(query),
    );
}

const maskQuery = (query: string) => query.replace(/([?&])(?!sslmode=|sslrootcert=)[^&]+/g, "$1***");

/** Returns a value as it may be shown to people and logged; null if there is none. */
export function shown(name: SettingName, settings: Settings): unknown {
  const value = settings[name];
  if (value === undefined) return null;
  const { secret, type } = settingRow(name);
  if (type === "api key") return `${String(value).slice(0, "ink_live_".length)}***`;
  if (MASKED.includes(type)) return maskUrl(String(value));
  if (settingRow(name).named) return Object.keys(value as object).map((key) => `${key}=***`);
  if (secret && !(Array.isArray(value) && value.length === 0)) return "***";
  if (type === "feeds") return (value as readonly OwnFeed[]).map(shownFeed);
  return value;
}

/** Returns a commented inkling.toml that contains every setting with its default. */
export function exampleFile(): string {
  const entries = SETTING_NAMES.map((name) => {
    const { help, default: standard = "", unset, named, fileOnly } = settingRow(name);
    const value = named ? "{}" : JSON.stringify(standard);
    const otherwise = fileOnly ? "only here" : `flag ${flagOrNone(name)}, variable ${variableText(name)}`;
    return `# ${help}${unset === undefined ? "" : ` (default: ${unset})`}\n#   ${otherwise}\n# ${tomlKey(name)} = ${value}\n`;
  });
  return `# inkling.toml: Inkling settings. Flags and INKLING_* variables override this file.\n# Lines that start with # show the defaults: remove the # to change one.\n\n${entries.join("\n")}`;
}

/** Returns the variable's name: `INKLING_FEED_SECRET_NAME` for a setting that has a value for each name. */
export const variableText = (name: SettingName) =>
  settingRow(name).named ? `${variableName(name)}_NAME` : variableName(name);

const flagOrNone = (name: SettingName) =>
  settingRow(name).secret ? "none (it is a secret)" : flagName(name);

/**
 * Returns the URL at which this machine reaches a listener.
 * @param host the listening address; if the server listens on all addresses, the URL has the loopback address
 */
export function localUrl(host: string, port: number): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${urlHost(reached)}:${port}`;
}
