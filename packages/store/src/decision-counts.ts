// decision-counts.ts: counts, for each hour, how often each set of reasons and each rule applied, and the outcomes of
// these decisions. The counts outlive decisions, which may be kept for only a few days, and contain nothing about
// visitors.
//
// Cost: 5 million decisions would have to be read to count them when somebody asks. So the transaction that stores or
// labels decisions also adds to the counts. A server of an earlier version does not count what it stores.

import type { Outcome } from "@inkling/contract";
import type { SQL, TransactionSQL } from "bun";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import type { DecisionRow } from "./decisions/record.ts";
import { DAY_MS, HOUR_MS } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";

/** Counts of earlier hours are deleted. */
export const KEEP_COUNTS_MS = 100 * DAY_MS;

/** "reasons" counts each set of reasons, including the empty set; "live" and "shadow" count each rule. */
type CountKind = "reasons" | "live" | "shadow";

interface Counted {
  readonly decisions: number;
  readonly fraud: number;
  readonly legitimate: number;
}

/** A sum over hours. */
export interface DecisionTally extends Counted {
  readonly kind: CountKind;
  /** The rule's name, or the reasons' codes, separated by spaces. */
  readonly name: string;
}

/** The columns of a decision that are counted. */
export type CountedRow = Pick<DecisionRow, "rule" | "reasons" | "shadow" | "unweighted"> & {
  readonly created_at: EpochMs | string;
};

const hourOf = (at: EpochMs | string) => Math.floor(Number(at) / HOUR_MS) * HOUR_MS;

function namesOf({ rule, reasons, shadow, unweighted }: CountedRow): [kind: CountKind, name: string][] {
  const codes = JSON.parse(reasons).map(({ code }: { code: string }) => code);
  if (unweighted !== null) codes.push(unweighted);
  return [
    ["reasons", codes.join(" ")],
    ...(rule === null ? [] : [["live", rule] as [CountKind, string]]),
    ...JSON.parse(shadow).map((one: { rule: string }): [CountKind, string] => ["shadow", one.rule]),
  ];
}

/** How a decision changes the counts. */
type Change = readonly [row: CountedRow, added: Partial<Counted>];

export const storedChange = (row: CountedRow): Change => [row, { decisions: 1 }];

export function labelChange(row: CountedRow, before: Outcome | null, after: Outcome | null): Change {
  const of = (outcome: Outcome) => Number(after === outcome) - Number(before === outcome);
  return [row, { fraud: of("fraud"), legitimate: of("legitimate") }];
}

/** Adds changes to the counts, in the transaction that stores or labels the decisions. */
export async function addCounts(tx: TransactionSQL, changes: readonly Change[]): Promise<void> {
  const sums = new Map<
    string,
    { hour: number; kind: string; name: string } & Record<keyof Counted, number>
  >();
  const names = new Map<string, ReturnType<typeof namesOf>>(); // parsed once, because most decisions have the same
  for (const [row, { decisions = 0, fraud = 0, legitimate = 0 }] of changes) {
    const hour = hourOf(row.created_at);
    const text = `${row.rule} ${row.reasons} ${row.shadow} ${row.unweighted}`;
    if (!names.has(text)) names.set(text, namesOf(row));
    for (const [kind, name] of names.get(text)!) {
      const key = `${hour} ${kind} ${name}`;
      const sum = sums.get(key) ?? { hour, kind, name, decisions: 0, fraud: 0, legitimate: 0 };
      sums.set(key, sum);
      sum.decisions += decisions;
      sum.fraud += fraud;
      sum.legitimate += legitimate;
    }
  }
  // A fixed order, because two processes that change rows in different orders would wait for each other.
  const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
    await tx`INSERT INTO inkling_decision_counts AS c ${tx(rows.slice(from, from + ROWS_AT_ONCE))}
      ON CONFLICT (hour, kind, name) DO UPDATE SET decisions = c.decisions + excluded.decisions,
        fraud = c.fraud + excluded.fraud, legitimate = c.legitimate + excluded.legitimate`;
}

type TallyRow = Pick<DecisionTally, "kind" | "name"> & Record<keyof Counted, number | string>;

/**
 * Sums the counts, a day at a time. Requests are answered in between.
 * @param since the earliest hour that counts is the first one that begins at or after this time
 * @returns when the earliest hour that counts began, and the sums
 */
export async function readTallies(
  database: Database,
  since: EpochMs,
): Promise<{ readonly from: EpochMs; readonly tallies: readonly DecisionTally[] }> {
  const now = database.now();
  const from = hourOf(Math.max(since, now - KEEP_COUNTS_MS) + HOUR_MS - 1);
  const sums = new Map<string, DecisionTally>();
  for (let at = from; at <= now; at += DAY_MS) {
    const rows: TallyRow[] = await database.run(
      (sql: SQL) => sql`SELECT kind, name, SUM(decisions) AS decisions, SUM(fraud) AS fraud,
          SUM(legitimate) AS legitimate FROM inkling_decision_counts
        WHERE hour >= ${at} AND hour < ${at + DAY_MS} GROUP BY kind, name`,
    );
    for (const { kind, name, ...row } of rows) {
      const key = `${kind} ${name}`;
      const sum = sums.get(key);
      sums.set(key, {
        kind,
        name,
        decisions: Number(row.decisions) + (sum?.decisions ?? 0),
        fraud: Number(row.fraud) + (sum?.fraud ?? 0),
        legitimate: Number(row.legitimate) + (sum?.legitimate ?? 0),
      });
    }
    await Bun.sleep(0);
  }
  return { from, tallies: [...sums.values()] };
}
