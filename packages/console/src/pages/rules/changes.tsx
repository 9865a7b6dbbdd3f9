// changes.tsx: shows what publishing a ruleset would change: its text, line by line, and the actions of stored decisions.

import { structuredPatch } from "diff";
import { useMemo } from "preact/hooks";
import { call } from "../../api.ts";
import { Loaded } from "../../components/loaded.tsx";
import { useLoad } from "../../hooks.ts";
import { ChangedActions } from "./replay.tsx";

const CONTEXT = { context: 3, timeout: 500 } as const;

/** The differences between two texts. */
export function Changes({ label, before, after }: { label: string; before: string; after: string }) {
  const patch = useMemo(() => structuredPatch("", "", before, after, "", "", CONTEXT), [before, after]);
  if (patch === undefined)
    return <p class="faint">The texts differ too much for a line-by-line comparison.</p>;
  if (patch.hunks.length === 0) return <p class="faint">The texts are identical.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe)
    <section class="changes" tabIndex={0} aria-label={label}>
      {patch.hunks.map(({ newStart, lines }) => (
        <pre key={newStart}>
          <span class="faint">{`line ${newStart}\n`}</span>
          {lines.map(lineOf)}
        </pre>
      ))}
    </section>
  );
}

/** @param line a line that starts with "+", "-" or a space */
function lineOf(line: string, index: number) {
  const text = `${line}\n`;
  if (line.startsWith("+")) return <ins key={index}>{text}</ins>;
  if (line.startsWith("-")) return <del key={index}>{text}</del>;
  return text;
}

/**
 * How a ruleset would have decided about stored decisions.
 * @param text the text of the ruleset, or what loads it
 */
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
