// sources.ts: finds where a setting's value comes from, including settings that have a value for each name.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type SettingName, type Settings, tomlKey, variableName } from "@inkling/contract";
import type { Environment } from "./environment.ts";

const CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY";
/** `LoadCredential=inkling:FOLDER` adds this prefix to each file's name. */
const CREDENTIAL_PREFIX = "inkling_";
/** The `credentials` folder next to the settings file. */
const CREDENTIALS_FOLDER = "credentials";
export type Origin = "default" | "file" | "credential" | "environment" | "flag";

export interface SettingsInput {
  /** Values from the command line, by setting name. `config` is the settings file's path. */
  readonly flags: Readonly<Partial<Record<SettingName | "config", unknown>>>;
  /** Defaults that a command uses instead of the defaults in the rows. */
  readonly defaults?: Partial<Settings> | undefined;
  readonly env: Environment;
  /** Base of relative paths in flags and variables, and the folder in which inkling.toml is looked for. */
  readonly cwd: string;
}

export interface Raw {
  readonly value: unknown;
  readonly origin: Origin;
  /** How a problem refers to the value: `INKLING_PORT`, `--port`, `port in inkling.toml`. */
  readonly label: string;
  readonly base: string;
}

export interface SettingsFile {
  readonly path: string;
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Reads a value for each name. A variable replaces a credential, and a credential replaces the value in the table. */
export function pickNamed(
  name: SettingName,
  { env, cwd }: SettingsInput,
  file: SettingsFile | undefined,
  problems: string[],
): Raw {
  const [key, start] = [`${tomlKey(name)}_`, `${variableName(name)}_`];
  const { folder, prefix = "" } = credentialsFolder(env, file) ?? {};
  const files = folder === undefined ? [] : filesIn(folder);
  const credentials = files.flatMap((path) => {
    if (!path.startsWith(prefix + key)) return [];
    const read = readCredential(path.slice(prefix.length), env, file, problems);
    return read === undefined ? [] : [[path.slice(prefix.length + key.length), read.value]];
  });
  const variables = Object.entries(env).flatMap(([variable, value]) =>
    variable.startsWith(start) && value ? [[variable.slice(start.length).toLowerCase(), value]] : [],
  );
  const table = file?.values[tomlKey(name)];
  const sources = [
    ["environment", variables, variableName(name)],
    ["credential", credentials, folder],
  ] as const;
  const [origin, , label] = sources.find(([, found]) => found.length > 0) ?? [
    table === undefined ? "default" : "file",
    [],
    `${tomlKey(name)} in ${file?.path}`,
  ];
  const isTable = typeof table === "object" && table !== null && !Array.isArray(table);
  if (table !== undefined && !isTable) return { value: table, origin, label: label!, base: cwd };
  const value = Object.fromEntries([...Object.entries(table ?? {}), ...credentials, ...variables]);
  const isNothing = Object.keys(value).length === 0;
  return { value: isNothing ? undefined : value, origin, label: label!, base: cwd };
}

/**
 * Returns an empty result if the folder cannot be read. The code that needs a secret then reports that it is missing.
 */
function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function credentialsFolder(env: Environment, file: SettingsFile | undefined) {
  const given = env[CREDENTIALS_VARIABLE];
  if (given) return { folder: given, prefix: CREDENTIAL_PREFIX };
  return file && { folder: join(dirname(file.path), CREDENTIALS_FOLDER), prefix: "" };
}

/**
 * Reads a credential without trailing line breaks, which editors add.
 * @param key the setting's name in inkling.toml
 */
export function readCredential(
  key: string,
  env: Environment,
  file: SettingsFile | undefined,
  problems: string[],
): Raw | undefined {
  const { folder, prefix } = credentialsFolder(env, file) ?? {};
  if (folder === undefined) return undefined;
  const path = join(folder, prefix + key);
  try {
    const value = readFileSync(path, "utf8").replace(/[\r\n]+$/, "");
    if (value.trim() === "") return undefined;
    return { value, origin: "credential", label: path, base: folder };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    // If the folder cannot be read, this reports one problem instead of one for each secret.
    const problem =
      code === "EACCES"
        ? `${folder} and its files must be readable by this user; run commands as the service's user`
        : `${path} cannot be read: ${message}`;
    if (!problems.includes(problem)) problems.push(problem);
    return undefined;
  }
}
