// changes.tsx: shows the differences between two texts, line by line.

import { structuredPatch } from "diff";
import { useMemo } from "preact/hooks";

const CONTEXT = { context: 3, timeout: 500 } as const;

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
