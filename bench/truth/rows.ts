// rows.ts: a figure of bench/TRUTH.md, and the tables that figures are shown in.
//
// in   figures, each of one sample and of one build: from a mirror, or from the seeds alone
// out  Markdown: a line for each sample and measure, with a column for each build and one for GeoLite2

/** What answered: a release built from a mirror, one built from the npm packages only, or GeoLite2 beside us. */
export type Mode = "mirror" | "seeds" | "GeoLite2";
export const MODES = ["mirror", "seeds", "GeoLite2"] as const;

export interface TruthRow {
  readonly measure: string;
  /** What was looked up, with its size. */
  readonly sample: string;
  readonly mode: Mode;
  /** As text: "99.1 %", "0 of 5,312"; undefined: it could not be measured, for the reason in `seen`. */
  readonly value: string | undefined;
  readonly target?: string | undefined;
  /**
   * built from: the build has read the sample itself. operator: a rule names its owner, the build has not its list.
   * held out: neither. Where a sample is not on this machine: what is missing.
   */
  readonly seen: "built from" | "operator" | "held out" | `not measured: ${string}`;
}

export const count = (value: number): string => value.toLocaleString("en");

export const share = (some: number, all: number): string =>
  all === 0 ? "none" : `${((100 * some) / all).toFixed(1)} %`;

/**
 * The value as the report shows it. A target says what is wanted of the first number: "0", "at most 5", "at least 69 %",
 * "60 to 75 %"; others are not judged.
 */
function judged(value: string, target = ""): string {
  const number = Number.parseFloat(value.replaceAll(",", ""));
  const least = /^at least ([\d.]+)/.exec(target)?.[1];
  const most = target === "0" ? "0" : /^at most ([\d.]+)/.exec(target)?.[1];
  const [, low, high] = /^([\d.]+) to ([\d.]+) %$/.exec(target) ?? [];
  const isOutside =
    (low !== undefined && (number < Number(low) || number > Number(high))) ||
    (least !== undefined && number < Number(least)) ||
    (most !== undefined && number > Number(most));
  return isOutside ? `${value} (missed)` : value;
}

export function table(rows: readonly TruthRow[]): string {
  const columns = MODES.filter((mode) => rows.some((row) => row.mode === mode));
  const lines = new Map<string, { first: TruthRow; values: Map<Mode, string> }>();
  for (const row of rows) {
    const key = [row.sample, row.measure, row.seen, row.target ?? ""].join("\t");
    const line = lines.get(key) ?? { first: row, values: new Map<Mode, string>() };
    // GeoLite2 stands beside us: our targets are not its own.
    const shown = row.mode === "GeoLite2" ? row.value : row.value && judged(row.value, row.target);
    line.values.set(row.mode, shown ?? "");
    lines.set(key, line);
  }
  const text = [...lines.values()].map(({ first: { sample, measure, target = "", seen }, values }) => {
    const cells = columns.map((mode) => values.get(mode) ?? "");
    return `| ${[sample, measure, ...cells, target, seen].join(" | ")} |\n`;
  });
  const heads = ["sample", "measure", ...columns, "target", "data"];
  return `| ${heads.join(" | ")} |\n|${"---|".repeat(heads.length)}\n${text.join("")}`;
}
