// row.ts: a figure about the truth of answers.

export interface TruthRow {
  readonly measure: string;
  /** What was looked up, with its size. */
  readonly sample: string;
  /** As text: "99.1 %", "0 of 5,312". */
  readonly value: string;
  readonly target?: string | undefined;
  /**
   * built from: the build has read the sample itself. operator: a rule names its owner, the build has not its list.
   * held out: neither.
   */
  readonly seen: "built from" | "operator" | "held out";
}

/** The value as the report shows it. A target says what is wanted of the first number: "0", "at least 69 %", "60 to 74 %"; others are not judged. */
export function judged({ value, target = "" }: Pick<TruthRow, "value" | "target">): string {
  const number = Number.parseFloat(value.replaceAll(",", ""));
  const least = /^(?:at least|>=) ([\d.]+) %$/.exec(target)?.[1];
  const [, low, high] = /^([\d.]+) to ([\d.]+) %$/.exec(target) ?? [];
  const isOutside = low !== undefined && (number < Number(low) || number > Number(high));
  const isMissed = target === "0" ? number > 0 : isOutside || (least !== undefined && number < Number(least));
  return isMissed ? `${value} (missed)` : value;
}

export const count = (value: number): string => value.toLocaleString("en");

export const share = (some: number, all: number): string =>
  all === 0 ? "none" : `${((100 * some) / all).toFixed(1)} %`;
