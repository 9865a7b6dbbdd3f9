// sources.ts: where the value of a setting comes from, and values of settings that have one for each name.
//
// in   environment, credentials, the settings file
// out  Raw: the value as it was given, and how a problem names it
// err  problems are added to a list

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type SettingName, type Settings, tomlKey, variableName } from "@inkling/contract";
import type { Environment } from "./environment.ts";

export const CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY";
/** `LoadCredential=inkling:FOLDER` puts this before each file's name. */
const CREDENTIAL_PREFIX = "inkling_";
/** Beside the settings file. */
const CREDENTIALS_FOLDER = "credentials";
export type Origin = "default" | "file" | "credential" | "environment" | "flag";

export interface SettingsInput {
  /** From the command line, by setting name; `config` is the path of a settings file. */
  readonly flags: Readonly<Partial<Record<SettingName | "config", unknown>>>;
  /** What a command has instead of a row's default. */
  readonly defaults?: Partial<Settings> | undefined;
  readonly env: Environment;
  /** Where relative paths of flags and variables start, and where inkling.toml is looked for. */
  readonly cwd: string;
}

export interface Raw {
  readonly value: unknown;
  readonly origin: Origin;
  /** How a problem names it: `INKLING_PORT`, `--port`, `port in inkling.toml`. */
  readonly label: string;
  readonly base: string;
}

export interface SettingsFile {
  readonly path: string;
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A value for each name. Variables replace credentials, and credentials replace the table. */
export function pickNamed(
  name: SettingName,
  { env, cwd }: SettingsInput,
  file: SettingsFile | undefined,
  problems: string[],
  filled: Set<string>,
): Raw {
  const [key, start] = [`${tomlKey(name)}_`, `${variableName(name)}_`];
  const { folder, prefix = "" } = credentialsFolder(env, file) ?? {};
  const files = folder === undefined ? [] : filesIn(folder);
  const credentials = files.flatMap((path) => {
    if (!path.startsWith(prefix + key)) return [];
    const read = readCredential(path.slice(prefix.length), env, file, problems, filled);
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

/** None where it cannot be read: a secret that is lacking is reported where it is needed. */
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

/** Trailing line breaks are what editors leave. @param key as in inkling.toml */
export function readCredential(
  key: string,
  env: Environment,
  file: SettingsFile | undefined,
  problems: string[],
  filled: Set<string>,
): Raw | undefined {
  const { folder, prefix } = credentialsFolder(env, file) ?? {};
  if (folder === undefined) return undefined;
  const path = join(folder, prefix + key);
  try {
    const value = readFileSync(path, "utf8").replace(/[\r\n]+$/, "");
    if (value.trim() === "") return undefined;
    filled.add(path);
    return { value, origin: "credential", label: path, base: folder };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    // Without a right to the folder there is one problem, not one for each secret.
    const problem =
      code === "EACCES"
        ? `${folder} and its files must be readable for this user; run commands as the service's user`
        : `${path} cannot be read: ${message}`;
    if (!problems.includes(problem)) problems.push(problem);
    return undefined;
  }
}
