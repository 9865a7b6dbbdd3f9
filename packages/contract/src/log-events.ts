// log-events.ts: every event of the log but access lines: where it is described, its levels and its meaning.
//
// `npm run generate` lists them in docs/operations.md. The log takes no other name (server/src/telemetry/log.ts).

export interface LogEventRow {
  /** Which table of docs/operations.md has it. */
  readonly about: "updates" | "releases" | "server";
  readonly levels: readonly ("error" | "info")[];
  /** Markdown: what happened, and what to do. */
  readonly help: string;
}

export const LOG_EVENTS = {
  "data-update-done": {
    about: "updates",
    levels: ["info"],
    help: "Round finished: `published` or not, release, number of feeds that `failed`, `next_due`.",
  },
  "feed-not-updated": {
    about: "updates",
    levels: ["error", "info"],
    help: "Copy of `feed` refused, with `reason`; logged once per reason. At level info: no copy available.",
  },
  "feeds-not-reached": {
    about: "updates",
    levels: ["error"],
    help: "`count` publishers did not answer; their last copies stay in use.",
  },
  "answers-missing": {
    about: "updates",
    levels: ["error"],
    help: "`serve` has no data for these answers and returns 503.",
  },
  "feed-updated-again": {
    about: "updates",
    levels: ["info"],
    help: "The problem with `feed` is over.",
  },
  "data-update-failed": {
    about: "updates",
    levels: ["error"],
    help: "Nothing published, with `reason` and `hint`; retried after 1, 2, 4 … 60 minutes. `inkling doctor` and `inkling_build_failed` show it until a build succeeds.",
  },
  "release-held": {
    about: "updates",
    levels: ["error"],
    help: "Built, but it flags too much or too little: waits for `inkling data update --accept release` ([gates](feeds.md#gates)).",
  },
  "data-update-busy": {
    about: "updates",
    levels: ["info"],
    help: "Another process is building in this folder.",
  },
  "channel-followed": {
    about: "updates",
    levels: ["info"],
    help: "`version` of the channel was taken, and its `release` verified.",
  },
  "channel-refused": {
    about: "updates",
    levels: ["error"],
    help: "The channel is not followed: `fault` ([table](cluster.md#when-something-fails)), `reason`. Ends with `channel-back`.",
  },
  "channel-not-reported": {
    about: "updates",
    levels: ["info"],
    help: "This server may not, or cannot, write its report beside the channel; promotions do not count it.",
  },
  "channel-published": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has published or renewed the channel.",
  },
  "channel-not-published": {
    about: "updates",
    levels: ["error"],
    help: "The store could not be reached or refused, with `reason`; tried again every 10 seconds.",
  },
  "channel-failed": {
    about: "updates",
    levels: ["error"],
    help: "A bug, with its stack; following goes on.",
  },
  "channel-back": {
    about: "updates",
    levels: ["info"],
    help: "The channel is followed again.",
  },
  "channel-upload": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has uploaded `bytes` to `path`.",
  },
  "channel-warning": {
    about: "updates",
    levels: ["error"],
    help: "`inkling build --publish` goes on, but `reason` needs attention.",
  },
  "release-refused": {
    about: "releases",
    levels: ["error"],
    help: "Why `name` does not answer; with `retry_in_ms` it could not be read for now.",
  },
  "release-refusal-over": {
    about: "releases",
    levels: ["info"],
    help: "`name` answers as wanted; `refused` no longer matters.",
  },
  "release-serving": {
    about: "releases",
    levels: ["info"],
    help: "`name` answers, in place of `wanted` where that is given.",
  },
  "release-none": {
    about: "releases",
    levels: ["error"],
    help: "No sound release is left.",
  },
  "no-release": {
    about: "releases",
    levels: ["error"],
    help: "Started without one: 503 until the first is built, which begins at once.",
  },
  "key-traced": {
    about: "server",
    levels: ["info"],
    help: "The [traced](operations.md#trace-a-key) `key` was used from `network`: one line a minute for each network and worker, at every log level.",
  },
  "settings-reloaded": {
    about: "server",
    levels: ["info"],
    help: "SIGHUP: `changed` applies, `need_restart` does not yet.",
  },
  "settings-refused": {
    about: "server",
    levels: ["error"],
    help: "SIGHUP: nothing changed, because of `problems`: a wrong setting, or a file that is empty or gone.",
  },
  "release-unverified": {
    about: "releases",
    levels: ["error"],
    help: "`name` answers, and could not be verified again for now.",
  },
  "data-folder-read-only": {
    about: "server",
    levels: ["info"],
    help: "This server updates no data; `reason`.",
  },
  "release-unmarked": {
    about: "releases",
    levels: ["info"],
    help: "Verified, but not noted: the next start takes a second longer.",
  },
  "release-verified": {
    about: "releases",
    levels: ["info"],
    help: "Every byte of `name` was read, and is as its manifest says.",
  },
  "release-watch-failed": {
    about: "releases",
    levels: ["info"],
    help: "The system reports no changes of the data folder: it is checked once a second.",
  },
  "worker-listening": {
    about: "server",
    levels: ["info"],
    help: "`worker` (0, 1, …) serves as process `pid`.",
  },
  "worker-crashed": {
    about: "server",
    levels: ["error"],
    help: "The runtime crashed in a worker, or it wrote to standard error: `report` has the lines without paths, links and addresses; `worker-died` follows or came before.",
  },
  "worker-died": {
    about: "server",
    levels: ["error"],
    help: "Ended unexpectedly: `exit_code` or `signal`, lifetime, next start.",
  },
  "worker-ended": {
    about: "server",
    levels: ["info"],
    help: "Ended by `kill -TERM`, will be replaced.",
  },
  "worker-stuck": {
    about: "server",
    levels: ["error"],
    help: "Silent for 30 seconds, killed.",
  },
  "worker-not-started": {
    about: "server",
    levels: ["error"],
    help: "Cannot be started: `reason`; tried again.",
  },
  "primary-silent": {
    about: "server",
    levels: ["error"],
    help: "The primary is frozen: the server is not ready. Ends with `primary-back`.",
  },
  "primary-gone": {
    about: "server",
    levels: ["error"],
    help: "The primary has exited, or was frozen for 30 seconds: the worker stops.",
  },
  "worker-failed": {
    about: "server",
    levels: ["error"],
    help: "Cannot start: port taken, or program files replaced (restart the server).",
  },
  "release-not-opened": {
    about: "server",
    levels: ["error"],
    help: "Cannot open a release; serves the previous one or waits, retries every second.",
  },
  "database-away": {
    about: "server",
    levels: ["error"],
    help: "Database unreachable, with `reason`; keys and overrides stay in force. Ends with `database-back`.",
  },
  "too-many-connections": {
    about: "server",
    levels: ["error"],
    help: "`closed` connections above the limit `most`; with `listener` `admin` its own, 128.",
  },
  "keys-without-memory": {
    about: "server",
    levels: ["error"],
    help: "No shared memory for new keys: these get 429; tried again.",
  },
  "audit-waits": {
    about: "server",
    levels: ["error"],
    help: "Done; its [audit entry](audit.md#if-the-database-is-unreachable) waits in the data folder for the database: `action`, `reason`.",
  },
  "audit-stored": {
    about: "server",
    levels: ["info"],
    help: "So many `entries` that waited are in the audit trail.",
  },
  "audit-not-stored": {
    about: "server",
    levels: ["error"],
    help: "Entries wait on, although the database answers: `reason`.",
  },
  "settings-not-noted": {
    about: "server",
    levels: ["error"],
    help: "The next start cannot tell which settings differ from now: `reason`.",
  },
  "audit-entry-damaged": {
    about: "server",
    levels: ["error"],
    help: "A waiting entry that cannot be read: look at `file`, then remove it.",
  },
  "admin-database-failed": {
    about: "server",
    levels: ["error"],
    help: "Why the database failed an admin request.",
  },
  "stop-failed": {
    about: "server",
    levels: ["error"],
    help: "A step of the stop; the others ran.",
  },
  "fewer-connections": {
    about: "server",
    levels: ["info"],
    help: "Open files limit allows only `most` connections.",
  },
  "uncaught-error": {
    about: "server",
    levels: ["error"],
    help: "A bug: the process exits with 1.",
  },
  "usage-not-stored": {
    about: "server",
    levels: ["error"],
    help: "Usage cannot be written, with `reason`: disk full, read-only or locked; it is kept in memory. Ends with `usage-stored-again`.",
  },
  "key-revoked-here": {
    about: "server",
    levels: ["error"],
    help: "`key` was revoked on this host while the database could not be written. Ends with `key-revocation-stored`.",
  },
  "key-revocation-stored": {
    about: "server",
    levels: ["info"],
    help: "The database has the revocation of `key` now.",
  },
  "revocations-file-failed": {
    about: "server",
    levels: ["error"],
    help: "The file `revocations` cannot be created, read or written: `reason`. Revocations last until a restart.",
  },
  "database-went-back": {
    about: "server",
    levels: ["error"],
    help: "The newest audit entry known here is not in the database: [what to do](#database-lost-or-replaced). Ends with `database-confirmed`.",
  },
  "database-history-not-kept": {
    about: "server",
    levels: ["error"],
    help: "`database-history.json` cannot be read or written: `reason`.",
  },
  "chosen-key-not-made": {
    about: "server",
    levels: ["error"],
    help: "The database is empty, so `INKLING_API_KEY` is accepted only if `keys.json` has it: adopt the copies first.",
  },
  "clock-jumped": {
    about: "server",
    levels: ["error"],
    help: "The clock jumped by `seconds`, more than an hour: quotas and usage stay on the day before the jump until it is back, or for an hour. Check time synchronization.",
  },
  "clock-steady": {
    about: "server",
    levels: ["info"],
    help: "The clock decides the day of quotas and usage again.",
  },
  "usage-lost": {
    about: "server",
    levels: ["error"],
    help: "Stopped without a database: `lookups` not stored.",
  },
  "database-replaced": {
    about: "server",
    levels: ["error"],
    help: "Another SQLite file was put in place of the one in use; it is used from now on.",
  },
  "database-empty": {
    about: "server",
    levels: ["error"],
    help: "The database is new, but `keys.json` has keys (`overrides.json` overrides; `keys_in_copy`, `overrides_in_copy`): is it the right one? They stay in force until `inkling database adopt` or one is made in it; the file is then renamed `.before.json`, `.before-2.json`, …. To begin empty: `inkling database confirm`.",
  },
  "keys-from-copy": {
    about: "server",
    levels: ["error"],
    help: "Started without a database, or with an empty one: `keys` of `keys.json`, confirmed `age_seconds` ago, are in force.",
  },
  "keys-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`keys.json` cannot be read or written, with `reason`.",
  },
  "overrides-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`overrides.json` cannot be read or written, with `reason`.",
  },
  "keys-stale": {
    about: "server",
    levels: ["error"],
    help: "Every key is refused (`INKLING_MAX_STALE`). Ends with `keys-fresh`.",
  },
  "request-failed": {
    about: "server",
    levels: ["error"],
    help: "A bug: HTTP 500, with stack and `request_id`.",
  },
  "admin-request-failed": {
    about: "server",
    levels: ["error"],
    help: "A bug in the admin API: HTTP 500, with stack and `request_id`.",
  },
  listening: {
    about: "server",
    levels: ["info"],
    help: "The server answers on `host` and `port`; the admin listener on `admin_port`.",
  },
  stopping: {
    about: "server",
    levels: ["info"],
    help: "The server was told to stop, and finishes requests.",
  },
  stopped: {
    about: "server",
    levels: ["info"],
    help: "All is stored; the process exits.",
  },
  "admin-request": {
    about: "server",
    levels: ["info"],
    help: "A request to the admin API: `method`, `route`, `status`.",
  },
  "primary-back": {
    about: "server",
    levels: ["info"],
    help: "The primary answers again.",
  },
  "database-back": {
    about: "server",
    levels: ["info"],
    help: "The database is reachable again.",
  },
  "database-confirmed": {
    about: "server",
    levels: ["info"],
    help: "An operator accepted the database as it is.",
  },
  "keys-fresh": {
    about: "server",
    levels: ["info"],
    help: "Keys were read from the database again, and are accepted.",
  },
  "usage-stored-again": {
    about: "server",
    levels: ["info"],
    help: "Usage is written to the database again.",
  },
  "overrides-loaded": {
    about: "server",
    levels: ["info"],
    help: "`overrides` of the database, or of `overrides.json`, are in force.",
  },
  "ruleset-loaded": {
    about: "server",
    levels: ["info"],
    help: "The `ruleset` of this number decides now. `from` names the database, or the data folder's copy.",
  },
  "ruleset-refused": {
    about: "server",
    levels: ["error"],
    help: "This version cannot read the newest ruleset; the one before remains in force. `/readyz` warns.",
  },
  "ruleset-copy-failed": {
    about: "server",
    levels: ["error"],
    help: "`ruleset.json` in the data folder cannot be read or written.",
  },
  "webhook-failed": {
    about: "server",
    levels: ["info"],
    help: "An attempt to deliver to `webhook` failed, because of `reason`; the next one is in `retry_in_s`.",
  },
  "webhook-given-up": {
    about: "server",
    levels: ["error"],
    help: "A delivery to `webhook` failed for the last time, because of `reason`: `inkling webhooks deliveries ID` lists it, `inkling webhooks test ID` tries the receiver.",
  },
  "webhook-disabled": {
    about: "server",
    levels: ["error"],
    help: "The receiver of `webhook` answered 410 and gets nothing more: remove the webhook, or add it again.",
  },
  "webhook-queue-full": {
    about: "server",
    levels: ["error"],
    help: "`dropped` deliveries of the event `type` were not queued: too many wait. Remove webhooks whose receivers are gone.",
  },
  "webhooks-stopped": {
    about: "server",
    levels: ["error"],
    help: "Webhooks cannot be read, or an event cannot be found out, because of `reason`; tried again. Ends with `webhooks-back`.",
  },
  "webhooks-back": {
    about: "server",
    levels: ["info"],
    help: "Webhooks work again.",
  },
  "notices-listening": {
    about: "server",
    levels: ["info"],
    help: "Changes of keys and overrides arrive by notice.",
  },
  "notices-missing": {
    about: "server",
    levels: ["error"],
    help: "Changes of keys and overrides are found once a second, because of `reason`.",
  },
  "group-hosts": {
    about: "server",
    levels: ["info"],
    help: "`hosts` servers share rates and quotas.",
  },
  "group-away": {
    about: "server",
    levels: ["error"],
    help: "Cut off from the group: each key has its limit / `hosts`. Ends with `group-back`.",
  },
  "group-back": {
    about: "server",
    levels: ["info"],
    help: "The group answers again.",
  },
  "group-hosts-not-kept": {
    about: "server",
    levels: ["error"],
    help: "The number of hosts cannot be read or written in the data folder, with `reason`.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;

type Rows = typeof LOG_EVENTS;
/** The events that may have this level. */
export type LogEvent<Level extends "error" | "info" = "error" | "info"> = {
  [Name in keyof Rows]: Level extends Rows[Name]["levels"][number] ? Name : never;
}[keyof Rows];
