// tally.ts: counts of a file: made by each worker, added up, shown at the end.

export interface Tally {
  /** Rows, header and blank lines apart. */
  rows: number;
  /** Rows that cannot be read: broken JSON, lines of another format. */
  broken: number;
  /** The first of them, a line number from 1 on. */
  firstBroken: number | undefined;
  /** Rows with another number of fields than the header. */
  ragged: number;
  /** Rows with a quote that never closes: each was read as one line. */
  openQuotes: number;
  /** Rows without an address, or email address, that can be looked up; counted where one is looked for. */
  withoutIp: number;
  withoutEmail: number;
  /** Country code, "" = unknown -> rows. Empty without a summary; so are the next three. */
  countries: Record<string, number>;
  /** Flag -> rows that have it. */
  flags: Record<string, number>;
  /** Kind of network -> rows; empty also where networks are not added. */
  kinds: Record<string, number>;
  email: { valid: number; disposable: number };
  /** That of the plan's `next`. */
  next?: Tally | undefined;
}

export function emptyTally(): Tally {
  return {
    rows: 0,
    broken: 0,
    firstBroken: undefined,
    ragged: 0,
    openQuotes: 0,
    withoutIp: 0,
    withoutEmail: 0,
    countries: {},
    flags: {},
    kinds: {},
    email: { valid: 0, disposable: 0 },
  };
}

/** Lines that cannot be parsed, and their share of all: 0 of an empty file. */
export function unparsable({ rows, broken, openQuotes }: Tally): { lines: number; share: number } {
  const lines = broken + openQuotes;
  return { lines, share: lines === 0 ? 0 : lines / (rows + broken) };
}

export function addTally(into: Tally, more: Tally): void {
  into.rows += more.rows;
  into.broken += more.broken;
  into.ragged += more.ragged;
  into.openQuotes += more.openQuotes;
  into.withoutIp += more.withoutIp;
  into.withoutEmail += more.withoutEmail;
  for (const [name, count] of Object.entries(more.countries)) bump(into.countries, name, count);
  for (const [name, count] of Object.entries(more.flags)) bump(into.flags, name, count);
  for (const [name, count] of Object.entries(more.kinds)) bump(into.kinds, name, count);
  into.email.valid += more.email.valid;
  into.email.disposable += more.email.disposable;
  if (more.next !== undefined) {
    into.next ??= emptyTally();
    addTally(into.next, more.next);
  }
}

export function bump(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by;
}
