// svg.ts: plots as SVG text, made of two things: panels with curves, and bars with their spread.
//
// in   figures, labels, units
// out  one SVG document, readable on light and on dark pages: it brings its own background and follows the reader's choice

export interface Curve {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Points are marked: for few, measured ones. */
  readonly isMarked?: boolean;
}

export interface Axis {
  /** With its unit. */
  readonly label: string;
  readonly isLog?: boolean;
  /** Where the axis begins and ends; by default where the values do. */
  readonly from?: number;
  readonly to?: number;
  /** Where to put ticks, instead of round figures. */
  readonly ticks?: readonly number[];
  /** What stands at a tick. */
  readonly format?: (value: number) => string;
}

export interface Panel {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly curves: readonly Curve[];
}

export interface Bar {
  readonly name: string;
  /** One of ours: stands out. */
  readonly isOurs: boolean;
  readonly value: number;
  readonly least: number;
  readonly most: number;
}

const WIDTH = 880;
const PANEL_HEIGHT = 300;
const MARGIN = { left: 64, right: 20, top: 34, bottom: 50 };
const LEGEND_LINE = 20;
const TITLE_HEIGHT = 46;
/** Told apart by people who do not see all colours (Okabe and Ito), a shade each for light and dark pages. */
const COLOURS = [
  ["#0072b2", "#56b4e9"],
  ["#d55e00", "#ff8c42"],
  ["#009e73", "#2fd6a5"],
  ["#a8498c", "#e58ac6"],
  ["#8a6d00", "#f0e442"],
  ["#555555", "#bbbbbb"],
  ["#4b3fb5", "#a79bff"],
  ["#a3262a", "#ff8080"],
  ["#20707a", "#6fd8e5"],
] as const;
const DASHES = ["", "7 3", "2 3"];

/** Panels side by side, `columns` in a row, with one legend below for the curves of all. */
export function panels(title: string, all: readonly Panel[], columns = 1): string {
  const names = [...new Set(all.flatMap((panel) => panel.curves.map((curve) => curve.name)))];
  const width = WIDTH / columns;
  const rows = Math.ceil(all.length / columns);
  const drawn = all.map((panel, i) => {
    const at = `translate(${(i % columns) * width} ${TITLE_HEIGHT + Math.floor(i / columns) * PANEL_HEIGHT})`;
    return `<g transform="${at}">${drawPanel(panel, names, width)}</g>`;
  });
  const legendAt = TITLE_HEIGHT + rows * PANEL_HEIGHT;
  const legend = names.length > 1 ? drawLegend(names, legendAt) : { text: "", height: 0 };
  return document(title, legendAt + legend.height + 10, [...drawn, legend.text]);
}

/** One horizontal bar each, with a line from the least to the greatest value. */
export function bars(title: string, axis: Axis, all: readonly Bar[]): string {
  const left = 330;
  const height = 30;
  const top = TITLE_HEIGHT;
  const most = Math.max(...all.map((bar) => bar.most));
  const scale = makeScale({ ...axis, from: 0 }, [0, most], left, WIDTH - 90);
  const bottom = top + all.length * height;
  const grid = scale.ticks.map(
    (tick) =>
      `<line class="grid" x1="${at(scale.of(tick))}" x2="${at(scale.of(tick))}" y1="${top}" y2="${bottom}"/>${text(scale.of(tick), bottom + 18, scale.format(tick), "middle")}`,
  );
  const drawn = all.map(({ name, isOurs, value, least, most }, i) => {
    const y = top + i * height;
    const middle = y + height / 2;
    return [
      text(left - 10, middle + 4, name, "end"),
      `<rect class="${isOurs ? "fill0" : "other"}" x="${left}" y="${y + 5}" width="${at(scale.of(value) - left)}" height="${height - 10}"/>`,
      `<path class="whisker" d="M${at(scale.of(least))} ${middle}H${at(scale.of(most))}M${at(scale.of(least))} ${middle - 5}v10M${at(scale.of(most))} ${middle - 5}v10"/>`,
      text(Math.max(scale.of(most), scale.of(value)) + 8, middle + 4, scale.format(value), "start"),
    ].join("");
  });
  return document(title, bottom + 56, [
    ...grid,
    ...drawn,
    text((left + WIDTH - 90) / 2, bottom + 42, axis.label, "middle"),
  ]);
}

function drawPanel(panel: Panel, names: readonly string[], width: number): string {
  const points = panel.curves.flatMap((curve) => curve.points);
  const x = makeScale(
    panel.x,
    points.map((point) => point[0]),
    MARGIN.left,
    width - MARGIN.right,
  );
  const y = makeScale(
    panel.y,
    points.map((point) => point[1]),
    PANEL_HEIGHT - MARGIN.bottom,
    MARGIN.top,
  );
  const [left, right] = [MARGIN.left, width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, PANEL_HEIGHT - MARGIN.bottom];
  const parts = [text(left, top - 14, panel.title, "start", "strong")];
  for (const tick of x.ticks) {
    parts.push(
      `<line class="grid" x1="${at(x.of(tick))}" x2="${at(x.of(tick))}" y1="${top}" y2="${bottom}"/>`,
    );
    parts.push(text(x.of(tick), bottom + 18, x.format(tick), "middle"));
  }
  for (const tick of y.ticks) {
    parts.push(
      `<line class="grid" x1="${left}" x2="${right}" y1="${at(y.of(tick))}" y2="${at(y.of(tick))}"/>`,
    );
    parts.push(text(left - 8, y.of(tick) + 4, y.format(tick), "end"));
  }
  parts.push(text((left + right) / 2, bottom + 38, panel.x.label, "middle"));
  const turned = `rotate(-90 14 ${(top + bottom) / 2})`;
  parts.push(`<g transform="${turned}">${text(14, (top + bottom) / 2 + 4, panel.y.label, "middle")}</g>`);
  for (const curve of panel.curves) parts.push(drawCurve(curve, names.indexOf(curve.name), x, y));
  return parts.join("\n");
}

function drawCurve(curve: Curve, number: number, x: Scale, y: Scale): string {
  const line = curve.points
    .map(([px, py], i) => `${i === 0 ? "M" : "L"}${at(x.of(px))} ${at(y.of(py))}`)
    .join("");
  const marks = curve.isMarked
    ? curve.points.map(
        ([px, py]) =>
          `<circle class="fill${number % COLOURS.length}" cx="${at(x.of(px))}" cy="${at(y.of(py))}" r="4"/>`,
      )
    : [];
  return `<path class="line${number % COLOURS.length}" stroke-dasharray="${dash(number)}" d="${line}"/>${marks.join("")}`;
}

const dash = (number: number) => DASHES[Math.floor(number / 3) % DASHES.length]!;

function drawLegend(names: readonly string[], top: number): { text: string; height: number } {
  const columns = 2;
  const drawn = names.map((name, i) => {
    const x = MARGIN.left + (i % columns) * ((WIDTH - MARGIN.left) / columns);
    const y = top + 14 + Math.floor(i / columns) * LEGEND_LINE;
    return `<path class="line${i % COLOURS.length}" stroke-dasharray="${dash(i)}" d="M${x} ${y}h28"/>${text(x + 36, y + 4, name, "start")}`;
  });
  return { text: drawn.join("\n"), height: Math.ceil(names.length / columns) * LEGEND_LINE + 8 };
}

interface Scale {
  of(value: number): number;
  readonly ticks: readonly number[];
  format(value: number): string;
}

/** @param start, end pixels of the axis's ends */
function makeScale(axis: Axis, values: readonly number[], start: number, end: number): Scale {
  const usable = axis.isLog ? values.filter((value) => value > 0) : values;
  const least = axis.from ?? usable.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = axis.to ?? usable.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const isFlat = !(most > least);
  const [from, to] = isFlat ? [least - 1 || 0.1, least + 1] : [least, most];
  const turn = axis.isLog ? Math.log10 : (value: number) => value;
  const [low, high] = [turn(axis.isLog ? Math.max(from, 1e-9) : from), turn(to)];
  const ticks = axis.ticks ?? (axis.isLog ? logTicks(10 ** low, 10 ** high) : linearTicks(low, high));
  const clamp = (value: number) => Math.min(Math.max(value, 0), 1);
  return {
    of: (value) =>
      start +
      (end - start) * clamp((turn(axis.isLog ? Math.max(value, 10 ** low) : value) - low) / (high - low)),
    ticks,
    format: axis.format ?? ((value) => Number(value.toPrecision(3)).toLocaleString("en-US")),
  };
}

/** Round figures, five or so. */
export function linearTicks(from: number, to: number): number[] {
  const rough = (to - from) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** 1, 2, 5, 10, 20 …; over more than three decades the powers of ten alone. */
export function logTicks(from: number, to: number): number[] {
  const factors = Math.log10(to / from) > 3 ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); 10 ** power <= to; power++) {
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(6));
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

function document(title: string, height: number, parts: readonly string[]): string {
  const shades = (shade: 0 | 1) =>
    COLOURS.map((pair, i) => `.line${i}{stroke:${pair[shade]}}.fill${i}{fill:${pair[shade]}}`).join("");
  const style = `
text{font:13px system-ui,sans-serif;fill:#222}
.strong{font-weight:600}.title{font-size:16px;font-weight:600}
.page{fill:#fff}.grid{stroke:#ddd}.other{fill:#b3b9c2}
path{fill:none;stroke-width:2}.whisker{stroke:#222;stroke-width:1.5}
${shades(0)}
@media (prefers-color-scheme:dark){
text{fill:#ddd}.page{fill:#14171c}.grid{stroke:#333a44}.other{fill:#5b6573}.whisker{stroke:#ddd}
${shades(1)}
}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${escapeXml(title)}</title>
<style>${style}</style>
<rect class="page" width="${WIDTH}" height="${height}"/>
<text class="title" x="20" y="28">${escapeXml(title)}</text>
${parts.join("\n")}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end", style = ""): string {
  const named = style === "" ? "" : ` class="${style}"`;
  return `<text${named} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escapeXml(content)}</text>`;
}

const at = (pixels: number) => Number(pixels.toFixed(1));

function escapeXml(content: string): string {
  return content
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
