// status.ts: reports whether this server is ready, and the state of its release and feeds, to operators and /v1/status.
//
// This file is not in telemetry, because it needs releases and keys, and both the API and the admin API need it.

import { REPUTATION_FLAGS, type ServerSettings } from "@inkling/contract";
import { CHANNEL_FAULTS, type NamedRelease } from "@inkling/data";
import { dataAges, feedStatusOf } from "@inkling/engine";
import type { FeedStatus, Status } from "@inkling/operations/answer-schemas";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { Reports } from "../releases/reports.ts";

/** What status and readiness are read from, in the primary and in the threads that answer requests. */
export interface ServerState {
  readonly version: string;
  readonly settings: Pick<ServerSettings, "allowMissing">;
  readonly releases: Pick<Reports, "current" | "refused" | "since" | "feeds" | "channel">;
  readonly keyring: Pick<Keyring, "state">;
}

/**
 * Returns the reasons why this server should not receive requests; none if it is ready.
 * @param isDraining true if the server has been told to stop. It answers until load balancers have noticed.
 */
export function readiness({ releases, keyring }: ServerState, isDraining: boolean): string[] {
  const reasons: string[] = [];
  if (isDraining) reasons.push("the server is stopping");
  if (releases.current === undefined) reasons.push(withoutRelease(releases));
  if (!keyring.state.loaded) reasons.push("the server has not read keys from the database yet");
  if (keyring.state.stale)
    reasons.push("the database has been unreachable for longer than INKLING_MAX_STALE_SECONDS");
  if (keyring.state.unready !== undefined) reasons.push(keyring.state.unready);
  return reasons;
}

/**
 * Explains why no release is in use. Anyone may read this text, so it omits the reason for a refusal, which may contain
 * paths.
 */
function withoutRelease({ refused, channel }: ServerState["releases"]): string {
  if (refused === undefined) return "no data release is loaded";
  const repair =
    channel === undefined
      ? "`inkling data update` builds a new one"
      : "the server fetches it from the channel again";
  return `the release ${refused.name} is damaged or from another version: run \`inkling doctor\` to see the fault; ${repair}`;
}

/** Does a flag lack data whose feeds have never been requested, as after a first build from seeds? */
export function isStarting({ settings, releases }: ServerState): boolean {
  const { current, feeds } = releases;
  if (current === undefined || settings.allowMissing) return false;
  const wasRequested = (flag: string) =>
    feeds.some(({ sets, state, error }) => sets === flag && state === "missing" && error !== undefined);
  return REPUTATION_FLAGS.some((flag) => current.manifest.missing.includes(flag) && !wasRequested(flag));
}

/** Returns what is wrong although the server still answers lookups. */
export function warnings({ settings, releases, keyring }: ServerState): string[] {
  const { refused, current, channel } = releases;
  const found = [...(keyring.state.warnings ?? [])];
  if (refused !== undefined && current !== undefined) {
    found.push(`release ${refused.name} is refused, and ${current.name} is used instead`);
  }
  const missing = current?.manifest.missing ?? [];
  const unknown = REPUTATION_FLAGS.filter((flag) => missing.includes(flag));
  if (unknown.length > 0 && !settings.allowMissing)
    found.push(
      `reputation lookups return 503, because no list for ${unknown.join(" and ")} is loaded: run \`inkling data status\` to see why, or set INKLING_ALLOW_MISSING=1 to answer without these lists`,
    );
  if (channel?.fault) {
    // Anyone may read this text, so it has the kind's description. The fault's own reason may contain hosts and paths.
    const { kind } = channel.fault;
    const why = `${kind} (${CHANNEL_FAULTS[kind].happened})`;
    found.push(`the server does not follow the channel ${channel.channel}: ${why}`);
  }
  return found;
}

/** Replaces texts that may contain host names, paths or a publisher's words, because any key may read /v1/status. */
const FOR_OPERATORS = "The admin API and the server's log have the reason.";

/**
 * Returns the JSON for /v1/status: the operators' document without free text.
 * @param withFeeds whether to add feeds and segments, which make up 98% of the document
 */
export function publicStatus(state: ServerState, now: number, withFeeds: boolean): Status {
  const document = statusDocument(state, now);
  const { release, refused_release, channel, feeds } = document;
  return {
    ...document,
    release: release && { ...release, segments: withFeeds ? release.segments : undefined },
    refused_release: refused_release && { ...refused_release, reason: FOR_OPERATORS },
    channel: channel && { ...channel, fault: channel.fault && { ...channel.fault, reason: FOR_OPERATORS } },
    feeds: withFeeds ? feeds.map(withoutTexts) : undefined,
  };
}

const withoutTexts = (feed: FeedStatus): FeedStatus => ({
  ...feed,
  error: feed.error === null ? null : FOR_OPERATORS,
  held: feed.held && { ...feed.held, why: FOR_OPERATORS },
  skipped: feed.skipped && { ...feed.skipped, first: FOR_OPERATORS },
});

/** Returns the document for operators. Times are ISO 8601, and ages are whole seconds. */
export function statusDocument({ version, settings, releases, keyring }: ServerState, now: number) {
  const { current, refused, feeds } = releases;
  const database: "reachable" | "unreachable" = keyring.state.failures === 0 ? "reachable" : "unreachable";
  return {
    version,
    allow_missing: settings.allowMissing,
    release: current === undefined ? null : releaseStatus(current, releases.since ?? now),
    refused_release:
      refused === undefined ? null : { name: refused.name, reason: refused.reason, at: iso(refused.at) },
    channel: releases.channel ?? null,
    missing: current?.manifest.missing ?? [],
    partial: current?.manifest.partial ?? [],
    ages: dataAges(feeds, now),
    feeds: feeds.map((feed) => feedStatusOf(feed, now)),
    keys: { loaded: keyring.state.loaded, database },
  };
}

function releaseStatus({ name, manifest }: NamedRelease, since: number) {
  const { id, created_at, segments } = manifest;
  return { id, name, created_at, serving_since: iso(since), segments };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
