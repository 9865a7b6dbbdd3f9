// update.tsx: starts an update, and follows every update until it ends.

import { useEffect, useState } from "preact/hooks";
import type { Update } from "../../answers.ts";
import { call, isAbort } from "../../api.ts";
import { formatRelative } from "../../format.ts";
import { notify, useAction } from "../../hooks.ts";

const POLL_MS = 2_000;

/** `update` is null if the server does not build data. `isUnreachable` is true if the last poll failed. */
interface UpdateState {
  readonly update: Update | null;
  readonly isUnreachable?: boolean;
}

const isUnfinished = (update: Update | null) => update !== null && (update.running || update.asked);

/** @param onEnd called when an update has ended */
export function useUpdate(loaded: Update | null, onEnd: () => void) {
  const [state, setState] = useState<UpdateState>({ update: loaded });
  const [run] = useAction();
  const isPending = isUnfinished(state.update);
  const poll = async (signal: AbortSignal) => {
    try {
      const update = await call("GET data/update", {}, signal);
      setState({ update });
      if (isUnfinished(update)) return;
      notify(
        describeUpdate(update),
        update.last && ("problem" in update.last || update.last.failed.length > 0) ? "bad" : "good",
      );
      onEnd();
    } catch (error) {
      if (!isAbort(error)) setState({ update: state.update, isUnreachable: true });
    }
  };
  // what was loaded may be older than an unfinished update, which is polled
  useEffect(() => setState((old) => (isUnfinished(old.update) ? old : { update: loaded })), [loaded]);
  useEffect(() => {
    if (!isPending) return;
    const leaving = new AbortController();
    const timer = setTimeout(poll, POLL_MS, leaving.signal);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [state]);
  const start = () => run(async () => setState({ update: await call("POST data/update", {}) }));
  return { ...state, isPending, start };
}

function describeUpdate(update: Update | null): string {
  if (!update) return "This server does not build data itself.";
  if (update.running) return "An update is running …";
  if (update.asked) return "An update will start soon …";
  const { last } = update;
  if (!last) return "No update since the server started.";
  const time = formatRelative(last.at);
  if ("problem" in last)
    return `The last update failed ${time}: ${last.problem}${last.hint ? ` (${last.hint})` : ""}`;
  const { published, failed } = last;
  const what = published ? "a new release" : "nothing new";
  return `The last update finished ${time} after ${last.seconds.toFixed(1)} s: ${what}${describeFailed(failed)}.`;
}

const MAX_NAMED = 3;

function describeFailed(failed: readonly string[]): string {
  if (failed.length === 0) return "";
  const more = failed.length > MAX_NAMED ? ` and ${failed.length - MAX_NAMED} more` : "";
  const names = failed.slice(0, MAX_NAMED).join(", ");
  return `; ${failed.length} ${failed.length === 1 ? "feed" : "feeds"} failed: ${names}${more}`;
}

export const UpdateText = ({ update, isUnreachable, isPending }: UpdateState & { isPending: boolean }) => (
  <>
    {isUnreachable ? "The server is unreachable; trying again …" : describeUpdate(update)}{" "}
    {isPending && <progress aria-label="Update" />}
  </>
);
