// admin-token.ts: a named admin token: whose it is, and whether it may change anything; how it is shown as JSON.

import type { AdminScope } from "@inkling/contract";
import type { EpochMs } from "./key.ts";

/** Of names: paths and shells need no quotes for them, and no two differ in case only. */
export const ADMIN_TOKEN_NAME = "[a-z0-9][a-z0-9._-]{0,62}";

/** A token that is to be made. */
export interface NewAdminToken {
  /** Unique among the tokens that exist. The author of all that is done with it. */
  readonly name: string;
  readonly scope: AdminScope;
  readonly expiresAt: EpochMs | undefined;
}

export interface AdminToken extends NewAdminToken {
  /** First characters, for display: `ink_admin_3fK9…`. */
  readonly hint: string;
  /** Who created it. */
  readonly author: string;
  readonly createdAt: EpochMs;
  /** The last UTC day with a request; undefined without any. */
  readonly lastUsedOn: string | undefined;
}

/** A token for programs. Never its text. */
export function adminTokenJson(token: AdminToken, now: number) {
  const { name, scope, hint, author, createdAt, expiresAt, lastUsedOn } = token;
  const isExpired = expiresAt !== undefined && expiresAt <= now;
  return {
    name,
    scope,
    state: isExpired ? ("expired" as const) : ("active" as const),
    hint,
    author,
    created_at: new Date(createdAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    last_used_at: lastUsedOn ?? null,
  };
}
