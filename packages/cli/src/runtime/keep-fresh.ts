// keep-fresh.ts: keeps the data fresh while Inkling serves, with one small build at a time, at low priority.
//
// A failed build is logged and retried, and the server keeps serving its release.
//
// The compiler decides which feeds are due, and handles their budgets and back-off. It returns the time at which the
// next feed is due. The server follows new releases by itself. This file also runs builds on demand for the admin API,
// because the server imports neither the compiler nor the commands.

import { constants } from "node:os";
import { join } from "node:path";
import { FEEDS } from "@inkling/compiler/feeds";
import type { Settings } from "@inkling/contract";
import { backoffMs, DATA_FOLDER, fileStamp, findLock, messageOf, Poller } from "@inkling/data";
import type { UpdateState, Updates } from "@inkling/operations";
import type { DataActions, RunningServer } from "@inkling/server";
import { CliError } from "../terminal/errors.ts";
import {
  acceptHint,
  BuildBusy,
  BuildInterrupted,
  type BuildResult,
  buildOrder,
  failedFeeds,
  runBuild,
} from "./build.ts";
import { type FeedSettings, feedRows, feedTableOf } from "./feeds.ts";

/**
 * If the choice or the operator's own feeds cannot be read, only the built-in feeds are listed. The build reports why.
 */
export function dataActions(updates: Updates, settings: FeedSettings): DataActions {
  const table = feedTableOf(settings);
  return {
    updates,
    feeds: {
      get all() {
        try {
          return table.all;
        } catch (error) {
          if (error instanceof CliError) return feedRows(FEEDS, { enabled: [], disabled: [] }, settings);
          throw error;
        }
      },
      choose: table.choose,
    },
  };
}

const MINUTE = 60_000;
/** Minimum pause, in milliseconds, even if a feed is due immediately. It spares publishers and this machine. */
export const SHORTEST_PAUSE_MS = MINUTE;
/**
 * Maximum pause, in milliseconds. A mirror has no due times, and feeds grow stale while nothing is fetched.
 */
export const LONGEST_PAUSE_MS = 60 * MINUTE;
/** Milliseconds between two checks of whether a build is due. A check takes 3 to 8 µs. */
const CHECK_MS = 2_000;
/** Maximum number of feed ids in a log line. The line also has the number of all feeds with the same problem. */
const MAX_NAMED = 3;
/** Maximum random share of a pause. It keeps many servers from calling one publisher in the same second. */
const JITTER = 0.1;

/**
 * Returns the milliseconds until the next build.
 * @param nextDue epoch ms; undefined if no feed is ever due
 * @param failures number of consecutive failed builds
 */
export function pauseMs(now: number, nextDue: number | undefined, failures: number, chance: number): number {
  const spread = JITTER * chance;
  const wanted =
    failures > 0
      ? backoffMs(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS, failures - 1)
      : (nextDue ?? Number.POSITIVE_INFINITY) - now;
  const most = LONGEST_PAUSE_MS * (1 - spread);
  return Math.round(Math.min(most, Math.max(SHORTEST_PAUSE_MS, wanted) * (1 + spread)));
}

/**
 * Runs one build.
 * @param isWanted true if all feeds are to be fetched, not only those that are due
 * @param accept what the build accepts
 * @throws BuildBusy, BuildInterrupted, CliError
 */
export type Build = (
  isWanted: boolean,
  accept: readonly string[],
  signal: AbortSignal,
) => Promise<BuildResult>;

/** @param keepGeo builds with the small lists only */
export const lowPriorityBuild =
  (settings: Settings, keepGeo = false): Build =>
  (isWanted, accept, signal) =>
    runBuild(buildOrder(settings, { fetch: true, onlyDue: !isWanted, accept, keepGeo }), {
      signal,
      priority: constants.priority.PRIORITY_BELOW_NORMAL,
    });

const iso = (ms: number) => new Date(ms).toISOString();

type Log = Pick<RunningServer["log"], "info" | "error">;
/** The server that uses the data, or the builder's log. */
type User = { readonly log: Log } & Partial<Pick<RunningServer, "hasRelease">>;

/** Decides when to build, and keeps the requests of the admin API for the next build. */
export class FreshData implements Updates {
  isRequested = false;
  /** When the last build ended, and when the next one begins. */
  schedule: { readonly at: string; readonly next_at: string } | undefined;
  /** What the next build accepts. */
  private accepted: readonly string[] = [];
  /** What the current build fetches: all feeds, or only those that are due. */
  private running: "all" | "due" | undefined;
  private last: UpdateState["last"] = null;
  private readonly dataDir: string;
  private readonly build: Build;
  private readonly now: () => number;
  private readonly chance: () => number;
  /** The choice of feeds as of the last build. A build is also needed if a feed was turned on or off, added or removed. */
  private choice: string;
  /** The problems of feeds that have been logged. */
  private troubles: ReadonlyMap<string, string> = new Map();
  private failures = 0;
  /** When the current pause ends, by the wall clock: if the machine has slept for hours, the feeds are hours older. */
  private endsAt: number;
  private pauseMs: number;
  /** Builds that began without an intact release, since the last build that began with one. */
  private repairs = 0;
  /** When the next build without an intact release may begin, in epoch ms. */
  private repairAt = Number.NEGATIVE_INFINITY;

  /**
   * @param firstMs pause before the first build, in milliseconds
   * @param now epoch ms
   * @param chance returns a random number from 0 to 1
   */
  constructor(dataDir: string, build: Build, firstMs = 0, now = Date.now, chance = Math.random) {
    this.dataDir = dataDir;
    this.build = build;
    this.now = now;
    this.chance = chance;
    this.choice = this.readChoice();
    this.pauseMs = firstMs;
    this.endsAt = now() + firstMs;
  }

  get isUnderWay(): boolean {
    return this.isRequested || this.running === "all";
  }

  get state(): UpdateState {
    const { isRequested: asked, running, last } = this;
    return { asked, running: running !== undefined, last };
  }

  request(accept: readonly string[] = []): void {
    this.isRequested = true;
    this.accepted = [...this.accepted, ...accept];
  }

  /** Builds repeatedly until `signal` is aborted. */
  keep(user: User, signal: AbortSignal, log = user.log): Promise<void> {
    const check = () => this.check(user, signal, log);
    return new Poller({ check, waitMs: () => CHECK_MS }).runUntil(signal);
  }

  /** Builds if a build is due. Never rejects. */
  async check(user: User, signal: AbortSignal, log = user.log): Promise<void> {
    const { now, chance } = this;
    this.endsAt = Math.min(this.endsAt, now() + this.pauseMs); // the clock may have been set back
    // An immediate build may repair a release that is not intact.
    const isRepair = user.hasRelease === false;
    const endsAt = isRepair ? Math.min(this.endsAt, this.repairAt) : this.endsAt;
    if (now() < endsAt && !this.isAsked()) return;
    const nextDue = await this.run(log, signal);
    const at = now();
    this.pauseMs = pauseMs(at, nextDue, this.failures, chance());
    this.endsAt = at + this.pauseMs;
    this.schedule = { at: iso(at), next_at: iso(this.endsAt) };
    // A build may succeed and still repair nothing, so repairs back off like failed builds.
    this.repairs = isRepair ? this.repairs + 1 : 0;
    if (isRepair) this.repairAt = at + pauseMs(at, undefined, this.repairs, chance());
  }

  private readChoice(): string {
    return fileStamp(join(this.dataDir, DATA_FOLDER.feedChoice));
  }

  /** A build that another process runs may do what is asked for. */
  private isAsked(): boolean {
    return (this.isRequested || this.readChoice() !== this.choice) && findLock(this.dataDir) === undefined;
  }

  /** @returns when the next feed is due, in epoch ms; undefined if no feed is ever due or the build failed */
  private async run(log: Log, signal: AbortSignal): Promise<number | undefined> {
    const { isRequested: isWanted, accepted } = this;
    this.isRequested = false;
    this.accepted = [];
    this.running = isWanted ? "all" : "due";
    this.choice = this.readChoice();
    try {
      const { done, feeds } = await this.build(isWanted, accepted, signal);
      const { name, published, seconds, nextDue: next_due } = done;
      const failed = failedFeeds(done);
      this.failures = 0;
      this.last = { at: iso(this.now()), release: name, published, failed, seconds };
      this.troubles = logTroubles(log, this.troubles, { done, feeds });
      log.info("data-update-done", { published, name, seconds, failed: failed.length, next_due });
      return next_due === undefined ? undefined : Date.parse(next_due);
    } catch (error) {
      return this.fail(error, accepted, log);
    } finally {
      this.running = undefined;
    }
  }

  private fail(error: unknown, accepted: readonly string[], log: Log): number | undefined {
    const problem = messageOf(error);
    const hint = error instanceof CliError ? error.hint : undefined;
    this.last = { at: iso(this.now()), problem, hint: hint ?? null };
    if (error instanceof BuildInterrupted) return undefined;
    if (error instanceof BuildBusy) {
      // `inkling data update`, or another server on the same folder, is doing the work, but it accepts nothing.
      if (accepted.length > 0) this.request(accepted);
      log.info("data-update-busy", { reason: problem });
      return this.now();
    }
    this.failures++;
    log.error("data-update-failed", { reason: problem, hint, failures: this.failures });
    return undefined;
  }
}

/**
 * Logs a feed's problem once rather than with every build, and logs when the problem is over. A feed whose copy is only
 * missing is not an error.
 * @param before the problems after the build before
 * @returns the problems after this build
 */
function logTroubles(
  log: Log,
  before: ReadonlyMap<string, string>,
  { feeds, done: { held, expired, failed } }: Pick<BuildResult, "done" | "feeds">,
): ReadonlyMap<string, string> {
  const troubles = new Map<string, string>();
  const unreachable = new Map<string, string[]>();
  for (const feed of feeds) {
    const { id, state, source, error, trouble } = feed;
    if (error === undefined) {
      if (before.has(id)) log.info("feed-updated-again", { feed: id, source });
      continue;
    }
    troubles.set(id, error);
    if (before.get(id) === error) continue;
    if (trouble !== undefined) unreachable.set(trouble.why, [...(unreachable.get(trouble.why) ?? []), id]);
    const reason = trouble?.rest ?? error;
    if (reason === "") continue;
    const fields = { feed: id, state, source, reason };
    if (held.includes(id)) log.error("feed-held", { ...fields, hint: acceptHint([feed]) });
    else log[[...failed, ...expired].includes(id) ? "error" : "info"]("feed-not-updated", fields);
  }
  // Without internet access, this affects every feed. One line replaces thirty.
  for (const [reason, ids] of unreachable) {
    const feeds = ids.slice(0, MAX_NAMED);
    const hint = ids.length > feeds.length ? "run `inkling data status` to see all" : undefined;
    log.error("feeds-not-reached", { count: ids.length, feeds, reason, hint });
  }
  return troubles;
}
