// metrics.ts: every metric in /metrics, with its type, labels and meaning. The name of a metric never changes.
//
// A new row needs a function in server/src/telemetry/metric-readers.ts that reads the metric; the type check reports a
// missing function. `npm run generate` lists the metric in docs/metrics.md.

export interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

export const METRICS = {
  inkling_http_requests_total: {
    type: "counter",
    labels: ["route", "status", "key"],
    help: "Answered requests, by route, status and kind of key. A stream is counted when it ends.",
  },
  inkling_lookups_total: {
    type: "counter",
    labels: ["lookup", "key", "request"],
    help: "Lookups, including IP_ADDRESS_NOT_FOUND and 304, by lookup, kind of key and request (single or batch).",
  },
  inkling_problems_total: {
    type: "counter",
    labels: ["code"],
    help: "Refused requests and refused values in batches, by code (docs/errors.md).",
  },
  inkling_admin_problems_total: {
    type: "counter",
    labels: ["code"],
    help: "Refused requests to the admin listener, by code (docs/admin-api.md#errors).",
  },
  inkling_ready: {
    type: "gauge",
    labels: [],
    help: "1 if `GET /readyz` returns 200, 0 if it returns 503 or no thread answers.",
  },
  inkling_release_info: {
    type: "gauge",
    labels: ["id", "name"],
    help: "The release in use: always 1.",
  },
  inkling_release_wanted_info: {
    type: "gauge",
    labels: ["name"],
    help: "The release that should be in use: always 1.",
  },
  inkling_release_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Seconds since the release was built.",
  },
  inkling_release_refused: {
    type: "gauge",
    labels: [],
    help: "1 while the server refuses the wanted release. An older release, or none, is in use.",
  },
  inkling_build_failed: {
    type: "gauge",
    labels: [],
    help: "1 if the latest build failed. On a server that follows a channel: if the builder's latest build failed, or two builds are overdue. Run `inkling doctor` to see why.",
  },
  inkling_channel_version: {
    type: "gauge",
    labels: [],
    help: "Channel version that this server applied last; absent without a channel.",
  },
  inkling_channel_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Seconds since the server last read and verified the channel, in steps of a minute.",
  },
  inkling_channel_refused: {
    type: "gauge",
    labels: ["fault"],
    help: "1 while the server does not follow the channel, by reason (docs/several-hosts.md#failures). It keeps serving its current release.",
  },
  inkling_answer_missing: {
    type: "gauge",
    labels: ["answer"],
    help: "1 if no loaded feed contributes to this answer.",
  },
  inkling_feed_age_seconds: {
    type: "gauge",
    labels: ["feed"],
    help: "Seconds since this copy was published, or since Inkling fetched it if the publisher gives no time.",
  },
  inkling_feed_entries: {
    type: "gauge",
    labels: ["feed"],
    help: "Networks, domains or records from a feed in the release.",
  },
  inkling_feed_failed: {
    type: "gauge",
    labels: ["feed"],
    help: "1 if the newest copy of a feed is held or missing.",
  },
  inkling_feed_consecutive_failures: {
    type: "gauge",
    labels: ["feed"],
    help: "Consecutive attempts without an acceptable copy of a feed.",
  },
  inkling_feed_stale: {
    type: "gauge",
    labels: ["feed"],
    help: "1 if a feed is older than it should be. Inkling still uses it.",
  },
  inkling_feed_expired: {
    type: "gauge",
    labels: ["feed"],
    help: "1 if a feed is so old that Inkling ignores its claims.",
  },
  inkling_feed_held: {
    type: "gauge",
    labels: ["feed"],
    help: "1 if the newest copy of a feed looks wrong, so Inkling does not use it. `inkling data update --accept` accepts the copy.",
  },
  inkling_feed_checked_timestamp_seconds: {
    type: "gauge",
    labels: ["feed"],
    help: "Time of the last check for a newer copy of a feed.",
  },
  inkling_keys: {
    type: "gauge",
    labels: [],
    help: "Active keys.",
  },
  inkling_overrides: {
    type: "gauge",
    labels: [],
    help: "Active overrides.",
  },
  inkling_overrides_checked_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "Time when the server last checked the database for changed overrides.",
  },
  inkling_unreadable_rows: {
    type: "gauge",
    labels: ["table"],
    help: "Rows of the database that the server left out, or read only in part, usually because a newer version wrote them.",
  },
  inkling_database_reachable: {
    type: "gauge",
    labels: [],
    help: "1 if the last database check succeeded. 0 if it failed, or if the database was replaced by an empty one.",
  },
  inkling_keys_checked_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "Time when the server last checked the database for changed keys.",
  },
  inkling_keys_revoked_here: {
    type: "gauge",
    labels: [],
    help: "Keys that only this host refuses, because its file `revoked` lists them and the database does not (docs/security-incidents.md).",
  },
  inkling_notices_listening: {
    type: "gauge",
    labels: [],
    help: "1 if PostgreSQL notifies this host of changed keys and overrides. 0 if the host checks once a second. Absent with SQLite.",
  },
  inkling_keys_stale: {
    type: "gauge",
    labels: [],
    help: "1 while the server refuses every key, because the database was unreachable for longer than INKLING_MAX_STALE_SECONDS.",
  },
  inkling_group_hosts: {
    type: "gauge",
    labels: [],
    help: "Hosts of the group, including this one; absent with SQLite.",
  },
  inkling_group_unreachable: {
    type: "gauge",
    labels: [],
    help: "1 while this host is cut off from the group, and uses only its own count for each key's rate; absent with SQLite.",
  },
  inkling_group_silent_seconds: {
    type: "gauge",
    labels: [],
    help: "Seconds since the group last answered this host; absent with SQLite.",
  },
  inkling_group_exchange_consecutive_failures: {
    type: "gauge",
    labels: [],
    help: "Consecutive failed exchanges with the group; absent with SQLite.",
  },
  inkling_database_clock_offset_seconds: {
    type: "gauge",
    labels: [],
    help: "This host's clock minus the database's, at the last exchange; absent with SQLite.",
  },
  inkling_usage_pending: {
    type: "gauge",
    labels: [],
    help: "Counted lookups that are not in the database yet.",
  },
  inkling_usage_oldest_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest count that is not in the database; 0 if there is none.",
  },
  inkling_usage_flush_failures_total: {
    type: "counter",
    labels: [],
    help: "Failed attempts to write usage. The server keeps the counts and writes them later.",
  },
  inkling_decisions_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Decisions of POST /v1/assess, by outcome: stored; dropped, if the database was too slow or unreachable (docs/decisions.md#stored-decisions).",
  },
  inkling_decisions_waiting: {
    type: "gauge",
    labels: [],
    help: "Decisions waiting to be stored. Above 50,000 or 64 MiB, the server drops new ones.",
  },
  inkling_memory_reads_total: {
    type: "counter",
    labels: ["result"],
    help: "Reads of what earlier decisions say about a visitor, by result: answered; failed, if the database took longer than 50 ms (docs/decisions.md).",
  },
  inkling_decisions_stored_bytes: {
    type: "gauge",
    labels: [],
    help: "About how much space stored decisions take, measured once a minute.",
  },
  inkling_decisions_limit_bytes: {
    type: "gauge",
    labels: [],
    help: "`INKLING_DECISIONS_MAX_MB` in bytes. Above it, the server deletes the oldest decisions.",
  },
  inkling_trace_spans_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Spans for INKLING_OTLP_URL, by outcome: sent, or dropped because too many waited or the collector failed.",
  },
  inkling_webhook_attempts_total: {
    type: "counter",
    labels: ["outcome"],
    help: "This host's attempts to deliver to a webhook, by outcome: delivered, failed, gone (410).",
  },
  inkling_webhook_dropped_total: {
    type: "counter",
    labels: [],
    help: "Deliveries that this host did not queue, because 10,000 were waiting for the webhook.",
  },
  inkling_webhook_queue: {
    type: "gauge",
    labels: [],
    help: "Waiting deliveries of all hosts that share the database.",
  },
  inkling_webhook_queue_oldest_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest waiting delivery; 0 if there is none.",
  },
  inkling_mx_checks_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Answers with ?checks=mx, by outcome (docs/email.md).",
  },
  inkling_mx_lookups_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Domains looked up in DNS, by outcome.",
  },
  inkling_mx_lookup_seconds_total: {
    type: "counter",
    labels: [],
    help: "Total time of DNS lookups.",
  },
  inkling_mx_cache_hits_total: {
    type: "counter",
    labels: [],
    help: "Checks answered from the DNS cache.",
  },
  inkling_mx_lookups_in_flight: {
    type: "gauge",
    labels: [],
    help: "DNS lookups in progress; at most 64, plus 64 slow ones.",
  },
  inkling_mx_lookups_waiting: {
    type: "gauge",
    labels: [],
    help: "Domains waiting for a DNS lookup.",
  },
  inkling_mx_cache_entries: {
    type: "gauge",
    labels: [],
    help: "Domains in the DNS cache; at most 10,000.",
  },
  inkling_workers: {
    type: "gauge",
    labels: ["state"],
    help: "Worker threads, by state: starting, serving, waiting (ended and not yet replaced).",
  },
  inkling_worker_restarts_total: {
    type: "counter",
    labels: [],
    help: "Workers started to replace one that ended.",
  },
  inkling_build_info: {
    type: "gauge",
    labels: ["version"],
    help: "Version of this server: always 1.",
  },
  process_cpu_seconds_total: {
    type: "counter",
    labels: [],
    help: "CPU time of the server.",
  },
  process_resident_memory_bytes: {
    type: "gauge",
    labels: [],
    help: "Memory of the server, with the pages of mapped segments.",
  },
  process_start_time_seconds: {
    type: "gauge",
    labels: [],
    help: "Time at which this process started serving.",
  },
  inkling_http_request_duration_seconds: {
    type: "histogram",
    labels: ["route"],
    help: "Time from reading the request to creating the response, excluding the network, by route.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
export type MetricName = keyof typeof METRICS;
export type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name]["labels"][number];
