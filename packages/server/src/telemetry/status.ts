// status.ts: what a key's holder may know of this server: its data, feed by feed, and whether it is ready.
//
// in   the releases, the keyring, the time
// out  /v1/status, and the reasons of /readyz

import type { FeedReport, LoadedRelease } from "@inkling/engine";
import type { KeyringState } from "../keys/keyring.ts";
import type { FeedStatus, Status } from "../openapi/answer-schemas.ts";
import type { Refusal } from "../releases/follow.ts";

export interface StatusSource {
  readonly version: string;
  readonly mode: "up" | "serve";
  readonly releases: {
    readonly current: LoadedRelease | undefined;
    readonly refused: Refusal | undefined;
    readonly isVerified: boolean;
    readonly since: number | undefined;
    /** As they stand now; without, as the release says. */
    readonly feeds?: readonly FeedReport[];
  };
  readonly keyring: { readonly state: KeyringState };
}

/** Why look-ups cannot be answered at all; empty when they can. */
export function readiness({ releases, keyring }: StatusSource): string[] {
  const reasons: string[] = [];
  if (releases.current === undefined) reasons.push("no release of data is loaded");
  if (!keyring.state.loaded) reasons.push("keys were never read from the database");
  return reasons;
}

/** The feeds of the release that answers, as they stand now. */
export function feedsOf({ releases }: Pick<StatusSource, "releases">): readonly FeedReport[] {
  return releases.feeds ?? releases.current?.manifest.feeds ?? [];
}

/** The JSON of /v1/status. Times are ISO 8601, ages whole seconds. */
export function statusDocument(source: StatusSource, now: number): Status {
  const { releases, keyring } = source;
  const { current, refused } = releases;
  return {
    version: source.version,
    mode: source.mode,
    release: current === undefined ? null : releaseOf(current, releases.isVerified, releases.since ?? now),
    refused_release:
      refused === undefined ? null : { name: refused.name, reason: refused.reason, at: iso(refused.at) },
    missing: current?.manifest.missing ?? [],
    partial: current?.manifest.partial ?? [],
    feeds: feedsOf(source).map((feed) => feedOf(feed, now)),
    keys: { loaded: keyring.state.loaded, database: keyring.state.failures === 0 ? "reachable" : "away" },
  };
}

function releaseOf({ name, manifest }: LoadedRelease, verified: boolean, since: number) {
  return {
    id: manifest.id,
    name,
    created_at: manifest.created_at,
    serving_since: iso(since),
    verified,
    segments: manifest.segments,
  };
}

function feedOf(feed: FeedReport, now: number): FeedStatus {
  const { id, sets, source, state, entries, sha256, fetched_at, published_at, licence, attribution, error } =
    feed;
  return {
    id,
    sets,
    state,
    source,
    entries,
    sha256: sha256 ?? null,
    age_seconds: feedAge(feed, now) ?? null,
    fetched_at: fetched_at ?? null,
    published_at: published_at ?? null,
    licence,
    attribution: attribution ?? null,
    error: error ?? null,
    stale: feed.stale === true,
    checked_at: feed.checked_at ?? null,
    next_check_at: feed.next_check_at ?? null,
    failures: feed.failures ?? 0,
    pending: feed.pending ?? null,
    skipped: feed.skipped ?? null,
  };
}

/** Seconds since the publisher made this copy, or since it was fetched where he does not say. */
export function feedAge(feed: FeedReport, now: number): number | undefined {
  const made = feed.published_at ?? feed.fetched_at;
  return made === undefined ? undefined : Math.max(0, Math.round((now - Date.parse(made)) / 1000));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
