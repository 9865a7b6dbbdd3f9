// plots.ts: which plots there are, which of the recorded figures each shows, and how: specifications of Vega-Lite.
//
// out  nothing for a plot whose figures were not recorded

import { join } from "node:path";
import { BENCH } from "./peers.ts";
import type { Line, PartResult } from "./record.ts";
import { median } from "./stats.ts";

export type Spec = Readonly<Record<string, unknown>>;

export interface Plot {
  /** Its file, without folder and ending. */
  readonly name: string;
  /** The part whose section shows it. */
  readonly part: string;
  readonly title: string;
  readonly spec: (lines: readonly Line[]) => Spec | undefined;
}

const axis = (field: string, title: string, more: Spec = {}): Spec => ({
  field,
  type: "quantitative",
  title,
  ...more,
});
const LOG = { scale: { type: "log", nice: false } };
const COLOUR = {
  field: "who",
  type: "nominal",
  title: null,
  sort: null,
  legend: { labelLimit: 400, orient: "bottom", columns: 2 },
};

/** A panel of curves. */
const curves = (values: readonly Spec[], x: Spec, y: Spec, more: Spec = {}): Spec => ({
  data: { values },
  mark: { type: "line", clip: true, ...more },
  encoding: { x, y, color: COLOUR, strokeDash: COLOUR },
});

/** Points of the recorded curves of a plot. */
const pointsOf = (lines: readonly Line[], plot: string): Spec[] =>
  lines.flatMap((line) =>
    line.type !== "series" || line.plot !== plot
      ? []
      : line.points.map(([x, y]) => ({ who: line.who, x, y })),
  );

/** Rows of a measure: median, least and greatest. */
const rowsOf = (lines: readonly Line[], measure: string) =>
  lines.flatMap((line) => {
    if (line.type !== "row" || line.measure !== measure) return [];
    const { what, who, values } = line;
    return [{ what, who, median: median(values), least: Math.min(...values), most: Math.max(...values) }];
  });

/** The share of lookups that took at most so long. */
function distribution(name: string, addresses: string): Plot {
  const spec = (lines: readonly Line[]) => {
    const values = pointsOf(lines, name);
    const x = axis("x", "nanoseconds for one lookup, means of 64 in a row (logarithmic)", LOG);
    const y = axis("y", "share of lookups that took at most so long", { axis: { format: "%" } });
    return values.length === 0 ? undefined : curves(values, x, y);
  };
  return { name, part: "engine", title: `Geolocate, ${addresses}: time of a lookup in process`, spec };
}

function cpu(lines: readonly Line[]): Spec | undefined {
  const values = rowsOf(lines, "CPU per request");
  const y = { field: "who", type: "nominal", title: null, sort: null, axis: { labelLimit: 400 } };
  const x = axis("median", "µs of server CPU for one lookup (median; line: least to most)");
  const bar = { mark: "bar", encoding: { x } };
  const spread = { mark: "rule", encoding: { x: axis("least", ""), x2: { field: "most" } } };
  return values.length === 0 ? undefined : { data: { values }, encoding: { y }, layer: [bar, spread] };
}

/** Measures of the part "growth", a panel each. */
const GROWN = {
  "time per lookup": "time of a lookup, ns",
  "memory of one process after all lookups": "memory of one process, MB",
  build: "making the segment, s",
  file: "size of the segment, MB",
};

function growth(lines: readonly Line[]): Spec | undefined {
  const panels = Object.entries(GROWN).flatMap(([measure, title]) => {
    const rows = rowsOf(lines, measure).filter(({ what }) => what.startsWith("growth, "));
    const values = rows.map(({ what, who, median }) => ({
      who,
      x: Number.parseFloat(what.slice(8)),
      y: median,
    }));
    const x = axis("x", "ranges, times today's", {
      ...LOG,
      axis: { values: values.map((value) => value.x) },
    });
    return values.length === 0
      ? []
      : [{ ...curves(values, x, axis("y", title), { point: true }), width: 300 }];
  });
  return panels.length === 0 ? undefined : { columns: 2, concat: panels };
}

function swaps(lines: readonly Line[]): Spec | undefined {
  const [latency, memory] = [pointsOf(lines, "swap-latency"), pointsOf(lines, "swap-memory")];
  const x = axis("x", "seconds since the load began");
  const times = curves(latency, x, axis("y", "time of an answer, ms (logarithmic)", LOG));
  const sizes = curves(memory, x, axis("y", "memory of the server, MB"));
  const resolve = { scale: { color: "independent", strokeDash: "independent" } };
  return latency.length === 0 ? undefined : { vconcat: [times, sizes], resolve };
}

export const PLOTS: readonly Plot[] = [
  distribution("distribution-v4", "random IPv4 addresses"),
  distribution("distribution-v6", "IPv6 addresses in random networks"),
  {
    name: "cpu",
    part: "http",
    title: "CPU of the server for one lookup over HTTP, least to most",
    spec: cpu,
  },
  {
    name: "growth",
    part: "growth",
    title: "Lookup time, memory, build time and size against ranges",
    spec: growth,
  },
  {
    name: "swaps",
    part: "swap",
    title: "Latency and memory while releases are swapped under full load",
    spec: swaps,
  },
];

/** Draws the plots whose figures were recorded, with Vega from bench/node_modules. @returns their SVG */
export async function drawPlots(results: readonly PartResult[]): Promise<Map<Plot, string>> {
  const load = (name: string) => import(Bun.resolveSync(name, join(BENCH, "lib")));
  const [{ View, parse }, { compile }] = await Promise.all([load("vega"), load("vega-lite")]);
  const lines = results.flatMap((result) => result.lines);
  const drawn = new Map<Plot, string>();
  for (const plot of PLOTS) {
    const spec = plot.spec(lines);
    if (spec === undefined) continue;
    const config = { view: { continuousWidth: 700, continuousHeight: 250 } };
    const whole = { background: "white", title: plot.title, config, ...spec };
    drawn.set(plot, await new View(parse(compile(whole).spec), { renderer: "none" }).toSVG());
  }
  return drawn;
}
