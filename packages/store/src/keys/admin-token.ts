// admin-token.ts: defines a named admin token and its JSON form.

import type { AdminRole } from "@inkling/contract";
import { isoTime, isoTimeOrNull } from "./day.ts";
import type { EpochMs } from "./key.ts";

/** Pattern of names. Matching names need no quotes in paths and shells, and no two of them differ only in case. */
export const ADMIN_TOKEN_NAME = "[a-z0-9][a-z0-9._-]{0,62}";

export interface NewAdminToken {
  /** Unique among the existing tokens. It is the author of all changes that are made with the token. */
  readonly name: string;
  readonly role: AdminRole;
  readonly expiresAt: EpochMs | undefined;
}

export interface AdminToken extends NewAdminToken {
  /** The first characters, for display: `ink_admin_3fK9…`. */
  readonly hint: string;
  /** Who created the token. */
  readonly author: string;
  /** Name of the token with which this one was created; undefined for the root token and the command line. */
  readonly parent: string | undefined;
  readonly createdAt: EpochMs;
  /** The last UTC day with a request; undefined if there has been no request. */
  readonly lastUsedOn: string | undefined;
}

/** Returns the JSON form of an admin token, which never contains the token itself. */
export function adminTokenJson(token: AdminToken, now: number) {
  const { name, role, hint, author, createdAt, expiresAt, lastUsedOn, parent } = token;
  const isExpired = expiresAt !== undefined && expiresAt <= now;
  return {
    name,
    role,
    state: isExpired ? ("expired" as const) : ("active" as const),
    hint,
    author,
    parent: parent ?? null,
    created_at: isoTime(createdAt),
    expires_at: isoTimeOrNull(expiresAt),
    last_used_at: lastUsedOn ?? null,
  };
}
