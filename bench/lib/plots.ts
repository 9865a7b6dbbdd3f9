// plots.ts: which plots there are, and which of the recorded figures each shows.
//
// out  nothing for a plot whose figures were not recorded

import type { PartResult, Row, Series } from "./record.ts";
import { quantile, spread } from "./stats.ts";
import { type Axis, bars, type Curve, type Panel, panels } from "./svg.ts";

export interface Plot {
  /** Its file, without folder and ending. */
  readonly name: string;
  /** For those who cannot see it. */
  readonly alt: string;
  readonly draw: (results: readonly PartResult[]) => string | undefined;
}

const rowsOf = (results: readonly PartResult[]): Row[] =>
  results.flatMap(({ lines }) => lines.filter((line) => line.type === "row"));
const seriesOf = (results: readonly PartResult[], plot: string): Series[] =>
  results
    .flatMap(({ lines }) => lines.filter((line) => line.type === "series"))
    .filter((one) => one.plot === plot);

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** The share of look-ups that took at most so long. */
function distribution(name: string, title: string): Plot {
  return {
    name,
    alt: `${title}: for each reader, the share of look-ups that took at most so many nanoseconds`,
    draw: (results) => {
      const curves: Curve[] = seriesOf(results, name).map(({ who, points }) => ({ name: who, points }));
      if (curves.length === 0) return undefined;
      const x: Axis = {
        label: "nanoseconds for one look-up, means of 64 in a row (logarithmic)",
        isLog: true,
      };
      const y: Axis = { label: "share of look-ups", from: 0, to: 1, format: percent };
      return panels(title, [{ title: "Further left is faster", x, y, curves }]);
    },
  };
}

const CPU: Plot = {
  name: "cpu",
  alt: "CPU of the server for one look-up over HTTP, for each server, with the spread of its rounds",
  draw: (results) => {
    const rows = rowsOf(results).filter(({ measure }) => measure === "CPU per request");
    if (rows.length === 0) return undefined;
    const all = rows.map(({ who, values }) => {
      const { median, least, most } = spread(values);
      return { name: who, isOurs: who.startsWith("inkling"), value: median, least, most };
    });
    const label = "µs of server CPU for one look-up (median; line: least to most)";
    return bars("CPU of the server for one look-up over HTTP", { label }, all);
  },
};

/** Measures of the part "growth", one panel each. */
const GROWN: readonly (readonly [measure: string, title: string, unit: string])[] = [
  ["time per look-up", "Look-up", "ns"],
  ["memory of one process after all look-ups", "Memory of one process", "MB"],
  ["build", "Making the segment", "s"],
  ["file", "Segment", "MB"],
];

const GROWTH: Plot = {
  name: "growth",
  alt: "Time of a look-up, memory, build time and file size against the number of ranges",
  draw: (results) => {
    const rows = rowsOf(results).filter(({ what }) => /^growth, [\d.]+×$/.test(what));
    if (rows.length === 0) return undefined;
    const factor = (row: Row) => Number(/[\d.]+/.exec(row.what)![0]);
    const ticks = [...new Set(rows.map(factor))].sort((a, b) => a - b);
    const all = GROWN.flatMap(([measure, title, unit]): Panel[] => {
      const measured = rows.filter((row) => row.measure === measure);
      if (measured.length === 0) return [];
      const curves = [...new Set(measured.map((row) => row.who))].map((who): Curve => {
        const points = measured
          .filter((row) => row.who === who)
          .map((row): [number, number] => [factor(row), quantile(row.values, 0.5)]);
        return { name: who, points, isMarked: true };
      });
      const most = Math.max(...measured.map((row) => quantile(row.values, 0.5)), 0);
      const panel: Panel = {
        title,
        x: {
          label: "ranges, times today's (logarithmic)",
          isLog: true,
          ticks,
          format: (value) => `${value}×`,
        },
        y: { label: unit, from: 0, to: most * 1.1 || 1 },
        curves,
      };
      return [panel];
    });
    return panels("Growth: today's geolocation, and more of it", all, 2);
  },
};

const SWAPS: Plot = {
  name: "swaps",
  alt: "Latency and memory of the server, second by second, while releases are swapped under full load",
  draw: (results) => {
    const latency = seriesOf(results, "swap-latency").map(
      ({ who, points }): Curve => ({ name: who, points }),
    );
    if (latency.length === 0) return undefined;
    const memory = seriesOf(results, "swap-memory").map(({ who, points }): Curve => ({ name: who, points }));
    const x: Axis = { label: "seconds since the load began", from: 0 };
    return panels("A swap of all three segments every 2 s, under full load", [
      {
        title: "Time of an answer",
        x,
        y: { label: "milliseconds (logarithmic)", isLog: true },
        curves: latency,
      },
      { title: "Memory of the server", x, y: { label: "megabytes", from: 0 }, curves: memory },
    ]);
  },
};

export const PLOTS: readonly Plot[] = [
  distribution("distribution-v4", "Geolocate, random IPv4 addresses: time of a look-up in process"),
  distribution(
    "distribution-v6",
    "Geolocate, IPv6 addresses in random networks: time of a look-up in process",
  ),
  CPU,
  GROWTH,
  SWAPS,
];
