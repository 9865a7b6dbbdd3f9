// log-events.ts: every log event except access lines, with its levels and its meaning.
//
// `npm run generate` lists the events in docs/log-events.md. The log accepts no other names
// (server/src/telemetry/log.ts).

import { DATA_EVENTS, type LogEventRow } from "./data-events.ts";

const SERVER_EVENTS = {
  "key-traced": {
    about: "server",
    levels: ["info"],
    help: "Somebody used the [traced](security-incidents.md#trace-a-key) `key` from `network`. There is one line per minute, network and worker, at every log level.",
  },
  "log-level-changed": {
    about: "server",
    levels: ["info"],
    help: "`author` set the log level to `to` [over the admin API](one-host.md#change-settings), until the next restart. Logged at every log level.",
  },
  "data-folder-read-only": {
    about: "server",
    levels: ["info"],
    help: "This server does not update data, because of `reason`.",
  },
  "memory-not-shared": {
    about: "server",
    levels: ["info"],
    help: "Hosts may share the database, but this host's [memory](decisions.md#what-the-server-remembers) has its own key, so it does not recognize what other hosts have seen. `hint` suggests a fix.",
  },
  "worker-listening": {
    about: "server",
    levels: ["info"],
    help: "`worker` (0, 1, …) answers requests.",
  },
  "worker-died": {
    about: "server",
    levels: ["error"],
    help: "The worker ended because of an error (`uncaught-error` or `reason`), or because it was stuck. The server replaces it after `next_in_ms`.",
  },
  "worker-stuck": {
    about: "server",
    levels: ["error"],
    help: "The worker did not respond for 30 seconds, and the server ended it.",
  },
  "worker-failed": {
    about: "server",
    levels: ["error"],
    help: "The worker cannot start, because the port is in use.",
  },
  "release-not-opened": {
    about: "server",
    levels: ["error"],
    help: "The worker cannot open a release. It serves the previous one or waits, and retries every second.",
  },
  "database-unreachable": {
    about: "server",
    levels: ["error"],
    help: "The database is unreachable, because of `reason`; `hint` suggests a fix. The last known keys, overrides and rules still apply, and changes are refused. `database-back` reports the recovery.",
  },
  "audit-not-stored": {
    about: "server",
    levels: ["error"],
    help: "The changed settings could not be recorded in the audit trail, because of `reason`. The next start records them.",
  },
  "settings-not-noted": {
    about: "server",
    levels: ["error"],
    help: "The server cannot record its settings, because of `reason`. The next start cannot report which settings changed.",
  },
  "admin-database-failed": {
    about: "server",
    levels: ["error"],
    help: "An admin request failed, because the database returned this error.",
  },
  "stop-failed": {
    about: "server",
    levels: ["error"],
    help: "A step of the shutdown failed. The other steps ran.",
  },
  "few-open-files": {
    about: "server",
    levels: ["error"],
    help: "The limit of open files, `limit`, is below `least`. At this limit, the server accepts new connections only as others close. `hint` says how to raise it.",
  },
  "uncaught-error": {
    about: "server",
    levels: ["error"],
    help: "A bug ended the `worker`, which the server replaces, or the server, which exits with code 1.",
  },
  "usage-not-stored": {
    about: "server",
    levels: ["error"],
    help: "The database does not accept usage, because of `reason`: disk full, read-only or locked. The server keeps the counts of `lookups` lookups in memory. `usage-stored-again` reports the recovery.",
  },
  "key-revoked-here": {
    about: "server",
    levels: ["error"],
    help: "Somebody added `key` to the file `revoked`, with `inkling keys revoke --here` or by hand. Only this host refuses the key. `author` is the author of the line. This event and the line are the record of the revocation until you [revoke the key in the database](security-incidents.md#revoke-without-the-database).",
  },
  "keys-revoked-here": {
    about: "server",
    levels: ["error"],
    help: "The file `revoked` lists `keys` keys that are still active in the database, because an older database was restored or because somebody used `--here`. Only this host refuses them. `/readyz` lists them: [what to do](backup.md#restore-an-older-database).",
  },
  "revoked-file-failed": {
    about: "server",
    levels: ["error"],
    help: "The file `revoked` cannot be read or written, because of `reason`. Keys that are revoked in the database are still refused. The server retries every second.",
  },
  "revoked-line-invalid": {
    about: "server",
    levels: ["error"],
    help: "A new `line` of the file `revoked` is not a revocation, so it has no effect. Correct or remove it; otherwise the next start fails.",
  },
  "earlier-revocations-taken": {
    about: "server",
    levels: ["info"],
    help: "The data folder contained revocations from an earlier version. Inkling moved them to the file `revoked`. Revoke the `keys` in the database as well, with `inkling keys revoke ID`.",
  },
  "earlier-tokens-valid": {
    about: "server",
    levels: ["error"],
    help: "After an older database was restored, an earlier version still refused `tokens` tokens that a rotation had replaced. This version accepts them until the time in the database. Rotate these keys again.",
  },
  "earlier-entries-stored": {
    about: "server",
    levels: ["info"],
    help: "`entries` audit entries that an earlier version kept in the data folder are now in the audit trail.",
  },
  "earlier-entries-wait": {
    about: "server",
    levels: ["error"],
    help: "Audit entries that an earlier version kept in `audit-waiting` cannot be stored, because of `reason` at `file`. The next start retries.",
  },
  "chosen-key-not-created": {
    about: "server",
    levels: ["error"],
    help: "The database is empty, so the server accepts `INKLING_API_KEY` only if `keys.json` has it: [what to do](troubleshooting.md#database-lost).",
  },
  "clock-jumped": {
    about: "server",
    levels: ["error"],
    help: "The clock jumped by `seconds`, more than an hour. Quotas and usage keep the date from before the jump until the clock is correct again, for at most an hour. Check time synchronization.",
  },
  "clock-steady": {
    about: "server",
    levels: ["info"],
    help: "Quotas and usage follow the clock again.",
  },
  "usage-lost": {
    about: "server",
    levels: ["error"],
    help: "The server stopped without a database. `lookups` lookups were not stored.",
  },
  "decisions-not-stored": {
    about: "server",
    levels: ["error"],
    help: "The database does not accept decisions, because of `reason`. Up to 50,000 or 64 MiB wait on each host. Requests and actions are not affected ([stored decisions](decisions.md#what-can-be-lost)).",
  },
  "decisions-dropped": {
    about: "server",
    levels: ["error"],
    help: "Too many decisions are waiting. Until the database catches up, the server drops new ones and counts them in `inkling_decisions_total`.",
  },
  "decisions-stored-again": {
    about: "server",
    levels: ["info"],
    help: "All waiting decisions are stored. `dropped` decisions were lost.",
  },
  "rows-expired": {
    about: "server",
    levels: ["info"],
    help: "The server deleted rows that were too old. The fields count them by kind, such as `decisions` and `deliveries`.",
  },
  "rows-not-expired": {
    about: "server",
    levels: ["error"],
    help: "Old rows could not be deleted, because of `reason`. The server retries each minute.",
  },
  "expiry-held": {
    about: "server",
    levels: ["error"],
    help: "The clock is `ahead_seconds` ahead of the newest stored time, so the server deletes nothing by age for 6 hours. If the clock is wrong, correct it within this time. If the server was off that long, you need to do nothing.",
  },
  "expiry-resumed": {
    about: "server",
    levels: ["info"],
    help: "The server deletes old rows again.",
  },
  "decisions-over-limit": {
    about: "server",
    levels: ["error"],
    help: "Stored decisions took more than `limit_mb` megabytes, so the server deleted the oldest `deleted` decisions. Raise `INKLING_DECISIONS_MAX_MB`, or keep decisions for fewer days (`INKLING_DECISIONS_DAYS`).",
  },
  "decisions-lost": {
    about: "server",
    levels: ["error"],
    help: "The server stopped without a database. `decisions` decisions were not stored.",
  },
  "database-upgraded": {
    about: "server",
    levels: ["info"],
    help: "An earlier version of Inkling wrote the database. Its tables are now at version `to` instead of `from`, and that version can no longer read them: [downgrade](backup.md#downgrade).",
  },
  "database-replaced": {
    about: "server",
    levels: ["error"],
    help: "Somebody replaced the SQLite file. The server now uses the new file.",
  },
  "row-unreadable": {
    about: "server",
    levels: ["error"],
    help: "The server cannot read a row of the database, usually because a newer version wrote it. It leaves out the row, or the part that it cannot read, and uses the other rows. `table`, `id` and `reason` say which row and why. Upgrade this host.",
  },
  "database-empty": {
    about: "server",
    levels: ["error"],
    help: "The database is new, but `keys.json` has `keys_in_copy` keys, or `overrides.json` has `overrides_in_copy` overrides. The copies apply, and changes are refused: [what to do](troubleshooting.md#database-lost).",
  },
  "keys-from-copy": {
    about: "server",
    levels: ["error"],
    help: "The server started without a database, or with an empty one. The `keys` keys in `keys.json` apply. The database confirmed them `age_seconds` seconds ago.",
  },
  "keys-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`keys.json` cannot be read or written, or has keys or lines that are left out, because of `reason`.",
  },
  "overrides-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`overrides.json` cannot be read or written, because of `reason`.",
  },
  "keys-stale": {
    about: "server",
    levels: ["error"],
    help: "The database was unreachable for longer than `INKLING_MAX_STALE_SECONDS`, so the server refuses every key. `keys-fresh` reports the recovery.",
  },
  "request-failed": {
    about: "server",
    levels: ["error"],
    help: "The server returned 500 because of a bug. The event has the stack trace and the `request_id`.",
  },
  "admin-request-failed": {
    about: "server",
    levels: ["error"],
    help: "The admin API returned 500 because of a bug. The event has the stack trace and the `request_id`.",
  },
  listening: {
    about: "server",
    levels: ["info"],
    help: "The server listens on `host` and `port`, and the admin listener on `admin_port`.",
  },
  stopping: {
    about: "server",
    levels: ["info"],
    help: "The server received a signal to stop and is finishing open requests.",
  },
  stopped: {
    about: "server",
    levels: ["info"],
    help: "Everything is stored, and the process is exiting.",
  },
  "admin-request": {
    about: "server",
    levels: ["info"],
    help: "A request to the admin API: `method`, `route`, `status`, and `author`, as in the audit trail.",
  },
  "database-back": {
    about: "server",
    levels: ["info"],
    help: "The database is reachable again.",
  },
  "keys-fresh": {
    about: "server",
    levels: ["info"],
    help: "The server has read the keys from the database again, and accepts them.",
  },
  "usage-stored-again": {
    about: "server",
    levels: ["info"],
    help: "The server writes usage to the database again.",
  },
  "overrides-loaded": {
    about: "server",
    levels: ["info"],
    help: "`overrides` overrides from the database or from `overrides.json` now apply.",
  },
  "ruleset-loaded": {
    about: "server",
    levels: ["info"],
    help: "Ruleset `ruleset` is now active. `from` shows whether it comes from the database or from the data folder's copy.",
  },
  "ruleset-refused": {
    about: "server",
    levels: ["error"],
    help: "This version cannot read the newest ruleset, so the previous one remains active. `/readyz` warns. Upgrade this server.",
  },
  "ruleset-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`ruleset.json` in the data folder cannot be read or written.",
  },
  "traces-failed": {
    about: "server",
    levels: ["error"],
    help: "The collector at `INKLING_OTLP_URL` did not take spans, because of `reason`. The server drops these spans, and sends new ones each second. `traces-back` reports the recovery.",
  },
  "traces-back": {
    about: "server",
    levels: ["info"],
    help: "The collector takes spans again.",
  },
  "webhook-failed": {
    about: "server",
    levels: ["info"],
    help: "An attempt to deliver to `webhook` failed, because of `reason`. The next attempt is in `retry_in_s` seconds.",
  },
  "webhook-given-up": {
    about: "server",
    levels: ["error"],
    help: "A delivery to `webhook` failed for the last time, because of `reason`. `inkling webhooks deliveries ID` lists it. `inkling webhooks test ID` tests the receiver.",
  },
  "webhook-disabled": {
    about: "server",
    levels: ["error"],
    help: "The receiver of `webhook` returned 410, so the server sends nothing more. Remove the webhook, or fix the receiver and run `inkling webhooks enable ID`.",
  },
  "webhook-queue-full": {
    about: "server",
    levels: ["error"],
    help: "The server dropped `dropped` deliveries to `webhook` for the event in `type`, because 10,000 deliveries already wait for this webhook. Other webhooks are not affected. Fix the receiver, or run `inkling webhooks remove ID`.",
  },
  "webhooks-stopped": {
    about: "server",
    levels: ["error"],
    help: "The server cannot read webhooks or detect events, because of `reason`. It retries. `webhooks-back` reports the recovery.",
  },
  "webhooks-back": {
    about: "server",
    levels: ["info"],
    help: "Webhooks work again.",
  },
  "notices-listening": {
    about: "server",
    levels: ["info"],
    help: "PostgreSQL notifies this server of changed keys and overrides.",
  },
  "notices-missing": {
    about: "server",
    levels: ["error"],
    help: "The server checks for changed keys and overrides once a second, because of `reason`.",
  },
  "group-unreachable": {
    about: "server",
    levels: ["error"],
    help: "This host is cut off from the group because of `reason`. It uses only its own count for each key's rate. `group-back` reports the recovery.",
  },
  "group-back": {
    about: "server",
    levels: ["info"],
    help: "The group responds again.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;

export const LOG_EVENTS = { ...DATA_EVENTS, ...SERVER_EVENTS };

type Rows = typeof LOG_EVENTS;
/** The events that may have this level. */
export type LogEvent<Level extends "error" | "info" = "error" | "info"> = {
  [Name in keyof Rows]: Level extends Rows[Name]["levels"][number] ? Name : never;
}[keyof Rows];

/** What log events are written to. */
export interface EventLog {
  info(event: LogEvent<"info">, fields?: Readonly<Record<string, unknown>>): void;
  error(event: LogEvent<"error">, fields?: Readonly<Record<string, unknown>>): void;
}
