// effect.tsx: shows how a ruleset would have decided about stored decisions, before somebody publishes it.

import { call } from "../../api.ts";
import { Loaded } from "../../components/loaded.tsx";
import { useLoad } from "../../hooks.ts";
import { ChangedActions } from "./replay.tsx";

/** @param text the text of the ruleset, or what loads it */
export function Effect({ text }: { text: string | ((signal: AbortSignal) => Promise<string>) }) {
  const loading = useLoad(async (signal) => {
    const whole = typeof text === "string" ? text : await text(signal);
    return call("POST rulesets/replay", { text: whole }, signal);
  }, []);
  return (
    <Loaded from={loading} waiting="Replaying stored decisions …">
      {({ summary, stopped, actions }) => (
        <>
          <p>
            <strong>{summary}</strong>
            {stopped && " Older decisions were left out."} All servers apply the ruleset within a second.
          </p>
          <ChangedActions actions={actions} />
        </>
      )}
    </Loaded>
  );
}
