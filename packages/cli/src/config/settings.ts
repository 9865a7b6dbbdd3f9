// settings.ts: every setting of Inkling, in one schema.
//
// in   flags over environment (INKLING_*) over inkling.toml over defaults
// out  Settings, where each came from, and warnings about unknown INKLING_* variables
// err  SettingsError with every problem together
//
// The names follow from each other: adminPort, --admin-port, INKLING_ADMIN_PORT, admin_port.
// An empty value counts as not set. Relative paths start at the folder of whatever names them.

import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { nearest, type Prefix, parsePrefix } from "@inkling/engine";
import { type DnsServer, isWellFormedToken, LOG_LEVELS, parseDnsServer } from "@inkling/server/settings";
import { parse as parseToml, TomlError } from "smol-toml";
import { z } from "zod";
import { CliError, EXIT } from "../terminal/errors.ts";
import { type Environment, LAUNCHER_VARIABLE } from "./environment.ts";

const DEFAULT_FILE = "inkling.toml";
const FILE_VARIABLE = "INKLING_CONFIG";
/** Used by the project's tests; not settings. */
const KNOWN_OTHERS = [FILE_VARIABLE, LAUNCHER_VARIABLE, "INKLING_VECTORS", "INKLING_TEST_FULL"];

function wholeNumber(least: number, most: number) {
  const problem = `must be a whole number from ${least} to ${most}`;
  return z
    .union([z.number(), z.string().regex(/^[0-9]{1,15}$/, problem)], problem)
    .transform(Number)
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, problem);
}

const YES = ["1", "true", "yes", "on"];
const NO = ["0", "false", "no", "off"];

const yesOrNo = z
  .union(
    [
      z.boolean(),
      z.string().refine((text) => [...YES, ...NO].includes(text.toLowerCase()), "must be 1 or 0"),
    ],
    "must be 1 or 0",
  )
  .transform((value) => (typeof value === "boolean" ? value : YES.includes(value.toLowerCase())));

const host = z
  .string("must be an address or a host name")
  .regex(/^[0-9A-Za-z.:_-]+$/, "must be an address such as 127.0.0.1 or ::1, or a host name, without a port");

const path = z.string("must be a path").min(1, "must be a path");

const mirror = z
  .string("must be a folder, or a base URL")
  .refine(
    (text) => !/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || /^https?:\/\/./i.test(text),
    "must be a folder, or start with http:// or https://",
  )
  .refine(
    // What comes after them would be cut from a file's name; a token there would be shown and logged.
    (text) => !isUrl(text) || !/[?#]/.test(text),
    "must be a base URL without ? and # (write %3F and %23 in a user name or password); files are asked for below it",
  )
  .refine(
    (text) => !isUrl(text) || /[?#]/.test(text) || URL.canParse(text),
    "must be a URL that can be read, such as https://mirror.example/feeds",
  );

const databaseUrl = z
  .string("must be text")
  .regex(/^(sqlite|postgres|postgresql):\/\/./, "must start with sqlite:// or postgres://");

const apiKey = z
  .string("must be text")
  .refine(
    isWellFormedToken,
    "must be ink_live_ or ink_test_, 32 base62 characters, _ and their checksum; `npx inkling keys create` makes one",
  );

const accountId = z
  .union([z.string(), z.number()], "must be a number")
  .transform(String)
  .refine((text) => /^[0-9]{1,12}$/.test(text), "must be the number of your account");

const publisherKey = z
  .string("must be text")
  .regex(/^[!-~]{8,200}$/, "must be as the publisher gave it to you, 8 characters at least, without spaces");

const prefixes = z
  .union([z.string(), z.array(z.string())], "must be a list of networks")
  .transform((value, context) => {
    const texts = typeof value === "string" ? value.split(/[\s,]+/).filter(Boolean) : value;
    const parsed = texts.map((text) => ({ text, prefix: parsePrefix(text) }));
    const wrong = parsed.filter(({ prefix }) => prefix === undefined);
    if (wrong.length === 0) return parsed.map(({ prefix }) => prefix as Prefix);
    const named = wrong.map(({ text }) => JSON.stringify(text)).join(", ");
    context.addIssue({
      code: "custom",
      message: `must be addresses or networks such as 10.0.0.0/8 (no bits set after the prefix): ${named} is none`,
    });
    return z.NEVER;
  });

const dnsServers = z
  .union([z.string(), z.array(z.string())], "must be a list of addresses")
  .transform((value, context) => {
    const texts = typeof value === "string" ? value.split(/[\s,]+/).filter(Boolean) : value;
    const parsed = texts.map((text) => ({ text, server: parseDnsServer(text) }));
    const wrong = parsed.filter(({ server }) => server === undefined);
    if (wrong.length === 0) return parsed.map(({ server }) => server as DnsServer);
    const named = wrong.map(({ text }) => JSON.stringify(text)).join(", ");
    context.addIssue({
      code: "custom",
      message: `must be addresses of DNS servers such as 192.0.2.53 or [2001:db8::53]:5353: ${named} is none`,
    });
    return z.NEVER;
  });

interface Row {
  readonly schema: z.ZodType;
  /** Raw, as it would stand in the file; undefined when there is none. */
  readonly fallback: unknown;
  /** For people: shown in --help, in the example file and in docs/configuration.md. */
  readonly help: string;
  /** What stands after the flag in --help; absent for a flag without a value. */
  readonly placeholder?: string;
  /** Never printed in full, and no flag: command lines are visible to other users of a machine. */
  readonly secret?: true;
  readonly path?: true;
}

/** One row a setting. */
export const SETTINGS = {
  host: {
    schema: host,
    fallback: "127.0.0.1",
    placeholder: "address",
    help: "address that the API listens on; 0.0.0.0 for every network",
  },
  port: {
    schema: wholeNumber(1, 65535),
    fallback: 8080,
    placeholder: "number",
    help: "port of the API",
  },
  adminHost: {
    schema: host,
    fallback: "127.0.0.1",
    placeholder: "address",
    help: "address of the admin listener (metrics, admin API); keep it off public networks",
  },
  adminPort: {
    schema: wholeNumber(1, 65535),
    fallback: 8081,
    placeholder: "number",
    help: "port of the admin listener",
  },
  dataDir: {
    schema: path,
    fallback: "./data",
    placeholder: "folder",
    path: true,
    help: "folder of feeds, segments, releases and the SQLite database",
  },
  mirror: {
    schema: mirror.optional(),
    fallback: undefined,
    placeholder: "folder or URL",
    path: true,
    help: "folder with one file per feed, named <feed id>.<anything>, or base URL (docs/feeds.md): the only source of feeds when set",
  },
  offline: {
    schema: yesOrNo,
    fallback: false,
    help: "never fetch from publishers; mirror, last good copies and seeds only",
  },
  databaseUrl: {
    schema: databaseUrl.optional(),
    fallback: undefined,
    secret: true,
    help: "sqlite://file or postgres://user:password@host/name; default: inkling.db in the data folder",
  },
  apiKey: {
    schema: apiKey.optional(),
    fallback: undefined,
    secret: true,
    help: "a key of your choosing, in the key format, created at start",
  },
  maxmindAccountId: {
    schema: accountId.optional(),
    fallback: undefined,
    secret: true,
    help: "number of your MaxMind account, for the feeds geolite2-city, geoip2-city and geoip2-anonymous-ip",
  },
  maxmindLicenseKey: {
    schema: publisherKey.optional(),
    fallback: undefined,
    secret: true,
    help: "license key of that account",
  },
  abuseipdbKey: {
    schema: publisherKey.optional(),
    fallback: undefined,
    secret: true,
    help: "API key of your AbuseIPDB account, for the feed abuseipdb",
  },
  ip2locationToken: {
    schema: publisherKey.optional(),
    fallback: undefined,
    secret: true,
    help: "download token of your IP2Location LITE account, for the feed ip2proxy-lite",
  },
  ipinfoToken: {
    schema: publisherKey.optional(),
    fallback: undefined,
    secret: true,
    help: "token of your IPinfo account, for the feed ipinfo-lite",
  },
  rate: {
    schema: wholeNumber(0, 1_000_000_000),
    fallback: 1000,
    placeholder: "number",
    help: "look-ups per second and key; 0 = no limit",
  },
  burst: {
    schema: wholeNumber(1, 1_000_000_000),
    fallback: 2000,
    placeholder: "number",
    help: "look-ups at once and key",
  },
  trustedProxies: {
    schema: prefixes,
    fallback: [],
    placeholder: "networks",
    help: "proxies whose X-Forwarded-For is believed, separated by commas",
  },
  maxConnections: {
    schema: wholeNumber(1, 1_000_000),
    fallback: 10_000,
    placeholder: "number",
    help: "open connections at once; further ones are closed",
  },
  workers: {
    schema: wholeNumber(1, 64).optional(),
    fallback: undefined,
    placeholder: "number",
    help: "processes that answer; default: one for each core, 8 at most (1 where the system is not Linux)",
  },
  dnsServers: {
    schema: dnsServers,
    fallback: [],
    placeholder: "addresses",
    help: "DNS servers for ?checks=mx, separated by commas; default: the system's",
  },
  logLevel: {
    schema: z.enum(LOG_LEVELS, "must be error, info or access").optional(),
    fallback: undefined,
    placeholder: "level",
    help: "error, info, or access for a line per request; default: access for serve, info for up, error for up at a terminal",
  },
} as const satisfies Record<string, Row>;

export type SettingName = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

const shape = Object.fromEntries(SETTING_NAMES.map((name) => [name, SETTINGS[name].schema])) as {
  [Name in SettingName]: (typeof SETTINGS)[Name]["schema"];
};
const settingsSchema = z.object(shape);

/** Settings in force; paths are absolute, databaseUrl and mirror too where they name files. */
export type Settings = z.output<typeof settingsSchema> & {
  readonly databaseUrl: string;
  readonly workers: number;
};

const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(" ");
export const tomlKey = (name: string) => words(name).join("_");
export const variableName = (name: string) => `INKLING_${tomlKey(name).toUpperCase()}`;
export const flagName = (name: string) => `--${words(name).join("-")}`;

/** The row of a setting, without its precise type. */
export const settingRow = (name: SettingName): Row => SETTINGS[name];

export type Origin = "default" | "file" | "environment" | "flag";

export interface LoadedSettings {
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** The file that was read, absolute. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
}

/** All problems of the settings, one line each. */
export class SettingsError extends CliError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `Cannot start:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
      "`npx inkling config --example` prints every setting with its default",
      EXIT.usage,
    );
    this.problems = problems;
  }
}

export interface SettingsInput {
  /** From the command line, by setting name; `config` is the path of a settings file. */
  readonly flags: Readonly<Partial<Record<SettingName | "config", unknown>>>;
  readonly env: Environment;
  /** Where relative paths of flags and variables start, and where inkling.toml is looked for. */
  readonly cwd: string;
}

interface Raw {
  readonly value: unknown;
  readonly origin: Origin;
  /** How a problem names it: `INKLING_PORT`, `--port`, `port in inkling.toml`. */
  readonly label: string;
  readonly base: string;
}

/**
 * Reads and checks all settings.
 * @throws SettingsError naming every problem at once
 */
export function loadSettings(input: SettingsInput): LoadedSettings {
  const problems: string[] = [];
  const file = readSettingsFile(input, problems);
  const raw = Object.fromEntries(SETTING_NAMES.map((name) => [name, pickRaw(name, input, file)])) as Record<
    SettingName,
    Raw
  >;
  const parsed = settingsSchema.safeParse(
    Object.fromEntries(SETTING_NAMES.map((name) => [name, raw[name].value])),
  );
  for (const issue of parsed.error?.issues ?? []) {
    const name = issue.path[0] as SettingName;
    problems.push(`${raw[name].label} ${issue.message}${shownValue(name, raw[name].value)}`);
  }
  if (parsed.success) problems.push(...conflicts(parsed.data, raw));
  if (!parsed.success || problems.length > 0) throw new SettingsError(problems);
  const origins = Object.fromEntries(SETTING_NAMES.map((name) => [name, raw[name].origin]));
  return {
    settings: settle(parsed.data, raw),
    origins: origins as Record<SettingName, Origin>,
    file: file?.path,
    warnings: unknownVariables(input.env),
  };
}

function shownValue(name: SettingName, value: unknown): string {
  if (settingRow(name).secret && name !== "databaseUrl") return "";
  // A token stands after these, or a password around them: no mask fits both.
  if (name === "mirror" && /[?#]/.test(String(value))) return "";
  const shown = name === "databaseUrl" || name === "mirror" ? maskUrl(String(value)) : value;
  return `: it is ${(JSON.stringify(shown) ?? "nothing").slice(0, 200)}`;
}

/** Rules that two settings break together. */
function conflicts(settings: z.output<typeof settingsSchema>, raw: Record<SettingName, Raw>): string[] {
  if (settings.port === settings.adminPort && settings.host === settings.adminHost) {
    return [`${raw.adminPort.label} must differ from ${raw.port.label}: both are ${settings.port}`];
  }
  const { maxmindAccountId, maxmindLicenseKey } = settings;
  if ((maxmindAccountId === undefined) !== (maxmindLicenseKey === undefined)) {
    const [there, lacking] =
      maxmindAccountId === undefined
        ? (["maxmindLicenseKey", "maxmindAccountId"] as const)
        : (["maxmindAccountId", "maxmindLicenseKey"] as const);
    return [`${raw[there].label} is set, but ${variableName(lacking)} is not: MaxMind asks for both`];
  }
  return [];
}

function settle(settings: z.output<typeof settingsSchema>, raw: Record<SettingName, Raw>): Settings {
  const dataDir = resolve(raw.dataDir.base, settings.dataDir);
  const { mirror, databaseUrl } = settings;
  const file = databaseUrl?.startsWith("sqlite://") ? databaseUrl.slice("sqlite://".length) : undefined;
  return {
    ...settings,
    workers: settings.workers ?? defaultWorkers(process.platform, availableParallelism()),
    dataDir,
    mirror: mirror === undefined || isUrl(mirror) ? mirror : resolve(raw.mirror.base, mirror),
    databaseUrl:
      databaseUrl === undefined
        ? `sqlite://${resolve(dataDir, "inkling.db")}`
        : file === undefined
          ? databaseUrl
          : `sqlite://${resolve(raw.databaseUrl.base, file)}`,
  };
}

const MOST_WORKERS_BY_DEFAULT = 8;

/** Only Linux spreads the connections to one port over the processes that listen there. */
export function defaultWorkers(platform: string, cores: number): number {
  return platform === "linux" ? Math.max(1, Math.min(cores, MOST_WORKERS_BY_DEFAULT)) : 1;
}

export const isUrl = (text: string) => /^https?:\/\//i.test(text);

interface SettingsFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

function pickRaw(name: SettingName, input: SettingsInput, file: SettingsFile | undefined): Raw {
  const flag = input.flags[name];
  if (flag !== undefined) return { value: flag, origin: "flag", label: flagName(name), base: input.cwd };
  const variable = input.env[variableName(name)];
  if (variable !== undefined && variable !== "") {
    return { value: variable, origin: "environment", label: variableName(name), base: input.cwd };
  }
  const inFile = file?.values[tomlKey(name)];
  if (file !== undefined && inFile !== undefined && inFile !== "") {
    const label = `${tomlKey(name)} in ${file.path}`;
    return { value: inFile, origin: "file", label, base: dirname(file.path) };
  }
  return { value: SETTINGS[name].fallback, origin: "default", label: variableName(name), base: input.cwd };
}

function readSettingsFile(input: SettingsInput, problems: string[]): SettingsFile | undefined {
  const asked = (input.flags.config as string | undefined) ?? (input.env[FILE_VARIABLE] || undefined);
  const path = resolve(input.cwd, asked ?? DEFAULT_FILE);
  if (asked === undefined && !existsSync(path)) return undefined;
  let values: Record<string, unknown>;
  try {
    values = parseToml(readFileSync(path, "utf8"));
  } catch (error) {
    const why =
      error instanceof TomlError
        ? `line ${error.line}: ${error.message.split("\n")[0]}`
        : (error as Error).message;
    problems.push(`${path} cannot be read: ${why}`);
    return undefined;
  }
  const keys = SETTING_NAMES.map(tomlKey);
  for (const key of Object.keys(values)) {
    if (!keys.includes(key)) problems.push(`${key} in ${path} is no setting${didYouMean(key, keys)}`);
  }
  return { path, values };
}

/** Misspelt variables would otherwise change nothing, silently. Others may own a prefix, so this only warns. */
function unknownVariables(env: Environment): string[] {
  const known = SETTING_NAMES.map(variableName);
  return Object.keys(env)
    .filter((name) => name.startsWith("INKLING_") && !known.includes(name) && !KNOWN_OTHERS.includes(name))
    .map((name) => `${name} is no setting${didYouMean(name, known)}`);
}

function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/**
 * A URL without its password, and be it as long as to the last "@": better too much is hidden than too little. A user
 * alone is a token where HTTP is spoken, and a name where a database is.
 */
export function maskUrl(url: string): string {
  return url
    .replace(/^([a-z]+:\/\/[^:/@?#]*):.*@/is, "$1:***@")
    .replace(/^(https?:\/\/)[^:/@?#]+@/i, "$1***@");
}

/** A setting's value as it may be shown to people and written to logs. */
export function shown(name: SettingName, settings: Settings): unknown {
  const value = settings[name];
  if (value === undefined) return null;
  if (name === "apiKey") return `${String(value).slice(0, "ink_live_".length)}***`;
  if (name === "databaseUrl" || name === "mirror") return maskUrl(String(value));
  if (settingRow(name).secret) return "***";
  return value;
}

/** A commented inkling.toml with every setting at its default. */
export function exampleFile(): string {
  const entries = SETTING_NAMES.map((name) => {
    const { help, fallback } = settingRow(name);
    const value = fallback === undefined ? '""' : JSON.stringify(fallback);
    return `# ${help}\n#   flag ${flagOrNone(name)}, variable ${variableName(name)}\n# ${tomlKey(name)} = ${value}\n`;
  });
  return `# inkling.toml: settings of Inkling. Flags and INKLING_* variables go before this file.\n# Lines that start with # show the defaults: remove the # to change one.\n\n${entries.join("\n")}`;
}

const flagOrNone = (name: SettingName) =>
  settingRow(name).secret ? "none (it is a secret)" : flagName(name);
