// settings.ts: reads, checks and shows the settings.

import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { ownFeedProblems } from "@inkling/compiler/own-feed";
import {
  flagName,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingRow,
  tomlKey,
  variableName,
} from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import { urlHost } from "@inkling/engine";
import { z } from "zod";
import { SettingsError } from "../terminal/errors.ts";
import { maskUrl, SQLITE, typeOf } from "./setting-types.ts";
import {
  type Origin,
  type Raw,
  type SettingsFile,
  type SettingsInput,
  Sources,
  unknownVariables,
} from "./sources.ts";

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
  const sources = new Sources(input);
  const { file } = sources;
  const raw = perSetting((name) => sources.read(name));
  const parsed = settingsSchema.safeParse(perSetting((name) => raw[name].value));
  const problems = [
    ...sources.problems,
    ...problemsOf(parsed.error?.issues ?? [], raw, file),
    ...(parsed.success ? portConflict(parsed.data, raw) : []),
    ...maxmindConflict(raw),
  ];
  if (!parsed.success || problems.length > 0) throw new SettingsError(problems);
  return {
    settings: settle(parsed.data, raw),
    origins: perSetting((name) => raw[name].origin),
    file: file?.path,
    warnings: unknownVariables(input.env),
  };
}

const perSetting = <T>(of: (name: SettingName) => T) =>
  Object.fromEntries(SETTING_NAMES.map((name) => [name, of(name)])) as Record<SettingName, T>;

function problemsOf(
  issues: readonly z.core.$ZodIssue[],
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

function shownValue(name: SettingName, value: unknown): string {
  const { secret, type } = settingRow(name);
  const isMasked = typeOf(type).shown === maskUrl;
  if (secret && !isMasked) return "";
  // A token may follow these characters, or a password may surround them. No mask fits both, so nothing is shown.
  if (type === "mirror" && /[?#]/.test(String(value))) return "";
  const shown = isMasked ? maskUrl(String(value)) : value;
  return `: it is ${(JSON.stringify(shown) ?? "nothing").slice(0, 200)}`;
}

/** Returns the problems of the operator's own feeds, each with the line of the field or of its [[feed]]. */
function feedProblems(
  issues: readonly z.core.$ZodIssue[],
  rows: unknown,
  { path, text }: SettingsFile,
): string[] {
  const inRows = issues.map((issue) => ({ ...issue, path: issue.path.slice(1) }));
  return ownFeedProblems(rows, new z.ZodError(inRows)).map(
    ({ index, field, text: problem }) => `line ${lineOf(text, index, field)} of ${path}: ${problem}`,
  );
}

/** Returns the line of a field of the `index`th [[feed]] table, or of the table itself if the field has no line. */
export function lineOf(text: string, index: number | undefined, field: string | undefined): number {
  const lines = text.split("\n");
  const tables = lines.flatMap((line, at) => (/^\s*\[\[\s*"?feed"?\s*\]\]/.test(line) ? at : []));
  const inline = lines.findIndex((line) => /^\s*"?feed"?\s*=/.test(line));
  const start = index === undefined ? (tables[0] ?? inline) : tables[index];
  if (start === undefined) return Math.max(inline, 0) + 1;
  const found = lines.findIndex((line, at) => at > start && /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] === field);
  const end = lines.findIndex((line, at) => at > start && /^\s*\[/.test(line));
  const isInside = field !== undefined && found > start && (end < 0 || found < end);
  return (isInside ? found : start) + 1;
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
  const absolute = perSetting((name) => {
    const value = settings[name];
    const { absolute } = typeOf(settingRow(name).type);
    return value === undefined || absolute === undefined ? value : absolute(value, raw[name].base);
  }) as unknown as Parsed; // the same settings, with absolute paths
  const {
    databaseUrl = `${SQLITE}${resolve(absolute.dataDir, DATA_FOLDER.database)}`,
    workers = defaultWorkers(process.platform, availableParallelism()),
  } = absolute;
  return { ...absolute, databaseUrl, workers };
}

/** Returns the path of the SQLite database file; undefined for other databases. */
export function databaseFile({ databaseUrl }: Pick<Settings, "databaseUrl">): string | undefined {
  return databaseUrl.startsWith(SQLITE) ? databaseUrl.slice(SQLITE.length) : undefined;
}

const MAX_WORKERS_BY_DEFAULT = 8;

/** Only Linux distributes connections to one port across all sockets that listen on it. */
export function defaultWorkers(platform: string, cores: number): number {
  return platform === "linux" ? Math.max(1, Math.min(cores, MAX_WORKERS_BY_DEFAULT)) : 1;
}

/** Returns a value as it may be shown to people and logged; null if there is none. */
export function shown(name: SettingName, settings: Settings): unknown {
  const value = settings[name];
  if (value === undefined) return null;
  const { secret, type } = settingRow(name);
  const { shown } = typeOf(type);
  if (shown !== undefined) return shown(value);
  return secret && !(Array.isArray(value) && value.length === 0) ? "***" : value;
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
