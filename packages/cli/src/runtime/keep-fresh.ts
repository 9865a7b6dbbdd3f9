// keep-fresh.ts: keeps the data fresh while Inkling serves: one small build after the other, at low priority.
//
// in   how to build, the clock and chance: an hour's worth of cadence is a fast test
// out  log events: data-update-done, feed-not-updated, feeds-not-reached, feed-updated-again, release-held,
//      data-update-failed, data-update-busy
// err  none: a build that fails is logged and tried again, and what is served continues
//
// Which feeds are due, their budgets and their own back-off are the compiler's: it returns when it is to be called
// next. The server follows new releases by itself.
// note The admin API has builds on demand from here, since the server imports neither the compiler nor the commands.

import { constants, setPriority } from "node:os";
import { join } from "node:path";
import type { Feed } from "@inkling/compiler/feed";
import { choose, type FeedChoice, isChosen, writeFeedChoice } from "@inkling/compiler/feed-choice";
import { asksForAgreement, FEEDS } from "@inkling/compiler/feeds";
import type { Settings } from "@inkling/contract";
import { backoffMs, DATA_FOLDER, fileStamp, messageOf, Poller } from "@inkling/release-store";
import type { DataActions, FeedFacts, RunningServer, UpdateState } from "@inkling/server";
import { CliError } from "../terminal/errors.ts";
import {
  BuildBusy,
  BuildInterrupted,
  type BuildResult,
  buildOrder,
  failedFeeds,
  HELD_HINT,
  runBuild,
  writeLastBuild,
} from "./build.ts";
import { allFeeds, choiceOf } from "./feeds.ts";
import type { LiveSettings } from "./live-settings.ts";

/** The built-in ones only where the choice or the others cannot be read: the build says why. */
function factsOf(settings: FeedSettings): readonly FeedFacts[] {
  try {
    return facts(allFeeds(settings), choiceOf(settings.dataDir));
  } catch (error) {
    if (error instanceof CliError) return facts(FEEDS, { enabled: [], disabled: [] });
    throw error;
  }
}

const facts = (feeds: readonly Feed[], choice: FeedChoice): readonly FeedFacts[] =>
  feeds.map((feed) => ({
    id: feed.id,
    title: feed.title,
    homepage: feed.homepage,
    cadence_hours: feed.cadenceHours,
    stale_hours: feed.age.staleHours,
    sets: feed.sets,
    licence: feed.licence,
    on: isChosen(feed, choice),
    own: feed.definition !== undefined,
    needs_agreement: asksForAgreement(feed),
  }));

type FeedSettings = Pick<Settings, "feed" | "dataDir">;

/** The state of building, and requests for it: between the admin API and what keeps the data fresh. */
export class Updates {
  private requested = false;
  /** What the build under way fetches: all feeds, or those that are due. */
  private running: "all" | "due" | undefined;
  private last: UpdateState["last"] = null;

  get isRequested(): boolean {
    return this.requested;
  }

  /** Are all feeds being fetched, or about to be? */
  get isUnderWay(): boolean {
    return this.requested || this.running === "all";
  }

  get state(): UpdateState {
    const { requested, running, last } = this;
    return { asked: requested, running: running !== undefined, last };
  }

  /** @returns false where all feeds are being fetched, or about to be */
  request(): boolean {
    if (this.isUnderWay) return false;
    this.requested = true;
    return true;
  }

  /** Runs a build. @param work `isWanted`: all feeds are to be fetched, not only those that are due */
  async run(work: (isWanted: boolean) => Promise<BuildResult>): Promise<BuildResult> {
    const isWanted = this.requested;
    this.requested = false;
    this.running = isWanted ? "all" : "due";
    try {
      const result = await work(isWanted);
      const { name, published, seconds, held } = result.done;
      const failed = failedFeeds(result.done);
      const waiting = held === undefined ? null : { why: held.why, hint: HELD_HINT };
      this.last = { at: now(), release: name, published, failed, held: waiting, seconds };
      return result;
    } catch (error) {
      const hint = error instanceof CliError ? (error.hint ?? null) : null;
      this.last = { at: now(), problem: messageOf(error), hint };
      throw error;
    } finally {
      this.running = undefined;
    }
  }
}

const now = () => new Date().toISOString();

export function dataActions(updates: Updates, live: { readonly current: FeedSettings }): DataActions {
  return {
    get feeds() {
      return factsOf(live.current);
    },
    chooseFeed(id, on) {
      const { dataDir } = live.current;
      const feed = allFeeds(live.current).find((one) => one.id === id);
      if (feed !== undefined) writeFeedChoice(dataDir, choose(choiceOf(dataDir), feed, on));
    },
    update: () => updates.state,
    isRequested: () => updates.isUnderWay,
    updateNow: () => updates.request(),
  };
}

const MINUTE = 60_000;
/** A feed that is due at once still waits this long: it spares publishers and this machine. */
export const SHORTEST_PAUSE_MS = MINUTE;
/** Longest pause: a mirror has no due times, and feeds grow stale while nothing is fetched. */
export const LONGEST_PAUSE_MS = 60 * MINUTE;
/** Whether a build is due is checked this often, in 3 to 8 µs. */
const CHECK_MS = 2_000;
/** Feeds that a line of the log names; how many more there are is a number. */
const MAX_NAMED = 3;
/** Share of a pause that chance decides: so that many servers do not call one publisher in the same second. */
const JITTER = 0.1;

interface FreshEffects {
  /** One build of what is due. @throws BuildBusy, BuildInterrupted, CliError */
  readonly build: () => Promise<BuildResult>;
  /** Is a build wanted before its time? */
  readonly isAsked?: () => boolean;
  /** Epoch ms. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  readonly log: Pick<RunningServer["log"], "info" | "error">;
}

/**
 * How long until the next build.
 * @param nextDue epoch ms; undefined if no feed is ever due
 * @param failures builds that failed in a row
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
  private heldWhy: string | undefined;
  /** Of the present pause, by the wall clock: after hours in which the machine slept, the feeds are hours older. */
  private endsAt: number;
  private pauseMs: number;

  /** @param firstMs pause before the first build */
  constructor(effects: FreshEffects, firstMs = 0) {
    this.effects = effects;
    this.troubles = new Troubles(effects.log);
    this.pauseMs = firstMs;
    this.endsAt = effects.now() + firstMs;
  }

  /** Builds if it is time; never rejects. */
  async check(): Promise<void> {
    const { now, chance, isAsked } = this.effects;
    this.endsAt = Math.min(this.endsAt, now() + this.pauseMs); // the clock may have been set back
    if (now() < this.endsAt && isAsked?.() !== true) return;
    const nextDue = await this.build();
    this.pauseMs = pauseMs(now(), nextDue, this.failures, chance());
    this.endsAt = now() + this.pauseMs;
  }

  /** @returns when the next feed is due, epoch ms; undefined if none is, or the build failed */
  private async build(): Promise<number | undefined> {
    const { build, log, now } = this.effects;
    try {
      const { done, feeds } = await build();
      this.failures = 0;
      this.troubles.report(feeds, done.refused);
      const { published, name, seconds, held } = done;
      if (held !== undefined && held.why !== this.heldWhy)
        log.error("release-held", { reason: held.why, hint: HELD_HINT });
      this.heldWhy = held?.why;
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

/** Logs what is wrong with a feed once, not at each build, and when that is over. */
class Troubles {
  private readonly log: FreshEffects["log"];
  private known = new Map<string, string>();

  constructor(log: FreshEffects["log"]) {
    this.log = log;
  }

  /** @param refused feeds of which a copy was refused; what is only not there is no error */
  report(feeds: BuildResult["feeds"], refused: readonly string[]): void {
    const before = this.known;
    const away = new Map<string, string[]>();
    this.known = new Map();
    for (const { id, state, source, error, trouble } of feeds) {
      if (error !== undefined) {
        this.known.set(id, error);
        if (before.get(id) === error) continue;
        if (trouble !== undefined) away.set(trouble.why, [...(away.get(trouble.why) ?? []), id]);
        const rest = trouble?.rest ?? error;
        if (rest === "") continue;
        const fields = { feed: id, state, source, reason: rest };
        if (refused.includes(id)) this.log.error("feed-not-updated", fields);
        else this.log.info("feed-not-updated", fields);
      } else if (before.has(id)) {
        this.log.info("feed-updated-again", { feed: id, source });
      }
    }
    // Without internet this is every feed, and one line instead of thirty.
    for (const [reason, ids] of away) {
      const feeds = ids.slice(0, MAX_NAMED);
      const hint = ids.length > feeds.length ? "`npx @inkling/cli data status` names all" : undefined;
      this.log.error("feeds-not-reached", { count: ids.length, feeds, reason, hint });
    }
  }
}

interface RoundOptions {
  /** Pause before the first build. */
  readonly firstMs: number;
  /** Builds on request. */
  readonly updates?: Updates;
}

/** Builds again and again with these settings until `signal` is aborted. */
export function keepFresh(
  live: Pick<LiveSettings, "current">,
  log: FreshEffects["log"],
  signal: AbortSignal,
  { firstMs, updates = new Updates() }: RoundOptions,
): Promise<void> {
  const { dataDir } = live.current;
  const choice = join(dataDir, DATA_FOLDER.feedChoice);
  let built = fileStamp(choice);
  let ownFeeds = live.current.feed;
  const buildOnce = async (isWanted: boolean) => {
    built = fileStamp(choice);
    ownFeeds = live.current.feed;
    const result = await runBuild(buildOrder(live.current, { fetch: true, onlyDue: !isWanted }), {
      signal,
      onStart: (pid) => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL),
      onEvent: () => {},
    });
    writeLastBuild(dataDir, result, new Date());
    return result;
  };
  const data = new FreshData(
    {
      build: () => updates.run(buildOnce),
      // A feed was turned on or off, added or removed.
      isAsked: () => updates.isRequested || fileStamp(choice) !== built || live.current.feed !== ownFeeds,
      now: Date.now,
      chance: Math.random,
      log,
    },
    firstMs,
  );
  return new Poller({ check: () => data.check(), waitMs: () => CHECK_MS }).runUntil(signal);
}
