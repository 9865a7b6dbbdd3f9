// rows.ts: defines a figure in bench/TRUTH.md, and the tables that show figures.

/** The source of the answers: a release built from a mirror, or one built only from the npm packages. */
export type Mode = (typeof MODES)[number];
export const MODES = ["mirror", "seeds"] as const;

export interface TruthRow {
  readonly measure: string;
  /** The name of the sample, with its size. */
  readonly sample: string;
  readonly mode: Mode;
  /** A text such as "99.1%" or "0 of 5,312". Undefined if it could not be measured, for the reason in `seen`. */
  readonly value: string | undefined;
  readonly target?: string | undefined;
  /**
   * "built from": the build has read the sample. "operator": a rule names the sample's owner, but the build has not
   * read the owner's list. "held out": neither of these. Any other text states what is missing on this machine.
   */
  readonly seen: "built from" | "operator" | "held out" | `not measured: ${string}`;
}

export const count = (value: number): string => value.toLocaleString("en");

export const share = (some: number, all: number): string =>
  all === 0 ? "none" : `${((100 * some) / all).toFixed(1)}%`;

/**
 * Returns the value, with "(missed)" if it misses the target. A target such as "0", "at most 5", "at least 69%" or "60
 * to 75%" applies to the first number in the value. Other targets are not judged.
 */
export function judged(value: string, target = ""): string {
  const number = Number.parseFloat(value.replaceAll(",", ""));
  const least = /^at least ([\d.]+)/.exec(target)?.[1];
  const most = target === "0" ? "0" : /^at most ([\d.]+)/.exec(target)?.[1];
  const [, low, high] = /^([\d.]+) to ([\d.]+)%$/.exec(target) ?? [];
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
    const shown = row.value && judged(row.value, row.target);
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
