// next-state.ts: decides when a feed is requested, and computes its state after a load. It has no side effects; clock and
// random numbers are arguments.
//
// After a success, a feed is requested once per interval. The point within the interval is random, to spread requests,
// and is drawn once for each feed and data folder. After a failure, the feed is requested sooner, with exponential
// backoff. Retry-After and budgets always apply.

import { EXTENSIONS, type Feed } from "../catalog/feed.ts";
import { type FeedCopy, isNew } from "./copy.ts";
import type { Attempts, FeedState, KeptCopy } from "./feed-state.ts";

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
  | { readonly type: "passed"; readonly copy: FeedCopy; readonly entries: number }
  /** There is a copy, but it looks wrong. */
  | { readonly type: "held"; readonly copy: FeedCopy; readonly why: string; readonly failure: Failure }
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
    const passed = { ...describeCopy(outcome.copy), entries: outcome.entries };
    const kept = copy?.sha256 === passed.sha256 ? { copy: passed } : { ...lastGood, held: passed };
    return { ...kept, ...after(afterSuccess(feed, before, now)) };
  }
  const { failure } = outcome;
  const kept = { ...lastGood, ...(held && { held }) };
  if (outcome.type === "absent") return { ...kept, ...after(afterAbsence(feed, before, now, failure.error)) };
  const tried = after(afterFailure(feed, before, now, failure, chance));
  if (outcome.type === "failed") return { ...kept, ...tried };
  return { ...lastGood, held: { ...describeCopy(outcome.copy), why: outcome.why }, ...tried };
}

/** Describes a copy that was just fetched, or read from a mirror. */
function describeCopy(copy: FeedCopy): KeptCopy {
  if (!isNew(copy)) throw new Error(`a copy from ${copy.source} is not kept`);
  return {
    file: `body-${copy.sha256.slice(0, 16)}.${EXTENSIONS[copy.format]}`,
    format: copy.format,
    sha256: copy.sha256,
    source: copy.source,
    fetchedAt: copy.fetchedAt?.toISOString(),
    publishedAt: copy.publishedAt?.toISOString(),
    ...copy.origin,
  };
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

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A monthly file is requested daily, because it does not appear on a fixed day and "not modified" costs nothing. */
const LONGEST_INTERVAL = DAY;
const FIRST_RETRY = 5 * MINUTE;
/** Maximum wait, because a mistaken Retry-After of several years must not disable a feed. */
const LONGEST_RETRY_AFTER = DAY;

export function untried(chance: () => number): Attempts {
  return { failures: 0, spread: chance() };
}

/** Counts a request before it is sent. */
export function recordRequest(feed: Feed, attempts: Attempts, now: Date): Attempts {
  if (feed.budgetPerDay === undefined) return attempts;
  return { ...attempts, requests: [...recent(attempts, now), now.toISOString()] };
}

export function afterSuccess(feed: Feed, attempts: Attempts, now: Date): Attempts {
  const { spread, requests } = attempts;
  const at = now.toISOString();
  const interval = intervalOf(feed);
  const phase = spread * interval;
  const slot = Math.ceil((now.getTime() + interval / 2 - phase) / interval);
  const nextAt = new Date(slot * interval + phase).toISOString();
  return { at, okAt: at, failures: 0, nextAt, spread, ...(requests && { requests }) };
}

/**
 * Returns the attempts after a check in which the source did not have the file. This is not a failure, so the next
 * check is at the usual time.
 */
export function afterAbsence(feed: Feed, attempts: Attempts, now: Date, error: string): Attempts {
  const { okAt } = attempts;
  const { okAt: _, ...looked } = afterSuccess(feed, attempts, now);
  return { ...looked, ...(okAt && { okAt }), error };
}

export function afterFailure(
  feed: Feed,
  attempts: Attempts,
  now: Date,
  failure: Failure,
  chance: () => number,
): Attempts {
  const { okAt, spread, requests } = attempts;
  const failures = attempts.failures + 1;
  const longest = Math.min(FIRST_RETRY * 2 ** Math.min(failures - 1, 20), intervalOf(feed));
  const wait = longest * (0.5 + 0.5 * chance());
  const waitUntil = failure.retryAfter === undefined ? undefined : readRetryAfter(failure.retryAfter, now);
  return {
    at: now.toISOString(),
    ...(okAt && { okAt }),
    failures,
    error: failure.error,
    ...(failure.unreached && { unreached: failure.unreached }),
    nextAt: new Date(now.getTime() + wait).toISOString(),
    ...(waitUntil && { waitUntil: waitUntil.toISOString() }),
    spread,
    ...(requests && { requests }),
  };
}

/** Returns when this feed is due. */
export function dueAt(feed: Feed, attempts: Attempts, now: Date): Date {
  if (isAhead(attempts, now)) return now;
  const times = [attempts.nextAt, attempts.waitUntil, budgetFreeAt(feed, attempts, now)];
  return new Date(Math.max(0, ...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)]))));
}

/** Why a feed is not requested now: it is not due, or Retry-After or its budget forbids it. */
export type Hold = { readonly why: "not due" } | { readonly why: "held"; readonly reason: string };

/** Which feeds a build requests: all of them, those that are due, or those that have not arrived since a time. */
export interface Wanted {
  readonly onlyDue: boolean;
  readonly since?: string | undefined;
}

/** @returns undefined if the feed may be requested */
export function findHold(
  feed: Feed,
  attempts: Attempts,
  now: Date,
  { onlyDue, since }: Wanted,
): Hold | undefined {
  const { waitUntil } = attempts;
  if (!isAhead(attempts, now) && waitUntil !== undefined && Date.parse(waitUntil) > now.getTime())
    return { why: "held", reason: `on hold until ${waitUntil}, as its publisher's Retry-After requires` };
  const freeAt = budgetFreeAt(feed, attempts, now);
  if (freeAt !== undefined)
    return {
      why: "held",
      reason: `on hold until ${freeAt}: the ${feed.budgetPerDay} downloads a day that its publisher allows are used up`,
    };
  const { okAt } = attempts;
  if (since !== undefined && okAt !== undefined && okAt >= since && !isAhead(attempts, now))
    return { why: "not due" };
  if (onlyDue && dueAt(feed, attempts, now).getTime() > now.getTime()) return { why: "not due" };
  return undefined;
}

/** Returns whether the attempts were recorded by a clock that was ahead. If so, the recorded times are ignored. */
const isAhead = ({ at }: Attempts, now: Date) => at !== undefined && Date.parse(at) > now.getTime();

function intervalOf(feed: Feed): number {
  return Math.min(feed.cadenceHours * HOUR, LONGEST_INTERVAL);
}

function recent({ requests = [] }: Attempts, now: Date): string[] {
  const from = now.getTime() - DAY;
  return requests.filter((time) => Date.parse(time) > from && Date.parse(time) <= now.getTime());
}

/** Returns when the budget allows the next request; undefined if the budget is not used up. */
function budgetFreeAt(feed: Feed, attempts: Attempts, now: Date): string | undefined {
  if (feed.budgetPerDay === undefined) return undefined;
  const used = recent(attempts, now);
  const oldest = used.at(-feed.budgetPerDay);
  return oldest === undefined ? undefined : new Date(Date.parse(oldest) + DAY).toISOString();
}

/** Reads Retry-After in seconds or as a date (RFC 9110 10.2.3). Anything else is ignored. */
function readRetryAfter(text: string, now: Date): Date | undefined {
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  if (!(wait > 0)) return undefined;
  return new Date(now.getTime() + Math.min(wait, LONGEST_RETRY_AFTER));
}
