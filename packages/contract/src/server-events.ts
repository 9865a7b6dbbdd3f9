// server-events.ts: events of the log about a server: its workers, its database, its keys.

import type { LogEventRow } from "./log-event-row.ts";

export const SERVER_EVENTS = {
  "key-traced": {
    about: "server",
    levels: ["info"],
    help: "The [traced](leaked-keys.md#trace-a-key) `key` was used from `network`: one line a minute for each network and worker, at every log level.",
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
  "data-folder-read-only": {
    about: "server",
    levels: ["info"],
    help: "This server updates no data; `reason`.",
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
    help: "The newest audit entry known here is not in the database: [what to do](troubleshooting.md#database-lost-or-replaced). Ends with `database-confirmed`.",
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
  "decisions-not-stored": {
    about: "server",
    levels: ["error"],
    help: "Decisions cannot be written, with `reason`: they wait, up to 50,000 on each host. Requests and actions are not affected ([stored decisions](stored-decisions.md#what-can-be-lost)).",
  },
  "decisions-dropped": {
    about: "server",
    levels: ["error"],
    help: "Too many decisions wait: new ones are dropped and counted (`inkling_decisions_total`) until the database has caught up.",
  },
  "decisions-stored-again": {
    about: "server",
    levels: ["info"],
    help: "No decision waits any more; `dropped` are missing.",
  },
  "decisions-not-expired": {
    about: "server",
    levels: ["error"],
    help: "Old decisions could not be deleted, with `reason`; retried each minute.",
  },
  "decisions-lost": {
    about: "server",
    levels: ["error"],
    help: "Stopped without a database: `decisions` not stored.",
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
