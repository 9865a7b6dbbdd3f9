// sources.ts: finds the value of each setting, and where it comes from: a flag, a variable, a credential, inkling.toml,
// or the default.
//
// An empty value counts as not set. Credentials are files. A service reads the credentials that the service manager
// shows only to that service (https://systemd.io/CREDENTIALS). A command reads `credentials/` next to the settings file.
// The two folders should contain the same files, so that the service and its commands use one database.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  flagName,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingRow,
  tomlKey,
  variableName,
} from "@inkling/contract";
import { nearest } from "@inkling/engine";
import { parse as parseToml, TomlError } from "smol-toml";
import { COMMAND_VARIABLE, type Environment, LAUNCHER_VARIABLE } from "./environment.ts";

const DEFAULT_FILE = "inkling.toml";
const FILE_VARIABLE = "INKLING_CONFIG";
const CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY";
/** `LoadCredential=inkling:FOLDER` adds this prefix to each file's name. */
const CREDENTIAL_PREFIX = "inkling_";
/** The `credentials` folder next to the settings file. */
const CREDENTIALS_FOLDER = "credentials";
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

export interface SettingsInput {
  /** Values from the command line, by setting name. `config` is the settings file's path. */
  readonly flags: Readonly<Partial<Record<SettingName | "config", unknown>>>;
  /** Defaults that a command uses instead of the defaults in the rows. */
  readonly defaults?: Partial<Settings> | undefined;
  readonly env: Environment;
  /** Base of relative paths in flags and variables, and the folder in which inkling.toml is looked for. */
  readonly cwd: string;
}

export type Origin = "default" | "file" | "credential" | "environment" | "flag";

export interface Raw {
  readonly value: unknown;
  readonly origin: Origin;
  /** How a problem refers to the value: `INKLING_PORT`, `--port`, `port in inkling.toml`. */
  readonly label: string;
  /** The folder against which a relative path is resolved: that of the file that contains it, or the current one. */
  readonly base: string;
}

export interface SettingsFile {
  readonly path: string;
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export class Sources {
  readonly file: SettingsFile | undefined;
  /** What cannot be read, and keys of the file that are not settings. */
  readonly problems: string[] = [];
  private readonly input: SettingsInput;
  private readonly credentials: { readonly folder: string; readonly prefix: string } | undefined;

  constructor(input: SettingsInput) {
    this.input = input;
    this.file = this.readFile();
    const given = input.env[CREDENTIALS_VARIABLE];
    if (given) this.credentials = { folder: given, prefix: CREDENTIAL_PREFIX };
    else if (this.file !== undefined)
      this.credentials = { folder: join(dirname(this.file.path), CREDENTIALS_FOLDER), prefix: "" };
  }

  read(name: SettingName): Raw {
    const { named, fileOnly, secret, default: standard } = settingRow(name);
    if (named) return this.readNamed(name);
    const { flags, env, cwd, defaults } = this.input;
    const [flag, variable] = fileOnly ? [] : [flags[name], env[variableName(name)]];
    if (flag !== undefined) return { value: flag, origin: "flag", label: flagName(name), base: cwd };
    const label = variableName(name);
    if (variable) return { value: variable, origin: "environment", label, base: cwd };
    return (
      (secret && this.readCredential(tomlKey(name))) ||
      this.readFromFile(name) || { value: defaults?.[name] ?? standard, origin: "default", label, base: cwd }
    );
  }

  private readFromFile(name: SettingName): Raw | undefined {
    const { file } = this;
    const value = file?.values[tomlKey(name)];
    if (file === undefined || value === undefined || value === "") return undefined;
    return { value, origin: "file", label: `${tomlKey(name)} in ${file.path}`, base: dirname(file.path) };
  }

  /** Reads a value for each name. A variable replaces a credential, and a credential replaces the value in the table. */
  private readNamed(name: SettingName): Raw {
    const { env, cwd } = this.input;
    const table = this.readFromFile(name);
    const isTable = typeof table?.value === "object" && table.value !== null && !Array.isArray(table.value);
    if (table !== undefined && !isTable) return table;
    const [key, start] = [`${tomlKey(name)}_`, `${variableName(name)}_`];
    const { folder = "", prefix = "" } = this.credentials ?? {};
    const credentials = filesIn(folder).flatMap((path) => {
      const read = path.startsWith(prefix + key) && this.readCredential(path.slice(prefix.length));
      return read ? [[path.slice(prefix.length + key.length), read.value]] : [];
    });
    const variables = Object.entries(env).flatMap(([variable, value]) =>
      variable.startsWith(start) && value ? [[variable.slice(start.length).toLowerCase(), value]] : [],
    );
    const value = Object.fromEntries([...Object.entries(table?.value ?? {}), ...credentials, ...variables]);
    const found = Object.keys(value).length === 0 ? undefined : value;
    if (variables.length > 0)
      return { value: found, origin: "environment", label: variableName(name), base: cwd };
    if (credentials.length > 0) return { value: found, origin: "credential", label: folder, base: cwd };
    return table === undefined
      ? { value: undefined, origin: "default", label: variableName(name), base: cwd }
      : { ...table, value: found };
  }

  /**
   * Reads a credential without trailing line breaks, which editors add.
   * @param key the setting's name in inkling.toml
   */
  private readCredential(key: string): Raw | undefined {
    if (this.credentials === undefined) return undefined;
    const { folder, prefix } = this.credentials;
    const path = join(folder, prefix + key);
    try {
      const value = readFileSync(path, "utf8").replace(/[\r\n]+$/, "");
      return value.trim() === "" ? undefined : { value, origin: "credential", label: path, base: folder };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return undefined;
      // If the folder cannot be read, this reports one problem instead of one for each secret.
      const problem =
        code === "EACCES"
          ? `${folder} and its files must be readable by this user; run commands as the service's user`
          : `${path} cannot be read: ${message}`;
      if (!this.problems.includes(problem)) this.problems.push(problem);
      return undefined;
    }
  }

  private readFile(): SettingsFile | undefined {
    const { flags, env, cwd } = this.input;
    const named = (flags.config as string | undefined) ?? (env[FILE_VARIABLE] || undefined);
    const path = resolve(cwd, named ?? DEFAULT_FILE);
    if (named === undefined && !existsSync(path)) return undefined;
    try {
      const text = readFileSync(path, "utf8");
      const values = parseToml(text);
      const keys = SETTING_NAMES.map(tomlKey);
      for (const key of Object.keys(values).filter((key) => !keys.includes(key)))
        this.problems.push(`${key} in ${path} is not a setting${didYouMean(key, keys)}`);
      return { path, text, values };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = error instanceof TomlError ? `line ${error.line}: ${message.split("\n")[0]}` : message;
      this.problems.push(
        code === "ENOENT"
          ? `Configuration file not found: ${path}. Check ${flags.config === undefined ? FILE_VARIABLE : "`--config`"}.`
          : `${path} cannot be read: ${why}`,
      );
      return undefined;
    }
  }
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

/**
 * Returns a warning for each unknown variable, because a misspelt variable would silently have no effect. The prefix
 * may also belong to another program, so an unknown variable is not an error.
 */
export function unknownVariables(env: Environment): string[] {
  const names = SETTING_NAMES.filter((name) => !settingRow(name).fileOnly);
  const known = names.filter((name) => !settingRow(name).named).map(variableName);
  const starts = names.filter((name) => settingRow(name).named).map((name) => `${variableName(name)}_`);
  const isKnown = (name: string) =>
    known.includes(name) || KNOWN_OTHERS.includes(name) || starts.some((start) => name.startsWith(start));
  return Object.keys(env)
    .filter((name) => name.startsWith("INKLING_") && !isKnown(name))
    .map((name) => `${name} is not a setting${didYouMean(name, known)}`);
}

function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
