// admin-operation-row.ts: defines the shape of a row for an admin API operation, and the actions of the audit trail.

import type { AdminProblemCode } from "./admin-problems.ts";

export const ADMIN_PATH = "/admin/v1/";
/** Maximum size of a request body, unless the operation sets a larger limit. */
export const MAX_BODY_BYTES = 16 * 1024;
/** Large enough for a 256 KiB ruleset as JSON. */
export const MAX_RULESET_BYTES = 1024 * 1024;
/** Large enough for a file with the maximum number of overrides. The listener refuses larger bodies. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** The actions that the audit trail records, whether they come from the admin API or elsewhere. */
export const AUDIT_ACTIONS = [
  "override-added",
  "override-changed",
  "override-removed",
  "admin-token-created",
  "admin-token-revoked",
  "key-created",
  "key-changed",
  "key-rotated",
  "key-revoked",
  "database-restored",
  "database-copied",
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
  "channel-rolled-back",
  "change-failed",
  "key-adopted",
  "override-adopted",
  "ruleset-published",
  "ruleset-rolled-back",
  "decision-labelled",
  "decisions-deleted",
  "database-confirmed",
  "webhook-added",
  "webhook-rotated",
  "webhook-removed",
  "webhook-disabled",
  "webhook-enabled",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The roles of an admin token. Each role includes the roles before it. */
export const ADMIN_ROLES = ["read", "analyst", "admin"] as const;
export type AdminRole = (typeof ADMIN_ROLES)[number];

/** What each role may do, after the role before it. */
export const ADMIN_ROLE_TEXTS: Readonly<Record<AdminRole, string>> = {
  read: "look up and view",
  analyst: "also label decisions, change overrides, and publish shadow rules",
  admin: "also change everything else",
};

/** Returns whether a token with the role `held` may do what needs the role `needed`. */
export const hasRole = (held: AdminRole, needed: AdminRole): boolean =>
  ADMIN_ROLES.indexOf(held) >= ADMIN_ROLES.indexOf(needed);

export const ADMIN_TAGS = {
  "Log in": "Log in with a cookie instead of a token, for web pages.",
  "Look up": "The API's answers, for the operator.",
  Data: "Feeds and releases.",
  Keys: "API keys and their usage.",
  "Admin tokens": "Named tokens for this API.",
  Overrides: "The operator's own verdicts.",
  Rules: "Rulesets and their decisions.",
  Decisions: "Stored decisions and their outcomes.",
  Webhooks: "Alerts to your own services.",
  Watch: "Traffic, hosts and the audit trail.",
} as const;

interface Row {
  readonly path: string;
  /** What `{id}` in the path identifies. */
  readonly names?: "key" | "admin token" | "override" | "release" | "ruleset" | "decision" | "webhook";
  readonly tag: keyof typeof ADMIN_TAGS;
  readonly summary: string;
  /** True if the operation needs neither a token nor a session. */
  readonly isOpen?: boolean;
  /** True if the operation runs only once per `Idempotency-Key`. */
  readonly isIdempotent?: boolean;
  readonly maxBodyBytes?: number;
  /** The status of a success; by default 200. */
  readonly status?: number;
  /** A second success status, which has the same answer. */
  readonly otherStatus?: number;
  /**
   * Headers of the answer in addition to the headers of every answer. A header marked with "?" is not always present.
   */
  readonly headers?: readonly string[];
  /** Problems in addition to the problems of every operation. */
  readonly problems?: readonly AdminProblemCode[];
  /** The operation's text in the table in docs/admin-api.md. */
  readonly docs: string;
}

/** Returns the role that an operation needs. */
export const roleOf = ({ role = "read" }: AdminOperationRow): AdminRole => role;

export type AdminOperationRow = Row &
  (
    | { readonly method: "GET"; readonly role?: "read" }
    | {
        readonly method: "POST" | "PATCH" | "DELETE";
        /**
         * Actions of the audit entries that the operation writes; empty if it changes nothing that the trail records.
         */
        readonly audits: readonly AuditAction[];
        /** The role that the operation needs. */
        readonly role: AdminRole;
      }
  );
