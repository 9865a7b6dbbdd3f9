// options.ts: what every measuring script takes: --quick, and where it applies --minutes N.

/** Smaller rounds, so that `npm run bench -- --quick` ends within a minute. */
export const IS_QUICK = process.argv.includes("--quick");

/** `quick` in a quick run, otherwise `full`. */
export const sized = (full: number, quick: number): number => (IS_QUICK ? quick : full);

/** The number after a flag, or `fallback`. @throws Error when it is no number above 0 */
export function numberAfter(flag: string, fallback: number): number {
  const at = process.argv.indexOf(flag);
  if (at < 0) return fallback;
  const value = Number(process.argv[at + 1]);
  if (!(value > 0)) throw new Error(`${flag} must be followed by a number above 0`);
  return value;
}
