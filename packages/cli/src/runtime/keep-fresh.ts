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
import type { UpdateState } from "@inkling/operations";
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
  writeLastBuild,
} from "./build.ts";
import { type FeedSettings, feedRows, feedTableOf } from "./feeds.ts";

/** Holds the build state and requests for builds. Connects the admin API with the loop that keeps the data fresh. */
export class Updates {
  private requested = false;
  /** What the next build accepts. */
  private accepted: readonly string[] = [];
  /** What the current build fetches: all feeds, or only those that are due. */
  private running: "all" | "due" | undefined;
  private last: UpdateState["last"] = null;

  get isRequested(): boolean {
    return this.requested;
  }

  /** Is a build fetching all feeds, or about to? */
  get isUnderWay(): boolean {
    return this.requested || this.running === "all";
  }

  get state(): UpdateState {
    const { requested, running, last } = this;
    return { asked: requested, running: running !== undefined, last };
  }

  request(accept: readonly string[] = []): void {
    this.requested = true;
    this.accepted = [...this.accepted, ...accept];
  }

  /**
   * Runs a build.
   * @param work runs the build; its argument `isWanted` is true if all feeds are to be fetched, not only those that are
   *   due, and `accept` lists what the build accepts
   */
  async run(
    work: (isWanted: boolean, accept: readonly string[]) => Promise<BuildResult>,
  ): Promise<BuildResult> {
    const { requested: isWanted, accepted } = this;
    this.requested = false;
    this.accepted = [];
    this.running = isWanted ? "all" : "due";
    try {
      const result = await work(isWanted, accepted);
      const { name, published, seconds } = result.done;
      this.last = { at: now(), release: name, published, failed: failedFeeds(result.done), seconds };
      return result;
    } catch (error) {
      if (error instanceof BuildBusy && accepted.length > 0) this.request(accepted); // the other build accepts nothing
      const hint = error instanceof CliError ? (error.hint ?? null) : null;
      this.last = { at: now(), problem: messageOf(error), hint };
      throw error;
    } finally {
      this.running = undefined;
    }
  }
}

const now = () => new Date().toISOString();

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

interface FreshEffects {
  /**
   * Builds the feeds that are due.
   * @throws BuildBusy, BuildInterrupted, CliError
   */
  readonly build: () => Promise<BuildResult>;
  /** Has anyone requested a build before it is due? */
  readonly isAsked?: () => boolean;
  /** Does the server have no intact release to answer from? An immediate build may repair that. */
  readonly isLost?: () => boolean;
  /** Epoch ms. */
  readonly now: () => number;
  /** A random number from 0 to 1. */
  readonly chance: () => number;
  readonly log: Pick<RunningServer["log"], "info" | "error">;
  /** Called after each build, successful or not, with the time of the next one in epoch ms. */
  readonly onScheduled?: ((nextAt: number) => void) | undefined;
}

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

export class FreshData {
  private readonly effects: FreshEffects;
  private readonly troubles: Troubles;
  private failures = 0;
  /** When the current pause ends, by the wall clock: if the machine has slept for hours, the feeds are hours older. */
  private endsAt: number;
  private pauseMs: number;
  /** Builds that began without an intact release, since the last build that began with one. */
  private repairs = 0;
  /** When the next build without an intact release may begin, in epoch ms. */
  private repairAt = Number.NEGATIVE_INFINITY;

  /** @param firstMs pause before the first build, in milliseconds */
  constructor(effects: FreshEffects, firstMs = 0) {
    this.effects = effects;
    this.troubles = new Troubles(effects.log);
    this.pauseMs = firstMs;
    this.endsAt = effects.now() + firstMs;
  }

  /** Builds if a build is due. Never rejects. */
  async check(): Promise<void> {
    const { now, chance, isAsked, isLost } = this.effects;
    this.endsAt = Math.min(this.endsAt, now() + this.pauseMs); // the clock may have been set back
    const isRepair = isLost?.() === true;
    const endsAt = isRepair ? Math.min(this.endsAt, this.repairAt) : this.endsAt;
    if (now() < endsAt && isAsked?.() !== true) return;
    const nextDue = await this.build();
    this.pauseMs = pauseMs(now(), nextDue, this.failures, chance());
    this.endsAt = now() + this.pauseMs;
    this.effects.onScheduled?.(this.endsAt);
    // A build may succeed and still repair nothing, so repairs back off like failed builds.
    this.repairs = isRepair ? this.repairs + 1 : 0;
    if (isRepair) this.repairAt = now() + pauseMs(now(), undefined, this.repairs, chance());
  }

  /** @returns when the next feed is due, in epoch ms; undefined if no feed is ever due or the build failed */
  private async build(): Promise<number | undefined> {
    const { build, log, now } = this.effects;
    try {
      const { done, feeds } = await build();
      this.failures = 0;
      this.troubles.report(feeds, done);
      const { published, name, seconds } = done;
      const failed = failedFeeds(done).length;
      log.info("data-update-done", { published, name, seconds, failed, next_due: done.nextDue });
      return done.nextDue === undefined ? undefined : Date.parse(done.nextDue);
    } catch (error) {
      if (error instanceof BuildInterrupted) return undefined;
      if (error instanceof BuildBusy) {
        // `inkling data update`, or another server on the same folder, is doing the work.
        log.info("data-update-busy", { reason: error.message });
        return now();
      }
      this.failures++;
      logFailure(log, error, this.failures);
      return undefined;
    }
  }
}

function logFailure(log: FreshEffects["log"], error: unknown, failures: number): void {
  log.error("data-update-failed", {
    reason: messageOf(error),
    hint: error instanceof CliError ? error.hint : undefined,
    failures,
  });
}

/** Logs a feed's problem once rather than with every build, and logs when the problem is over. */
class Troubles {
  private readonly log: FreshEffects["log"];
  private known = new Map<string, string>();

  constructor(log: FreshEffects["log"]) {
    this.log = log;
  }

  /** A feed whose copy is only missing is not an error. */
  report(feeds: BuildResult["feeds"], { held, expired, failed }: BuildResult["done"]): void {
    const before = this.known;
    const unreachable = new Map<string, string[]>();
    this.known = new Map();
    for (const feed of feeds) {
      const { id, state, source, error, trouble } = feed;
      if (error !== undefined) {
        this.known.set(id, error);
        if (before.get(id) === error) continue;
        if (trouble !== undefined)
          unreachable.set(trouble.why, [...(unreachable.get(trouble.why) ?? []), id]);
        const rest = trouble?.rest ?? error;
        if (rest === "") continue;
        const fields = { feed: id, state, source, reason: rest };
        if (held.includes(id)) this.log.error("feed-held", { ...fields, hint: acceptHint([feed]) });
        else this.log[[...failed, ...expired].includes(id) ? "error" : "info"]("feed-not-updated", fields);
      } else if (before.has(id)) {
        this.log.info("feed-updated-again", { feed: id, source });
      }
    }
    // Without internet access, this affects every feed. One line replaces thirty.
    for (const [reason, ids] of unreachable) {
      const feeds = ids.slice(0, MAX_NAMED);
      const hint = ids.length > feeds.length ? "run `inkling data status` to see all" : undefined;
      this.log.error("feeds-not-reached", { count: ids.length, feeds, reason, hint });
    }
  }
}

interface RoundOptions extends Pick<FreshEffects, "onScheduled"> {
  /** Milliseconds to wait before the first build. */
  readonly firstMs: number;
  /** Builds once with the small lists only, before the first complete build. */
  readonly listsFirst?: boolean;
  /** Builds on request. */
  readonly updates?: Updates;
  /** Receives the result of each build. */
  readonly onBuilt?: (result: BuildResult) => void;
}

/**
 * Builds repeatedly with these settings until `signal` is aborted.
 * @param server the server that uses the data, or the builder's log
 */
export function keepFresh(
  settings: Settings,
  server: Pick<RunningServer, "log"> & Partial<Pick<RunningServer, "hasRelease">>,
  signal: AbortSignal,
  { firstMs, listsFirst = false, updates = new Updates(), onBuilt, onScheduled }: RoundOptions,
): Promise<void> {
  const { dataDir } = settings;
  const choice = join(dataDir, DATA_FOLDER.feedChoice);
  let built = fileStamp(choice);
  let keepsGeo = listsFirst;
  const buildOnce = async (isWanted: boolean, accept: readonly string[]): Promise<BuildResult> => {
    built = fileStamp(choice);
    const keepGeo = keepsGeo;
    keepsGeo = false;
    const order = buildOrder(settings, { fetch: true, onlyDue: !isWanted, accept, keepGeo });
    const result = await runBuild(order, { signal, priority: constants.priority.PRIORITY_BELOW_NORMAL });
    writeLastBuild(dataDir, result, new Date());
    onBuilt?.(result);
    return keepGeo ? buildOnce(isWanted, accept) : result;
  };
  const data = new FreshData(
    {
      build: () => updates.run(buildOnce),
      // A build is also needed if a feed was turned on or off, added or removed.
      isAsked: () => (updates.isRequested || fileStamp(choice) !== built) && findLock(dataDir) === undefined, // another build
      isLost: () => server.hasRelease === false,
      now: Date.now,
      chance: Math.random,
      log: server.log,
      onScheduled,
    },
    firstMs,
  );
  return new Poller({ check: () => data.check(), waitMs: () => CHECK_MS }).runUntil(signal);
}
