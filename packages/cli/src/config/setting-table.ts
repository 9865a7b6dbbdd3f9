// setting-table.ts: every setting, one row each, and the names that follow from it: adminPort, --admin-port,
// INKLING_ADMIN_PORT, admin_port.

import { LOG_LEVELS } from "@inkling/server/settings";
import { z } from "zod";
import * as types from "./setting-types.ts";

export { variableName } from "@inkling/compiler/feed";

interface Row {
  readonly schema: z.ZodType;
  /** Raw, as it would stand in the file; undefined when there is none. */
  readonly fallback: unknown;
  /** For people: shown in --help, in the example file and in docs/configuration.md. */
  readonly help: string;
  /** Shown after the flag in --help: the description of its type; absent for a flag without a value. */
  readonly placeholder?: string | undefined;
  /** Never printed in full, and no flag: command lines are visible to other users of a machine. */
  readonly secret?: true;
}

const setting = <Schema extends z.ZodType>(schema: Schema, fallback: unknown, help: string) => ({
  schema,
  placeholder: schema.description,
  fallback,
  help,
});

const optional = <Schema extends z.ZodType>(schema: Schema, help: string) => ({
  ...setting(schema, undefined, help),
  schema: schema.optional(),
});

const secret = <Schema extends z.ZodType>(schema: Schema, help: string) => ({
  ...optional(schema, help),
  secret: true as const,
});

const logLevel = z.enum(LOG_LEVELS, "must be error, info or access").describe("level");

export const SETTINGS = {
  host: setting(types.host, "127.0.0.1", "address that the API listens on; 0.0.0.0 for every network"),
  port: setting(types.wholeNumber(1, 65535), 8080, "port of the API"),
  adminHost: setting(
    types.host,
    "127.0.0.1",
    "address of the admin listener (metrics, admin API); keep it off public networks",
  ),
  adminPort: setting(types.wholeNumber(1, 65535), 8081, "port of the admin listener"),
  adminNames: setting(
    types.hostNames,
    [],
    "host names of the admin listener behind a proxy, separated by commas; addresses, localhost and names without a dot need none",
  ),
  dataDir: setting(types.folder, "./data", "folder of feeds, segments, releases and the SQLite database"),
  mirror: optional(
    types.mirror,
    "folder with one file per feed, named <feed id>.<anything>, or base URL (docs/feeds.md): the only source of feeds when set",
  ),
  offline: setting(
    types.yesOrNo,
    false,
    "never fetch from publishers; mirror, last good copies and seeds only",
  ),
  channel: optional(
    types.channel,
    "releases come from here, and are not built: folder, http(s)://host/path or s3://bucket/prefix, with #name for another channel than stable",
  ),
  channelKey: setting(types.channelKeys, [], "public keys that may sign the channel, separated by commas"),
  channelSigningKey: optional(
    types.file,
    "file with the private key of the channel, for the host that publishes",
  ),
  databaseUrl: secret(
    types.databaseUrl,
    "sqlite://file or postgres://user:password@host/name; default: inkling.db in the data folder",
  ),
  apiKey: secret(types.apiKey, "a key of your choosing, in the key format, created at start"),
  maxmindAccountId: secret(
    types.accountId,
    "number of your MaxMind account, for the feeds geolite2-city, geoip2-city and geoip2-anonymous-ip",
  ),
  maxmindLicenseKey: secret(types.publisherKey, "license key of that account"),
  abuseipdbKey: secret(types.publisherKey, "API key of your AbuseIPDB account, for the feed abuseipdb"),
  ip2locationToken: secret(
    types.publisherKey,
    "download token of your IP2Location LITE account, for the feed ip2proxy-lite",
  ),
  ipinfoToken: secret(types.publisherKey, "token of your IPinfo account, for the feed ipinfo-lite"),
  rate: setting(types.wholeNumber(0, 1_000_000_000), 1000, "lookups per second and key; 0 = no limit"),
  burst: setting(types.wholeNumber(1, 1_000_000_000), 2000, "lookups at once and key"),
  trustedProxies: setting(
    types.prefixes,
    [],
    "proxies whose X-Forwarded-For is trusted, separated by commas",
  ),
  maxConnections: setting(
    types.wholeNumber(1, 1_000_000),
    10_000,
    "open connections at once; further ones are closed",
  ),
  maxUnstoredSeconds: setting(
    types.wholeNumber(0, 1_000_000),
    0,
    "seconds that usage may wait for the database before /readyz is 503; 0 = no limit",
  ),
  maxStale: setting(
    types.wholeNumber(0, 1_000_000),
    0,
    "seconds without the database after which keys are refused; 0 = never",
  ),
  drainSeconds: setting(
    types.wholeNumber(0, 3_600),
    0,
    "seconds that a stopping server still accepts connections while /readyz is 503",
  ),
  workers: optional(
    types.wholeNumber(1, 64),
    "processes that serve; default: one for each core, 8 at most (1 where the system is not Linux)",
  ),
  dnsServers: setting(
    types.dnsServers,
    [],
    "DNS servers for ?checks=mx, separated by commas; default: the system's",
  ),
  dnsExclude: setting(
    types.domains,
    [],
    "domains that ?checks=mx never asks DNS about, nor names below them, separated by commas",
  ),
  logLevel: optional(
    logLevel,
    "error, info, or access for a line per request; default: access for serve, info for up, error for up at a terminal",
  ),
} as const satisfies Record<string, Row>;

export type SettingName = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** The row of a setting, without its precise type. */
export const settingRow = (name: SettingName): Row => SETTINGS[name];

const parts = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(" ");
export const tomlKey = (name: string) => parts(name).join("_");
export const flagName = (name: string) => `--${parts(name).join("-")}`;
