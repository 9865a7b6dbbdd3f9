// metric-readers.ts: reads each metric except the latency histogram. The rows of all metrics are in
// contract/src/metrics.ts.

import type { LabelsOf, METRICS, MetricName } from "@inkling/contract";
import type { ChannelReport } from "@inkling/data";
import { type FeedReport, feedAgeSeconds, type Release } from "@inkling/engine";
import type { KeyringState } from "@inkling/store/keys/keyring";
import type { Counts } from "./counts.ts";

/** The parts of the server's objects that metrics are read from. Times are epoch ms. */
export interface MetricsSource {
  readonly version: string;
  readonly counts: Counts;
  /** Does `/readyz` return 200? */
  readonly isReady: boolean;
  readonly releases: {
    readonly current: { readonly name: string; readonly manifest: Release } | undefined;
    readonly wanted?: string | undefined;
    readonly refused: { readonly name: string } | undefined;
    readonly failedBuild?: object | undefined;
    readonly channel?: ChannelReport | undefined;
    /** The current state of the feeds; if undefined, the state in the release's manifest applies. */
    readonly feeds?: readonly FeedReport[];
  };
  readonly keyring: {
    readonly refused: ReadonlySet<string>;
    readonly state: Pick<KeyringState, "keys" | "checkedAt" | "failures" | "stale">;
  };
  /** Whether notices report changes by other hosts. "off" is for SQLite. */
  readonly notices: { readonly state: "off" | "polling" | "listening" };
  /** The group of hosts on one PostgreSQL database; undefined with SQLite. */
  readonly group?:
    | {
        readonly state: {
          readonly hosts: number;
          readonly isUnreachable: boolean;
          readonly silentSeconds: number;
          readonly failures: number;
          /** This host's clock minus the database's, in milliseconds; undefined before the first reply. */
          readonly clockOffsetMs: number | undefined;
        };
      }
    | undefined;
  readonly overrides: {
    readonly current: { readonly all: readonly object[] };
    readonly state: { readonly checkedAt: number | undefined };
  };
  /** Rows of the database that this version cannot read, by table. */
  readonly unreadable: { readonly counts: ReadonlyMap<string, number> };
  readonly usage: {
    readonly state: { readonly pending: number; readonly oldestMs: number; readonly failures: number };
  };
  /** Decisions that are stored or wait to be stored. */
  readonly decisions: {
    readonly state: Readonly<Record<"waiting" | "stored" | "dropped" | "recalled" | "notRecalled", number>>;
  };
  /** The space that stored decisions take, and the maximum. */
  readonly storage: { readonly decisionsBytes: number; readonly decisionsLimitBytes: number };
  readonly webhooks: {
    readonly attempts: Iterable<readonly [outcome: string, count: number]>;
    readonly dropped: number;
    readonly queue: { readonly waiting: number; readonly oldestAt: number | undefined };
  };
  /** Problems of the admin API by code. */
  readonly adminProblems: Iterable<readonly [code: string, count: number]>;
  /** Number of threads that answer requests, by state. */
  readonly workers: { readonly states: ReadonlyMap<string, number>; readonly restarts: number };
  readonly now: () => number;
  readonly startedAt: number;
}

type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

/** Reads a metric. Undefined values are not shown. */
export type MetricReader<Label extends string = string> = (
  source: MetricsSource,
) => number | undefined | Iterable<Sample<Label>>;

/** Returns a value for each feed of the release. Undefined values are not shown. */
function perFeed(read: (feed: FeedReport, now: number) => number | undefined): MetricReader<"feed"> {
  return ({ releases, now }) =>
    (releases.feeds ?? releases.current?.manifest.feeds ?? []).flatMap((feed): Sample<"feed">[] => {
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

export const READERS: Readers = {
  inkling_http_requests_total: ({ counts }) =>
    Array.from(counts.requestRows(true), ({ route, status, audience, count }) => [
      { route, status, key: audience },
      count,
    ]),
  inkling_lookups_total: ({ counts }) =>
    Array.from(counts.lookupRows(true), ({ lookup, audience, kind, count }) => [
      { lookup, key: audience, request: kind },
      count,
    ]),
  inkling_problems_total: ({ counts }) =>
    Array.from(counts.problemRows(), ([code, count]) => [{ code }, count]),
  inkling_admin_problems_total: ({ adminProblems }) =>
    Array.from(adminProblems, ([code, count]) => [{ code }, count]),
  inkling_ready: ({ isReady }) => flag(isReady),
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
  inkling_unreadable_rows: ({ unreadable }) =>
    Array.from(unreadable.counts, ([table, count]) => [{ table }, count]),
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
  inkling_decisions_stored_bytes: ({ storage }) => storage.decisionsBytes,
  inkling_decisions_limit_bytes: ({ storage }) => storage.decisionsLimitBytes,
  inkling_trace_spans_total: ({ counts }) =>
    Array.from(counts.spanRows(), ([outcome, count]) => [{ outcome }, count]),
  inkling_webhook_attempts_total: ({ webhooks }) =>
    Array.from(webhooks.attempts, ([outcome, count]) => [{ outcome }, count]),
  inkling_webhook_dropped_total: ({ webhooks }) => webhooks.dropped,
  inkling_webhook_queue: ({ webhooks }) => webhooks.queue.waiting,
  inkling_webhook_queue_oldest_seconds: ({ webhooks: { queue }, now }) =>
    queue.oldestAt === undefined ? 0 : Math.max(0, (now() - queue.oldestAt) / 1000),
  inkling_mx_checks_total: ({ counts: { mx } }) =>
    Array.from(mx.answers, ([outcome, count]) => [{ outcome }, count]),
  inkling_mx_lookups_total: ({ counts: { mx } }) =>
    Array.from(mx.lookups, ([outcome, count]) => [{ outcome }, count]),
  inkling_mx_lookup_seconds_total: ({ counts: { mx } }) => mx.seconds,
  inkling_mx_cache_hits_total: ({ counts: { mx } }) => mx.hits,
  inkling_mx_lookups_in_flight: ({ counts: { mx } }) => mx.state.underWay,
  inkling_mx_lookups_waiting: ({ counts: { mx } }) => mx.state.waiting,
  inkling_mx_cache_entries: ({ counts: { mx } }) => mx.state.cached,
  inkling_workers: ({ workers }) => Array.from(workers.states, ([state, count]) => [{ state }, count]),
  inkling_worker_restarts_total: ({ workers }) => workers.restarts,
  inkling_build_info: ({ version }) => [[{ version }, 1]],
  process_cpu_seconds_total: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  process_resident_memory_bytes: () => process.memoryUsage.rss(),
  process_start_time_seconds: ({ startedAt }) => seconds(startedAt),
};
