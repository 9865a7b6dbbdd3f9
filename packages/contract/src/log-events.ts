// log-events.ts: every log event except access lines, with its levels and its meaning.
//
// `npm run generate` lists the events in docs/log-events.md. The log accepts no other names
// (server/src/telemetry/log.ts).

/**
 * The events by the table of docs/log-events.md that lists them, and by their levels. Each has Markdown that explains
 * what happened and what to do.
 */
export const LOG_EVENTS = {
  updates: {
    error: {
      "feeds-not-reached": "`count` publishers did not answer. Their last copies remain in use.",
      "data-update-failed":
        "The build failed because of `reason`; `hint` suggests a fix. Inkling retries after 1, 2, 4 … 60 minutes. `inkling doctor` and `inkling_build_failed` show the failure until a build succeeds.",
      "feed-held":
        "The new copy of `feed` looks wrong, because of `reason`, so Inkling does not use it ([what to do](data.md#held-copies)).",
      "channel-refused":
        "The server does not follow the channel, because of `reason`. [Several hosts](several-hosts.md#failures) explains `fault`. `channel-back` reports the recovery.",
      "channel-not-published":
        "The store was unreachable or refused the request, because of `reason`. Inkling retries every 10 seconds.",
      "channel-failed":
        "A check of the channel failed because of a bug. The event has the stack trace. The server continues to follow the channel.",
      "channel-warning":
        "`inkling build --publish`, or a server that follows the channel, continues, but `reason` needs attention.",
    },
    "error, info": {
      "feed-not-updated":
        "There is no new copy of `feed`, because of `reason`. Each reason has its own line. Level `info` means that the source has no copy.",
    },
    info: {
      "data-update-done":
        "An update has finished. The event shows whether the update `published` a release, the release's name, how many feeds `failed`, and when the next update is due (`next_due`).",
      "answers-missing":
        "The server has no data for the answers in `missing` and returns 503. Run `inkling data status`.",
      "feed-updated-again": "The problem with `feed` is resolved.",
      "data-update-busy": "Another process is building in this folder.",
      "channel-followed": "The server verified the `release` of the channel's `version` and uses it.",
      "channel-published": "`inkling build --publish` has published or renewed the channel.",
      "channel-back": "The server follows the channel again.",
      "channel-upload": "`inkling build --publish` has uploaded `bytes` to `path`.",
    },
  },
  releases: {
    error: {
      "release-refused":
        "The server refuses release `name`, for the reason in the event. It retries every second.",
      "release-none":
        "No intact release remains. A server that builds its data starts a build immediately. With a channel, the server fetches the damaged files again. Otherwise run `inkling data update`.",
      "no-release":
        "The server started without a release and returns 503 until the first build finishes. The build starts immediately.",
    },
    info: {
      "release-refusal-over":
        "The server uses `name`, the wanted release. `refused` is the release that the server refused before: a release that is no longer wanted, or `name` itself before its repair.",
      "release-serving":
        "The server uses release `name`. If the event has `wanted`, the server uses `name` instead of the release in `wanted`.",
      "release-verified":
        "The server started three times within a minute with release `name`, so it verified the release in full. The release is sound.",
    },
  },
  server: {
    error: {
      "worker-died":
        "The worker ended because of an error (`uncaught-error` or `reason`), or because it was stuck. The server replaces it after `next_in_ms`.",
      "worker-stuck": "The worker did not respond for 30 seconds, and the server ended it.",
      "worker-failed": "The worker cannot start, because the port is in use.",
      "release-not-opened":
        "The worker cannot open a release. It serves the previous one or waits, and retries every second.",
      "database-unreachable":
        "The database is unreachable, because of `reason`; `hint` suggests a fix. The last known keys, overrides and rules still apply, and changes are refused. `database-back` reports the recovery.",
      "audit-not-stored":
        "The changed settings could not be recorded in the audit trail, because of `reason`. The next start records them.",
      "settings-not-noted":
        "The server cannot record its settings, because of `reason`. The next start cannot report which settings changed.",
      "admin-database-failed": "An admin request failed, because the database returned this error.",
      "stop-failed": "A step of the shutdown failed. The other steps ran.",
      "few-open-files":
        "The limit of open files, `limit`, is below `least`. At this limit, the server accepts new connections only as others close. `hint` says how to raise it.",
      "uncaught-error":
        "A bug ended the `worker`, which the server replaces, or the server, which exits with code 1.",
      "usage-not-stored":
        "The database does not accept usage, because of `reason`: disk full, read-only or locked. The server keeps the counts of `lookups` lookups in memory. `usage-stored-again` reports the recovery.",
      "key-revoked-here":
        "Somebody added `key` to the file `revoked`, with `inkling keys revoke --here` or by hand. Only this host refuses the key. `author` is the author of the line. This event and the line are the record of the revocation until you [revoke the key in the database](security-incidents.md#revoke-without-the-database).",
      "keys-revoked-here":
        "The file `revoked` lists `keys` keys that are still active in the database, because an older database was restored or because somebody used `--here`. Only this host refuses them. `/readyz` lists them: [what to do](backup.md#restore-an-older-database).",
      "revoked-file-failed":
        "The file `revoked` cannot be read or written, because of `reason`. Keys that are revoked in the database are still refused. The server retries every second.",
      "revoked-line-invalid":
        "A new `line` of the file `revoked` is not a revocation, so it has no effect. Correct or remove it; otherwise the next start fails.",
      "earlier-tokens-valid":
        "After an older database was restored, an earlier version still refused `tokens` tokens that a rotation had replaced. This version accepts them until the time in the database. Rotate these keys again.",
      "earlier-entries-wait":
        "Audit entries that an earlier version kept in `audit-waiting` cannot be stored, because of `reason` at `file`. The next start retries.",
      "chosen-key-not-created":
        "The database is empty, so the server accepts `INKLING_API_KEY` only if `keys.json` has it: [what to do](troubleshooting.md#database-lost).",
      "usage-lost": "The server stopped without a database. `lookups` lookups were not stored.",
      "decisions-not-stored":
        "The database does not accept decisions, because of `reason`. Up to 50,000 or 64 MiB wait on each host. Requests and actions are not affected ([stored decisions](decisions.md#what-can-be-lost)).",
      "decisions-dropped":
        "Too many decisions are waiting. Until the database catches up, the server drops new ones and counts them in `inkling_decisions_total`.",
      "rows-not-expired":
        "Old rows could not be deleted, because of `reason`. The server retries each minute.",
      "expiry-held":
        "The clock is `ahead_seconds` ahead of the newest stored time, so the server deletes nothing by age for 6 hours. If the clock is wrong, correct it within this time. If the server was off that long, you need to do nothing.",
      "decisions-over-limit":
        "Stored decisions took more than `limit_mb` megabytes, so the server deleted the oldest `deleted` decisions. Raise `INKLING_DECISIONS_MAX_MB`, or keep decisions for fewer days (`INKLING_DECISIONS_DAYS`).",
      "decisions-lost": "The server stopped without a database. `decisions` decisions were not stored.",
      "database-replaced": "Somebody replaced the SQLite file. The server now uses the new file.",
      "row-unreadable":
        "The server cannot read a row of the database, usually because a newer version wrote it. It leaves out the row, or the part that it cannot read, and uses the other rows. `table`, `id` and `reason` say which row and why. Upgrade this host.",
      "database-empty":
        "The database is new, but `keys.json` has `keys_in_copy` keys, or `overrides.json` has `overrides_in_copy` overrides. The copies apply, and changes are refused: [what to do](troubleshooting.md#database-lost).",
      "keys-from-copy":
        "The server started without a database, or with an empty one. The `keys` keys in `keys.json` apply. The database confirmed them `age_seconds` seconds ago.",
      "keys-copy-failed":
        "`keys.json` cannot be read or written, or has keys or lines that are left out, because of `reason`.",
      "overrides-copy-failed": "`overrides.json` cannot be read or written, because of `reason`.",
      "keys-stale":
        "The database was unreachable for longer than `INKLING_MAX_STALE_SECONDS`, so the server refuses every key. `keys-fresh` reports the recovery.",
      "request-failed":
        "The server returned 500 because of a bug. The event has the stack trace and the `request_id`.",
      "admin-request-failed":
        "The admin API returned 500 because of a bug. The event has the stack trace and the `request_id`.",
      "ruleset-refused":
        "This version cannot read the newest ruleset, so the previous one remains active. `/readyz` warns. Upgrade this server.",
      "ruleset-copy-failed": "`ruleset.json` in the data folder cannot be read or written.",
      "traces-failed":
        "The collector at `INKLING_OTLP_URL` did not take spans, because of `reason`. The server drops these spans, and sends new ones each second. `traces-back` reports the recovery.",
      "webhook-given-up":
        "A delivery to `webhook` failed for the last time, because of `reason`. `inkling webhooks deliveries ID` lists it. `inkling webhooks test ID` tests the receiver.",
      "webhook-disabled":
        "The receiver of `webhook` returned 410, so the server sends nothing more. Remove the webhook, or fix the receiver and run `inkling webhooks enable ID`.",
      "webhook-queue-full":
        "The server dropped `dropped` deliveries to `webhook` for the event in `type`, because 10,000 deliveries already wait for this webhook. Other webhooks are not affected. Fix the receiver, or run `inkling webhooks remove ID`.",
      "webhooks-stopped":
        "The server cannot read webhooks or detect events, because of `reason`. It retries. `webhooks-back` reports the recovery.",
      "notices-missing":
        "The server checks for changed keys and overrides once a second, because of `reason`.",
      "group-unreachable":
        "This host is cut off from the group because of `reason`. It uses only its own count for each key's rate. `group-back` reports the recovery.",
    },
    info: {
      "key-traced":
        "Somebody used the [traced](security-incidents.md#trace-a-key) `key` from `network`. There is one line per minute, network and worker, at every log level.",
      "log-level-changed":
        "`author` set the log level to `to` [over the admin API](one-host.md#change-settings), until the next restart. Logged at every log level.",
      "data-folder-read-only": "This server does not update data, because of `reason`.",
      "memory-not-shared":
        "Hosts may share the database, but this host's [memory](decisions.md#what-the-server-remembers) has its own key, so it does not recognize what other hosts have seen. `hint` suggests a fix.",
      "worker-listening": "`worker` (0, 1, …) answers requests.",
      "earlier-revocations-taken":
        "The data folder contained revocations from an earlier version. Inkling moved them to the file `revoked`. Revoke the `keys` in the database as well, with `inkling keys revoke ID`.",
      "earlier-entries-stored":
        "`entries` audit entries that an earlier version kept in the data folder are now in the audit trail.",
      "decisions-stored-again": "All waiting decisions are stored. `dropped` decisions were lost.",
      "rows-expired":
        "The server deleted rows that were too old. The fields count them by kind, such as `decisions` and `deliveries`.",
      "expiry-resumed": "The server deletes old rows again.",
      "database-upgraded":
        "An earlier version of Inkling wrote the database. Its tables are now at version `to` instead of `from`, and that version can no longer read them: [downgrade](backup.md#downgrade).",
      listening: "The server listens on `host` and `port`, and the admin listener on `admin_port`.",
      stopping: "The server received a signal to stop and is finishing open requests.",
      stopped: "Everything is stored, and the process is exiting.",
      "admin-request":
        "A request to the admin API: `method`, `route`, `status`, and `author`, as in the audit trail.",
      "database-back": "The database is reachable again.",
      "keys-fresh": "The server has read the keys from the database again, and accepts them.",
      "usage-stored-again": "The server writes usage to the database again.",
      "overrides-loaded": "`overrides` overrides from the database or from `overrides.json` now apply.",
      "ruleset-loaded":
        "Ruleset `ruleset` is now active. `from` shows whether it comes from the database or from the data folder's copy.",
      "traces-back": "The collector takes spans again.",
      "webhook-failed":
        "An attempt to deliver to `webhook` failed, because of `reason`. The next attempt is in `retry_in_s` seconds.",
      "webhooks-back": "Webhooks work again.",
      "notices-listening": "PostgreSQL notifies this server of changed keys and overrides.",
      "group-back": "The group responds again.",
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;

type Tables = typeof LOG_EVENTS;
/** The events that may have this level. */
export type LogEvent<Level extends "error" | "info" = "error" | "info"> = {
  [Table in keyof Tables]: {
    [Levels in keyof Tables[Table]]: Levels extends `${string}${Level}${string}`
      ? keyof Tables[Table][Levels]
      : never;
  }[keyof Tables[Table]];
}[keyof Tables];

/** What log events are written to. */
export interface EventLog {
  info(event: LogEvent<"info">, fields?: Readonly<Record<string, unknown>>): void;
  error(event: LogEvent<"error">, fields?: Readonly<Record<string, unknown>>): void;
}
