// report.ts: writes the text of RESULTS.md from recorded results. It is pure: the same results give the same text.

import type { Plot } from "./plots.ts";
import type { Line, Part, PartResult, Row } from "./record.ts";
import { figure, median, ratios, spread } from "./stats.ts";
import type { Target } from "./targets.ts";

interface ReportInput {
  readonly parts: readonly Pick<Part, "name" | "title">[];
  readonly results: readonly PartResult[];
  readonly targets: readonly Target[];
  /** The plots that were drawn. */
  readonly plots: readonly Plot[];
}

/** The contestants that others are compared with. */
const REFERENCES = ["inkling", "inkling on Bun"];

const HEAD = `# Results

Written by \`npm run bench\`; [README.md](README.md) explains what each part measures and how. A figure is the median of the
rounds, with the minimum and the maximum in brackets. A ratio is the median of the ratios within each round. Contestants
are measured in alternating rounds on the same core. On a busy machine, a ratio is therefore more reliable than its two
figures.
`;

export function renderReport({ parts, results, targets, plots }: ReportInput): string {
  const rows = targets.map(({ text, judge }) => {
    const verdict = judge(results);
    if (verdict === undefined) return `| ${text} | not measured | |\n`;
    return `| ${text} | ${verdict.isReached ? "reached" : "**not reached**"} | ${verdict.figure} |\n`;
  });
  const judged = `## Targets\n\n| target | | figure |\n|---|---|---|\n${rows.join("")}
[README.md](README.md#limits) says what limits those that are not reached.\n`;
  const sections = parts.map(({ name, title }) => {
    const result = results.find(({ part }) => part === name);
    if (result === undefined) return `## ${title}\n\nNot measured: \`npm run bench -- ${name}\`.\n`;
    return partSection(
      title,
      result,
      plots.filter(({ usermeta }) => usermeta.part === name),
    );
  });
  return [HEAD, judged, machineSection(results), ...sections].join("\n");
}

function machineSection(results: readonly PartResult[]): string {
  const about = new Set(results.flatMap(({ machine, data }) => [`- ${machine}\n`, `- ${data}\n`]));
  const runs = results.map(
    ({ part, commit, at, seconds, command, failed }) =>
      `| ${part} | \`${commit}\` | ${at} | ${figure(seconds)} s | \`${command}\` | ${failed ?? "complete"} |\n`,
  );
  const all = results.flatMap(({ lines }) => ofType(lines, "missing"));
  const missing = new Set(all.map(({ who, why, install }) => `- ${who}: ${why}. \`${install}\`\n`));
  const absent =
    missing.size === 0 ? "" : `\nNot on this machine, so not compared:\n\n${[...missing].join("")}`;
  const head = "| part | commit | at | took | command | |\n|---|---|---|---|---|---|\n";
  return `## Machine and runs\n\n${[...about].join("")}\n${head}${runs.join("")}${absent}`;
}

function ofType<T extends Line["type"]>(lines: readonly Line[], type: T): Extract<Line, { type: T }>[] {
  return lines.filter((line): line is Extract<Line, { type: T }> => line.type === type);
}

/** Groups rows by a key, in their order. */
function groups(rows: readonly Row[], key: "what" | "measure"): [string, Row[]][] {
  const keys = [...new Set(rows.map((row) => row[key]))];
  return keys.map((one) => [one, rows.filter((row) => row[key] === one)]);
}

function partSection(title: string, { lines, failed }: PartResult, plots: readonly Plot[]): string {
  const incomplete = failed === undefined ? [] : [`**Incomplete: ${failed}.**\n`];
  const images = plots.map(({ name, title }) => `![${title}](plots/${name}.svg)\n`);
  const tables = groups(ofType(lines, "row"), "what").map(
    ([what, rows]) => `### ${what.charAt(0).toUpperCase()}${what.slice(1)}\n\n${table(rows)}\n`,
  );
  const checks = ofType(lines, "check").map(
    (one) => `- ${one.what}: ${one.isKept ? "yes" : "**no**"}; ${one.figure}\n`,
  );
  const rest = [...checks, ...ofType(lines, "note").map(({ text }) => `- ${text}\n`)].join("");
  return [`## ${title}\n`, ...incomplete, ...images, ...tables, rest]
    .filter((text) => text !== "")
    .join("\n");
}

/**
 * Returns a table with a line for each contestant and a column for each measure. If there is something to compare,
 * another column has the ratio to Inkling's figure.
 */
function table(rows: readonly Row[]): string {
  const contestants = [...new Set(rows.map(({ who }) => who))];
  const reference = REFERENCES.find((who) => contestants.includes(who));
  const columns = groups(rows, "measure").flatMap(([measure, all]) => {
    const row = (who: string | undefined) => all.find((one) => one.who === who);
    const ours = all.length > 1 ? row(reference) : undefined;
    const values = contestants.map((who) => spread(row(who)?.values ?? []));
    const ratio = contestants.map((who) => (ours ? middle(ratios(row(who)?.values ?? [], ours.values)) : ""));
    const figures = [`${measure}, ${all[0]!.unit}`, ...values];
    return ours ? [figures, ["ratio", ...ratio]] : [figures];
  });
  const lines = ["", ...contestants].map(
    (who, i) => `| ${[who, ...columns.map((column) => column[i])].join(" | ")} |`,
  );
  return [lines[0], `|---|${columns.map(() => "---:|").join("")}`, ...lines.slice(1)].join("\n");
}

const middle = (values: readonly number[]) => (values.length === 0 ? "" : figure(median(values)));

/** Compares the figures of two checkouts, with the ratios of this checkout to the other, round by round. */
export function comparison(lines: readonly Line[], suffix: string): string {
  const rows = ofType(lines, "row");
  const texts = rows.map((now) => {
    const isSame = ({ what, who, measure }: Row) =>
      what === now.what && measure === now.measure && who === now.who + suffix;
    const before = rows.find(isSame);
    if (before === undefined) return "";
    const ratio = `this / other ${spread(ratios(now.values, before.values))}`;
    const figures = `other ${spread(before.values)}   this ${spread(now.values)}   ${ratio}`;
    return `${now.what}: ${now.who}: ${now.measure}, ${now.unit}\n  ${figures}\n`;
  });
  return texts.join("");
}
