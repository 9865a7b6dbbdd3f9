// stats.ts: what is told of the rounds of a measurement: the middle, and how far they lie apart.

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly rounds: number;
}

/** @throws RangeError without values */
export function spread(values: readonly number[]): Spread {
  return {
    median: quantile(values, 0.5),
    least: Math.min(...values),
    most: Math.max(...values),
    rounds: values.length,
  };
}

/**
 * The value below which a share of the values lie, between two neighbours in proportion.
 * @param share from 0 to 1
 * @throws RangeError without values
 */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}

/** Three figures that matter: 0.123, 1.23, 12.3, 123, 1,234. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** "12.3 (11.9 to 14.0)"; of one round, the figure alone. */
export function told(values: readonly number[]): string {
  const { median, least, most, rounds } = spread(values);
  return rounds === 1 ? figure(median) : `${figure(median)} (${figure(least)} to ${figure(most)})`;
}

/**
 * Ratios within each round, so that a machine that was slow for a while is slow for both.
 * @returns one for each round that both have
 */
export function ratios(values: readonly number[], to: readonly number[]): number[] {
  return values.slice(0, to.length).map((value, i) => value / to[i]!);
}
