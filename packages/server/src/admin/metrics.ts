// metrics.ts: reads all metrics at scrape time, and formats them for /metrics in Prometheus' text format. The rows of all
// metrics are in contract/src/metrics.ts.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.

import { type LabelsOf, METRICS, type MetricName, type MetricRow } from "@inkling/contract";
import { type FeedReport, feedAgeSeconds } from "@inkling/engine";
import { METRIC_BOUNDS } from "@inkling/store/traffic-counts";
import { readiness } from "../lookup/status.ts";
import { BYTES_PER_MB, type Services } from "./services.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string | number>>;

const HISTOGRAM = "inkling_http_request_duration_seconds";

/** Returns the reasons why this server should not receive requests; none if it is ready. */
export function serverReadiness(services: Services): string[] {
  const { isDraining, workers } = services.serving;
  const reasons = readiness(services, isDraining);
  if (!workers.states.get("serving")) reasons.push("no thread answers requests");
  return reasons;
}

type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

/** Reads a metric. Undefined values are not shown. */
type MetricReader<Label extends string = string> = (
  services: Services,
) => number | undefined | Iterable<Sample<Label>>;

/** Returns a value for each feed of the release. Undefined values are not shown. */
function perFeed(read: (feed: FeedReport, now: number) => number | undefined): MetricReader<"feed"> {
  return ({ releases, now }) =>
    releases.feeds.flatMap((feed): Sample<"feed">[] => {
      const value = read(feed, now());
      return value === undefined ? [] : [[{ feed: feed.id }, value]];
    });
}

const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
const flag = (is: boolean | undefined) => (is === true ? 1 : 0);

type Readers = {
  readonly [Name in MetricName as (typeof METRICS)[Name]["type"] extends "histogram"
    ? never
    : Name]: MetricReader<LabelsOf<Name>>;
};

const READERS: Readers = {
  inkling_http_requests_total: ({ serving: { counts } }) =>
    Array.from(counts.requestRows(true), ({ route, status, audience, count }) => [
      { route, status, key: audience },
      count,
    ]),
  inkling_lookups_total: ({ serving: { counts } }) =>
    Array.from(counts.lookupRows(true), ({ lookup, audience, kind, count }) => [
      { lookup, key: audience, request: kind },
      count,
    ]),
  inkling_problems_total: ({ serving: { counts } }) =>
    Array.from(counts.problemRows(), ([code, count]) => [{ code }, count]),
  inkling_admin_problems_total: ({ adminProblems }) =>
    Array.from(adminProblems, ([code, count]) => [{ code }, count]),
  inkling_ready: (services) => flag(serverReadiness(services).length === 0),
  inkling_release_info: ({ releases: { current } }) =>
    current === undefined ? [] : [[{ id: current.manifest.id, name: current.name }, 1]],
  inkling_release_wanted_info: ({ releases: { wanted } }) =>
    wanted === undefined ? [] : [[{ name: wanted.slice(0, 80) }, 1]],
  inkling_release_age_seconds: ({ releases, now }) =>
    releases.current && (now() - Date.parse(releases.current.manifest.created_at)) / 1000,
  inkling_release_refused: ({ releases }) => flag(releases.refused !== undefined),
  inkling_build_failed: ({ releases }) => flag(releases.failedBuild !== undefined),
  inkling_channel_version: ({ releases }) => releases.channel?.version ?? undefined,
  inkling_channel_age_seconds: ({ releases: { channel }, now }) =>
    channel?.followed_at ? Math.max(0, (now() - Date.parse(channel.followed_at)) / 1000) : undefined,
  inkling_channel_refused: ({ releases: { channel } }) =>
    channel?.fault ? [[{ fault: channel.fault.kind }, 1]] : [],
  inkling_answer_missing: ({ releases }) =>
    (releases.current?.manifest.missing ?? []).map((answer) => [{ answer }, 1]),
  inkling_feed_age_seconds: perFeed(feedAgeSeconds),
  inkling_feed_entries: perFeed(({ entries }) => entries),
  inkling_feed_failed: perFeed(({ error }) => flag(error !== undefined)),
  inkling_feed_consecutive_failures: perFeed(({ failures = 0 }) => failures),
  inkling_feed_stale: perFeed(({ stale }) => flag(stale)),
  inkling_feed_expired: perFeed(({ state }) => flag(state === "expired")),
  inkling_feed_held: perFeed(({ held }) => flag(held !== undefined)),
  inkling_feed_checked_timestamp_seconds: perFeed(({ checked_at }) =>
    checked_at === undefined ? undefined : Date.parse(checked_at) / 1000,
  ),
  inkling_keys: ({ keyring }) => keyring.state.keys,
  inkling_overrides: ({ overrides }) => overrides.current.all.length,
  inkling_overrides_checked_timestamp_seconds: ({ overrides }) => seconds(overrides.state.checkedAt),
  inkling_unreadable_rows: ({ store }) =>
    Array.from(store.database.unreadable.counts, ([table, count]) => [{ table }, count]),
  inkling_database_reachable: ({ keyring }) => flag(keyring.state.failures === 0),
  inkling_keys_checked_timestamp_seconds: ({ keyring }) => seconds(keyring.state.checkedAt),
  inkling_keys_revoked_here: ({ keyring }) => keyring.refused.size,
  inkling_notices_listening: ({ notices }) =>
    notices.state === "off" ? undefined : flag(notices.state === "listening"),
  inkling_keys_stale: ({ keyring }) => flag(keyring.state.stale),
  inkling_group_hosts: ({ group }) => group?.state.hosts,
  inkling_group_unreachable: ({ group }) =>
    group === undefined ? undefined : flag(group.state.isUnreachable),
  inkling_group_silent_seconds: ({ group }) => group?.state.silentSeconds,
  inkling_group_exchange_consecutive_failures: ({ group }) => group?.state.failures,
  inkling_database_clock_offset_seconds: ({ group }) => seconds(group?.state.clockOffsetMs),
  inkling_usage_pending: ({ usage }) => usage.state.pending,
  inkling_usage_oldest_seconds: ({ usage }) => usage.state.oldestMs / 1000,
  inkling_usage_flush_failures_total: ({ usage }) => usage.state.failures,
  inkling_decisions_total: ({ decisions: { state } }) => [
    [{ outcome: "stored" }, state.stored],
    [{ outcome: "dropped" }, state.dropped],
  ],
  inkling_decisions_waiting: ({ decisions }) => decisions.state.waiting,
  inkling_memory_reads_total: ({ decisions: { state } }) => [
    [{ result: "answered" }, state.recalled],
    [{ result: "failed" }, state.notRecalled],
  ],
  inkling_decisions_stored_bytes: ({ store }) => store.retention.decisions.bytes,
  inkling_decisions_limit_bytes: ({ settings }) => settings.decisionsMaxMb * BYTES_PER_MB,
  inkling_trace_spans_total: ({ serving: { counts } }) =>
    Array.from(counts.spanRows(), ([outcome, count]) => [{ outcome }, count]),
  inkling_webhook_attempts_total: ({ webhooks }) =>
    Array.from(webhooks.attempts, ([outcome, count]) => [{ outcome }, count]),
  inkling_webhook_dropped_total: ({ webhooks }) => webhooks.dropped,
  inkling_webhook_queue: ({ webhooks }) => webhooks.queue.waiting,
  inkling_webhook_queue_oldest_seconds: ({ webhooks: { queue }, now }) =>
    queue.oldestAt === undefined ? 0 : Math.max(0, (now() - queue.oldestAt) / 1000),
  inkling_mx_checks_total: ({ serving: { counts } }) =>
    Array.from(counts.mx.answers, ([outcome, count]) => [{ outcome }, count]),
  inkling_mx_lookups_total: ({ serving: { counts } }) =>
    Array.from(counts.mx.lookups, ([outcome, count]) => [{ outcome }, count]),
  inkling_mx_lookup_seconds_total: ({ serving: { counts } }) => counts.mx.seconds,
  inkling_mx_cache_hits_total: ({ serving: { counts } }) => counts.mx.hits,
  inkling_mx_lookups_in_flight: ({ serving: { counts } }) => counts.mx.state.underWay,
  inkling_mx_lookups_waiting: ({ serving: { counts } }) => counts.mx.state.waiting,
  inkling_mx_cache_entries: ({ serving: { counts } }) => counts.mx.state.cached,
  inkling_workers: ({ serving: { workers } }) =>
    Array.from(workers.states, ([state, count]) => [{ state }, count]),
  inkling_worker_restarts_total: ({ serving }) => serving.workers.restarts,
  inkling_build_info: ({ version }) => [[{ version }, 1]],
  process_cpu_seconds_total: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  process_resident_memory_bytes: () => process.memoryUsage.rss(),
  process_start_time_seconds: () => performance.timeOrigin / 1000,
};

/** Returns the current values of all metrics. */
export function metricsText(services: Services): string {
  const readers: Readonly<Record<string, MetricReader | undefined>> = READERS;
  const rows: [string, MetricRow][] = Object.entries(METRICS);
  const blocks = rows.map(([name, { type, help }]) => {
    const read = readers[name];
    return block(
      name,
      type,
      help,
      read === undefined ? latencySamples(services) : samples(name, read(services)),
    );
  });
  return `${blocks.join("\n\n")}\n`;
}

function samples(name: string, read: ReturnType<MetricReader>): string[] {
  if (read === undefined) return [];
  if (typeof read === "number") return [sample(name, {}, read)];
  return Array.from(read, ([labels, value]) => sample(name, labels, value));
}

function block(name: string, type: string, help: string, samples: readonly string[]): string {
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return [`# HELP ${name} ${text}`, `# TYPE ${name} ${type}`, ...samples].join("\n");
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, of]) => `${label}="${escaped(String(of))}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

const escaped = (text: string) =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const numberText = (value: number) =>
  Number.isNaN(value) ? "NaN" : String(value).replace(/^(-?)Infinity$/, (_, sign) => `${sign || "+"}Inf`);

/** Formats the latency histogram: the number of requests up to each bound, the total duration, and the total number. */
function latencySamples({ serving: { counts } }: Services): string[] {
  const name = HISTOGRAM;
  return Array.from(counts.latencyRows()).flatMap(({ route, upTo, count, seconds }) => [
    ...METRIC_BOUNDS.map((bound, i) => sample(`${name}_bucket`, { le: String(bound), route }, upTo[i]!)),
    sample(`${name}_bucket`, { le: "+Inf", route }, count),
    sample(`${name}_sum`, { route }, seconds),
    sample(`${name}_count`, { route }, count),
  ]);
}
