// report.ts: recorded results -> RESULTS.md and plots. Pure: the same results give the same text.

import type { Plot } from "./plots.ts";
import type { PartResult, Row } from "./record.ts";
import { figure, quantile, ratios, told } from "./stats.ts";
import { Results, type Target, type Verdict } from "./targets.ts";

export interface PartInfo {
  readonly name: string;
  readonly title: string;
  /** Plots that belong to it, by name. */
  readonly plots: readonly string[];
}

export interface ReportInput {
  readonly parts: readonly PartInfo[];
  readonly results: readonly PartResult[];
  readonly targets: readonly Target[];
  readonly plots: readonly Plot[];
  /** Target -> what limits it and what was tried, where it is not reached. */
  readonly limits: Readonly<Record<string, string>>;
}

/** Whose figures others are compared with. */
const OURS = ["inkling", "inkling on Bun"];

export function renderReport(input: ReportInput): {
  readonly markdown: string;
  readonly plots: Map<string, string>;
} {
  const plots = new Map<string, string>();
  for (const plot of input.plots) {
    const drawn = plot.draw(input.results);
    if (drawn !== undefined) plots.set(plot.name, drawn);
  }
  const sections = input.parts.map((part) => {
    const result = input.results.find(({ part: name }) => name === part.name);
    const shown = input.plots.filter(({ name }) => part.plots.includes(name) && plots.has(name));
    return result === undefined
      ? `## ${part.title}\n\nNot measured: \`npm run bench -- ${part.name}\`.\n`
      : partSection(part, result, shown);
  });
  const markdown = [HEAD, targetTable(input), machineSection(input.results), ...sections].join("\n");
  return { markdown, plots };
}

const HEAD = `# Results

Written by \`npm run bench\`; [README.md](README.md) says what each part does and how. A figure is the median of the rounds, with the
least and the greatest in brackets; a ratio is the median of the ratios within each round. Rounds of those who are compared
alternate, each on the same core, so a ratio holds on a busy machine better than the figures that it is made of.
`;

function targetTable({ targets, results, limits }: ReportInput): string {
  const found = new Results(results);
  const verdicts = targets.map((target) => ({ target, verdict: target.judge(found) }));
  const lines = verdicts.map(
    ({ target, verdict }) => `| ${target.text} | ${verdictWord(verdict)} | ${verdict?.figure ?? ""} |`,
  );
  const missed = verdicts.filter(({ verdict }) => verdict !== undefined && !verdict.isReached);
  const reasons = missed.map(
    ({ target }) =>
      `- **${target.text}**: ${limits[target.id] ?? "not looked into yet (bench/limits.ts)."}\n`,
  );
  const why = missed.length === 0 ? "" : `\nWhat is not reached, and what limits it:\n\n${reasons.join("")}`;
  return `## Targets\n\n| target | | figure |\n|---|---|---|\n${lines.join("\n")}\n${why}`;
}

function verdictWord(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "not measured";
  return verdict.isReached ? "reached" : "**not reached**";
}

function machineSection(results: readonly PartResult[]): string {
  const machines = [...new Set(results.map((result) => result.machine))];
  const data = [...new Set(results.flatMap((result) => result.data ?? []))];
  const runs = results.map(
    ({ part, commit, at, seconds, command, failed }) =>
      `| ${part} | \`${commit}\` | ${at.replace(/\.\d+Z$/, "Z")} | ${figure(seconds)} s | \`${command}\` | ${failed ?? "whole"} |`,
  );
  const missing = [
    ...new Set(
      results.flatMap(({ lines }) =>
        lines
          .filter((line) => line.type === "missing")
          .map((one) => `- ${one.who}: ${one.why}. \`${one.install}\`\n`),
      ),
    ),
  ];
  const absent = missing.length === 0 ? "" : `\nNot on this machine, so not compared:\n\n${missing.join("")}`;
  return `## Machine and runs

${[...machines, ...data].map((one) => `- ${one}\n`).join("")}
| part | commit | at | took | command | |
|---|---|---|---|---|---|
${runs.join("\n")}
${absent}`;
}

function partSection(part: PartInfo, result: PartResult, plots: readonly Plot[]): string {
  const rows = result.lines.filter((line) => line.type === "row");
  const tables = groups(rows).map(([what, group]) => `### ${capital(what)}\n\n${table(group)}\n`);
  const images = plots.map(({ name, alt }) => `![${alt}](plots/${name}.svg)\n`);
  const checks = result.lines
    .filter((line) => line.type === "check")
    .map(({ what, isKept, figure: told }) => `- ${what}: ${isKept ? "yes" : "**no**"}; ${told}\n`);
  const facts = result.lines
    .filter((line) => line.type === "fact")
    .map(({ name, value }) => `- ${name}: ${value}\n`);
  const notes = result.lines.filter((line) => line.type === "note").map(({ text }) => `- ${text}\n`);
  const failed =
    result.failed === undefined ? "" : `**Not whole: ${result.failed}.** What it said until then:\n`;
  const rest = [...checks, ...notes, ...facts].join("");
  return [`## ${part.title}\n`, failed, ...images, ...tables, rest].filter((text) => text !== "").join("\n");
}

function groups(rows: readonly Row[]): [what: string, rows: Row[]][] {
  const found = new Map<string, Row[]>();
  for (const row of rows) found.set(row.what, [...(found.get(row.what) ?? []), row]);
  return [...found];
}

/** One line for each who, one column for each measure, and its ratio to ours where there is something to compare. */
function table(rows: readonly Row[]): string {
  const whos = [...new Set(rows.map((row) => row.who))];
  const measures = [...new Set(rows.map((row) => row.measure))];
  const reference = whos.length > 1 ? OURS.find((who) => whos.includes(who)) : undefined;
  const of = (who: string | undefined, measure: string) =>
    rows.find((row) => row.who === who && row.measure === measure);
  const isCompared = (measure: string) =>
    reference !== undefined && rows.filter((row) => row.measure === measure).length > 1;
  const head = measures.flatMap((measure) => {
    const unit = rows.find((row) => row.measure === measure)!.unit;
    return [`${measure}, ${unit}`, ...(isCompared(measure) ? ["ratio"] : [])];
  });
  const lines = whos.map((who) => {
    const cells = measures.flatMap((measure) => {
      const row = of(who, measure);
      const ours = of(reference, measure);
      const ratio = row && ours ? figure(quantile(ratios(row.values, ours.values), 0.5)) : "";
      return [row ? told(row.values) : "", ...(isCompared(measure) ? [ratio] : [])];
    });
    return `| ${who} | ${cells.join(" | ")} |`;
  });
  return `| | ${head.join(" | ")} |\n|---|${head.map(() => "---:|").join("")}\n${lines.join("\n")}`;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
