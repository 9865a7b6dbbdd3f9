// score-bar.tsx: draws a score as a stacked bar with what each reason adds, and with the thresholds.

import type { AssessedVisitor } from "../../answers.ts";

interface ScoreBarProps {
  readonly score: number;
  readonly reasons: AssessedVisitor["decision"]["reasons"];
  readonly thresholds?: AssessedVisitor["thresholds"] | undefined;
}

const COLORS = 4;
/** A reason's colour in the bar. */
export const colorOf = (index: number) => `var(--series-${index % COLORS})`;

export function ScoreBar({ score, reasons, thresholds }: ScoreBarProps) {
  let innocent = 1;
  const parts = reasons.map(({ code, weight }) => {
    const from = 1 - innocent;
    innocent *= 1 - weight;
    return { code, from, added: 1 - innocent - from };
  });
  const described = parts.map(({ code, added }) => `${code} ${added.toFixed(2)}`).join(", ");
  return (
    <figure>
      <figcaption>
        <strong>Score {score.toFixed(2)}</strong>
        {thresholds && (
          <span class="faint">
            challenge from {thresholds.challenge}, deny from {thresholds.deny}
          </span>
        )}
      </figcaption>
      <svg
        class="score"
        viewBox="0 0 1 1"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Score ${score.toFixed(2)}: ${described || "no reasons"}`}
      >
        <rect fill="var(--line)" width={1} height={1} />
        {parts.map(({ code, from, added }, i) => (
          <rect key={code} fill={colorOf(i)} x={from} width={added} height={1}>
            <title>{`${code} adds ${added.toFixed(2)}`}</title>
          </rect>
        ))}
        {Object.values(thresholds ?? {}).map((threshold) => (
          <line key={threshold} x1={threshold} x2={threshold} y2={1} />
        ))}
      </svg>
    </figure>
  );
}
