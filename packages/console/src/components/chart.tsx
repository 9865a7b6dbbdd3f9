// chart.tsx: draws bars, lines and meters as SVG. A chart's label summarizes it in words, and the legend of
// bars has their totals.

import { max, nice, sum, ticks } from "d3-array";
import { line, stack } from "d3-shape";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCompact, formatCount, formatPercent } from "../format.ts";
import { Card } from "./basics.tsx";

const HEIGHT = 180;
/** Maximum width of a character in a label, and the gap between the labels and the axis. */
const LETTER = 8.5;
const GAP = 10;
const BOTTOM = 22;
const TOP = 8;

/** A series with one number for each point in time. */
export interface Series<P, V extends number | null = number> {
  readonly name: string;
  /** 0 to 4 (blue, orange, green, red, purple). The default depends on the position. */
  readonly color?: number;
  readonly of: (point: P) => V;
}

const seriesColor = (k: number) => `var(--series-${k})`;
const colorOf = ({ color }: { readonly color?: number }, k: number) => seriesColor(color ?? k);

interface Point {
  readonly at: string;
}

interface ChartProps<P extends Point, V extends number | null> {
  readonly title: string;
  readonly points: readonly P[];
  readonly series: readonly Series<P, V>[];
  readonly formatTime: (at: string) => string;
  /** True if one value may count in several series, so that their shares say nothing. */
  readonly isOverlapping?: boolean | undefined;
}

type Format = (value: number) => string;

/**
 * Computes the positions in a chart with `count` points and values up to `greatest`, which is drawn as wide as it is
 * shown, so that its text has the same size everywhere. The left margin has room for the axis labels.
 */
function useLayout(count: number, greatest: number, format: Format) {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(320);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current!.clientWidth));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const [, top] = nice(0, greatest || 1, 4);
  const steps = (greatest > 0 ? ticks(0, top, 4) : [0]).map((value) => [value, format(value)] as const);
  const left = GAP + LETTER * Math.max(...steps.map(([, label]) => label.length));
  const slot = (width - left) / Math.max(1, count);
  return {
    box,
    width,
    left,
    slot,
    steps,
    x: (i: number) => left + i * slot,
    y: (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top),
  };
}

/** Stacked bars. */
export function BarChart<P extends Point>(props: ChartProps<P, number>) {
  const { points, series, formatTime, isOverlapping } = props;
  const totals = points.map((point) => sum(series, ({ of }) => of(point)));
  const greatest = max(totals) ?? 0;
  const all = sum(totals);
  const layout = useLayout(points.length, greatest, formatCompact);
  const { x, y, slot } = layout;
  const layers = stack<P, Series<P>>()
    .keys(series)
    .value((point, { of }) => of(point))(points);
  const time = formatTime(points[totals.indexOf(greatest)]?.at ?? "");
  const summary = `${formatCount(all)} in total, with a peak of ${formatCount(greatest)} at ${time}.`;
  const named = series.map((one) => {
    const total = sum(points, one.of);
    const share = all > 0 && !isOverlapping ? ` (${formatPercent(total / all)})` : "";
    return { ...one, name: `${one.name}: ${formatCount(total)}${share}` };
  });
  const describe = (point: P) =>
    `${formatTime(point.at)}: ${series.map(({ name, of }) => `${name} ${formatCount(of(point))}`).join(", ")}`;
  return (
    <Frame
      {...props}
      series={named}
      summary={greatest > 0 ? summary : "None in this period."}
      layout={layout}
    >
      {points.map((point, i) => (
        <g key={point.at}>
          <title>{describe(point)}</title>
          {layers.map((layer, k) => {
            const [from = 0, to = 0] = layer[i] ?? [];
            const place = { x: x(i) + slot * 0.1, y: y(to), width: slot * 0.8, height: y(from) - y(to) };
            return <rect key={layer.key.name} fill={colorOf(layer.key, k)} {...place} />;
          })}
        </g>
      ))}
    </Frame>
  );
}

interface BarChartsProps<P extends Point> extends Pick<ChartProps<P, number>, "points" | "formatTime"> {
  readonly charts: readonly (readonly [
    title: string,
    series: readonly Series<P>[],
    isOverlapping?: boolean,
  ])[];
}

/** Stacked bars side by side, without those that have nothing to show. */
export const BarCharts = <P extends Point>({ charts, points, formatTime }: BarChartsProps<P>) => (
  <>
    {charts
      .filter(([, series]) => points.some((point) => series.some(({ of }) => of(point) > 0)))
      .map(([title, series, isOverlapping]) => (
        <Card key={title}>
          <BarChart {...{ title, series, points, formatTime, isOverlapping }} />
        </Card>
      ))}
  </>
);

interface LineChartProps<P extends Point> extends ChartProps<P, number | null> {
  readonly formatValue: Format;
}

/** Lines, with a gap for each null. */
export function LineChart<P extends Point>(props: LineChartProps<P>) {
  const { points, series, formatTime, formatValue } = props;
  const layout = useLayout(points.length, max(series, ({ of }) => max(points, of)) ?? 0, formatValue);
  const x = (i: number) => layout.x(i + 0.5);
  const path = line<number | null>(
    (_, i) => x(i),
    (value) => layout.y(value ?? 0),
  ).defined((value) => value !== null);
  const lines = series.map((one, k) => ({
    name: one.name,
    color: colorOf(one, k),
    values: points.map(one.of),
  }));
  const last = lines.map(
    ({ name, values }) => `${name} ${formatValue(values.findLast((v) => v !== null) ?? 0)}`,
  );
  return (
    <Frame {...props} summary={`At the end: ${last.join(", ")}.`} layout={layout}>
      {lines.map(({ name, color, values }) => (
        <g key={name}>
          <path fill="none" stroke={color} stroke-width={2} d={path(values) ?? ""} />
          {values.map((value, i) => {
            const { at = "" } = points[i] ?? {};
            return value === null ? null : (
              <circle key={at} fill={color} cx={x(i)} cy={layout.y(value)} r={values.length > 60 ? 1.5 : 2.5}>
                <title>{`${formatTime(at)}: ${name} ${formatValue(value)}`}</title>
              </circle>
            );
          })}
        </g>
      ))}
    </Frame>
  );
}

interface FrameProps extends Omit<ChartProps<Point, never>, "series"> {
  readonly series: readonly { readonly name: string; readonly color?: number }[];
  readonly summary: string;
  readonly layout: ReturnType<typeof useLayout>;
  readonly children: ComponentChildren;
}

/** A chart's title, legend and axes. */
function Frame({ title, points, series, formatTime, ...props }: FrameProps) {
  const { box, width, left, slot, steps, x, y } = props.layout;
  const every = Math.max(1, Math.ceil(85 / slot)); // as many labels as fit
  const labels = points.flatMap(({ at }, i) => (i % every === 0 ? [{ at, text: formatTime(at), i }] : []));
  /** Centres a label below its point, unless that is too close to an edge. */
  const place = (text: string, i: number) => {
    const half = (text.length * LETTER) / 2;
    return Math.max(half, Math.min(width - half, x(i + 0.5)));
  };
  return (
    <figure class="chart" ref={box}>
      <figcaption>
        <h2>{title}</h2>
        <Legend entries={series.map((one, k) => [colorOf(one, k), one.name])} />
      </figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${title}. ${props.summary}`}>
        {steps.map(([value, text]) => (
          <g key={value}>
            <line stroke="var(--line)" x1={left} x2={width} y1={y(value)} y2={y(value)} />
            <text x={left - 6} y={y(value) + 4} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
        {props.children}
        {labels.map(({ at, text, i }) => (
          <text key={at} x={place(text, i)} y={HEIGHT - 6} text-anchor="middle">
            {text}
          </text>
        ))}
      </svg>
    </figure>
  );
}

/** A square in a chart's colour. */
export const Swatch = ({ color }: { color: string }) => (
  <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect fill={color} width={10} height={10} rx={2} />
  </svg>
);

/** @param entries colours with their texts */
export const Legend = ({ entries }: { entries: readonly (readonly [color: string, text: string])[] }) => (
  <ul class="legend">
    {entries.map(([color, text]) => (
      <li key={color}>
        <Swatch color={color} /> {text}
      </li>
    ))}
  </ul>
);

interface MeterProps {
  /** A share from 0 to 1. Anything above 1 is drawn as 1. */
  readonly part: number;
  readonly text: string;
  readonly color?: "good" | "warn" | "bad" | "series-0";
}

/** A bar that shows a share of a whole. */
export const Meter = ({ part, text, color = "good" }: MeterProps) => (
  <span class="meter">
    {text}
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect fill="var(--line)" width={100} height={8} rx={2} />
      <rect fill={`var(--${color})`} width={Math.min(100, Math.max(2, part * 100))} height={8} rx={2} />
    </svg>
  </span>
);
