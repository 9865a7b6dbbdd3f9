// metric-definitions.ts: every metric of /metrics but the latency histogram: name, help, labels, and how to read it.
//
// in   the counts of the request path; the state of releases, keys, overrides, usage and connections
// out  rows of labels and a number
// src  docs/metrics.md lists the names, which do not change; a test compares the two

import { type FeedReport, feedAgeSeconds, type Mode, type Release } from "@inkling/engine";
import type { ChannelReport } from "@inkling/release-store";
import type { Counts } from "./counts.ts";

/** What the metrics are made of: the parts of the server's objects that they need. Times are epoch ms. */
export interface MetricsSource {
  readonly version: string;
  readonly mode: Mode;
  readonly counts: Counts;
  readonly releases: {
    readonly current: { readonly name: string; readonly manifest: Release } | undefined;
    readonly wanted?: string | undefined;
    readonly refused: { readonly name: string } | undefined;
    readonly held?: object | undefined;
    readonly failedBuild?: object | undefined;
    readonly channel?: ChannelReport | undefined;
    readonly isVerified: boolean;
    /** Their present state; otherwise the release's manifest has them. */
    readonly feeds?: readonly FeedReport[];
  };
  readonly keyring: {
    readonly state: {
      readonly keys: number;
      readonly checkedAt: number | undefined;
      readonly failures: number;
      readonly stale?: boolean;
    };
  };
  /** Whether changes by other hosts arrive by notice; off: SQLite. */
  readonly notices: { readonly state: "off" | "polling" | "listening" };
  /** The group of hosts on one PostgreSQL; undefined with SQLite. */
  readonly leases?:
    | {
        readonly state: {
          readonly hosts: number;
          readonly isAlone: boolean;
          readonly silentSeconds: number;
          readonly failures: number;
          /** Keys of which this host holds a share. */
          readonly leases: number;
          /** This host's clock less the database's; undefined before the first answer. */
          readonly clockOffsetMs: number | undefined;
        };
      }
    | undefined;
  readonly guard: {
    readonly history: { readonly wentBack: object | undefined };
    readonly revocations: { readonly pending: readonly object[] };
  };
  readonly overrides: {
    readonly state: { readonly overrides: number; readonly checkedAt: number | undefined };
  };
  readonly usage: {
    readonly state: { readonly pending: number; readonly oldestMs: number; readonly failures: number };
  };
  readonly mx: {
    readonly answers: Iterable<readonly [outcome: string, count: number]>;
    readonly lookups: Iterable<readonly [outcome: string, count: number]>;
    readonly seconds: number;
    readonly hits: number;
    readonly state: { readonly underWay: number; readonly waiting: number; readonly cached: number };
  };
  readonly connections: {
    readonly open: number | undefined;
    readonly refused: number;
    readonly most: number;
  };
  /** Problems of the admin API, by code. */
  readonly adminProblems: Iterable<readonly [code: string, count: number]>;
  /** The processes that answer, by their state. */
  readonly workers: { readonly states: ReadonlyMap<string, number>; readonly restarts: number };
  /** What the processes beside this one use, together. */
  readonly processes: {
    readonly cpuSeconds: number;
    readonly residentBytes: number;
  };
  readonly now: () => number;
  readonly startedAt: number;
}

type Rows = (
  source: MetricsSource,
) => Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

interface Definition {
  readonly help: string;
  readonly labels: readonly string[];
  readonly rows: Rows;
}

/** No labels; an undefined value is not shown. */
function single(help: string, read: (source: MetricsSource) => number | undefined): Definition {
  const rows: Rows = (source) => {
    const value = read(source);
    return value === undefined ? [] : [[{}, value]];
  };
  return { help, labels: [], rows };
}

/** One label. */
function labelled(
  help: string,
  label: string,
  read: (source: MetricsSource) => Iterable<readonly [string, number]>,
): Definition {
  const rows: Rows = (source) => Array.from(read(source), ([text, value]) => [{ [label]: text }, value]);
  return { help, labels: [label], rows };
}

/** A value for each feed of the release; an undefined one is not shown. */
function perFeed(help: string, read: (feed: FeedReport, now: number) => number | undefined): Definition {
  return labelled(help, "feed", ({ releases, now }) =>
    (releases.feeds ?? releases.current?.manifest.feeds ?? []).flatMap((feed) => {
      const value = read(feed, now());
      return value === undefined ? [] : [[feed.id, value] as const];
    }),
  );
}

const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
const flag = (is: boolean | undefined) => (is === true ? 1 : 0);

/** By name. Counters, and only they, end in `_total`. */
export const DEFINITIONS: Readonly<Record<string, Definition>> = {
  inkling_http_requests_total: {
    help: "Requests answered, by route, status and kind of key; a stream when it has ended.",
    labels: ["route", "status", "key"],
    rows: ({ counts }) =>
      Array.from(counts.requestRows(true), ({ route, status, audience, count }) => [
        { route, status, key: audience },
        count,
      ]),
  },
  inkling_lookups_total: {
    help: "Values looked up, IP_ADDRESS_NOT_FOUND and 304 included, by kind, kind of key, and request: single, or batch.",
    labels: ["lookup", "key", "request"],
    rows: ({ counts }) =>
      Array.from(counts.lookupRows(true), ({ lookup, audience, kind, count }) => [
        { lookup, key: audience, request: kind },
        count,
      ]),
  },
  inkling_problems_total: labelled(
    "Requests, and values of batches, that were refused, by code (docs/errors.md).",
    "code",
    ({ counts }) => counts.problemRows(),
  ),
  inkling_admin_problems_total: labelled(
    "Requests to the admin listener that were refused, by code (docs/errors.md).",
    "code",
    ({ adminProblems }) => adminProblems,
  ),
  inkling_release_info: {
    help: "The release in use: always 1.",
    labels: ["id", "name"],
    rows: ({ releases: { current } }) =>
      current === undefined ? [] : [[{ id: current.manifest.id, name: current.name }, 1]],
  },
  inkling_release_wanted_info: labelled(
    "The release that should be in use: always 1.",
    "name",
    ({ releases: { wanted } }) => (wanted === undefined ? [] : [[wanted.slice(0, 80), 1]]),
  ),
  inkling_release_age_seconds: single(
    "Seconds since the release was built.",
    ({ releases, now }) =>
      releases.current && (now() - Date.parse(releases.current.manifest.created_at)) / 1000,
  ),
  inkling_release_verified: single(
    "1 when every byte of the release was read since the start.",
    ({ releases }) => flag(releases.isVerified),
  ),
  inkling_release_refused: single(
    "1 while the wanted release is refused: an older one, or none, is in use.",
    ({ releases }) => flag(releases.refused !== undefined),
  ),
  inkling_release_held: single(
    "1 while a newer release waits because it flags too much or too little: an operator has to accept it.",
    ({ releases }) => flag(releases.held !== undefined),
  ),
  inkling_build_failed: single(
    "1 while the latest build failed and published nothing: `inkling doctor` shows why.",
    ({ releases }) => flag(releases.failedBuild !== undefined),
  ),
  inkling_channel_version: single(
    "Version of the channel that was taken last; absent without a channel.",
    ({ releases }) => releases.channel?.version ?? undefined,
  ),
  inkling_channel_age_seconds: single(
    "Seconds since the channel was last read and found good, in steps of a minute.",
    ({ releases: { channel }, now }) =>
      channel?.followed_at ? Math.max(0, (now() - Date.parse(channel.followed_at)) / 1000) : undefined,
  ),
  inkling_channel_refused: labelled(
    "1 while the channel is not followed, by reason (docs/cluster.md): what was served goes on.",
    "fault",
    ({ releases: { channel } }) => (channel?.fault ? [[channel.fault.kind, 1]] : []),
  ),
  inkling_answer_missing: labelled(
    "1 for an answer that no loaded feed contributes to.",
    "answer",
    ({ releases }) => (releases.current?.manifest.missing ?? []).map((answer) => [answer, 1] as const),
  ),
  inkling_feed_age_seconds: perFeed(
    "Seconds since this copy of a feed was published, or fetched if the publisher gives no time.",
    feedAgeSeconds,
  ),
  inkling_feed_entries: perFeed("Networks, domains or records taken from a feed.", ({ entries }) => entries),
  inkling_feed_failed: perFeed("1 when the newest copy of a feed was refused or is missing.", ({ error }) =>
    flag(error !== undefined),
  ),
  inkling_feed_failures: perFeed(
    "Attempts in a row, up to now, that gave no acceptable copy of a feed.",
    ({ failures = 0 }) => failures,
  ),
  inkling_feed_stale: perFeed("1 when a feed is older than it should be, and still used.", ({ stale }) =>
    flag(stale),
  ),
  inkling_feed_expired: perFeed("1 when a feed is so old that its claims are ignored.", ({ state }) =>
    flag(state === "expired"),
  ),
  inkling_feed_pending: perFeed(
    "1 when a copy of a feed differs so much that an operator has to accept it.",
    ({ pending }) => flag(pending !== undefined),
  ),
  inkling_feed_checked_timestamp_seconds: perFeed(
    "When the source of a feed was last checked for a newer copy.",
    ({ checked_at }) => (checked_at === undefined ? undefined : Date.parse(checked_at) / 1000),
  ),
  inkling_keys: single("Keys in force.", ({ keyring }) => keyring.state.keys),
  inkling_overrides: single("Overrides in force.", ({ overrides }) => overrides.state.overrides),
  inkling_overrides_checked_timestamp_seconds: single(
    "When overrides were last checked with the database.",
    ({ overrides }) => seconds(overrides.state.checkedAt),
  ),
  inkling_database_reachable: single(
    "1 when the last check with the database succeeded; 0 also where it is empty in the place of another.",
    ({ keyring }) => flag(keyring.state.failures === 0),
  ),
  inkling_keys_checked_timestamp_seconds: single(
    "When keys were last checked with the database.",
    ({ keyring }) => seconds(keyring.state.checkedAt),
  ),
  inkling_database_went_back: single(
    "1 from the moment the database went back to an earlier state until an operator confirms it (`inkling database confirm`).",
    ({ guard }) => flag(guard.history.wentBack !== undefined),
  ),
  inkling_revocations_unstored: single(
    "Keys that are revoked on this host while the database cannot be written.",
    ({ guard }) => guard.revocations.pending.length,
  ),
  inkling_notices_listening: single(
    "1 when changes of keys and overrides arrive by notice; 0 when they are found once a second; absent with SQLite.",
    ({ notices }) => (notices.state === "off" ? undefined : flag(notices.state === "listening")),
  ),
  inkling_keys_stale: single(
    "1 while every key is refused because the database was unreachable for longer than INKLING_MAX_STALE.",
    ({ keyring }) => flag(keyring.state.stale),
  ),
  inkling_group_hosts: single(
    "Hosts that share rates and quotas, this one included; absent with SQLite.",
    ({ leases }) => leases?.state.hosts,
  ),
  inkling_group_away: single(
    "1 while this host has no part of the group's limits: each key has its limit / hosts, or nothing where the database never answered; absent with SQLite.",
    ({ leases }) => (leases === undefined ? undefined : flag(leases.state.isAlone)),
  ),
  inkling_group_silent_seconds: single(
    "Seconds since the group's last answer to this host; absent with SQLite.",
    ({ leases }) => leases?.state.silentSeconds,
  ),
  inkling_group_leases: single(
    "Keys of which this host holds a share of rate or quota; absent with SQLite.",
    ({ leases }) => leases?.state.leases,
  ),
  inkling_group_exchange_failures: single(
    "Exchanges with the group in a row, up to now, that failed; absent with SQLite.",
    ({ leases }) => leases?.state.failures,
  ),
  inkling_database_clock_offset_seconds: single(
    "This host's clock less the database's, as of the last exchange; absent with SQLite.",
    ({ leases }) => seconds(leases?.state.clockOffsetMs),
  ),
  inkling_usage_pending: single(
    "Lookups counted and not yet in the database.",
    ({ usage }) => usage.state.pending,
  ),
  inkling_usage_oldest_seconds: single(
    "Age of the oldest count that is not in the database; 0 without one.",
    ({ usage }) => usage.state.oldestMs / 1000,
  ),
  inkling_usage_flush_failures_total: single(
    "Failed attempts to write usage; the counts are kept and written later.",
    ({ usage }) => usage.state.failures,
  ),
  inkling_connections: single(
    "Open connections to the API; absent where the system does not report them.",
    ({ connections }) => connections.open,
  ),
  inkling_connections_limit: single(
    "Open connections beyond this are closed.",
    ({ connections }) => connections.most,
  ),
  inkling_connections_refused_total: single(
    "Connections closed because too many were open.",
    ({ connections }) => connections.refused,
  ),
  inkling_mx_checks_total: labelled(
    "Answers with ?checks=mx, by outcome (docs/email.md).",
    "outcome",
    ({ mx }) => mx.answers,
  ),
  inkling_mx_lookups_total: labelled(
    "Domains looked up in DNS, by outcome.",
    "outcome",
    ({ mx }) => mx.lookups,
  ),
  inkling_mx_lookup_seconds_total: single("Time that those took, together.", ({ mx }) => mx.seconds),
  inkling_mx_cache_hits_total: single("Checks answered from the cache of DNS answers.", ({ mx }) => mx.hits),
  inkling_mx_lookups_under_way: single(
    "Domains being looked up in DNS; at most 64, and 64 slow ones.",
    ({ mx }) => mx.state.underWay,
  ),
  inkling_mx_lookups_waiting: single("Domains waiting to be looked up.", ({ mx }) => mx.state.waiting),
  inkling_mx_cache_entries: single(
    "Domains in the cache of DNS answers; at most 10,000.",
    ({ mx }) => mx.state.cached,
  ),
  inkling_workers: labelled(
    "Processes that serve requests, by state: starting, serving, waiting (ended, and not yet replaced).",
    "state",
    ({ workers }) => workers.states,
  ),
  inkling_worker_restarts_total: single(
    "Workers started in place of one that ended.",
    ({ workers }) => workers.restarts,
  ),
  inkling_build_info: {
    help: "Version and mode of this server: always 1.",
    labels: ["version", "mode"],
    rows: ({ version, mode }) => [[{ version, mode }, 1]],
  },
  process_cpu_seconds_total: single("CPU time of this process and its workers.", ({ processes }) => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6 + processes.cpuSeconds;
  }),
  process_resident_memory_bytes: single(
    "Memory of this process and its workers; each counts the pages of segments that it maps.",
    ({ processes }) => process.memoryUsage.rss() + processes.residentBytes,
  ),
  process_start_time_seconds: single("When this process started serving.", ({ startedAt }) =>
    seconds(startedAt),
  ),
};
