// meter.tsx: a share of a whole as a bar, and a few numbers as a line.

import { line } from "d3-shape";
import type { Kind } from "./basics.tsx";

interface MeterProps {
  /** 0 to 1; more is drawn as 1. */
  readonly part: number;
  readonly text: string;
  readonly kind?: Kind | undefined;
}

export const Meter = ({ part, text, kind = "good" }: MeterProps) => (
  <span class="meter">
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="meter-ground" width={100} height={8} rx={2} />
      <rect class={`meter-part ${kind}`} width={Math.min(100, Math.max(2, part * 100))} height={8} rx={2} />
    </svg>
    <span>{text}</span>
  </span>
);

/** @param label what it shows, for those who do not see it */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const max = Math.max(...values);
  const min = Math.min(...values);
  const path = line<number>(
    (_, i) => 2 + (i * 76) / Math.max(1, values.length - 1),
    (value) => (max === min ? 10 : 18 - (16 * (value - min)) / (max - min)),
  );
  return (
    <svg class="sparkline" viewBox="0 0 80 20" role="img" aria-label={label}>
      <path class="line series-0" d={path([...values]) ?? ""} />
    </svg>
  );
}
