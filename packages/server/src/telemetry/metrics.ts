// metrics.ts: /metrics in Prometheus' text format, made from plain numbers when somebody asks.
//
// in   the counts of the hot path; the state of releases, keys, overrides, usage and connections
// out  text
// src  docs/metrics.md lists the names, which do not change; a test keeps both alike

import { Counter, Gauge, type Metric, Registry } from "prom-client";
import type { UsageState } from "../limits/usage-recorder.ts";
import type { MxCounts } from "../mx/counts.ts";
import type { OverrideBookState } from "../overrides/cache.ts";
import { type Counts, LATENCY_BOUNDS } from "./counts.ts";
import { feedAge, feedsOf, type StatusSource } from "./status.ts";

export interface MetricsSource extends StatusSource {
  readonly counts: Counts;
  readonly mx: MxCounts;
  readonly usage: { readonly state: UsageState };
  readonly connections: {
    readonly open: number | undefined;
    readonly refused: number;
    readonly most: number;
  };
  readonly overrides: { readonly state: Pick<OverrideBookState, "overrides" | "checkedAt"> };
  /** Where several processes answer; without, this one does. */
  readonly workers?: { readonly states: ReadonlyMap<string, number>; readonly restarts: number };
  /** What those other processes take, together. */
  readonly processes?: { readonly cpuSeconds: number; readonly residentBytes: number };
  /** Epoch ms. */
  readonly now: () => number;
  readonly startedAt: number;
}

type Labels = Record<string, string>;
type Row = readonly [labels: Labels, value: number];

interface Definition {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly rows: (source: MetricsSource) => Iterable<Row>;
}

/** One process: it answers, or nobody asks it. */
const ALONE = new Map([["serving", 1]]);

const one = (value: number | undefined): Row[] => (value === undefined ? [] : [[{}, value]]);
const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);

const DEFINITIONS: readonly Definition[] = [
  {
    type: "counter",
    name: "inkling_http_requests_total",
    help: "Requests answered, by route, status and kind of key; a stream when it has ended.",
    labels: ["route", "status", "key"],
    rows: ({ counts }) =>
      Array.from(counts.requestRows(), ({ route, status, audience, count }) => [
        { route, status, key: audience },
        count,
      ]),
  },
  {
    type: "counter",
    name: "inkling_lookups_total",
    help: "Look-ups answered, IP_ADDRESS_NOT_FOUND and 304 included, by kind and kind of key.",
    labels: ["lookup", "key"],
    rows: ({ counts }) =>
      Array.from(counts.lookupRows(), ({ lookup, audience, count }) => [{ lookup, key: audience }, count]),
  },
  {
    type: "counter",
    name: "inkling_problems_total",
    help: "Requests, and values of batches, that were refused, by code (docs/errors.md).",
    labels: ["code"],
    rows: ({ counts }) => Array.from(counts.problemRows(), ([code, count]) => [{ code }, count]),
  },
  {
    type: "gauge",
    name: "inkling_release_info",
    help: "The release that answers now: always 1.",
    labels: ["id", "name"],
    rows: ({ releases }) =>
      releases.current === undefined
        ? []
        : [[{ id: releases.current.manifest.id, name: releases.current.name }, 1]],
  },
  {
    type: "gauge",
    name: "inkling_release_age_seconds",
    help: "Seconds since the release was built.",
    rows: ({ releases, now }) =>
      one(releases.current && (now() - Date.parse(releases.current.manifest.created_at)) / 1000),
  },
  {
    type: "gauge",
    name: "inkling_release_verified",
    help: "1 when every byte of the release has been checked by this process.",
    rows: ({ releases }) => one(releases.isVerified ? 1 : 0),
  },
  {
    type: "gauge",
    name: "inkling_release_refused",
    help: "1 while the newest release is refused and an older one answers.",
    rows: ({ releases }) => one(releases.refused === undefined ? 0 : 1),
  },
  {
    type: "gauge",
    name: "inkling_answer_missing",
    help: "1 for an answer that no loaded feed contributes to.",
    labels: ["answer"],
    rows: ({ releases }) => (releases.current?.manifest.missing ?? []).map((answer) => [{ answer }, 1]),
  },
  {
    type: "gauge",
    name: "inkling_feed_age_seconds",
    help: "Seconds since this copy of a feed was published, or fetched where the publisher does not say.",
    labels: ["feed"],
    rows: ({ releases, now }) =>
      feedsOf({ releases }).flatMap((feed): Row[] => {
        const age = feedAge(feed, now());
        return age === undefined ? [] : [[{ feed: feed.id }, age]];
      }),
  },
  {
    type: "gauge",
    name: "inkling_feed_entries",
    help: "Networks, domains or records taken from a feed.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.entries]),
  },
  {
    type: "gauge",
    name: "inkling_feed_failed",
    help: "1 when the newest copy of a feed was refused or is missing.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.error === undefined ? 0 : 1]),
  },
  {
    type: "gauge",
    name: "inkling_feed_failures",
    help: "Attempts in a row, up to now, that gave no copy of a feed that passed.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.failures ?? 0]),
  },
  {
    type: "gauge",
    name: "inkling_feed_stale",
    help: "1 when a feed is older than it should be, and used all the same.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.stale ? 1 : 0]),
  },
  {
    type: "gauge",
    name: "inkling_feed_expired",
    help: "1 when a feed is so old that its claims are dropped.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.state === "expired" ? 1 : 0]),
  },
  {
    type: "gauge",
    name: "inkling_feed_pending",
    help: "1 when a copy of a feed differs so much that it waits for the operator to accept it.",
    labels: ["feed"],
    rows: (source) => feedsOf(source).map((feed) => [{ feed: feed.id }, feed.pending ? 1 : 0]),
  },
  {
    type: "gauge",
    name: "inkling_feed_checked_timestamp_seconds",
    help: "When the source of a feed was last asked for a newer copy.",
    labels: ["feed"],
    rows: (source) =>
      feedsOf(source).flatMap(({ id, checked_at }): Row[] =>
        checked_at === undefined ? [] : [[{ feed: id }, Date.parse(checked_at) / 1000]],
      ),
  },
  {
    type: "gauge",
    name: "inkling_keys",
    help: "Keys in force.",
    rows: ({ keyring }) => one(keyring.state.keys),
  },
  {
    type: "gauge",
    name: "inkling_overrides",
    help: "Overrides in force.",
    rows: ({ overrides }) => one(overrides.state.overrides),
  },
  {
    type: "gauge",
    name: "inkling_overrides_checked_timestamp_seconds",
    help: "When overrides were last checked with the database.",
    rows: ({ overrides }) => one(seconds(overrides.state.checkedAt)),
  },
  {
    type: "gauge",
    name: "inkling_database_reachable",
    help: "1 when the last check with the database succeeded.",
    rows: ({ keyring }) => one(keyring.state.failures === 0 ? 1 : 0),
  },
  {
    type: "gauge",
    name: "inkling_keys_checked_timestamp_seconds",
    help: "When keys were last checked with the database.",
    rows: ({ keyring }) => one(seconds(keyring.state.checkedAt)),
  },
  {
    type: "gauge",
    name: "inkling_usage_pending",
    help: "Look-ups counted and not yet in the database.",
    rows: ({ usage }) => one(usage.state.pending),
  },
  {
    type: "counter",
    name: "inkling_usage_flush_failures_total",
    help: "Attempts to write usage that failed; the counts are kept and tried again.",
    rows: ({ usage }) => one(usage.state.failures),
  },
  {
    type: "gauge",
    name: "inkling_connections",
    help: "Open connections to the API; absent where the system does not tell.",
    rows: ({ connections }) => one(connections.open),
  },
  {
    type: "gauge",
    name: "inkling_connections_most",
    help: "Open connections beyond this are closed.",
    rows: ({ connections }) => one(connections.most),
  },
  {
    type: "counter",
    name: "inkling_connections_refused_total",
    help: "Connections closed because too many were open.",
    rows: ({ connections }) => one(connections.refused),
  },
  {
    type: "counter",
    name: "inkling_mx_checks_total",
    help: "Answers with ?checks=mx, by what they say (docs/email.md).",
    labels: ["outcome"],
    rows: ({ mx }) => Array.from(mx.answers, ([outcome, count]) => [{ outcome }, count]),
  },
  {
    type: "counter",
    name: "inkling_mx_lookups_total",
    help: "Domains that DNS was asked about, by what came of it.",
    labels: ["outcome"],
    rows: ({ mx }) => Array.from(mx.lookups, ([outcome, count]) => [{ outcome }, count]),
  },
  {
    type: "counter",
    name: "inkling_mx_lookup_seconds_total",
    help: "Time that those took, together.",
    rows: ({ mx }) => one(mx.seconds),
  },
  {
    type: "counter",
    name: "inkling_mx_cache_hits_total",
    help: "Checks answered without asking DNS, because it had answered before.",
    rows: ({ mx }) => one(mx.hits),
  },
  {
    type: "gauge",
    name: "inkling_mx_lookups_under_way",
    help: "Domains that DNS is being asked about; 64 at most, and 64 that have been slow.",
    rows: ({ mx }) => one(mx.state.underWay),
  },
  {
    type: "gauge",
    name: "inkling_mx_lookups_waiting",
    help: "Domains that wait for their turn.",
    rows: ({ mx }) => one(mx.state.waiting),
  },
  {
    type: "gauge",
    name: "inkling_mx_cache_entries",
    help: "Domains whose answer is kept; 10,000 at most.",
    rows: ({ mx }) => one(mx.state.kept),
  },
  {
    type: "gauge",
    name: "inkling_workers",
    help: "Processes that answer, by state: starting, serving, waiting (ended, and not yet replaced).",
    labels: ["state"],
    rows: ({ workers }) => Array.from(workers?.states ?? ALONE, ([state, count]) => [{ state }, count]),
  },
  {
    type: "counter",
    name: "inkling_worker_restarts_total",
    help: "Workers that were started in place of one that ended.",
    rows: ({ workers }) => one(workers?.restarts ?? 0),
  },
  {
    type: "gauge",
    name: "inkling_build_info",
    help: "Version and mode of this server: always 1.",
    labels: ["version", "mode"],
    rows: ({ version, mode }) => [[{ version, mode }, 1]],
  },
  {
    type: "counter",
    name: "process_cpu_seconds_total",
    help: "CPU time of this process and its workers.",
    rows: ({ processes }) => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6 + (processes?.cpuSeconds ?? 0));
    },
  },
  {
    type: "gauge",
    name: "process_resident_memory_bytes",
    help: "Memory of this process and its workers, pages of mapped segments included, in each that maps them.",
    rows: ({ processes }) => one(process.memoryUsage.rss() + (processes?.residentBytes ?? 0)),
  },
  {
    type: "gauge",
    name: "process_start_time_seconds",
    help: "When this process started serving.",
    rows: ({ startedAt }) => one(seconds(startedAt)),
  },
];

/** A registry whose metrics are read from `source` at each scrape. */
export function metricsRegistry(source: MetricsSource): Registry {
  const registry = new Registry();
  for (const { type, name, help, labels, rows } of DEFINITIONS) {
    const shape = { name, help, labelNames: labels ?? [], registers: [registry] };
    if (type === "gauge") {
      new Gauge({
        ...shape,
        collect() {
          this.reset();
          if (labels === undefined) this.remove(); // reset makes it 0, and what is not known is not 0
          for (const [labels, value] of rows(source)) this.set(labels, value);
        },
      });
    } else {
      new Counter({
        ...shape,
        collect() {
          this.reset();
          for (const [labels, value] of rows(source)) this.inc(labels, value);
        },
      });
    }
  }
  registry.registerMetric(latencyHistogram(source) as unknown as Metric);
  return registry;
}

const LATENCY = {
  name: "inkling_http_request_duration_seconds",
  help: "From request read to answer made, without the network, by route.",
} as const;

/** The table of docs/metrics.md. */
export function metricsTable(): string {
  const rows = [
    ...DEFINITIONS.map(({ name, type, labels, help }) => ({ name, type, labels: labels ?? [], help })),
    { ...LATENCY, type: "histogram", labels: ["route"] },
  ];
  return [
    "| metric | type | labels | meaning |",
    "|---|---|---|---|",
    ...rows.map(
      ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(", ")} | ${help} |`,
    ),
  ].join("\n");
}

/** prom-client's own Histogram only takes observations, one by one; this one is handed its buckets. */
function latencyHistogram(source: Pick<MetricsSource, "counts">) {
  const { name, help } = LATENCY;
  const value = (suffix: string, labels: Labels, value: number) => ({
    metricName: name + suffix,
    labels,
    value,
  });
  const get = async () => ({
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    values: Array.from(source.counts.latencyRows()).flatMap(({ route, upTo, count, seconds }) => [
      ...LATENCY_BOUNDS.map((bound, i) => value("_bucket", { le: String(bound), route }, upTo[i]!)),
      value("_bucket", { le: "+Inf", route }, count),
      value("_sum", { route }, seconds),
      value("_count", { route }, count),
    ]),
  });
  return { name, help, aggregator: "sum", get, reset() {} };
}
