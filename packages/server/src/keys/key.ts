// key.ts: what a key may do; how it is shown as JSON, and stored in a row.
//
// err  keyFromRow throws for a row that this program did not write

import { SCOPES, type Scope } from "@inkling/contract";
import { formatPrefix, type IpAddress, type Prefix, parsePrefix, prefixContains } from "@inkling/engine";
import { visibleText } from "../text/visible-text.ts";
import { KEY_MODES, type KeyMode } from "./token.ts";

export { SCOPES, type Scope };

/** Why a request of a known key was refused, as usage counts it: its rights, its rate, its quota. */
export const REFUSALS = ["not_allowed", "rate_limited", "quota_exceeded"] as const;
export type Refusal = (typeof REFUSALS)[number];

/** How many lookups of each scope were values of batches, which count as lookups as well. */
type Batched = `${Scope}_batch`;
export const batchedOf = (scope: Scope): Batched => `${scope}_batch`;

/** What is counted for a key: lookups by scope, refusals, values of batches. Only lookups count for its quota. */
export type Counted = Scope | Refusal | Batched;
export const COUNTED: readonly Counted[] = [...SCOPES, ...REFUSALS, ...SCOPES.map(batchedOf)];

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
  readonly rate?: number | undefined;
  /** Lookups at once; undefined is twice the key's own rate, or the server's default. */
  readonly burst?: number | undefined;
  /** Lookups per UTC day; undefined is no limit. */
  readonly quota?: number | undefined;
  readonly createdAt: EpochMs;
  readonly expiresAt?: EpochMs | undefined;
  readonly revokedAt: EpochMs | undefined;
  /** Until then the log names the networks that its callers come from (api/trace.ts); undefined: it never does. */
  readonly tracedUntil?: EpochMs | undefined;
}

/** Of the key that INKLING_API_KEY names, made at start where it is missing. */
export const NAME_FROM_SETTINGS = "from settings";

/** A key that is to be made. */
export type NewKey = Pick<
  Key,
  "name" | "mode" | "scopes" | "networks" | "rate" | "burst" | "quota" | "expiresAt"
>;

/** The members of a key that are to change. */
export type KeyChange = Partial<Omit<NewKey, "mode"> & Pick<Key, "tracedUntil">>;

/** Is this address one that the key's callers may come from? IPv4-mapped addresses must be unwrapped before. */
export function isSourceAllowed(key: Key, address: IpAddress): boolean {
  return key.networks.length === 0 || key.networks.some((network) => prefixContains(network, address));
}

/** A key cannot be made as requested. `problems` has a line for each thing that is wrong. */
export class KeyInputError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "KeyInputError";
    this.problems = problems;
  }
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
    traced_until: time(key.tracedUntil),
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
  /** Missing in copies that an older version wrote. */
  readonly traced_until?: number | string | null;
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
    name: visibleText(row.name),
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
    tracedUntil: optionalNumber(row.traced_until ?? null),
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
    traced_until: key.tracedUntil ?? null,
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
