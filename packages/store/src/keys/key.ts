// key.ts: defines what a key may do, its JSON form, and its database row.

import { SCOPES, type Scope } from "@inkling/contract";
import {
  formatPrefix,
  type IpAddress,
  OVERRIDE_FLAGS,
  type OverrideFlag,
  type Prefix,
  parsePeerPrefix,
  prefixContains,
} from "@inkling/engine";
import { known, visibleText } from "../text/fields.ts";
import { isoTime, isoTimeOrNull, optionalNumber } from "./day.ts";
import { KEY_MODES, type KeyMode } from "./token.ts";

export { SCOPES, type Scope };

/** Reasons for refusing a known key, as usage counts them: not allowed, rate or quota. */
export const REFUSALS = ["not_allowed", "rate_limited", "quota_exceeded"] as const;
export type Refusal = (typeof REFUSALS)[number];

/** Name of the counter for a scope's lookups in batches. These lookups also count as lookups of the scope. */
type Batched = `${Scope}_batch`;
export const batchedOf = (scope: Scope): Batched => `${scope}_batch`;

/**
 * Everything that is counted for a key: lookups by scope, refusals, lookups in batches, and answers by flag. Only
 * lookups use up the quota.
 */
export type Counted = Scope | Refusal | Batched | OverrideFlag;
export const COUNTED: readonly Counted[] = [
  ...SCOPES,
  ...REFUSALS,
  ...SCOPES.map(batchedOf),
  ...OVERRIDE_FLAGS,
];

/** Milliseconds since 1970 in UTC. */
export type EpochMs = number & { readonly unit?: "epoch ms" };
/**
 * `key_` followed by 16 characters. It identifies a key in lists, logs and usage. The id is not secret, and rotation
 * does not change it.
 */
export type KeyId = string & { readonly of?: "key" };

/** One key, frozen. If a key changes, a new object replaces it; an unchanged key keeps its object. */
export interface Key {
  readonly id: KeyId;
  readonly name: string;
  readonly mode: KeyMode;
  /** The first characters of the newest token, for display: `ink_live_3fK9…`. */
  readonly hint: string;
  readonly scopes: readonly Scope[];
  /** Networks that callers must come from; empty means any network. */
  readonly networks: readonly Prefix[];
  /** Lookups per second; 0 means no limit; undefined means the server's default applies. */
  readonly rate?: number | undefined;
  /** Burst size in lookups; undefined means twice the key's own rate, or the server's default. */
  readonly burst?: number | undefined;
  /** Lookups per UTC day; undefined means no limit. */
  readonly quota?: number | undefined;
  readonly createdAt: EpochMs;
  readonly expiresAt?: EpochMs | undefined;
  readonly revokedAt: EpochMs | undefined;
  /**
   * Until this time, the log contains the networks of the key's callers (api/trace.ts); undefined means that the key is
   * not traced.
   */
  readonly tracedUntil?: EpochMs | undefined;
}

/** Name of the key in INKLING_API_KEY. If the key is missing at startup, the server creates it. */
export const NAME_FROM_SETTINGS = "from settings";

export type NewKey = Pick<
  Key,
  "name" | "mode" | "scopes" | "networks" | "rate" | "burst" | "quota" | "expiresAt"
>;

/** The fields of a key that a change sets. */
export type KeyChange = Partial<Omit<NewKey, "mode"> & Pick<Key, "tracedUntil">>;

/** True if the key may be used from this address. IPv4-mapped addresses must be unwrapped first. */
export function isSourceAllowed(key: Key, address: IpAddress): boolean {
  return key.networks.length === 0 || key.networks.some((network) => prefixContains(network, address));
}

/** The key cannot be created or changed as requested. `problems` has one line per mistake. */
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

/** Returns a key's JSON form: snake_case names, ISO 8601 times, null for "not set". It never contains a token. */
export function keyJson(key: Key, now: number) {
  return {
    id: key.id,
    hint: key.hint,
    name: key.name,
    mode: key.mode,
    state: keyState(key, now),
    scopes: [...key.scopes],
    networks: key.networks.map(formatPrefix),
    rate: key.rate ?? null,
    burst: key.burst ?? null,
    quota: key.quota ?? null,
    created_at: isoTime(key.createdAt),
    expires_at: isoTimeOrNull(key.expiresAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    traced_until: isoTimeOrNull(key.tracedUntil),
  };
}

/** A row of the keys table, as both databases return it. PostgreSQL returns 64-bit integers as text. */
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
  /** Missing in copies written by an older version. */
  readonly traced_until?: number | string | null;
}

/** The columns, in the order in which a table of keys stores them. A new column is added at the end. */
export const KEY_COLUMNS =
  "id name mode hint scopes networks rate burst quota created_at expires_at revoked_at traced_until".split(
    " ",
  ) as readonly (keyof KeyRow)[];

/**
 * Reads a key from its row. Leaves out scopes that only a newer version has.
 * @param report called with the reason if a scope is left out
 * @throws Error if the row has an unknown mode or an invalid network
 */
export function keyFromRow(row: KeyRow, report: (reason: string) => void = () => {}): Key {
  return Object.freeze({
    id: row.id,
    name: visibleText(row.name),
    mode: known(KEY_MODES, row.mode, "mode"),
    hint: row.hint,
    scopes: scopesFromRow(row, report),
    networks: row.networks === "" ? ANYWHERE : words(row.networks).map(networkFromRow),
    rate: row.rate ?? undefined,
    burst: row.burst ?? undefined,
    quota: optionalNumber(row.quota),
    createdAt: Number(row.created_at),
    expiresAt: optionalNumber(row.expires_at),
    revokedAt: optionalNumber(row.revoked_at),
    tracedUntil: optionalNumber(row.traced_until ?? null),
  });
}

/** Creates the row of a key. Both databases store lists as words separated by spaces. */
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

/** Shared by all keys with the same scopes, because 100,000 arrays take 10 MB in each thread. */
const SCOPE_LISTS = new Map<string, readonly Scope[]>();
const ANYWHERE: readonly Prefix[] = Object.freeze([]);

function scopesFromRow(row: KeyRow, report: (reason: string) => void): readonly Scope[] {
  const scopes = words(row.scopes).flatMap((word) => {
    const scope = SCOPES.find((one) => one === word);
    if (scope === undefined) report(`unknown scope "${word}"`);
    return scope ?? [];
  });
  const name = scopes.join(" ");
  const shared = SCOPE_LISTS.get(name) ?? Object.freeze(scopes);
  SCOPE_LISTS.set(name, shared);
  return shared;
}

// Skipping an invalid network would be dangerous, because an empty list of networks means "from anywhere".
function networkFromRow(word: string): Prefix {
  const network = parsePeerPrefix(word);
  if (network === undefined) throw new Error(`"${word}" is not a network`);
  return network;
}
