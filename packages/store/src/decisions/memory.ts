// memory.ts: the one statement that reads what earlier decisions say about a visitor.
//
// The statement is a UNION ALL of small selects, one for each wanted fact and each hash. Each reads at most MAX_ROWS
// rows of an index that has only such rows (migrations.ts, step 26), so neither a popular domain nor an attacker who
// fills an hour makes it slow. During a rotation of the key, a visitor has two hashes. Counts of both are added. Of two
// counts of different networks or accounts the larger one is taken, because the same network may be in both.

import type { HistoryFact } from "@inkling/contract";
import type { Memories, Memory, Trace } from "@inkling/engine/assess";
import { DAY_MS, HOUR_MS } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";

/** Maximum number of rows that a count reads, and so the largest count. */
const MAX_ROWS = 1_000;
const MONTH_MS = 30 * DAY_MS;

/** Hashes of what is known of a visitor, one for each key, the current key's first. The domain is not hashed. */
export type VisitorTraces = Readonly<Partial<Record<Trace, readonly string[]>>>;

export interface MemoryQuestion {
  readonly facts: readonly HistoryFact[];
  readonly traces: VisitorTraces;
  readonly now: EpochMs;
}

/**
 * One row of the answer: the value of a fact by one hash, and time, id and label time of the newest decision behind it.
 */
export interface Found {
  readonly fact: HistoryFact;
  readonly value: number | string | null;
  readonly newest: string | null;
}

interface Part {
  readonly trace: Trace;
  readonly column: string;
  /** The rows to read, in the words of the index. */
  readonly where?: string;
  /** Milliseconds before now; unlimited if missing. */
  readonly windowMs?: number;
  /** Maximum number of rows to read; MAX_ROWS if missing. */
  readonly limit?: number;
  /** What to count. By default, the rows. */
  readonly counted?: string;
  readonly isDistinct?: true;
  /** The column with the time to show for the newest decision; if missing, that decision is not shown. */
  readonly named?: "created_at" | "outcome_at";
}

const FRAUD = { where: "outcome = 'fraud'", named: "outcome_at" } as const;
const LOGINS = {
  trace: "network",
  column: "network_hash",
  where: "event IN ('login', 'login_failed')",
  windowMs: HOUR_MS,
} as const;
const FAILED = "event = 'login_failed'";

const PARTS: Readonly<Record<HistoryFact, Part>> = {
  "history.mailbox_seen": { trace: "mailbox", column: "mailbox_hash", limit: 1, named: "created_at" },
  "history.mailbox_fraud": { trace: "mailbox", column: "mailbox_hash", limit: 1, ...FRAUD },
  "history.domain_fraud_30d": { trace: "domain", column: "email_domain", windowMs: MONTH_MS, ...FRAUD },
  "history.network_fraud_30d": { trace: "network", column: "network_hash", windowMs: MONTH_MS, ...FRAUD },
  "history.account_networks_30d": {
    trace: "account",
    column: "account_hash",
    windowMs: MONTH_MS,
    counted: "DISTINCT network_hash",
    isDistinct: true,
  },
  "history.account_failures_1h": {
    trace: "account",
    column: "account_hash",
    windowMs: HOUR_MS,
    counted: `CASE WHEN ${FAILED} THEN 1 END`,
  },
  "history.address_failures_1h": { trace: "address", column: "address_hash", windowMs: HOUR_MS },
  "history.network_failures_1h": { ...LOGINS, counted: `CASE WHEN ${FAILED} THEN 1 END` },
  "history.network_failed_accounts_1h": {
    ...LOGINS,
    counted: `DISTINCT CASE WHEN ${FAILED} THEN account_hash END`,
    isDistinct: true,
  },
  "history.network_logins_1h": { ...LOGINS, counted: "CASE WHEN event = 'login' THEN 1 END" },
};

/** Texts of statements, by what they ask for: a ruleset asks for few different things. */
const texts = new Map<string, string>();
const MAX_TEXTS = 100;

/** @param question with at least one fact whose trace is known */
export function recallQuery({ facts, traces, now }: MemoryQuestion): {
  readonly text: string;
  readonly values: readonly (string | number)[];
} {
  const values: (string | number)[] = [];
  let asked = "";
  for (const fact of facts) {
    const { trace, windowMs } = PARTS[fact];
    const hashes = traces[trace] ?? [];
    asked += `${fact} ${hashes.length} `;
    for (const hash of hashes) values.push(hash, windowMs === undefined ? 0 : now - windowMs);
  }
  let text = texts.get(asked);
  if (text === undefined) {
    if (texts.size >= MAX_TEXTS) texts.clear();
    text = statement(facts, traces);
    texts.set(asked, text);
  }
  return { text, values };
}

function statement(facts: readonly HistoryFact[], traces: VisitorTraces): string {
  let place = 0;
  return facts
    .flatMap((fact) => (traces[PARTS[fact].trace] ?? []).map(() => select(fact, ++place, ++place)))
    .join(" UNION ALL ");
}

/** @param hash position of the hash among the statement's values @param since position of the earliest time */
function select(fact: HistoryFact, hash: number, since: number): string {
  const { column, where = `${column} IS NOT NULL`, limit = MAX_ROWS, counted = "*", named } = PARTS[fact];
  // The time comes first, so that the newest text is the greatest.
  const newest =
    named === undefined
      ? "NULL"
      : `MAX(CAST(created_at AS TEXT) || ' ' || id || ' ' || CAST(${named} AS TEXT))`;
  // Without the cast, a prepared statement takes 20 µs instead of 1, as if SQLite prepared it again for each hash.
  return `SELECT '${fact}' AS fact, COUNT(${counted}) AS value, ${newest} AS newest FROM (
    SELECT id, created_at, event, outcome_at, network_hash, account_hash FROM inkling_decisions
    WHERE ${column} = CAST($${hash} AS TEXT) AND ${where} AND created_at > $${since}
    ORDER BY created_at DESC LIMIT ${limit}) newest_rows`;
}

export function memoriesOf({ facts }: MemoryQuestion, found: readonly Found[]): Memories {
  return Object.fromEntries(
    facts.flatMap((fact): [HistoryFact, Memory][] => {
      const rows = found.filter((row) => row.fact === fact);
      if (rows.length === 0) return [];
      const values = rows.map(({ value }) => Number(value));
      const value = PARTS[fact].isDistinct
        ? Math.max(...values)
        : Math.min(
            MAX_ROWS,
            values.reduce((sum, one) => sum + one, 0),
          );
      const newest = rows
        .flatMap((row) => row.newest ?? [])
        .sort()
        .at(-1);
      return [[fact, { value, newest: newest === undefined ? undefined : newestOf(newest) }]];
    }),
  );
}

function newestOf(text: string): Memory["newest"] {
  const [, decision = "", at] = text.split(" ");
  return { decision, at: new Date(Number(at)).toISOString() };
}
