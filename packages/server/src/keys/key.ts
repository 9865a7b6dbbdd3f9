// key.ts: what a key may do; how it is requested, shown as JSON, and kept in a row.
//
// in   unknown input (admin API, command line), or a row of the store
// out  NewKey, Key
// err  parseNewKey throws KeyInputError with every problem; a row that makes no sense throws too

import {
  formatPrefix,
  type IpAddress,
  issueLines,
  LOOKUPS,
  type Prefix,
  parsePrefix,
  prefixContains,
} from "@inkling/engine";
import { z } from "zod";
import { isoTime } from "./fields.ts";
import { KEY_MODES, type KeyMode } from "./token.ts";

/** The lookups that a key may be allowed, and that usage is counted by. */
export const SCOPES = LOOKUPS;
export type Scope = (typeof SCOPES)[number];

/** Why a request of a known key was refused, as usage counts it: its rights, its rate, its quota. */
export const REFUSALS = ["not_allowed", "rate_limited", "quota_exceeded"] as const;
export type Refusal = (typeof REFUSALS)[number];

/** What is counted for a key: lookups by scope, and refusals. Only lookups count for its quota. */
export const COUNTED = [...SCOPES, ...REFUSALS] as const;
export type Counted = (typeof COUNTED)[number];

export function isScope(counted: string): counted is Scope {
  return (SCOPES as readonly string[]).includes(counted);
}

/** Milliseconds since 1970, UTC. */
export type EpochMs = number & { readonly unit?: "epoch ms" };
/** `key_` and 16 characters: names a key in lists, logs and usage. Not secret; survives rotation. */
export type KeyId = string & { readonly of?: "key" };

/** One key, frozen. A changed key is a new object; an unchanged one the same. */
export interface Key {
  readonly id: KeyId;
  readonly name: string;
  readonly mode: KeyMode;
  /** First characters of the newest token, for display: `ink_live_3fK9…`. */
  readonly hint: string;
  readonly scopes: readonly Scope[];
  /** Networks that callers must come from; empty means any. */
  readonly networks: readonly Prefix[];
  /** Lookups per second; 0 is no limit; undefined is the server's default. */
  readonly rate: number | undefined;
  /** Lookups at once; undefined is twice the key's own rate, or the server's default. */
  readonly burst: number | undefined;
  /** Lookups per UTC day; undefined is no limit. */
  readonly quota: number | undefined;
  readonly createdAt: EpochMs;
  readonly expiresAt: EpochMs | undefined;
  readonly revokedAt: EpochMs | undefined;
}

/** A key that is to be made. */
export type NewKey = Pick<
  Key,
  "name" | "mode" | "scopes" | "networks" | "rate" | "burst" | "quota" | "expiresAt"
>;

/** Is this address one that the key's callers may come from? IPv4-mapped addresses must be unwrapped before. */
export function isSourceAllowed(key: Key, address: IpAddress): boolean {
  return key.networks.length === 0 || key.networks.some((network) => prefixContains(network, address));
}

const prefix = z.string().transform((text, ctx): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed !== undefined) return parsed;
  ctx.addIssue({
    code: "custom",
    message: `must be a network such as 203.0.113.0/24: it is "${text.slice(0, 60)}"`,
  });
  return z.NEVER;
});

/** A number with one message for all that can be wrong with it. */
function within(number: z.ZodNumber, least: number, most: number, kind: string) {
  const must = `must be ${kind} from ${least} to ${most.toLocaleString("en")}`;
  return z
    .custom<number>((value) => number.min(least).max(most).safeParse(value).success, must)
    .meta({ type: number.isInt ? "integer" : "number", minimum: least, maximum: most });
}

const keyName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not contain control characters");

const scopes = z
  .array(z.enum(SCOPES, `must be some of ${SCOPES.join(", ")}`))
  .min(1, `must be some of ${SCOPES.join(", ")}`)
  .transform((given) => SCOPES.filter((scope) => given.includes(scope)));
const networks = z.array(prefix).max(256);
const rate = within(z.number(), 0, 1_000_000, "a number");
const burst = within(z.number().int(), 1, 10_000_000, "a whole number");
const quota = within(z.number().int(), 0, 1_000_000_000_000, "a whole number");

/** A key as requested. */
export const newKeySchema = z.strictObject({
  name: keyName,
  mode: z.enum(KEY_MODES).default("live"),
  scopes: scopes.default([...SCOPES]),
  networks: networks.default([]),
  rate: rate.optional(),
  burst: burst.optional(),
  quota: quota.optional(),
  expiresAt: isoTime.optional(),
});

/** The same as the admin API takes it: null is "not set". */
export const newKeyBody = z
  .strictObject({
    ...newKeySchema.omit({ expiresAt: true }).shape,
    rate: rate.nullish(),
    burst: burst.nullish(),
    quota: quota.nullish(),
    expires_at: isoTime.nullish(),
  })
  .meta({ id: "NewKey" });

/** What of a key can be changed, as the admin API takes it: what is left out stays, null is "not set". */
export const keyChangeBody = z
  .strictObject({
    name: keyName.optional(),
    scopes: scopes.optional(),
    networks: networks.optional(),
    rate: rate.nullish(),
    burst: burst.nullish(),
    quota: quota.nullish(),
    expires_at: isoTime.nullish(),
  })
  .meta({ id: "KeyChange" });

/** A key cannot be made as requested. `problems` has a line for each thing that is wrong. */
export class KeyInputError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "KeyInputError";
    this.problems = problems;
  }
}

/**
 * Reads a description of a key from outside.
 * @param now epoch milliseconds: a key cannot be made expired
 * @throws KeyInputError with every problem
 */
export function parseNewKey(input: unknown, now: number): NewKey {
  const { rate, burst, quota, expiresAt, ...rest } = read(newKeySchema, input);
  if (expiresAt !== undefined && expiresAt <= now) throw new KeyInputError(["expiresAt: is in the past"]);
  return { ...rest, rate, burst, quota, expiresAt };
}

/** As {@link parseNewKey}, of a body of the admin API. */
export function parseNewKeyBody(input: unknown, now: number): NewKey {
  const { rate, burst, quota, expires_at, ...rest } = read(newKeyBody, input);
  refusePast(expires_at, now);
  const set = <T>(value: T | null | undefined) => value ?? undefined;
  return { ...rest, rate: set(rate), burst: set(burst), quota: set(quota), expiresAt: set(expires_at) };
}

/** The members of a key that are to change. */
export type KeyChange = Partial<Omit<NewKey, "mode">>;

/** A change of a key, as a body of the admin API. @throws KeyInputError with every problem */
export function parseKeyChange(input: unknown, now: number): KeyChange {
  const given = read(keyChangeBody, input);
  refusePast(given.expires_at, now);
  const { expires_at, ...rest } = given;
  const named = "expires_at" in given ? { ...rest, expiresAt: expires_at } : rest;
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, value ?? undefined]));
}

function refusePast(expiresAt: number | null | undefined, now: number): void {
  if (expiresAt != null && expiresAt <= now) throw new KeyInputError(["expires_at: is in the past"]);
}

function read<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new KeyInputError(issueLines(result.error, "key", 1));
}

export type KeyState = "live" | "sandbox" | "expired" | "revoked";

export function keyState({ mode, revokedAt, expiresAt }: Key, now: number): KeyState {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt !== undefined && expiresAt <= now) return "expired";
  return mode === "test" ? "sandbox" : "live";
}

/** A key for programs: snake_case, times as ISO 8601, null for "not set". Never its token. */
export function keyJson(key: Key, now: number) {
  const time = (value: number | undefined) => (value === undefined ? null : new Date(value).toISOString());
  return {
    id: key.id,
    hint: key.hint,
    name: key.name,
    mode: key.mode,
    state: keyState(key, now),
    scopes: key.scopes,
    networks: key.networks.map(formatPrefix),
    rate: key.rate ?? null,
    burst: key.burst ?? null,
    quota: key.quota ?? null,
    created_at: time(key.createdAt),
    expires_at: time(key.expiresAt),
    revoked_at: time(key.revokedAt),
  };
}

/** A row of the keys table, as both databases give it. PostgreSQL gives its 64-bit integers as text. */
export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly mode: string;
  readonly hint: string;
  readonly scopes: string;
  readonly networks: string;
  readonly rate: number | null;
  readonly burst: number | null;
  readonly quota: number | string | null;
  readonly created_at: number | string;
  readonly expires_at: number | string | null;
  readonly revoked_at: number | string | null;
}

/**
 * The key that a row holds.
 * @throws Error when the row was not written by this program
 */
export function keyFromRow(row: KeyRow): Key {
  const mode = KEY_MODES.find((known) => known === row.mode);
  if (mode === undefined) throw new Error(`key ${row.id}: unknown mode "${row.mode}"`);
  return Object.freeze({
    id: row.id,
    name: row.name,
    mode,
    hint: row.hint,
    scopes: words(row.scopes).map((word) => scopeFromRow(row.id, word)),
    networks: words(row.networks).map((word) => networkFromRow(row.id, word)),
    rate: row.rate ?? undefined,
    burst: row.burst ?? undefined,
    quota: optionalNumber(row.quota),
    createdAt: Number(row.created_at),
    expiresAt: optionalNumber(row.expires_at),
    revokedAt: optionalNumber(row.revoked_at),
  });
}

/** The row that keeps a key. Lists are words with a space between: the same text in every database. */
export function rowFromKey(key: Key): KeyRow {
  return {
    id: key.id,
    name: key.name,
    mode: key.mode,
    hint: key.hint,
    scopes: key.scopes.join(" "),
    networks: key.networks.map(formatPrefix).join(" "),
    rate: key.rate ?? null,
    burst: key.burst ?? null,
    quota: key.quota ?? null,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
  };
}

function words(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}

function optionalNumber(value: number | string | null): number | undefined {
  return value === null ? undefined : Number(value);
}

// An unknown scope or network is an error, not left out: an empty list of networks means "from anywhere".
function scopeFromRow(id: string, word: string): Scope {
  const scope = SCOPES.find((known) => known === word);
  if (scope === undefined) throw new Error(`key ${id}: unknown scope "${word}"`);
  return scope;
}

function networkFromRow(id: string, word: string): Prefix {
  const network = parsePrefix(word);
  if (network === undefined) throw new Error(`key ${id}: "${word}" is no network`);
  return network;
}
