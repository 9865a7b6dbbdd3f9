// start-decisions.ts: starts the decision recorder in the primary, and logs the recorder's events.

import { StoreError } from "@inkling/store/error";
import type { Store } from "@inkling/store/store";
import { DecisionRecorder, type DecisionsState } from "../decisions/recorder.ts";
import type { Log } from "../telemetry/log.ts";
import type { Closers, ServerOptions } from "./options.ts";

/**
 * Milliseconds to wait for a decision that is to be labelled. A worker may have just sent it, or another host may be
 * storing it.
 */
const LABEL_WAIT_MS = { worker: 300, host: 1_500 };

export function startDecisions(
  { workers }: Pick<ServerOptions, "workers">,
  store: Store,
  { log, closers }: { readonly log: Log; readonly closers: Closers },
): DecisionRecorder {
  const ownWait = workers > 1 ? LABEL_WAIT_MS.worker : 0;
  const decisions: DecisionRecorder = new DecisionRecorder({
    store: store.decisions,
    labelWaitMs: store.tables.isShared ? LABEL_WAIT_MS.host : ownWait,
    mayRetry: (error) => error instanceof StoreError && error.code !== "BROKEN",
    onFlush: watchDecisions(log),
  });
  decisions.start();
  closers.push(async () => {
    const { lost } = await decisions.stop();
    if (lost > 0) log.error("decisions-lost", { decisions: lost, why: decisions.state.lastError });
  });
  return decisions;
}

/**
 * Logs when decisions can no longer be stored, and when the server starts to drop them. After drops, also logs when no
 * decision waits any more.
 */
function watchDecisions(log: Log): (state: DecisionsState) => void {
  let isFailing = false;
  let droppedBefore = 0;
  let isDropping = false;
  return ({ failuresInRow, lastError: reason, waiting, dropped }) => {
    if (failuresInRow > 0 && !isFailing) log.error("decisions-not-stored", { reason, waiting });
    isFailing = failuresInRow > 0;
    if (!isDropping && dropped > droppedBefore) {
      isDropping = true;
      log.error("decisions-dropped", {
        waiting,
        reason: reason ?? "decisions arrive faster than the database stores them",
      });
    } else if (isDropping && waiting === 0) {
      isDropping = false;
      log.info("decisions-stored-again", { dropped: dropped - droppedBefore });
      droppedBefore = dropped;
    }
  };
}
