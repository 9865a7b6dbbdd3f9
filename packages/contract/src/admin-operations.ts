// admin-operations.ts: every operation of the admin API, in the order of docs/admin-api.md, and what leaves a trail.
//
// Derived from the rows: routing and admission of the server, /admin/v1/openapi.json, the table of docs/admin-api.md, and
// which operations test/audit.test.ts wants an audit entry of. The server binds a handler to each id
// (server/src/admin/operations.ts), which describes its parameters, body and answer.

import type { AdminProblemCode } from "./problems.ts";
import { keysOf } from "./tables.ts";

export const ADMIN_PATH = "/admin/v1/";
/** Of a body, unless its operation takes more. */
export const MAX_BODY_BYTES = 16 * 1024;
/** A ruleset of 256 KiB, in JSON. */
const MAX_RULESET_BYTES = 1024 * 1024;
/** A file of as many overrides as there may be; the listener takes no more. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** What the audit trail records, by the admin API or another way. */
export const AUDIT_ACTIONS = [
  "override-added",
  "override-changed",
  "override-removed",
  "admin-token-made",
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
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const ADMIN_TAGS = {
  "Log in": "A cookie instead of the token, for web pages.",
  "Look up": "The API's answers, for the operator.",
  Data: "Feeds and releases.",
  Keys: "API keys and their usage.",
  Overrides: "The operator's own verdicts.",
  Rules: "Rulesets and their decisions.",
  Decisions: "Stored decisions and their outcomes.",
  Webhooks: "Alerts to your own services.",
  Watch: "Traffic, hosts and the audit trail.",
} as const;

interface Row {
  readonly path: string;
  /** What `{id}` of the path names. */
  readonly names?: "key" | "override" | "release" | "ruleset" | "decision" | "webhook";
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
  /** Problems beside those of every operation. */
  readonly problems?: readonly AdminProblemCode[];
  /** In the table of docs/admin-api.md. */
  readonly docs: string;
}

export type AdminOperationRow = Row &
  (
    | { readonly method: "GET" }
    | {
        readonly method: "POST" | "PATCH" | "DELETE";
        /** Actions of the entry that a change leaves; none: it changes nothing that the trail is about. */
        readonly audits: readonly AuditAction[];
      }
  );

const CONFLICTS = ["OVERRIDE_CONTRADICTS", "OVERRIDES_FULL", "OVERRIDE_TOO_WIDE"] as const;

const RULESET_PROBLEMS = ["RULESET_INVALID", "RULESET_CONFLICT"] as const;

const ROWS = {
  get_session: {
    method: "GET",
    path: `${ADMIN_PATH}session`,
    tag: "Log in",
    summary: "The session's author and expiry",
    docs: "the session's author and expiry",
  },
  log_in: {
    method: "POST",
    path: `${ADMIN_PATH}session`,
    tag: "Log in",
    summary: "Log in with the admin token. The answer sets a cookie and contains the secret to send with it",
    isOpen: true,
    status: 201,
    headers: ["Set-Cookie"],
    problems: ["TOKEN_INVALID", "TOKEN_REQUIRED", "CSRF_REJECTED"],
    audits: [],
    docs: '201: logs in with `{"token":"ink_admin_…","author":"ada"}`, sets a cookie and returns a secret',
  },
  log_out: {
    method: "DELETE",
    path: `${ADMIN_PATH}session`,
    tag: "Log in",
    summary: "Log out",
    headers: ["Set-Cookie"],
    audits: [],
    docs: "logs out",
  },
  look_up: {
    method: "POST",
    path: `${ADMIN_PATH}lookup`,
    tag: "Look up",
    summary: "Look up addresses, networks, domains and email addresses with evidence; not counted as usage",
    problems: ["NO_RELEASE"],
    audits: [],
    docs: 'looks up `{"values":[…]}`, up to 100 addresses, networks, domains and email addresses. Returns the API\'s answers with evidence, the shares of a network by flag and country, and the overrides that apply',
  },
  data: {
    method: "GET",
    path: `${ADMIN_PATH}data`,
    tag: "Data",
    summary: "The release in use and the build state",
    docs: "release in use, missing answers, pin and build state. If the latest build failed, `failed_build` has its time and reason",
  },
  list_feeds: {
    method: "GET",
    path: `${ADMIN_PATH}data/feeds`,
    tag: "Data",
    summary: "Every feed, and its entries in each release",
    docs: "every feed: state, age, cadence, licence, last error, entries in each kept release. `unused` lists the feeds that are not in the release",
  },
  choose_feed: {
    method: "POST",
    path: `${ADMIN_PATH}data/feeds`,
    tag: "Data",
    summary: "Turn a feed on or off",
    problems: ["ACTION_REFUSED"],
    audits: ["feed-enabled", "feed-disabled"],
    docs: 'turns a feed on or off: `{"id":"ipsum-3","on":false}`. A build follows within seconds. If a feed\'s terms need your agreement, only `inkling feeds enable` can turn it on',
  },
  list_releases: {
    method: "GET",
    path: `${ADMIN_PATH}data/releases`,
    tag: "Data",
    summary: "The releases that are kept, newest first",
    docs: "kept releases, newest first, with the feeds that changed",
  },
  release_changes: {
    method: "GET",
    path: `${ADMIN_PATH}data/releases/{id}/changes`,
    names: "release",
    tag: "Data",
    summary: "Changes of flags since the previous release",
    problems: ["RELEASE_NOT_FOUND", "ACTION_REFUSED"],
    docs: "difference from the previous release: IPv4 addresses and IPv6 networks by flag, disposable domains",
  },
  update_state: {
    method: "GET",
    path: `${ADMIN_PATH}data/update`,
    tag: "Data",
    summary: "The build state",
    problems: ["ACTION_REFUSED"],
    docs: "update state: requested, running, result of the last build, `held` if its release waits",
  },
  update_now: {
    method: "POST",
    path: `${ADMIN_PATH}data/update`,
    tag: "Data",
    summary: "Fetch all feeds now, and build a release",
    status: 202,
    problems: ["ACTION_REFUSED"],
    audits: ["data-update-asked"],
    docs: "202: fetches all feeds and builds a release. It starts within two seconds, or after the current build",
  },
  roll_back: {
    method: "POST",
    path: `${ADMIN_PATH}data/rollback`,
    tag: "Data",
    summary: "Roll back to the previous or another kept release, and pin it",
    problems: ["RELEASE_CONFLICT", "ACTION_REFUSED", "NO_RELEASE", "RELEASE_NOT_FOUND"],
    audits: ["release-rolled-back"],
    docs: 'rolls back to the previous release and pins it: `{"current":"<release in use>"}`. `"to":"<release>"` selects another kept release',
  },
  pin: {
    method: "POST",
    path: `${ADMIN_PATH}data/pin`,
    tag: "Data",
    summary: "Keep the release in use, whatever is built",
    problems: ["RELEASE_CONFLICT", "ACTION_REFUSED", "NO_RELEASE"],
    audits: ["release-pinned"],
    docs: "pins the release in use; same body",
  },
  unpin: {
    method: "DELETE",
    path: `${ADMIN_PATH}data/pin`,
    tag: "Data",
    summary: "Switch to the newest release",
    problems: ["ACTION_REFUSED"],
    audits: ["release-unpinned"],
    docs: "switches to the newest release",
  },
  list_keys: {
    method: "GET",
    path: `${ADMIN_PATH}keys`,
    tag: "Keys",
    summary: "All keys, newest first, with today's lookups",
    docs: "all keys, newest first, with today's lookups and `last_used_at`, the last UTC day with a lookup or a refusal, or null. `/v1/status`, documents and invalid requests do not count. `limit`, `cursor`",
  },
  make_key: {
    method: "POST",
    path: `${ADMIN_PATH}keys`,
    tag: "Keys",
    summary: "Create a key; only this answer shows its token",
    isIdempotent: true,
    status: 201,
    headers: ["Location"],
    problems: ["IDEMPOTENCY_KEY_INVALID"],
    audits: ["key-made"],
    docs: "201: creates a key and returns its token, shown once. `name`; optional `mode`, `scopes`, `networks`, `rate`, `burst`, `quota`, `expires_at`",
  },
  get_key: {
    method: "GET",
    path: `${ADMIN_PATH}keys/{id}`,
    names: "key",
    tag: "Keys",
    summary: "One key",
    problems: ["KEY_NOT_FOUND"],
    docs: "a key with its `last_used_at`, without its token",
  },
  change_key: {
    method: "PATCH",
    path: `${ADMIN_PATH}keys/{id}`,
    names: "key",
    tag: "Keys",
    summary: "Change what a key may do",
    problems: ["KEY_NOT_FOUND", "KEY_REVOKED"],
    audits: ["key-changed"],
    docs: "changes the given members; `mode` cannot change, and `null` unsets a member. Until `traced_until`, at most 7 days from now, the log names its [callers' networks](leaked-keys.md#trace-a-key)",
  },
  revoke_key: {
    method: "DELETE",
    path: `${ADMIN_PATH}keys/{id}`,
    names: "key",
    tag: "Keys",
    summary: "Revoke a key permanently; 202 if the database cannot be written",
    otherStatus: 202,
    problems: ["KEY_NOT_FOUND"],
    audits: ["key-revoked"],
    docs: "revokes a key. If the database cannot be written, returns 202 with `stored: false`, [revokes it on this host and stores it later](leaked-keys.md#revoke-while-the-disk-is-full)",
  },
  rotate_key: {
    method: "POST",
    path: `${ADMIN_PATH}keys/{id}/rotate`,
    names: "key",
    tag: "Keys",
    summary: "Give a key a new token; the old token remains valid for a while",
    isIdempotent: true,
    problems: ["KEY_NOT_FOUND", "KEY_REVOKED", "IDEMPOTENCY_KEY_INVALID"],
    audits: ["key-rotated"],
    docs: "a new token. The old token remains valid for `overlap_seconds` (default 86,400; 0 to 30 days)",
  },
  key_usage: {
    method: "GET",
    path: `${ADMIN_PATH}keys/{id}/usage`,
    names: "key",
    tag: "Keys",
    summary: "Lookups of a key by day, or by hour for a month",
    problems: ["KEY_NOT_FOUND"],
    docs: "lookups and refusals by day (`from`, `to`; default 30 days), or by hour with `by=hour` (default 24 hours, kept for 31 days)",
  },
  list_overrides: {
    method: "GET",
    path: `${ADMIN_PATH}overrides`,
    tag: "Overrides",
    summary: "Active overrides, newest first",
    docs: "active [overrides](overrides.md#the-admin-api), newest first",
  },
  put_override: {
    method: "POST",
    path: `${ADMIN_PATH}overrides`,
    tag: "Overrides",
    summary: "Add an override, or change its note and expiry",
    status: 201,
    otherStatus: 200,
    headers: ["Location?"],
    problems: CONFLICTS,
    audits: ["override-added", "override-changed"],
    docs: "adds an override",
  },
  export_overrides: {
    method: "GET",
    path: `${ADMIN_PATH}overrides/export`,
    tag: "Overrides",
    summary: "All active overrides, as a file",
    headers: ["Content-Disposition"],
    docs: "all active overrides, as a file",
  },
  import_overrides: {
    method: "POST",
    path: `${ADMIN_PATH}overrides/import`,
    tag: "Overrides",
    summary: "Add the overrides of a file: all or none",
    problems: CONFLICTS,
    maxBodyBytes: MAX_IMPORT_BYTES,
    audits: ["override-added", "override-changed"],
    docs: "imports a file: all overrides or none",
  },
  get_override: {
    method: "GET",
    path: `${ADMIN_PATH}overrides/{id}`,
    names: "override",
    tag: "Overrides",
    summary: "One override",
    problems: ["OVERRIDE_NOT_FOUND"],
    docs: "one override",
  },
  remove_override: {
    method: "DELETE",
    path: `${ADMIN_PATH}overrides/{id}`,
    names: "override",
    tag: "Overrides",
    summary: "Remove an override",
    problems: ["OVERRIDE_NOT_FOUND"],
    audits: ["override-removed"],
    docs: "removes an override",
  },
  list_rulesets: {
    method: "GET",
    path: `${ADMIN_PATH}rulesets`,
    tag: "Rules",
    summary: "Published rulesets, newest first",
    docs: "published [rulesets](decisions.md), newest first; the first one decides. `limit`, `cursor`",
  },
  publish_ruleset: {
    method: "POST",
    path: `${ADMIN_PATH}rulesets`,
    tag: "Rules",
    summary: "Publish a ruleset under the next number; 200 if the newest has the same text",
    status: 201,
    otherStatus: 200,
    headers: ["Location?"],
    problems: RULESET_PROBLEMS,
    maxBodyBytes: MAX_RULESET_BYTES,
    audits: ["ruleset-published"],
    docs: 'publishes `{"text":"…","note":"…","current":7}`; `current` is optional: the newest number that you have read',
  },
  check_ruleset: {
    method: "POST",
    path: `${ADMIN_PATH}rulesets/check`,
    tag: "Rules",
    summary: "Every mistake in a ruleset, or the results of its examples; changes nothing",
    maxBodyBytes: MAX_RULESET_BYTES,
    audits: [],
    docs: "every mistake in `text`, with line and column, or the results of its examples",
  },
  replay_ruleset: {
    method: "POST",
    path: `${ADMIN_PATH}rulesets/replay`,
    tag: "Rules",
    summary: "What a ruleset would have changed about the newest stored decisions; changes nothing",
    problems: ["RULESET_INVALID"],
    maxBodyBytes: MAX_RULESET_BYTES,
    audits: [],
    docs: "[replays](stored-decisions.md#replay) the draft in `text` over stored decisions since `since` (default 30 days). It stops after the newest 100,000 or after 10 seconds; `stopped` says so",
  },
  get_ruleset: {
    method: "GET",
    path: `${ADMIN_PATH}rulesets/{id}`,
    names: "ruleset",
    tag: "Rules",
    summary: "A ruleset, with its text",
    problems: ["RULESET_NOT_FOUND"],
    docs: "one ruleset, with its text",
  },
  restore_ruleset: {
    method: "POST",
    path: `${ADMIN_PATH}rulesets/{id}/restore`,
    names: "ruleset",
    tag: "Rules",
    summary: "Publish the text of an older ruleset again, under the next number",
    status: 201,
    otherStatus: 200,
    headers: ["Location?"],
    problems: ["RULESET_NOT_FOUND", ...RULESET_PROBLEMS],
    audits: ["ruleset-rolled-back"],
    docs: "publishes the ruleset's text again, under the next number",
  },
  assess_visitor: {
    method: "POST",
    path: `${ADMIN_PATH}assess`,
    tag: "Rules",
    summary:
      "Decide about a visitor, with facts, evidence and what would change the decision; not counted as usage",
    problems: ["NO_RELEASE", "RULESET_INVALID"],
    maxBodyBytes: MAX_RULESET_BYTES,
    audits: [],
    docs: "assesses `visitor` by the newest ruleset, or by the draft in `text`",
  },
  list_decisions: {
    method: "GET",
    path: `${ADMIN_PATH}decisions`,
    tag: "Decisions",
    summary: "Stored decisions, newest first",
    docs: "[stored decisions](stored-decisions.md), newest first. `action`, `event`, `rule`, `reason`, `outcome`, `ref`, `domain`, `since`, `until`, `limit`, `cursor`",
  },
  delete_decisions: {
    method: "DELETE",
    path: `${ADMIN_PATH}decisions`,
    tag: "Decisions",
    summary: "Delete the decisions about a `ref`, or all decisions before a time",
    audits: ["decisions-deleted"],
    docs: "deletes the decisions about `ref`, or all decisions `before` a time",
  },
  count_decisions: {
    method: "GET",
    path: `${ADMIN_PATH}decisions/counts`,
    tag: "Decisions",
    summary: "Stored decisions and their outcomes by day and action, newest first",
    docs: "number of decisions and outcomes by day and action, and whether this server stores decisions. `event`, `since` (default 30 days), `until`",
  },
  get_decision: {
    method: "GET",
    path: `${ADMIN_PATH}decisions/{id}`,
    names: "decision",
    tag: "Decisions",
    summary: "A stored decision",
    problems: ["DECISION_NOT_FOUND"],
    docs: "one stored decision",
  },
  set_decision_outcome: {
    method: "POST",
    path: `${ADMIN_PATH}decisions/{id}/outcome`,
    names: "decision",
    tag: "Decisions",
    summary: "Report the outcome of a decision; the last outcome counts",
    problems: ["DECISION_NOT_FOUND"],
    audits: [],
    docs: 'labels a decision: `{"outcome":"legitimate"}` or `"abuse"`. It changes no verdict, so the audit trail has no entry',
  },
  list_webhooks: {
    method: "GET",
    path: `${ADMIN_PATH}webhooks`,
    tag: "Webhooks",
    summary: "All webhooks, oldest first, without their secrets",
    docs: "all [webhooks](webhooks.md), oldest first, without their secrets",
  },
  add_webhook: {
    method: "POST",
    path: `${ADMIN_PATH}webhooks`,
    tag: "Webhooks",
    summary: "Add a webhook; only this answer shows its secret",
    isIdempotent: true,
    status: 201,
    headers: ["Location"],
    problems: ["WEBHOOK_URL_REFUSED", "WEBHOOKS_FULL", "IDEMPOTENCY_KEY_INVALID"],
    audits: ["webhook-added"],
    docs: '201: adds a webhook, `{"url":"https://…","events":["data.stale"]}`, and returns its secret, shown once. Optional `allow_inner`',
  },
  get_webhook: {
    method: "GET",
    path: `${ADMIN_PATH}webhooks/{id}`,
    names: "webhook",
    tag: "Webhooks",
    summary: "A webhook, without its secrets",
    problems: ["WEBHOOK_NOT_FOUND"],
    docs: "one webhook, without its secrets",
  },
  remove_webhook: {
    method: "DELETE",
    path: `${ADMIN_PATH}webhooks/{id}`,
    names: "webhook",
    tag: "Webhooks",
    summary: "Remove a webhook with its deliveries",
    problems: ["WEBHOOK_NOT_FOUND"],
    audits: ["webhook-removed"],
    docs: "removes a webhook with its deliveries",
  },
  rotate_webhook: {
    method: "POST",
    path: `${ADMIN_PATH}webhooks/{id}/rotate`,
    names: "webhook",
    tag: "Webhooks",
    summary: "Give a webhook a new secret; for a while, the old secret also signs deliveries",
    isIdempotent: true,
    problems: ["WEBHOOK_NOT_FOUND", "IDEMPOTENCY_KEY_INVALID"],
    audits: ["webhook-rotated"],
    docs: "a new secret. The old secret also signs for `overlap_seconds` (default 86,400; 0 to 30 days)",
  },
  test_webhook: {
    method: "POST",
    path: `${ADMIN_PATH}webhooks/{id}/test`,
    names: "webhook",
    tag: "Webhooks",
    summary: "Send one message of the type webhook.test now, and return the result",
    problems: ["WEBHOOK_NOT_FOUND"],
    audits: [],
    docs: "sends one message of the type `webhook.test` and returns the result",
  },
  list_deliveries: {
    method: "GET",
    path: `${ADMIN_PATH}webhooks/{id}/deliveries`,
    names: "webhook",
    tag: "Webhooks",
    summary: "Deliveries of the last 7 days, newest first, with their last attempts",
    problems: ["WEBHOOK_NOT_FOUND"],
    docs: "deliveries of the last 7 days, newest first. `limit`, `cursor`",
  },
  database: {
    method: "GET",
    path: `${ADMIN_PATH}database`,
    tag: "Keys",
    summary: "Whether the database was lost or went back to an earlier state",
    docs: "whether the database was [lost or went back](troubleshooting.md#database-lost-or-replaced). Lists keys that remain revoked, what applies only from copies, and revocations that are not stored",
  },
  confirm_database: {
    method: "POST",
    path: `${ADMIN_PATH}database/confirm`,
    tag: "Keys",
    summary: "Accept the database as it is, without the changes that it lost",
    audits: ["database-confirmed"],
    docs: "accepts the database as it is",
  },
  adopt_copies: {
    method: "POST",
    path: `${ADMIN_PATH}database/adopt`,
    tag: "Keys",
    summary: "Write keys and overrides that only the data folder's copies have into the database",
    audits: ["key-adopted", "override-adopted"],
    docs: "writes keys and overrides that only the data folder's copies have into the database",
  },
  audit: {
    method: "GET",
    path: `${ADMIN_PATH}audit`,
    tag: "Watch",
    summary: "Changes and their authors, newest first",
    docs: "audit trail, newest first: who, what, when, which way, before and after. `action`, `way`, `actor`, `subject`, `since`, `limit`, `cursor`",
  },
  traffic: {
    method: "GET",
    path: `${ADMIN_PATH}traffic`,
    tag: "Watch",
    summary: "Counts of the last 24 hours, in steps",
    docs: "requests, statuses, lookups, problems, flags, latency and countries of the last `hours` (24), in steps of `step` minutes",
  },
  hosts: {
    method: "GET",
    path: `${ADMIN_PATH}hosts`,
    tag: "Watch",
    summary: "The group's hosts, by name; omits a host after 10 minutes without contact",
    docs: "[hosts of the group](cluster.md#hosts): state, version, release, channel, load, leases, clock, last contact",
  },
  openapi: {
    method: "GET",
    path: `${ADMIN_PATH}openapi.json`,
    tag: "Watch",
    summary: "This document",
    isOpen: true,
    docs: "OpenAPI 3.1 document",
  },
} as const satisfies Readonly<Record<string, AdminOperationRow>>;

export type AdminOperationId = keyof typeof ROWS;
export const ADMIN_OPERATIONS: Readonly<Record<AdminOperationId, AdminOperationRow>> = ROWS;
export const ADMIN_OPERATION_IDS = keysOf(ROWS);
