// data-actions.ts: what the admin API needs of the compiler: facts about feeds, and builds on demand.
//
// in   the round of builds that keeps the data fresh
// out  DataActions for the server, which imports neither the compiler nor the commands

import { FEEDS } from "@inkling/compiler/feeds";
import { messageOf } from "@inkling/release-store";
import type { DataActions, FeedFacts, UpdateState } from "@inkling/server";
import { CliError } from "../terminal/errors.ts";
import { type BuildResult, failedFeeds, HELD_HINT } from "./build-process.ts";

const FACTS: readonly FeedFacts[] = FEEDS.map(({ id, title, homepage, cadenceHours, age }) => ({
  id,
  title,
  homepage,
  cadence_hours: cadenceHours,
  stale_hours: age.staleHours,
}));

/** The state of building, and requests for it: between the admin API and keep-fresh.ts. */
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

export function dataActions(updates: Updates): DataActions {
  return {
    feeds: FACTS,
    update: () => updates.state,
    isRequested: () => updates.isUnderWay,
    updateNow: () => updates.request(),
  };
}
