// stats.ts: summarizes a measurement's rounds.

/**
 * Returns the value below which this share of the values lies, interpolated between neighbouring values.
 * @param share from 0 to 1
 * @throws RangeError if there are no values
 */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Formats a number with about three significant digits: 0.123, 1.23, 12.3, 123, 1,234. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/**
 * Formats figures as "12.3 (11.9 to 14.0)": median, minimum and maximum. Returns only the figure for one round, and ""
 * for no rounds.
 */
export function spread(values: readonly number[]): string {
  if (values.length === 0) return "";
  const middle = figure(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${figure(Math.min(...values))} to ${figure(Math.max(...values))})`;
}

/**
 * Returns a ratio for each round that both contestants have. A slow minute of the machine slows both, so the ratio is
 * fair.
 */
export function ratios(values: readonly number[], to: readonly number[]): number[] {
  return values.slice(0, to.length).map((value, i) => value / to[i]!);
}

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/**
 * Returns a share with the 95% interval of Wilson's score: "71.2% (69.8 to 72.5)".
 * @returns "" if there is nothing to count
 */
export function interval(some: number, all: number): string {
  if (all === 0) return "";
  const z = 1.96;
  const share = some / all;
  const middle = (share + z ** 2 / (2 * all)) / (1 + z ** 2 / all);
  const half = (z * Math.sqrt((share * (1 - share)) / all + z ** 2 / (4 * all ** 2))) / (1 + z ** 2 / all);
  const percent = (part: number) => (100 * part).toFixed(1);
  return `${percent(share)}% (${percent(Math.max(0, middle - half))} to ${percent(middle + half)})`;
}
