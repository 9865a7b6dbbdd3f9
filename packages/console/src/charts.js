// charts.js: lines and bars as SVG. Every chart has a table's worth of text for those who do not see it.

import { h, svg } from "./dom.js";
import { count } from "./words.js";

/** Drawn as wide as it will be seen, more or less, so that its words can be read on a phone. */
const WIDTH = matchMedia("(max-width: 48rem)").matches ? 340 : 640;
const HEIGHT = 180;
const LEFT = 54;
const BOTTOM = 22;
const TOP = 8;

/**
 * Stacked bars over time.
 * @param {string} title
 * @param {{at: string}[]} points
 * @param {{name: string, of: (point: any) => number}[]} series each with its colour by place
 */
export function bars(title, points, series, timeText) {
  const totals = points.map((point) => series.reduce((sum, { of }) => sum + of(point), 0));
  const { most, steps } = scale(Math.max(0, ...totals));
  const slot = (WIDTH - LEFT) / Math.max(1, points.length);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const columns = points.map((point, i) => {
    let below = 0;
    const parts = series.map(({ of }, k) => {
      const value = of(point);
      const part = svg("rect", {
        class: `series-${k}`,
        x: LEFT + i * slot + slot * 0.1,
        width: Math.max(1, slot * 0.8),
        y: y(below + value),
        height: Math.max(0, y(below) - y(below + value)),
      });
      below += value;
      return part;
    });
    const said = series.map(({ name, of }) => `${name} ${count(of(point))}`).join(", ");
    return svg("g", {}, svg("title", {}, `${timeText(point.at)}: ${said}`), parts);
  });
  return figure(
    title,
    series,
    [axis(steps, y), columns, times(points, slot, timeText)],
    summaryOf(totals, points, timeText),
  );
}

/**
 * Lines over time; null leaves a gap.
 * @param {{name: string, of: (point: any) => number | null}[]} series
 */
export function lines(title, points, series, timeText, valueText = count) {
  const values = points.flatMap((point) => series.map(({ of }) => of(point) ?? 0));
  const { most, steps } = scale(Math.max(0, ...values));
  const slot = (WIDTH - LEFT) / Math.max(1, points.length);
  const x = (i) => LEFT + (i + 0.5) * slot;
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const paths = series.map(({ name, of }, k) => {
    let d = "";
    let isDrawing = false;
    for (const [i, point] of points.entries()) {
      const value = of(point);
      if (value !== null) d += `${isDrawing ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
      isDrawing = value !== null;
    }
    const dots = points.map((point, i) => {
      const value = of(point);
      if (value === null) return null;
      return svg(
        "circle",
        { class: `series-${k}`, cx: x(i), cy: y(value), r: points.length > 60 ? 1.5 : 2.5 },
        svg("title", {}, `${timeText(point.at)}: ${name} ${valueText(value)}`),
      );
    });
    return svg("g", {}, svg("path", { class: `line series-${k}`, d }), dots);
  });
  const last = series.map(
    ({ name, of }) => `${name} ${valueText(points.map(of).findLast((v) => v !== null) ?? 0)}`,
  );
  return figure(
    title,
    series,
    [axis(steps, y, valueText), paths, times(points, slot, timeText)],
    `At the end: ${last.join(", ")}.`,
  );
}

/** A few numbers as a line of its own, without axes. */
export function sparkline(values, said) {
  const most = Math.max(...values);
  const least = Math.min(...values);
  const y = (value) => (most === least ? 10 : 18 - (16 * (value - least)) / (most - least));
  const step = 76 / Math.max(1, values.length - 1);
  const d = values
    .map((value, i) => `${i === 0 ? "M" : "L"}${(2 + i * step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  return svg(
    "svg",
    { class: "sparkline", viewBox: "0 0 80 20", role: "img", "aria-label": said },
    svg("path", { class: "line series-0", d }),
  );
}

/** How much of a whole: a bar with its words. */
export function meter(part, said, kind = "") {
  const width = Math.min(100, Math.max(2, part * 100));
  return h(
    "span",
    { class: "meter" },
    svg(
      "svg",
      { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "meter-ground", width: 100, height: 8, rx: 2 }),
      svg("rect", { class: `meter-part ${kind}`, width, height: 8, rx: 2 }),
    ),
    h("span", {}, said),
  );
}

function figure(title, series, content, said) {
  const key =
    series.length > 1 &&
    h(
      "ul",
      { class: "key" },
      series.map(({ name }, k) =>
        h(
          "li",
          {},
          svg(
            "svg",
            { viewBox: "0 0 10 10", "aria-hidden": "true" },
            svg("rect", { class: `series-${k}`, width: 10, height: 10, rx: 2 }),
          ),
          name,
        ),
      ),
    );
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, title, key),
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${said}` },
      content,
    ),
  );
}

function summaryOf(totals, points, timeText) {
  const sum = totals.reduce((all, n) => all + n, 0);
  if (sum === 0) return "None in this time.";
  const most = totals.indexOf(Math.max(...totals));
  return `${count(sum)} in all, most at ${timeText(points[most].at)}: ${count(totals[most])}.`;
}

/** A round greatest value, and the steps to it. */
function scale(greatest) {
  if (greatest <= 0) return { most: 1, steps: [0] };
  const power = 10 ** Math.floor(Math.log10(greatest));
  const unit = [0.2, 0.5, 1, 2, 5, 10].map((n) => n * power).find((n) => greatest / n <= 5);
  const n = Math.ceil(greatest / unit - 1e-9);
  return { most: n * unit, steps: Array.from({ length: n + 1 }, (_, i) => i * unit) };
}

function axis(steps, y, valueText = short) {
  return steps.map((value) =>
    svg(
      "g",
      { "aria-hidden": "true" },
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, valueText(value)),
    ),
  );
}

function times(points, slot, timeText) {
  const every = Math.max(1, Math.ceil((points.length * 85) / (WIDTH - LEFT)));
  return points.map((point, i) =>
    i % every === 0
      ? svg(
          "text",
          {
            class: "tick",
            "aria-hidden": "true",
            x: LEFT + (i + 0.5) * slot,
            y: HEIGHT - 6,
            "text-anchor": "middle",
          },
          timeText(point.at),
        )
      : null,
  );
}

const short = (n) =>
  n >= 1e6 ? `${+(n / 1e6).toFixed(1)}M` : n >= 1000 ? `${+(n / 1000).toFixed(1)}k` : String(+n.toFixed(2));
