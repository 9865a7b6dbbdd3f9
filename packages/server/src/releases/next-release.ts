// next-release.ts: decides which release to use after an outcome. All functions are pure: the time and the disk's
// content are arguments.
//
// in   the state before the outcome, and the outcome
// out  the state after the outcome, with log events; the next release to attempt

import type { ReleaseFiles } from "@inkling/release-store";
import type { ReleaseEvent } from "./events.ts";

/** Maximum characters of a release name in the log and status, because `current` may contain anything. */
const SHOWN_LENGTH = 80;

export interface Refusal {
  readonly name: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

interface Answering {
  readonly files: ReleaseFiles;
  /** Was every byte read since this process began? */
  readonly isVerified: boolean;
  /** Epoch ms. */
  readonly since: number;
}

export interface ReleaseState {
  /** The release in use. */
  readonly current?: Answering | undefined;
  /** The release that `current` in the data folder names. */
  readonly wanted?: string | undefined;
  /** The last release that was found unsound while in use, until it is used again. */
  readonly left?: string | undefined;
  /** Why the wanted release is not in use. */
  readonly refusal?: Refusal | undefined;
  /** A process that used this release has crashed on it. Only a verification clears the suspicion. */
  readonly suspected?: string | undefined;
}

export interface Failure {
  readonly name: string;
  readonly reason: string;
  /** One of the release's files cannot be read from disk. A process that touches that file crashes. */
  readonly isUnreadable: boolean;
  /** Milliseconds until the next attempt; undefined if only a change of the files can help. */
  readonly retryMs: number | undefined;
}

export type Outcome =
  | { readonly type: "wanted"; readonly name: string | undefined }
  /** No release is in use, and the marks of this one show that it was verified before. */
  | { readonly type: "marked"; readonly files: ReleaseFiles }
  | { readonly type: "verified"; readonly files: ReleaseFiles }
  | ({ readonly type: "failed" } & Failure)
  /** The release in use is unsound. `instead` is the release to use instead of it, which is known to be sound. */
  | {
      readonly type: "unsound";
      readonly reason: string;
      readonly retryMs: number | undefined;
      readonly instead: ReleaseFiles | undefined;
    }
  /** A different file has replaced one of the files of the release in use. The previous file is still mapped. */
  | { readonly type: "replaced" }
  /** A process crashed while it read the release in use. */
  | { readonly type: "suspected" };

interface Step {
  readonly state: ReleaseState;
  readonly events: readonly ReleaseEvent[];
}

/** @param now epoch ms */
export function nextRelease(state: ReleaseState, outcome: Outcome, now: number): Step {
  switch (outcome.type) {
    case "wanted":
      return endRefusal({ state: { ...state, wanted: outcome.name }, events: [] });
    case "marked":
      return swap(state, { files: outcome.files, isVerified: false, since: now });
    case "verified":
      return endRefusal(verified(state, outcome.files, now));
    case "failed":
      return failed(state, outcome, now);
    case "unsound": {
      const { instead, reason, retryMs } = outcome;
      const name = state.current?.files.name;
      if (name === undefined) return { state, events: [] };
      const next = instead && { files: instead, isVerified: false, since: now };
      const swapped = swap({ ...state, left: name }, next);
      const refused = refuse(swapped.state, { name, reason, retryMs }, now);
      return { state: refused.state, events: [...swapped.events, ...refused.events] };
    }
    case "replaced":
      return { state: { ...state, current: unverified(state) }, events: [] };
    case "suspected":
      return {
        state: { ...state, current: unverified(state), suspected: state.current?.files.name },
        events: [],
      };
  }
}

/** Returns whether the failed release is in use and must be dropped. */
export function isUnsound({ current, suspected }: ReleaseState, failure: Failure): boolean {
  const { name, isUnreadable, retryMs } = failure;
  return current?.files.name === name && (retryMs === undefined || isUnreadable || suspected === name);
}

/**
 * Returns the release to attempt next, if one is due. The wanted release comes first. While no release is in use,
 * earlier releases follow. The release in use comes last, until it is verified.
 * @param older names of the releases before the wanted one, newest first
 */
export function nextToTry(
  { wanted, current }: ReleaseState,
  isDue: (name: string) => boolean,
  older: () => readonly string[],
): string | undefined {
  const name = current?.files.name;
  if (wanted !== undefined && wanted !== name && isDue(wanted)) return wanted;
  if (name === undefined) return older().find(isDue);
  return current?.isVerified !== true && isDue(name) ? name : undefined;
}

function verified(state: ReleaseState, files: ReleaseFiles, now: number): Step {
  const { name } = files;
  const { current, wanted } = state;
  const cleared = state.suspected === name ? { ...state, suspected: undefined } : state;
  if (current === undefined || current.files.name !== name) {
    if (current !== undefined && wanted !== name) return { state: cleared, events: [] }; // another release is wanted
    return swap(cleared, { files, isVerified: true, since: now });
  }
  const next = { ...current, files, isVerified: true };
  return { state: answering(cleared, next), events: [{ type: "verified", name }] };
}

function failed(state: ReleaseState, failure: Failure, now: number): Step {
  const { name, reason, retryMs } = failure;
  if (state.current?.files.name !== name || retryMs === undefined) return refuse(state, failure, now);
  return { state, events: [{ type: "unverified", name, reason, retry_in_ms: retryMs }] };
}

function swap(state: ReleaseState, next: Answering | undefined): Step {
  const name = next?.files.name;
  const others = {
    before: state.current?.files.name,
    wanted: state.wanted === name ? undefined : state.wanted,
  };
  return {
    state: answering(state, next),
    events: [name === undefined ? { type: "none", ...others } : { type: "serving", name, ...others }],
  };
}

/** Starts using a release. A release that was dropped and is used again has been repaired. */
function answering(state: ReleaseState, current: Answering | undefined): ReleaseState {
  const left = state.left === current?.files.name ? undefined : state.left;
  return { ...state, current, left };
}

function refuse(
  state: ReleaseState,
  { name, reason, retryMs }: Omit<Failure, "isUnreadable">,
  now: number,
): Step {
  const shown = name.slice(0, SHOWN_LENGTH);
  // If several releases in a row are refused, the first of them is the wanted release.
  const isFirst = state.refusal === undefined || state.wanted === name;
  const refusal = isFirst ? { name: shown, reason, at: now } : state.refusal;
  const retry = retryMs !== undefined && { retry_in_ms: retryMs };
  return { state: { ...state, refusal }, events: [{ type: "refused", name: shown, reason, ...retry }] };
}

/** Ends a refusal when the wanted release is in use and verified, no matter which wanted release was refused. */
function endRefusal({ state, events }: Step): Step {
  const { refusal, current, wanted } = state;
  if (refusal === undefined || current?.isVerified !== true || current.files.name !== wanted) {
    return { state, events };
  }
  const over: ReleaseEvent = { type: "refusal-over", name: wanted, refused: refusal.name };
  return { state: { ...state, refusal: undefined }, events: [...events, over] };
}

const unverified = ({ current }: ReleaseState): Answering | undefined =>
  current && { ...current, isVerified: false };
