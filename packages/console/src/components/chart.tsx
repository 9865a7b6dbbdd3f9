// chart.tsx: stacked bars and lines over time, as SVG. A chart's label summarizes it in words.

import { max, nice, sum, ticks } from "d3-array";
import { line, stack } from "d3-shape";
import type { ComponentChildren } from "preact";
import { formatCompact, formatCount } from "../format.ts";

const HEIGHT = 180;
const LEFT = 54;
const BOTTOM = 22;
const TOP = 8;

interface Point {
  readonly at: string;
}

export interface Series<P extends Point, V extends number | null = number> {
  readonly name: string;
  readonly of: (point: P) => V;
}

interface ChartProps<P extends Point, V extends number | null> {
  readonly title: string;
  readonly points: readonly P[];
  /** Each has its colour by position, at most four. */
  readonly series: readonly Series<P, V>[];
  readonly formatTime: (at: string) => string;
}

/** Where things are in a chart. */
function layoutOf(points: readonly Point[], greatest: number) {
  // as wide as it is displayed, more or less, so that its text is readable on a phone
  const width = matchMedia("(max-width: 48rem)").matches ? 340 : 640;
  const slot = (width - LEFT) / Math.max(1, points.length);
  const [, top] = nice(0, greatest || 1, 4);
  return {
    width,
    slot,
    steps: greatest > 0 ? ticks(0, top, 4) : [0],
    x: (i: number) => LEFT + i * slot,
    y: (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top),
  };
}

type Layout = ReturnType<typeof layoutOf>;

export function BarChart<P extends Point>({ title, points, series, formatTime }: ChartProps<P, number>) {
  const totals = points.map((point) => sum(series, ({ of }) => of(point)));
  const greatest = max(totals) ?? 0;
  const layout = layoutOf(points, greatest);
  const { x, y, slot } = layout;
  const stacked = stack<undefined, P, Series<P>>()
    .keys(series)
    .value((point, { of }) => of(point))([...points]);
  const busiest = points[totals.indexOf(greatest)];
  const summary =
    greatest === 0 || busiest === undefined
      ? "None in this period."
      : `${formatCount(sum(totals))} in total, most at ${formatTime(busiest.at)}: ${formatCount(greatest)}.`;
  return (
    <Frame title={title} series={series} summary={summary} layout={layout} formatValue={formatCompact}>
      {points.map((point, i) => (
        <g key={point.at}>
          <title>
            {`${formatTime(point.at)}: ${series.map(({ name, of }) => `${name} ${formatCount(of(point))}`).join(", ")}`}
          </title>
          {stacked.map((layer, k) => {
            const [from = 0, to = 0] = layer[i] ?? [];
            return (
              <rect
                key={layer.key.name}
                class={`series-${k}`}
                x={x(i) + slot * 0.1}
                width={Math.max(1, slot * 0.8)}
                y={y(to)}
                height={y(from) - y(to)}
              />
            );
          })}
        </g>
      ))}
      <Times points={points} layout={layout} formatTime={formatTime} />
    </Frame>
  );
}

interface LineChartProps<P extends Point> extends ChartProps<P, number | null> {
  readonly formatValue: (value: number) => string;
}

/** A null is a gap. */
export function LineChart<P extends Point>(props: LineChartProps<P>) {
  const { title, points, series, formatTime, formatValue } = props;
  const layout = layoutOf(points, max(series, ({ of }) => max(points, of)) ?? 0);
  const x = (i: number) => layout.x(i + 0.5);
  const lines = series.map(({ name, of }) => ({ name, values: points.map(of) }));
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, i) => x(i))
    .y((value) => layout.y(value ?? 0));
  const last = lines.map(
    ({ name, values }) => `${name} ${formatValue(values.findLast((v) => v !== null) ?? 0)}`,
  );
  const summary = `At the end: ${last.join(", ")}.`;
  return (
    <Frame title={title} series={series} summary={summary} layout={layout} formatValue={formatValue}>
      {lines.map(({ name, values }, k) => (
        <g key={name}>
          <path class={`line series-${k}`} d={path(values) ?? ""} />
          {values.map((value, i) =>
            value === null ? null : (
              <circle
                key={points[i]?.at}
                class={`series-${k}`}
                cx={x(i)}
                cy={layout.y(value)}
                r={values.length > 60 ? 1.5 : 2.5}
              >
                <title>{`${formatTime(points[i]?.at ?? "")}: ${name} ${formatValue(value)}`}</title>
              </circle>
            ),
          )}
        </g>
      ))}
      <Times points={points} layout={layout} formatTime={formatTime} />
    </Frame>
  );
}

interface FrameProps {
  readonly title: string;
  readonly series: readonly { readonly name: string }[];
  readonly summary: string;
  readonly layout: Layout;
  readonly formatValue: (value: number) => string;
  readonly children: ComponentChildren;
}

/** Title, legend, and the axis of values. */
function Frame({ title, series, summary, layout, formatValue, children }: FrameProps) {
  const { width, steps, y } = layout;
  return (
    <figure class="chart">
      <figcaption>
        {title}
        {series.length > 1 && <Legend entries={series.map(({ name }, k) => [`series-${k}`, name])} />}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${title}. ${summary}`}>
        {steps.map((value) => (
          <g key={value}>
            <line class="grid-line" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
            <text class="tick" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {formatValue(value)}
            </text>
          </g>
        ))}
        {children}
      </svg>
    </figure>
  );
}

interface TimesProps {
  readonly points: readonly Point[];
  readonly layout: Layout;
  readonly formatTime: (at: string) => string;
}

/** The axis of time: as many labels as fit. */
function Times({ points, layout, formatTime }: TimesProps) {
  const every = Math.max(1, Math.ceil(85 / layout.slot));
  return (
    <g>
      {points.map(({ at }, i) =>
        i % every === 0 ? (
          <text key={at} class="tick" x={layout.x(i + 0.5)} y={HEIGHT - 6} text-anchor="middle">
            {formatTime(at)}
          </text>
        ) : null,
      )}
    </g>
  );
}

/** @param entries each with the class of its colour */
export const Legend = ({ entries }: { entries: readonly (readonly [kind: string, text: string])[] }) => (
  <ul class="legend">
    {entries.map(([kind, text]) => (
      <li key={kind}>
        <svg viewBox="0 0 10 10" aria-hidden="true">
          <rect class={kind} width={10} height={10} rx={2} />
        </svg>
        {text}
      </li>
    ))}
  </ul>
);
