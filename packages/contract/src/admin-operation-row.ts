// admin-operation-row.ts: what a row about an operation of the admin API holds, and the actions of the audit trail.

import type { AdminProblemCode } from "./admin-problems.ts";

export const ADMIN_PATH = "/admin/v1/";
/** Of a body, unless its operation takes more. */
export const MAX_BODY_BYTES = 16 * 1024;
/** A ruleset of 256 KiB, in JSON. */
export const MAX_RULESET_BYTES = 1024 * 1024;
/** A file of as many overrides as there may be; the listener takes no more. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** What the audit trail records, by the admin API or another way. */
export const AUDIT_ACTIONS = [
  "override-added",
  "override-changed",
  "override-removed",
  "admin-token-made",
  "admin-token-revoked",
  "key-made",
  "key-changed",
  "key-rotated",
  "key-revoked",
  "database-restored",
  "data-update-asked",
  "release-rolled-back",
  "release-pinned",
  "release-unpinned",
  "data-accepted",
  "feed-enabled",
  "feed-disabled",
  "feed-added",
  "feed-removed",
  "settings-changed",
  "channel-published",
  "channel-promoted",
  "channel-rolled-back",
  "change-failed",
  "key-adopted",
  "override-adopted",
  "ruleset-published",
  "ruleset-rolled-back",
  "decisions-deleted",
  "database-confirmed",
  "webhook-added",
  "webhook-rotated",
  "webhook-removed",
  "webhook-disabled",
  "webhook-enabled",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What an admin token may do: `write` includes `read`. */
export const ADMIN_SCOPES = ["read", "write"] as const;
export type AdminScope = (typeof ADMIN_SCOPES)[number];

export const ADMIN_TAGS = {
  "Log in": "A cookie instead of the token, for web pages.",
  "Look up": "The API's answers, for the operator.",
  Data: "Feeds and releases.",
  Keys: "API keys and their usage.",
  "Admin tokens": "Named tokens of this API.",
  Overrides: "The operator's own verdicts.",
  Rules: "Rulesets and their decisions.",
  Decisions: "Stored decisions and their outcomes.",
  Webhooks: "Alerts to your own services.",
  Watch: "Traffic, hosts and the audit trail.",
} as const;

interface Row {
  readonly path: string;
  /** What `{id}` of the path names. */
  readonly names?: "key" | "admin token" | "override" | "release" | "ruleset" | "decision" | "webhook";
  readonly tag: keyof typeof ADMIN_TAGS;
  readonly summary: string;
  /** Needs neither token nor session. */
  readonly isOpen?: boolean;
  /** Done once for each `Idempotency-Key`. */
  readonly isIdempotent?: boolean;
  readonly maxBodyBytes?: number;
  /** Of a success; 200 unless given. */
  readonly status?: number;
  /** Another status with the same answer. */
  readonly otherStatus?: number;
  /** Headers of the answer beside the usual ones; those marked with "?" are not always there. */
  readonly headers?: readonly string[];
  /** Problems in addition to the problems of every operation. */
  readonly problems?: readonly AdminProblemCode[];
  /** In the table of docs/admin-api.md. */
  readonly docs: string;
}

export const scopeOf = ({ writes }: AdminOperationRow): AdminScope => (writes ? "write" : "read");

export type AdminOperationRow = Row &
  (
    | { readonly method: "GET"; readonly writes?: false }
    | {
        readonly method: "POST" | "PATCH" | "DELETE";
        /** Actions of the entry that a change leaves; none: it changes nothing that the trail is about. */
        readonly audits: readonly AuditAction[];
        /** Needs a token with the scope `write`: it changes something, in the audit trail or not. */
        readonly writes: boolean;
      }
  );
