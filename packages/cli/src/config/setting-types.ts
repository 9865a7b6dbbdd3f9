// setting-types.ts: defines the types of settings. Each type turns the text from a flag, a variable or a file into a
// value or a problem, and knows how a value is shown.

import { resolve } from "node:path";
import { isMirrorUrl } from "@inkling/compiler/mirror-url";
import { ownFeeds } from "@inkling/compiler/own-feed";
import {
  LOG_LEVELS,
  type OwnFeed,
  type Pattern,
  type SettingType,
  type SettingValues,
  shownFeed,
} from "@inkling/contract";
import { parseChannel } from "@inkling/data";
import { formatDnsServer, parseDnsServer } from "@inkling/data/dns";
import { formatPrefix, parsePeerPrefix, toAsciiDomain, withoutHostBits } from "@inkling/engine";
import { isWellFormedToken } from "@inkling/store/keys/token";
import { z } from "zod";

function wholeNumber(least: number, most: number) {
  const problem = `must be a whole number from ${least} to ${most}`;
  return z
    .union([z.number(), z.string().regex(/^[0-9]{1,15}$/, problem)], problem)
    .transform(Number)
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, problem);
}

/** Numbers are text too, because inkling.toml may have `maxmind_account_id = 123456`. */
const textOf = ({ pattern, form }: Pattern) =>
  z
    .union([z.string(), z.number()], `must be ${form}`)
    .transform(String)
    .refine((text) => pattern.test(text), `must be ${form}`);

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

const hostNames = listOf("names", "host names such as inkling.example or inkling.example:8443", (text) =>
  /^[0-9A-Za-z.-]+(:[0-9]{1,5})?$/.test(text) ? text : undefined,
);

const path = z.string("must be a path").min(1, "must be a path");

const mirror = z
  .string("must be a folder, or a base URL")
  .refine(
    (text) => !/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || /^https?:\/\/./i.test(text),
    "must be a folder, or start with http:// or https://",
  )
  .refine(
    // A file name is appended to the URL. A token after "?" would therefore be misplaced, shown and logged.
    (text) => !isMirrorUrl(text) || !/[?#]/.test(text),
    "must be a base URL without ? and # (write %3F and %23 in a user name or password); file names are added to it",
  )
  .refine(
    (text) => !isMirrorUrl(text) || /[?#]/.test(text) || URL.canParse(text),
    "must be a valid URL, such as https://mirror.example/feeds",
  );

const channel = z
  .string("must be text")
  .refine(
    (text) => parseChannel(text) !== undefined,
    "must be a folder, http(s)://host/path or s3://bucket/prefix, with #name for a channel other than stable",
  );

const channelKeys = listOf(
  "keys",
  "43-character public keys, as `inkling channel init` prints them",
  (text) => (/^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined),
);

const databaseUrl = z
  .string("must be text")
  .regex(/^(sqlite|postgres|postgresql):\/\/./, "must start with sqlite:// or postgres://")
  .refine(
    (text) => text !== "sqlite://:memory:",
    "must name a file: an in-memory database is lost when the process exits",
  );

const apiKey = z
  .string("must be text")
  .refine(
    isWellFormedToken,
    "must be ink_live_ or ink_test_, 32 base62 characters, _ and a checksum; `inkling keys create` creates one",
  );

/**
 * Secrets as Supabase shows them: `v1,whsec_<base64>`, or several separated by "|". A problem never shows the
 * value.
 */
const webhookSecrets = z
  .union([z.string(), z.array(z.string())], "must be text")
  .transform((value) => (typeof value === "string" ? value.split("|") : value))
  .transform((texts) => texts.map((one) => one.trim().replace(/^(?:v1,)?whsec_/, "")).filter(Boolean))
  .refine(
    (secrets) => secrets.every((secret) => /^[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)),
    "must be v1,whsec_ and a secret of at least 24 bytes in base64; separate two secrets with |",
  );

/** Values that an HTTP header may have (RFC 9110 5.5), limited to ASCII. */
const secrets = z.record(
  z.string().regex(/^[a-z0-9_]{1,60}$/, "must have names of lower-case letters, digits and _"),
  z.string("must be text").regex(/^[!-~]([ -~]{0,4000}[!-~])?$/, "must be one line of ASCII text"),
  "must be a table of names with their values",
);

/**
 * Returns the schema for a list of texts, or for a single text with commas.
 * @param form what each item must be
 */
function listOf<T>(what: string, form: string, parse: (text: string) => T | undefined) {
  return z
    .union([z.string(), z.array(z.string())], `must be a list of ${what}`)
    .transform((value, context) => {
      const texts = typeof value === "string" ? value.split(/[\s,]+/).filter(Boolean) : value;
      const parsed = texts.map(parse);
      const wrong = texts.filter((_, i) => parsed[i] === undefined);
      if (wrong.length === 0) return parsed as T[];
      const fault = (text: string) => {
        const meant = withoutHostBits(text);
        return meant === undefined
          ? `${JSON.stringify(text)} is invalid`
          : `${text} has host bits set; use ${meant}`;
      };
      // For a single value, the caller's message already contains the value.
      const faults = texts.length === 1 && withoutHostBits(texts[0]!) === undefined ? [] : wrong.map(fault);
      context.addIssue({
        code: "custom",
        message: [`must be ${form}`, ...(faults.length > 0 ? [faults.join(", ")] : [])].join(": "),
      });
      return z.NEVER;
    });
}

const networks = listOf("networks", "addresses or networks such as 10.0.0.0/8", (text) => {
  const prefix = parsePeerPrefix(text);
  return prefix && formatPrefix(prefix);
});

const domains = listOf("domains", "domains such as corp.example.com", toAsciiDomain);

const dnsServers = listOf(
  "addresses",
  "addresses of DNS servers such as 192.0.2.53 or [2001:db8::53]:5353",
  (text) => {
    const server = parseDnsServer(text);
    return server && formatDnsServer(server);
  },
);

export const SQLITE = "sqlite://";
const isUrl = (text: string) => /^[a-z0-9]+:\/\//i.test(text);
const absolutePath = (path: string, base: string) => resolve(base, path);
const absoluteUnlessUrl = (text: string, base: string) => (isUrl(text) ? text : resolve(base, text));

/** Makes the feed's file path absolute. */
export const withAbsoluteFile = (feed: OwnFeed, base: string): OwnFeed =>
  feed.file === undefined ? feed : { ...feed, file: resolve(base, feed.file) };

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

interface TypeOf<Value> {
  readonly schema: z.ZodType<Value>;
  /** Resolves relative paths against a folder. */
  absolute?(value: Value, base: string): Value;
  /** Returns the value as it may be shown and logged, if that differs from the value or, for a secret, from `***`. */
  shown?(value: Value): unknown;
  /** Shown after the flag in --help. A flag without a placeholder takes no value. */
  readonly placeholder?: string;
  /** Whether the flag may be repeated. */
  readonly isList?: true;
}

const TYPES: { readonly [Name in keyof SettingValues]: TypeOf<SettingValues[Name]> } = {
  "yes or no": { schema: yesOrNo },
  "host names": { schema: hostNames, placeholder: "names", isList: true },
  folder: { schema: path, placeholder: "folder", absolute: absolutePath },
  file: { schema: path, placeholder: "file", absolute: absolutePath },
  mirror: { schema: mirror, placeholder: "folder or URL", absolute: absoluteUnlessUrl, shown: maskUrl },
  channel: { schema: channel, placeholder: "URL", absolute: absoluteUnlessUrl, shown: maskUrl },
  "channel keys": { schema: channelKeys, placeholder: "keys", isList: true },
  "database url": {
    schema: databaseUrl,
    placeholder: "URL",
    absolute: (url, base) =>
      url.startsWith(SQLITE) ? `${SQLITE}${resolve(base, url.slice(SQLITE.length))}` : url,
    shown: maskUrl,
  },
  "api key": {
    schema: apiKey,
    placeholder: "key",
    shown: (key) => `${key.slice(0, "ink_live_".length)}***`,
  },
  "webhook secrets": { schema: webhookSecrets, placeholder: "secret" },
  networks: { schema: networks, placeholder: "networks", isList: true },
  domains: { schema: domains, placeholder: "domains", isList: true },
  "dns servers": { schema: dnsServers, placeholder: "addresses", isList: true },
  "log level": { schema: z.enum(LOG_LEVELS, "must be error, info or access"), placeholder: "level" },
  feeds: {
    schema: ownFeeds,
    placeholder: "tables",
    absolute: (feeds, base) => feeds.map((feed) => withAbsoluteFile(feed, base)),
    shown: (feeds) => feeds.map(shownFeed),
  },
  secrets: {
    schema: secrets,
    placeholder: "table",
    shown: (values) => Object.keys(values).map((name) => `${name}=***`),
  },
};

export function typeOf(type: SettingType): TypeOf<unknown> {
  if (typeof type === "string") return TYPES[type];
  if ("min" in type) return { schema: wholeNumber(type.min, type.max), placeholder: "number" };
  return { schema: textOf(type), placeholder: type.placeholder };
}
