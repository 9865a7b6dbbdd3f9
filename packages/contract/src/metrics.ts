// metrics.ts: every metric of /metrics: its type, its labels and its meaning. Names do not change.
//
// A new row needs a function that reads it, in server/src/telemetry/metric-readers.ts: the type check names it.
// `npm run generate` lists it in docs/metrics.md.

export interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

export const METRICS = {
  inkling_http_requests_total: {
    type: "counter",
    labels: ["route", "status", "key"],
    help: "Requests answered, by route, status and kind of key; a stream when it has ended.",
  },
  inkling_lookups_total: {
    type: "counter",
    labels: ["lookup", "key", "request"],
    help: "Values looked up, IP_ADDRESS_NOT_FOUND and 304 included, by kind, kind of key, and request: single, or batch.",
  },
  inkling_problems_total: {
    type: "counter",
    labels: ["code"],
    help: "Requests, and values of batches, that were refused, by code (docs/errors.md).",
  },
  inkling_admin_problems_total: {
    type: "counter",
    labels: ["code"],
    help: "Requests to the admin listener that were refused, by code (docs/errors.md).",
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
  inkling_release_verified: {
    type: "gauge",
    labels: [],
    help: "1 when every byte of the release was read since the start.",
  },
  inkling_release_refused: {
    type: "gauge",
    labels: [],
    help: "1 while the wanted release is refused: an older one, or none, is in use.",
  },
  inkling_release_held: {
    type: "gauge",
    labels: [],
    help: "1 while a newer release waits because it flags too much or too little: an operator has to accept it.",
  },
  inkling_build_failed: {
    type: "gauge",
    labels: [],
    help: "1 while the latest build failed and published nothing: `inkling doctor` shows why.",
  },
  inkling_channel_version: {
    type: "gauge",
    labels: [],
    help: "Version of the channel that was taken last; absent without a channel.",
  },
  inkling_channel_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Seconds since the channel was last read and found good, in steps of a minute.",
  },
  inkling_channel_refused: {
    type: "gauge",
    labels: ["fault"],
    help: "1 while the channel is not followed, by reason (docs/cluster.md): what was served goes on.",
  },
  inkling_answer_missing: {
    type: "gauge",
    labels: ["answer"],
    help: "1 for an answer that no loaded feed contributes to.",
  },
  inkling_feed_age_seconds: {
    type: "gauge",
    labels: ["feed"],
    help: "Seconds since this copy of a feed was published, or fetched if the publisher gives no time.",
  },
  inkling_feed_entries: {
    type: "gauge",
    labels: ["feed"],
    help: "Networks, domains or records taken from a feed.",
  },
  inkling_feed_failed: {
    type: "gauge",
    labels: ["feed"],
    help: "1 when the newest copy of a feed was refused or is missing.",
  },
  inkling_feed_failures: {
    type: "gauge",
    labels: ["feed"],
    help: "Attempts in a row, up to now, that gave no acceptable copy of a feed.",
  },
  inkling_feed_stale: {
    type: "gauge",
    labels: ["feed"],
    help: "1 when a feed is older than it should be, and still used.",
  },
  inkling_feed_expired: {
    type: "gauge",
    labels: ["feed"],
    help: "1 when a feed is so old that its claims are ignored.",
  },
  inkling_feed_pending: {
    type: "gauge",
    labels: ["feed"],
    help: "1 when a copy of a feed differs so much that an operator has to accept it.",
  },
  inkling_feed_checked_timestamp_seconds: {
    type: "gauge",
    labels: ["feed"],
    help: "When the source of a feed was last checked for a newer copy.",
  },
  inkling_keys: {
    type: "gauge",
    labels: [],
    help: "Keys in force.",
  },
  inkling_overrides: {
    type: "gauge",
    labels: [],
    help: "Overrides in force.",
  },
  inkling_overrides_checked_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "When overrides were last checked with the database.",
  },
  inkling_database_reachable: {
    type: "gauge",
    labels: [],
    help: "1 when the last check with the database succeeded; 0 also where it is empty in the place of another.",
  },
  inkling_keys_checked_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "When keys were last checked with the database.",
  },
  inkling_database_went_back: {
    type: "gauge",
    labels: [],
    help: "1 from the moment the database went back to an earlier state until an operator confirms it (`inkling database confirm`).",
  },
  inkling_revocations_unstored: {
    type: "gauge",
    labels: [],
    help: "Keys that are revoked on this host while the database cannot be written.",
  },
  inkling_notices_listening: {
    type: "gauge",
    labels: [],
    help: "1 when changes of keys and overrides arrive by notice; 0 when they are found once a second; absent with SQLite.",
  },
  inkling_keys_stale: {
    type: "gauge",
    labels: [],
    help: "1 while every key is refused because the database was unreachable for longer than INKLING_MAX_STALE.",
  },
  inkling_group_hosts: {
    type: "gauge",
    labels: [],
    help: "Hosts that share rates and quotas, this one included; absent with SQLite.",
  },
  inkling_group_away: {
    type: "gauge",
    labels: [],
    help: "1 while this host has no part of the group's limits: each key has its limit / hosts, or nothing where the database never answered; absent with SQLite.",
  },
  inkling_group_silent_seconds: {
    type: "gauge",
    labels: [],
    help: "Seconds since the group's last answer to this host; absent with SQLite.",
  },
  inkling_group_leases: {
    type: "gauge",
    labels: [],
    help: "Keys of which this host holds a share of rate or quota; absent with SQLite.",
  },
  inkling_group_exchange_failures: {
    type: "gauge",
    labels: [],
    help: "Exchanges with the group in a row, up to now, that failed; absent with SQLite.",
  },
  inkling_database_clock_offset_seconds: {
    type: "gauge",
    labels: [],
    help: "This host's clock less the database's, as of the last exchange; absent with SQLite.",
  },
  inkling_usage_pending: {
    type: "gauge",
    labels: [],
    help: "Lookups counted and not yet in the database.",
  },
  inkling_usage_oldest_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest count that is not in the database; 0 without one.",
  },
  inkling_usage_flush_failures_total: {
    type: "counter",
    labels: [],
    help: "Failed attempts to write usage; the counts are kept and written later.",
  },
  inkling_decisions_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Decisions of POST /v1/assess: stored, dropped because the database was too slow or unreachable, or lost with a worker that was killed (docs/stored-decisions.md).",
  },
  inkling_decisions_waiting: {
    type: "gauge",
    labels: [],
    help: "Decisions that wait to be stored; beyond 50,000 new ones are dropped.",
  },
  inkling_webhook_attempts_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Attempts of this host to deliver to a webhook, by outcome: delivered, failed, gone (410).",
  },
  inkling_webhook_dropped_total: {
    type: "counter",
    labels: [],
    help: "Deliveries of this host that were not queued because too many wait.",
  },
  inkling_webhook_queue: {
    type: "gauge",
    labels: [],
    help: "Deliveries that wait, of all hosts on the database.",
  },
  inkling_webhook_queue_oldest_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest delivery that waits; 0 without one.",
  },
  inkling_connections: {
    type: "gauge",
    labels: [],
    help: "Open connections to the API; absent where the system does not report them.",
  },
  inkling_connections_limit: {
    type: "gauge",
    labels: [],
    help: "Open connections beyond this are closed.",
  },
  inkling_connections_refused_total: {
    type: "counter",
    labels: [],
    help: "Connections closed because too many were open.",
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
    help: "Time that those took, together.",
  },
  inkling_mx_cache_hits_total: {
    type: "counter",
    labels: [],
    help: "Checks answered from the cache of DNS answers.",
  },
  inkling_mx_lookups_under_way: {
    type: "gauge",
    labels: [],
    help: "Domains being looked up in DNS; at most 64, and 64 slow ones.",
  },
  inkling_mx_lookups_waiting: {
    type: "gauge",
    labels: [],
    help: "Domains waiting to be looked up.",
  },
  inkling_mx_cache_entries: {
    type: "gauge",
    labels: [],
    help: "Domains in the cache of DNS answers; at most 10,000.",
  },
  inkling_workers: {
    type: "gauge",
    labels: ["state"],
    help: "Processes that serve requests, by state: starting, serving, waiting (ended, and not yet replaced).",
  },
  inkling_worker_restarts_total: {
    type: "counter",
    labels: [],
    help: "Workers started in place of one that ended.",
  },
  inkling_build_info: {
    type: "gauge",
    labels: ["version", "mode"],
    help: "Version and mode of this server: always 1.",
  },
  process_cpu_seconds_total: {
    type: "counter",
    labels: [],
    help: "CPU time of this process and its workers.",
  },
  process_resident_memory_bytes: {
    type: "gauge",
    labels: [],
    help: "Memory of this process and its workers; each counts the pages of segments that it maps.",
  },
  process_start_time_seconds: {
    type: "gauge",
    labels: [],
    help: "When this process started serving.",
  },
  inkling_http_request_duration_seconds: {
    type: "histogram",
    labels: ["route"],
    help: "From request read to response made, without the network, by route.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
export type MetricName = keyof typeof METRICS;
export type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name]["labels"][number];
