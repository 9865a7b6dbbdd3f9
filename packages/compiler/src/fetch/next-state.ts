// next-state.ts: computes a feed's state after a load. It has no side effects; clock and random numbers are arguments.

import type { Feed } from "../catalog/feed.ts";
import type { Attempts, FeedState, HeldCopy, KeptCopy } from "./feed-state.ts";
import {
  afterAbsence,
  afterFailure,
  afterSuccess,
  findHold,
  type Hold,
  recordRequest,
  untried,
  type Wanted,
} from "./schedule.ts";

/** A failure at the feed's source. `retryAfter` is the header as sent. */
export interface Failure {
  readonly error: string;
  /** Why the source could not be reached; set only if `error` reports no other problem. */
  readonly unreached?: string | undefined;
  readonly retryAfter?: string | undefined;
}

export type Outcome = {
  /** The licence requires that expired copies are destroyed. */
  readonly destroy?: boolean;
} & (
  | { readonly type: "not requested" }
  | { readonly type: "passed"; readonly copy: KeptCopy }
  /** There is a copy, but it looks wrong. */
  | { readonly type: "held"; readonly held: HeldCopy; readonly failure: Failure }
  | { readonly type: "absent"; readonly failure: Failure }
  | { readonly type: "failed"; readonly failure: Failure }
);

export interface FeedAttempt {
  readonly feed: Feed;
  /** The mirror's folder or base URL; undefined if the feed is fetched from the publisher. */
  readonly mirror: string | undefined;
  readonly now: Date;
  /** Returns a random number from 0 to 1, like Math.random. */
  readonly chance: () => number;
}

export function nextFeedState(state: FeedState, outcome: Outcome, source: FeedAttempt): FeedState {
  const next = remember(state, outcome, source);
  if (outcome.destroy !== true) return next;
  const { copy: _, held: __, ...rest } = next;
  return rest;
}

/** Makes the held copy the last good copy, because a release contains it. */
export function publishHeld(state: FeedState): FeedState {
  const { held, ...rest } = state;
  return held === undefined ? state : { ...rest, copy: held };
}

function remember(state: FeedState, outcome: Outcome, source: FeedAttempt): FeedState {
  if (outcome.type === "not requested") return state;
  const { feed, mirror, now, chance } = source;
  const { attempts, mirror: mirrored, copy, held } = state;
  const before = attemptsAt(state, mirror) ?? untried(chance);
  const after = (next: Attempts) => withAttempts({ attempts, mirror: mirrored }, mirror, next);
  const lastGood = copy && { copy };
  if (outcome.type === "passed") {
    const isKnown = copy?.sha256 === outcome.copy.sha256;
    const kept = isKnown ? { copy: outcome.copy } : { ...lastGood, held: outcome.copy };
    return { ...kept, ...after(afterSuccess(feed, before, now)) };
  }
  const { failure } = outcome;
  const kept = { ...lastGood, ...(held && { held }) };
  if (outcome.type === "absent") return { ...kept, ...after(afterAbsence(feed, before, now, failure.error)) };
  const tried = after(afterFailure(feed, before, now, failure, chance));
  return outcome.type === "held" ? { ...lastGood, held: outcome.held, ...tried } : { ...kept, ...tried };
}

/**
 * Decides whether to request the feed from its source now.
 * @param isReady whether the operator has set the credentials that the publisher requires
 * @returns the state to write before the request, so that the request counts even if the process is killed
 */
export function planRequest(
  state: FeedState,
  { feed, mirror, now, chance }: FeedAttempt,
  { isReady, ...wanted }: Wanted & { readonly isReady: boolean },
): { readonly hold: Hold | undefined; readonly state: FeedState } {
  const attempts = attemptsAt(state, mirror);
  const hold = attempts && findHold(feed, attempts, now, wanted);
  if (hold !== undefined || !isReady || feed.budgetPerDay === undefined) return { hold, state };
  const spent = recordRequest(feed, attempts ?? untried(chance), now);
  return { hold, state: { ...state, ...withAttempts(state, mirror, spent) } };
}

/** Returns the attempts to fetch the feed from the publisher or, if a mirror is set, from this mirror. */
export function attemptsAt(
  { attempts, mirror: known }: FeedState,
  mirror: string | undefined,
): Attempts | undefined {
  if (mirror === undefined) return attempts;
  return known?.of === mirror ? known : undefined;
}

function withAttempts(
  { attempts: before, mirror: known }: Pick<FeedState, "attempts" | "mirror">,
  mirror: string | undefined,
  attempts: Attempts,
): Pick<FeedState, "attempts" | "mirror"> {
  if (mirror === undefined) return { attempts, ...(known && { mirror: known }) };
  return { ...(before && { attempts: before }), mirror: { ...attempts, of: mirror } };
}
