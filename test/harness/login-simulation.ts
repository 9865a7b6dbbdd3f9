// login-simulation.ts: simulated logins whose truth is known, decided as a server decides them: each event reads the
// memory of the earlier ones in SQLite, of which the last 0.6 s are not stored yet.
//
// Used by packages/server/src/decisions/logins.test.ts and by bench/truth/logins.ts.

import { STARTER_RULESET } from "@inkling/contract";
import { parseIp } from "@inkling/engine";
import {
  assess,
  FACT_INDEX,
  knowableHistory,
  parseRuleset,
  readDecisionInput,
  withHistory,
} from "@inkling/engine/assess";
import type { DecisionRow } from "@inkling/store/decisions/record";
import { openStore } from "@inkling/store/store";
import { traceColumns, tracesOf } from "../../packages/server/src/decisions/memory.ts";
import { decisionRow } from "./decision-rows.ts";
import { randomBelow } from "./random.ts";

export interface LoginEvent {
  /** Milliseconds from the start. */
  readonly at: number;
  readonly event: "login" | "login_failed";
  readonly ip: string;
  readonly account: string;
}

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 5, 1, 7);
/** How long a decision takes until it is stored (collector.ts, recorder.ts). */
const LAG_MS = 600;
const RULE = "credential-stuffing";

/**
 * Tries one stolen password for each account, and two in a hundred are right.
 * @param networks /24s with 20 addresses each
 */
export function stuffing(accounts: number, networks: number, hours: number): LoginEvent[] {
  const random = randomBelow(1);
  return Array.from({ length: accounts }, (_, n) => {
    const network = n % networks;
    return {
      at: random(hours * HOUR_MS),
      event: random(100) < 2 ? ("login" as const) : ("login_failed" as const),
      ip: `45.${Math.floor(network / 250)}.${network % 250}.${1 + random(20)}`,
      account: `victim-${n}`,
    };
  }).sort((a, b) => a.at - b.at);
}

/**
 * People behind one address log in during two hours, and try again until it works.
 * @param failing failed attempts in 100
 */
export function school(people: number, failing: number): LoginEvent[] {
  const random = randomBelow(2);
  return Array.from({ length: people }, (_, n) => {
    const events: LoginEvent[] = [];
    let at = random(2 * HOUR_MS);
    const who = { ip: "81.2.69.142", account: `pupil-${n}` };
    for (let tries = 0; tries < 5 && random(100) < failing; tries++, at += 5_000 + random(20_000))
      events.push({ at, event: "login_failed", ...who });
    return [...events, { at, event: "login" as const, ...who }];
  })
    .flat()
    .sort((a, b) => a.at - b.at);
}

/** @returns for each event, whether the starter ruleset's rule would have challenged it */
export async function challenged(events: readonly LoginEvent[]): Promise<boolean[]> {
  const store = await openStore(":memory:");
  const ruleset = parseRuleset(STARTER_RULESET);
  const pending: DecisionRow[] = [];
  const found: boolean[] = [];
  for (const [n, { at, ...visitor }] of events.entries()) {
    const now = START + at;
    const isStored = ({ created_at }: DecisionRow) => created_at <= now - LAG_MS;
    if (pending[0] !== undefined && isStored(pending[0])) {
      const first = pending.findIndex((row) => !isStored(row));
      await store.decisions.add(pending.splice(0, first < 0 ? pending.length : first));
    }
    const input = readDecisionInput(visitor, ruleset.schema);
    if (!("event" in input)) throw new Error(input.join());
    const traces = tracesOf(ruleset.history, input, { address: parseIp(visitor.ip) }, ["k".repeat(32)]);
    const facts = knowableHistory(ruleset.history, (trace) => traces[trace] !== undefined);
    const memories = await store.decisions.recall({ facts, traces, now });
    const known = ruleset.schema.empty().with(FACT_INDEX.event, visitor.event);
    const { shadow } = assess(withHistory(known, memories), ruleset, []);
    found.push(shadow.some(({ rule }) => rule === RULE));
    pending.push(decisionRow(n, now, { event: visitor.event, ...traceColumns(traces, visitor.event) }));
  }
  await store.close();
  return found;
}
