// settings.ts: lists every setting as a row, and derives the setting's names, its type and its readers from the row.
//
// A new row adds several things: a flag for the commands that read it, an INKLING_* variable, a key
// of inkling.toml, a line in `inkling config` and in docs/configuration.md (`npm run generate`), and a field of
// Settings.

import type { OwnFeed } from "./own-feeds.ts";
import { keysOf } from "./tables.ts";

export const LOG_LEVELS = ["error", "info", "access"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The type of each parsed value. Only plain values are allowed, because settings are sent as messages. */
export interface SettingValues {
  readonly "yes or no": boolean;
  readonly "host names": readonly string[];
  readonly folder: string;
  readonly file: string;
  /** A folder, or a base URL. */
  readonly mirror: string;
  readonly channel: string;
  readonly "channel keys": readonly string[];
  readonly "database url": string;
  readonly "api key": string;
  /** Secrets for Standard Webhooks, in base64, without the prefixes `v1,` and `whsec_`. */
  readonly "webhook secrets": readonly string[];
  /** Networks in canonical form: "10.0.0.0/8", "192.0.2.1/32". */
  readonly networks: readonly string[];
  readonly domains: readonly string[];
  /** "192.0.2.53", "[2001:db8::53]:5353" */
  readonly "dns servers": readonly string[];
  readonly "log level": LogLevel;
  readonly feeds: readonly OwnFeed[];
  /** Values by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

interface WholeNumber {
  readonly min: number;
  readonly max: number;
}

/** Text of one line. Only values that a pattern does not describe have their own type in SettingValues. */
export interface Pattern {
  readonly pattern: RegExp;
  /** Completes the sentence "must be …". */
  readonly form: string;
  /** Shown after the flag in --help. */
  readonly placeholder: string;
}

export type SettingType = keyof SettingValues | WholeNumber | Pattern;

const HOST = {
  pattern: /^[0-9A-Za-z.:_-]+$/,
  form: "an address such as 127.0.0.1 or ::1, or a host name, without a port",
  placeholder: "address",
};
const PUBLISHER_KEY = {
  pattern: /^[!-~]{8,200}$/,
  form: "exactly what the publisher gave you: at least 8 characters, without spaces",
  placeholder: "key",
};

/**
 * Who reads settings. `serve` and `up` run a primary and workers, which are threads, and also build releases. A worker
 * receives only the settings that it reads.
 */
type SettingReader = "primary" | "worker" | "builder" | "follower" | "publisher";

interface SettingRow {
  readonly type: SettingType;
  /** The default, as written in inkling.toml. */
  readonly default?: string | number | boolean | readonly string[];
  /** Describes in words what applies if the setting is not set. */
  readonly unset?: string;
  /** An unset setting still gets a value, which cli/src/config/settings.ts computes. */
  readonly computed?: true;
  /** Shown by --help and in the example file. */
  readonly help: string;
  /** Markdown for docs/configuration.md, if the page has more than `help`. */
  readonly docs?: string;
  /** Never printed in full, and not available as a flag, because other users of the machine can see command lines. */
  readonly secret?: true;
  /** Only inkling.toml may contain the setting. There is no flag and no variable. */
  readonly fileOnly?: true;
  /** The setting has one value per name: INKLING_FEED_SECRET_ACME, or a table in inkling.toml. */
  readonly named?: true;
  readonly readBy: readonly SettingReader[];
}

export const SETTINGS = {
  host: {
    type: HOST,
    default: "127.0.0.1",
    help: "address that the API listens on; 0.0.0.0 for all networks",
    docs: "Address of the API listener: `0.0.0.0` for all networks, `::` for IPv6 as well.",
    readBy: ["primary", "worker"],
  },
  port: {
    type: { min: 1, max: 65_535 },
    default: 8080,
    help: "port of the API",
    docs: "Port of the API listener.",
    readBy: ["primary", "worker"],
  },
  adminHost: {
    type: HOST,
    default: "127.0.0.1",
    help: "address of the admin listener (metrics, admin API); keep it off public networks",
    docs: "Address of the admin listener: `/metrics` (without a key), admin API, console. Keep it off public networks.",
    readBy: ["primary"],
  },
  adminPort: {
    type: { min: 1, max: 65_535 },
    default: 8081,
    help: "port of the admin listener",
    readBy: ["primary"],
  },
  adminNames: {
    type: "host names",
    default: [],
    help: "host names of the admin listener behind a proxy, comma-separated; addresses, localhost and names without a dot always work",
    docs: "Host names of the admin listener behind a proxy, comma-separated (a list in the file): `inkling.example`, `inkling.example:8443`. Addresses, `localhost` and names without a dot always work.",
    readBy: ["primary"],
  },
  dataDir: {
    type: "folder",
    default: "./data",
    help: "folder for feeds, segments, releases and the SQLite database",
    readBy: ["primary", "worker", "builder", "follower", "publisher"],
  },
  mirror: {
    type: "mirror",
    help: "folder with one file per feed, named <feed id>.<anything>, or base URL (docs/feed-checks.md); if set, the only source of feeds",
    docs: "A folder or base URL, without `?` and `#`, that replaces all publishers ([file names](feed-checks.md#where-copies-come-from)).",
    readBy: ["builder"],
  },
  offline: {
    type: "yes or no",
    default: false,
    help: "never fetch from publishers; use only the mirror, last good copies and seeds",
    docs: "`1`: never fetch from publishers.",
    readBy: ["builder"],
  },
  allowMissing: {
    type: "yes or no",
    default: false,
    help: "answer lookups although data of a flag is missing; the Inkling-Data-State header lists what is missing",
    docs: "`1`: a lookup that has no data for a flag or for the location returns an answer without it instead of 503 `DATA_NOT_LOADED`. `Inkling-Data-State` lists what is missing.",
    readBy: ["primary", "worker"],
  },
  channel: {
    type: "channel",
    help: "channel that servers take releases from, and builders publish to: folder, http(s)://host/path or s3://bucket/prefix; #name for a channel other than stable",
    docs: "Where this server takes releases from instead of building them, or where this host publishes them: a folder, `http(s)://…` or `s3://bucket/prefix` ([cluster](several-hosts.md)).",
    readBy: ["follower", "publisher"],
  },
  channelKey: {
    type: "channel keys",
    default: [],
    help: "public keys whose signatures on the channel this server accepts, comma-separated",
    docs: "Public keys whose signatures on the channel this server accepts, comma-separated (a list in the file).",
    readBy: ["follower"],
  },
  channelSigningKey: {
    type: "file",
    help: "file with the channel's private key, on the host that publishes",
    readBy: ["publisher"],
  },
  databaseUrl: {
    type: "database url",
    unset: "inkling.db in the data folder",
    computed: true,
    help: "sqlite://file or postgres://user:password@host/name",
    docs: "Database for keys, usage and overrides: `sqlite://FILE` or `postgres://USER:PASSWORD@HOST/NAME`. Over a network, add `?sslmode=verify-full&sslrootcert=FILE`.",
    secret: true,
    readBy: ["primary"],
  },
  apiKey: {
    type: "api key",
    help: "an API key that the server creates at startup if it does not exist",
    docs: "A key from `inkling keys create`, here or elsewhere. The server creates it at startup if it does not exist.",
    secret: true,
    readBy: ["primary"],
  },
  maxmindAccountId: {
    type: { pattern: /^[0-9]{1,12}$/, form: "your account number", placeholder: "number" },
    help: "MaxMind account number, for the feeds geolite2-city, geoip2-city and geoip2-anonymous-ip",
    docs: "MaxMind account number, for `geolite2-city`, `geoip2-city` and `geoip2-anonymous-ip` ([feeds](feeds.md#optional-feeds)).",
    secret: true,
    readBy: ["builder"],
  },
  maxmindLicenseKey: {
    type: PUBLISHER_KEY,
    help: "license key of your MaxMind account",
    secret: true,
    readBy: ["builder"],
  },
  abuseipdbKey: {
    type: PUBLISHER_KEY,
    help: "AbuseIPDB API key, for the feed abuseipdb",
    docs: "AbuseIPDB API key, for `abuseipdb`.",
    secret: true,
    readBy: ["builder"],
  },
  ip2locationToken: {
    type: PUBLISHER_KEY,
    help: "IP2Location LITE download token, for the feed ip2proxy-lite",
    docs: "IP2Location LITE download token, for `ip2proxy-lite`.",
    secret: true,
    readBy: ["builder"],
  },
  ipinfoToken: {
    type: PUBLISHER_KEY,
    help: "IPinfo token, for the feed ipinfo-lite",
    docs: "IPinfo token, for `ipinfo-lite`.",
    secret: true,
    readBy: ["builder"],
  },
  feed: {
    type: "feeds",
    default: [],
    help: "your own feeds: one [[feed]] for each (docs/own-feeds.md)",
    docs: "[Your own feeds](own-feeds.md): one `[[feed]]` for each.",
    fileOnly: true,
    readBy: ["builder"],
  },
  feedSecret: {
    type: "secrets",
    named: true,
    help: "values of request headers for your own feeds, by name",
    docs: "Values of request headers for [your own feeds](own-feeds.md#a-header-with-a-secret), by name: `INKLING_FEED_SECRET_ACME`, a `feed_secret_acme` credentials file, or a `[feed_secret]` table.",
    secret: true,
    readBy: ["builder"],
  },
  supabaseHookSecret: {
    type: "webhook secrets",
    default: [],
    help: "secret of the hook /v1/hooks/supabase, as Supabase shows it: v1,whsec_…; two separated by | during a rotation",
    docs: "Secret of [`/v1/hooks/supabase`](auth-hooks.md#supabase), as Supabase shows it: `v1,whsec_…`; two separated by `|` during a rotation. Without it, the path returns 404.",
    secret: true,
    readBy: ["worker"],
  },
  rate: {
    type: { min: 0, max: 1_000_000_000 },
    default: 1000,
    help: "lookups per second for each key; 0 = no limit",
    docs: "Lookups per second for each key; `0` = no limit.",
    readBy: ["primary", "worker"],
  },
  burst: {
    type: { min: 1, max: 1_000_000_000 },
    default: 2000,
    help: "burst size for each key, in lookups",
    readBy: ["primary", "worker"],
  },
  trustedProxies: {
    type: "networks",
    default: [],
    help: "proxies whose X-Forwarded-For is trusted, comma-separated",
    docs: "Proxies whose `X-Forwarded-For` is used: addresses or networks, comma-separated (a list in the file).",
    readBy: ["primary", "worker"],
  },
  maxUnstoredSeconds: {
    type: { min: 0, max: 1_000_000 },
    default: 0,
    help: "seconds that usage may wait for the database before /readyz returns 503; 0 = no limit",
    docs: "Seconds that usage may wait for the database before `/readyz` returns 503. `0` = no limit, because lookups do not need the database.",
    readBy: ["primary"],
  },
  maxStaleSeconds: {
    type: { min: 0, max: 1_000_000 },
    default: 0,
    help: "seconds without the database after which the server refuses keys; 0 = never",
    docs: "Seconds without the database after which every key gets 503 `KEYS_NOT_LOADED`, and `/readyz` returns 503. `0` = never.",
    readBy: ["primary"],
  },
  decisions: {
    type: "yes or no",
    default: false,
    help: "store the decisions of POST /v1/assess, for outcomes and replays (docs/decisions.md#stored-decisions)",
    docs: "`1`: store the decisions of `POST /v1/assess`, for outcomes and replays ([what the server stores](decisions.md#stored-decisions)).",
    readBy: ["primary", "worker"],
  },
  decisionsDays: {
    type: { min: 1, max: 3_650 },
    default: 30,
    help: "days after which stored decisions are deleted",
    docs: "Days after which stored decisions are deleted, with their outcomes.",
    readBy: ["primary"],
  },
  decisionsMaxMb: {
    type: { min: 1, max: 10_000_000 },
    default: 10_000,
    help: "megabytes of stored decisions above which the oldest are deleted",
    docs: "Megabytes that stored decisions may take, about 1.3 KB each. Above it, the server deletes the oldest decisions and logs `decisions-over-limit`.",
    readBy: ["primary"],
  },
  memoryKey: {
    type: {
      pattern: /^[!-{}~]{32,200}(\|[!-{}~]{32,200})?$/,
      form: "32 to 200 characters without spaces; during a rotation, the new key, | and the old key",
      placeholder: "key",
    },
    unset: "`memory-key` in the data folder",
    help: "secret key for hashing what the server remembers about visitors; the same on all hosts of a group",
    docs: "Secret key for hashing what the server [remembers about visitors](decisions.md#what-the-server-remembers). Set the same key on every host of a group: at least 32 characters, for example from `openssl rand -hex 32`. During a rotation, set `NEW|OLD`.",
    secret: true,
    readBy: ["primary"],
  },
  drainSeconds: {
    type: { min: 0, max: 3_600 },
    default: 0,
    help: "seconds that a stopping server still accepts connections while /readyz returns 503",
    docs: "Seconds that a stopping server still accepts connections while `/readyz` returns 503 ([service](one-host.md#stop)). The service's `/etc/inkling/inkling.toml` sets `5`, the container image `15`.",
    readBy: ["primary", "worker"],
  },
  workers: {
    type: { min: 1, max: 64 },
    unset: "one per core, at most 8, on Linux; otherwise 1",
    computed: true,
    help: "number of worker threads",
    docs: "Worker threads, 1 to 64 ([service](one-host.md#workers)); `1`: the main thread answers requests.",
    readBy: ["primary", "worker"],
  },
  dnsServers: {
    type: "dns servers",
    default: [],
    unset: "the system's",
    help: "DNS servers for ?checks=mx and the mail-hosts feed, comma-separated",
    docs: "DNS servers for [`?checks=mx`](email.md) and for [the feed `mail-hosts`](policy.md#mail-hosts), comma-separated (a list in the file): `192.0.2.53`, `192.0.2.53:5353`, `[2001:db8::53]:5353`. Inkling uses the first three.",
    readBy: ["worker", "builder"],
  },
  dnsExclude: {
    type: "domains",
    default: [],
    help: "domains that Inkling never looks up in DNS, including their subdomains, comma-separated",
    docs: "Domains that Inkling never looks up in DNS, including their subdomains, comma-separated (a list in the file).",
    readBy: ["worker", "builder"],
  },
  otlpUrl: {
    type: {
      pattern: /^https?:\/\/[^\s?#@]+$/,
      form: "the base URL of a collector, such as http://127.0.0.1:4318, without user name and query",
      placeholder: "URL",
    },
    unset: "no traces",
    help: "OpenTelemetry collector that gets spans of sampled requests and decisions (OTLP over HTTP)",
    docs: "Base URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`. It gets [spans of sampled requests and decisions](monitoring.md#traces) by OTLP over HTTP, at `/v1/traces`.",
    readBy: ["worker"],
  },
  logLevel: {
    type: "log level",
    default: "info",
    help: "error, info, or access for one line per request; in a terminal, `inkling up` logs only errors",
    docs: "`error`, `info`, or `access` for one line per request. In a terminal, `inkling up` logs only errors.",
    readBy: ["primary", "worker"],
  },
} as const satisfies Readonly<Record<string, SettingRow>>;

type Rows = typeof SETTINGS;
export type SettingName = keyof Rows;

type Value<Type extends SettingType> = Type extends keyof SettingValues
  ? SettingValues[Type]
  : Type extends Pattern
    ? string
    : number;

/** The active settings. All paths are absolute. */
export type Settings = {
  readonly [Name in SettingName]: Rows[Name] extends
    | { readonly default: unknown }
    | { readonly computed: true }
    ? Value<Rows[Name]["type"]>
    : Value<Rows[Name]["type"]> | undefined;
};

/** The settings that a process reads. The process receives no others. */
export type SettingsOf<Reader extends SettingReader> = Pick<
  Settings,
  { [Name in SettingName]: Reader extends Rows[Name]["readBy"][number] ? Name : never }[SettingName]
>;

/** The settings that a server receives. */
export type ServerSettings = SettingsOf<"primary" | "worker">;

export const SETTING_NAMES = keysOf(SETTINGS);

/** Returns the row of a setting, without its precise type. */
export const settingRow = (name: SettingName): SettingRow => SETTINGS[name];

export const settingsReadBy = (...readers: readonly SettingReader[]): SettingName[] =>
  SETTING_NAMES.filter((name) => settingRow(name).readBy.some((reader) => readers.includes(reader)));

/** Picks the settings that a process receives. */
export function settingsOf<Reader extends SettingReader>(settings: SettingsOf<Reader>, reader: Reader) {
  const all: Partial<Settings> = settings;
  const entries = settingsReadBy(reader).map((name) => [name, all[name]]);
  return Object.fromEntries(entries) as SettingsOf<Reader>;
}

// A setting has four names: adminPort, --admin-port, INKLING_ADMIN_PORT and admin_port.
const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(" ");
export const tomlKey = (name: string) => words(name).join("_");
export const flagName = (name: string) => `--${words(name).join("-")}`;
export const variableName = (name: string) => `INKLING_${tomlKey(name).toUpperCase()}`;
