// update.tsx: starts an update, and follows every update until it ends.

import { useEffect, useRef } from "preact/hooks";
import type { Update } from "../../answers.ts";
import { call } from "../../api.ts";
import { Action } from "../../components/operation.tsx";
import { countOf, firstOf, formatRelative } from "../../format.ts";
import { notify, useLoad } from "../../hooks.ts";

const POLL_MS = 2_000;
/** Maximum number of failed feeds in a sentence. */
const MAX_NAMES = 3;

/** Null means that the server does not build releases. */
const isUnfinished = (update: Update | null) => update !== null && (update.running || update.asked);

interface UpdateProps {
  /** What the page has loaded. */
  readonly loaded: Update | null;
  /** Called when an update has ended. */
  readonly onEnd: () => void;
}

export function UpdateStatus({ loaded, onEnd }: UpdateProps) {
  const poll = async (signal: AbortSignal) => loaded && call("GET data/update", {}, signal);
  const polled = useLoad(poll, [], loaded ? POLL_MS : undefined);
  const update = polled.data ?? loaded;
  const before = useRef(update);
  useEffect(() => {
    if (update && isUnfinished(before.current) && !isUnfinished(update)) {
      const hasFailed = update.last && ("problem" in update.last || update.last.failed.length > 0);
      notify(describeUpdate(update), hasFailed ? "bad" : "good");
      onEnd();
    }
    before.current = update;
  }, [update]);
  const isPending = isUnfinished(update);
  return (
    <>
      <p role="status">
        {polled.error ? "The server is unreachable; trying again …" : describeUpdate(update)}{" "}
        {isPending && <progress aria-label="Update" />}
      </p>
      <p>
        <Action
          route="POST data/update"
          text="Update now"
          class=""
          refusal={isPending ? "An update is running." : undefined}
          done={polled.reload}
        />
      </p>
    </>
  );
}

function describeUpdate(update: Update | null): string {
  if (!update) return "This server does not build releases. Update the data on the server that builds them.";
  if (update.running) return "An update is running …";
  if (update.asked) return "An update will start soon …";
  const { last } = update;
  if (!last) return "No update since the server started.";
  const time = formatRelative(last.at);
  if ("problem" in last)
    return `The last update failed ${time}: ${last.problem}${last.hint ? ` (${last.hint})` : ""}`;
  const { published, failed } = last;
  const faults =
    failed.length > 0 ? `; ${countOf(failed.length, "feed")} failed: ${firstOf(failed, MAX_NAMES)}` : "";
  return `The last update finished ${time} after ${last.seconds.toFixed(1)} s: ${published ? "a new release" : "nothing new"}${faults}.`;
}
