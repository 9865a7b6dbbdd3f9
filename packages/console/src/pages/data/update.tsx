// update.tsx: starts an update, and follows one to its end, whoever started it.

import { useEffect, useState } from "preact/hooks";
import { api, isAbort } from "../../api.ts";
import { formatRelative } from "../../format.ts";
import { notify, useAction } from "../../hooks.ts";
import type { Update } from "../../types.ts";

const POLL_MS = 2_000;

interface UpdateState {
  /** null: this server does not build data. */
  readonly update: Update | null;
  readonly isPending: boolean;
  /** The last poll failed. */
  readonly isAway: boolean;
  readonly start: () => void;
}

const isUnfinished = (update: Update | null) => update !== null && (update.running || update.asked);

/** @param onEnd called when an update has ended */
export function useUpdate(loaded: Update | null, onEnd: () => void): UpdateState {
  const [{ update, isAway }, setState] = useState({ update: loaded, isAway: false });
  const [run] = useAction();
  const isPending = isUnfinished(update);
  useEffect(() => setState({ update: loaded, isAway: false }), [loaded]);
  useEffect(() => {
    if (!isPending) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const poll = async () => {
      try {
        const next = await api<Update>("data/update", { signal });
        setState({ update: next, isAway: false });
        if (isUnfinished(next)) return;
        notify(describeUpdate(next), next.last?.problem ? "bad" : "good");
        onEnd();
      } catch (error) {
        if (!isAbort(error)) setState({ update, isAway: true });
      }
    };
    const timer = setTimeout(poll, POLL_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [update, isAway, isPending]);
  const start = () =>
    run(async () =>
      setState({ update: await api<Update>("data/update", { method: "POST" }), isAway: false }),
    );
  return { update, isPending, isAway, start };
}

function describeUpdate(update: Update | null): string {
  if (!update) return "This server does not build data itself.";
  if (update.running) return "An update is running …";
  if (update.asked) return "An update starts soon …";
  const { last } = update;
  if (!last) return "No update since the server started.";
  const time = formatRelative(last.at);
  if (last.problem)
    return `The last update failed ${time}: ${last.problem}${last.hint ? ` (${last.hint})` : ""}`;
  const outcome = last.published ? "a new release" : "nothing new";
  return `The last update ended ${time} after ${(last.seconds ?? 0).toFixed(1)} s: ${outcome}.`;
}

export const UpdateText = ({ update: { update, isPending, isAway } }: { update: UpdateState }) => (
  <>
    {isAway ? "The server cannot be reached; trying again …" : describeUpdate(update)}{" "}
    {isPending && <progress aria-label="Update" />}
  </>
);
