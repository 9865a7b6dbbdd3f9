// admin.ts: what the admin API, the console and the command line share: paths and limits, roles, and the actions of the
// audit trail.

export const ADMIN_PATH = "/admin/v1/";
/** Where agents call operations as tools of the Model Context Protocol. */
export const MCP_PATH = `${ADMIN_PATH}mcp`;
/** Maximum size of a request body, unless the operation sets a larger limit. */
export const MAX_BODY_BYTES = 16 * 1024;
/** Large enough for a 256 KiB ruleset as JSON. */
export const MAX_RULESET_BYTES = 1024 * 1024;
/** Large enough for a file with the maximum number of overrides. The listener refuses larger bodies. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** The maximum number of parts of a network that an answer lists by default. */
export const MAX_PREFIXES = 100;
/** The maximum number of networks that an answer lists for each address family of an AS. */
export const MAX_NETWORKS = 1_000;
export const MAX_COUNTRIES = 10;

/** Among accepted feeds, this id stands for all held copies, and for a release that fails its check. No feed has it. */
export const ACCEPT_RELEASE = "release";

/** Returns the text by which an operator accepts a held copy: ipsum-3@0123456789ab. */
export const copyName = (feed: string, sha256: string): string => `${feed}@${sha256.slice(0, 12)}`;

/** Reads such a text. The checksum may be longer; it is empty if the text is only an id. */
export function parseCopyName(text: string): { readonly feed: string; readonly sha256: string } {
  const [feed = "", sha256 = ""] = text.split("@");
  return { feed, sha256 };
}

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
  "decisions-labelled",
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
