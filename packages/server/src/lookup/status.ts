// status.ts: is this server ready, and its release, feed by feed: for operators, and in /v1/status.
//
// in   releases, keyring, the time
// out  the reasons of /readyz; the JSON of /v1/status, and of the admin API
// note here, not in telemetry: it is made of releases and keys, and both the API and the admin API need it

import { dataAges, type FeedReport, feedAgeSeconds, type HeldRelease, type Mode } from "@inkling/engine";
import type { ChannelReport, NamedRelease } from "@inkling/release-store";
import type { KeyringState } from "../keys/keyring.ts";
import type { Refusal } from "../releases/next-release.ts";

export interface StatusSource {
  readonly version: string;
  readonly mode: Mode;
  readonly releases: {
    readonly current: NamedRelease | undefined;
    /** The last release that was found unsound while it answered: what still holds it has to take `current`. */
    readonly left?: string | undefined;
    /** Why the wanted release does not answer. */
    readonly refused: Refusal | undefined;
    readonly held?: HeldRelease | undefined;
    readonly channel?: ChannelReport | undefined;
    readonly isVerified: boolean;
    readonly since: number | undefined;
    /** Their present state; otherwise the release's manifest has them. */
    readonly feeds?: readonly FeedReport[];
  };
  readonly keyring: { readonly state: KeyringState };
  /** Of a worker: the process that it has keys and releases from. */
  readonly primary?: { readonly isSilent: boolean };
  /** Has this server been told to stop? It still answers until load balancers have noticed. */
  readonly isDraining?: boolean;
}

/** Why this server should get no requests; empty when it is ready. */
export function readiness({ releases, keyring, primary, isDraining }: StatusSource): string[] {
  const reasons: string[] = [];
  if (isDraining) reasons.push("the server is stopping");
  if (releases.current === undefined) reasons.push("no release of data is loaded");
  if (!keyring.state.loaded) reasons.push("keys were never read from the database");
  if (keyring.state.stale) reasons.push("the database was not reached for longer than INKLING_MAX_STALE");
  if (primary?.isSilent) reasons.push("the primary process is silent");
  if (keyring.state.unready !== undefined) reasons.push(keyring.state.unready);
  return reasons;
}

/** What is not as it should be although lookups are answered. */
export function warnings({ releases: { refused, current, channel }, keyring }: StatusSource): string[] {
  const found = [...(keyring.state.warnings ?? [])];
  if (refused !== undefined && current !== undefined) {
    found.push(`release ${refused.name} is refused, and ${current.name} answers in its place`);
  }
  if (channel?.fault) found.push(`the channel ${channel.channel} is not followed: ${channel.fault.kind}`);
  return found;
}

/** In place of texts that may hold hosts, paths and what a publisher sent: any key may read /v1/status. */
const FOR_OPERATORS = "The admin API and the server's log have the reason.";

/** The JSON of /v1/status: what operators see, without free text. */
export function publicStatus(source: StatusSource, now: number): ReturnType<typeof statusDocument> {
  const document = statusDocument(source, now);
  const { refused_release, held_release, channel, feeds } = document;
  return {
    ...document,
    refused_release: refused_release && { ...refused_release, reason: FOR_OPERATORS },
    held_release: held_release && { ...held_release, why: FOR_OPERATORS },
    channel: channel && { ...channel, fault: channel.fault && { ...channel.fault, reason: FOR_OPERATORS } },
    feeds: feeds.map((feed) => ({
      ...feed,
      error: feed.error === null ? null : FOR_OPERATORS,
      pending: feed.pending && { ...feed.pending, why: FOR_OPERATORS },
      skipped: feed.skipped && { ...feed.skipped, first: FOR_OPERATORS },
    })),
  };
}

/** For operators. Times are ISO 8601, ages whole seconds. */
export function statusDocument({ version, mode, releases, keyring }: StatusSource, now: number) {
  const { current, refused } = releases;
  const feeds = releases.feeds ?? current?.manifest.feeds ?? [];
  const database: "reachable" | "away" = keyring.state.failures === 0 ? "reachable" : "away";
  return {
    version,
    mode,
    release:
      current === undefined ? null : releaseStatus(current, releases.isVerified, releases.since ?? now),
    refused_release:
      refused === undefined ? null : { name: refused.name, reason: refused.reason, at: iso(refused.at) },
    held_release: releases.held ?? null,
    channel: releases.channel ?? null,
    missing: current?.manifest.missing ?? [],
    partial: current?.manifest.partial ?? [],
    ages: dataAges(feeds, now),
    feeds: feeds.map((feed) => feedStatus(feed, now)),
    keys: { loaded: keyring.state.loaded, database },
  };
}

function releaseStatus({ name, manifest }: NamedRelease, verified: boolean, since: number) {
  const { id, created_at, segments } = manifest;
  return { id, name, created_at, serving_since: iso(since), verified, segments };
}

function feedStatus(feed: FeedReport, now: number) {
  const { id, sets, state, source, entries, licence } = feed;
  return {
    id,
    sets,
    state,
    source,
    entries,
    sha256: feed.sha256 ?? null,
    age_seconds: feedAgeSeconds(feed, now) ?? null,
    fetched_at: feed.fetched_at ?? null,
    published_at: feed.published_at ?? null,
    licence,
    attribution: feed.attribution ?? null,
    error: feed.error ?? null,
    stale: feed.stale === true,
    checked_at: feed.checked_at ?? null,
    next_check_at: feed.next_check_at ?? null,
    failures: feed.failures ?? 0,
    pending: feed.pending ?? null,
    skipped: feed.skipped ?? null,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
