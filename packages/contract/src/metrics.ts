// metrics.ts: every metric in /metrics, with its type, labels and meaning. The name of a metric never changes.
//
// A new row needs a function in server/src/admin/metrics.ts that reads the metric; the type check reports a
// missing function. `npm run generate` lists the metric in docs/metrics.md.

export interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

const rowsOf =
  <Type extends MetricRow["type"]>(type: Type) =>
  <const Labels extends readonly string[]>(help: string, ...labels: Labels) => ({ type, labels, help });
const counter = rowsOf("counter");
const gauge = rowsOf("gauge");
const histogram = rowsOf("histogram");

export const METRICS = {
  inkling_http_requests_total: counter(
    "Answered requests, by route, status and kind of key. A stream is counted when it ends.",
    "route",
    "status",
    "key",
  ),
  inkling_lookups_total: counter(
    "Lookups, including IP_ADDRESS_NOT_FOUND and 304, by lookup, key kind and request (single or batch).",
    "lookup",
    "key",
    "request",
  ),
  inkling_problems_total: counter(
    "Refused requests and refused values in batches, by code (docs/errors.md).",
    "code",
  ),
  inkling_admin_problems_total: counter(
    "Refused requests to the admin listener, by code (docs/admin-api.md#errors).",
    "code",
  ),
  inkling_ready: gauge("1 if `GET /readyz` returns 200, 0 if it returns 503 or no thread answers."),
  inkling_release_info: gauge("The release in use: always 1.", "id", "name"),
  inkling_release_wanted_info: gauge("The release that should be in use: always 1.", "name"),
  inkling_release_age_seconds: gauge("Seconds since the release was built."),
  inkling_release_refused: gauge(
    "1 while the server refuses the wanted release. An older release, or none, is in use.",
  ),
  inkling_build_failed: gauge(
    "1 if the latest build failed. On a server that follows a channel: if the builder's latest build failed, or two builds are overdue. Run `inkling doctor` to see why.",
  ),
  inkling_channel_version: gauge("Channel version that this server applied last; absent without a channel."),
  inkling_channel_age_seconds: gauge(
    "Seconds since the server last read and verified the channel, in steps of a minute.",
  ),
  inkling_channel_refused: gauge(
    "1 while the server does not follow the channel, by reason (docs/several-hosts.md#failures). It keeps serving its current release.",
    "fault",
  ),
  inkling_answer_missing: gauge("1 if no loaded feed contributes to this answer.", "answer"),
  inkling_feed_age_seconds: gauge(
    "Seconds since this copy was published, or since Inkling fetched it if the publisher gives no time.",
    "feed",
  ),
  inkling_feed_entries: gauge("Networks, domains or records from a feed in the release.", "feed"),
  inkling_feed_failed: gauge("1 if the newest copy of a feed is held or missing.", "feed"),
  inkling_feed_consecutive_failures: gauge(
    "Consecutive attempts without an acceptable copy of a feed.",
    "feed",
  ),
  inkling_feed_stale: gauge("1 if a feed is older than it should be. Inkling still uses it.", "feed"),
  inkling_feed_expired: gauge("1 if a feed is so old that Inkling ignores its claims.", "feed"),
  inkling_feed_held: gauge(
    "1 if the newest copy of a feed looks wrong, so Inkling does not use it. `inkling data update --accept` accepts the copy.",
    "feed",
  ),
  inkling_feed_checked_timestamp_seconds: gauge("Time of the last check for a newer copy of a feed.", "feed"),
  inkling_keys: gauge("Active keys."),
  inkling_overrides: gauge("Active overrides."),
  inkling_overrides_checked_timestamp_seconds: gauge(
    "Time when the server last checked the database for changed overrides.",
  ),
  inkling_unreadable_rows: gauge(
    "Rows of the database that the server left out, or read only in part, usually because a newer version wrote them.",
    "table",
  ),
  inkling_database_reachable: gauge(
    "1 if the last database check succeeded. 0 if it failed, or if the database was replaced by an empty one.",
  ),
  inkling_keys_checked_timestamp_seconds: gauge(
    "Time when the server last checked the database for changed keys.",
  ),
  inkling_keys_revoked_here: gauge(
    "Keys that only this host refuses, because its file `revoked` lists them and the database does not (docs/security-incidents.md).",
  ),
  inkling_notices_listening: gauge(
    "1 if PostgreSQL notifies this host of changed keys and overrides. 0 if the host checks once a second. Absent with SQLite.",
  ),
  inkling_keys_stale: gauge(
    "1 while the server refuses every key, because the database was unreachable for longer than INKLING_MAX_STALE_SECONDS.",
  ),
  inkling_group_hosts: gauge("Hosts of the group, including this one; absent with SQLite."),
  inkling_group_unreachable: gauge(
    "1 while this host is cut off from the group, and uses only its own count for each key's rate; absent with SQLite.",
  ),
  inkling_group_silent_seconds: gauge("Seconds since the group last answered this host; absent with SQLite."),
  inkling_group_exchange_consecutive_failures: gauge(
    "Consecutive failed exchanges with the group; absent with SQLite.",
  ),
  inkling_database_clock_offset_seconds: gauge(
    "This host's clock minus the database's, at the last exchange; absent with SQLite.",
  ),
  inkling_usage_pending: gauge("Counted lookups that are not in the database yet."),
  inkling_usage_oldest_seconds: gauge(
    "Age of the oldest count that is not in the database; 0 if there is none.",
  ),
  inkling_usage_flush_failures_total: counter(
    "Failed attempts to write usage. The server keeps the counts and writes them later.",
  ),
  inkling_decisions_total: counter(
    "Decisions of POST /v1/assess, by outcome: stored; dropped, if the database was too slow or unreachable (docs/decisions.md#stored-decisions).",
    "outcome",
  ),
  inkling_decisions_waiting: gauge(
    "Decisions waiting to be stored. Above 50,000 or 64 MiB, the server drops new ones.",
  ),
  inkling_memory_reads_total: counter(
    "Reads of what earlier decisions say about a visitor, by result: answered; failed, if the database took longer than 50 ms (docs/decisions.md).",
    "result",
  ),
  inkling_decisions_stored_bytes: gauge(
    "About how much space stored decisions take, measured once a minute.",
  ),
  inkling_decisions_limit_bytes: gauge(
    "`INKLING_DECISIONS_MAX_MB` in bytes. Above it, the server deletes the oldest decisions.",
  ),
  inkling_trace_spans_total: counter(
    "Spans for INKLING_OTLP_URL, by outcome: sent, or dropped because too many waited or the collector failed.",
    "outcome",
  ),
  inkling_webhook_attempts_total: counter(
    "This host's attempts to deliver to a webhook, by outcome: delivered, failed, gone (410).",
    "outcome",
  ),
  inkling_webhook_dropped_total: counter(
    "Deliveries that this host did not queue, because 10,000 were waiting for the webhook.",
  ),
  inkling_webhook_queue: gauge("Waiting deliveries of all hosts that share the database."),
  inkling_webhook_queue_oldest_seconds: gauge("Age of the oldest waiting delivery; 0 if there is none."),
  inkling_mx_checks_total: counter("Answers with ?checks=mx, by outcome (docs/email.md).", "outcome"),
  inkling_mx_lookups_total: counter("Domains looked up in DNS, by outcome.", "outcome"),
  inkling_mx_lookup_seconds_total: counter("Total time of DNS lookups."),
  inkling_mx_cache_hits_total: counter("Checks answered from the DNS cache."),
  inkling_mx_lookups_in_flight: gauge("DNS lookups in progress; at most 64, plus 64 slow ones."),
  inkling_mx_lookups_waiting: gauge("Domains waiting for a DNS lookup."),
  inkling_mx_cache_entries: gauge("Domains in the DNS cache; at most 10,000."),
  inkling_workers: gauge(
    "Worker threads, by state: starting, serving, waiting (ended and not yet replaced).",
    "state",
  ),
  inkling_worker_restarts_total: counter("Workers started to replace one that ended."),
  inkling_build_info: gauge("Version of this server: always 1.", "version"),
  process_cpu_seconds_total: counter("CPU time of the server."),
  process_resident_memory_bytes: gauge("Memory of the server, with the pages of mapped segments."),
  process_start_time_seconds: gauge("Time at which this process started serving."),
  inkling_http_request_duration_seconds: histogram(
    "Time from reading the request to creating the response, excluding the network, by route.",
    "route",
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;
export type MetricName = keyof typeof METRICS;
export type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name]["labels"][number];
