// history.ts: turns what the server remembers about a visitor into facts, and into sentences for the answer.
//
// The server finds earlier decisions by hashes of the visitor's mailbox, network, address and account. This file has
// only what the server found: numbers, and the newest decision behind them.

import { type DecisionAnswer, HISTORY_FACTS, type HistoryFact } from "@inkling/contract";
import { FACT_INDEX, type FactIndex, type Facts, type FactValue } from "./facts.ts";

/** What the server can recognize about a visitor. */
export const TRACES = ["mailbox", "domain", "network", "address", "account"] as const;
export type Trace = (typeof TRACES)[number];

/** What earlier decisions say about one fact. */
export interface Memory {
  readonly value: number;
  /** The newest decision behind the value; undefined if there is none, or if the answer does not show it. */
  readonly newest?: { readonly decision: string; readonly at: string } | undefined;
}
export type Memories = Readonly<Partial<Record<HistoryFact, Memory>>>;

interface HistoryRow {
  /** What a visitor must have so that the fact can be known. The first trace selects the decisions. */
  readonly traces: readonly [Trace, ...Trace[]];
  /** Says what was remembered, and never who it was about. @param day "3 November 2026", of the newest decision */
  readonly says: (count: string, day: string) => string;
}

const HISTORY: Readonly<Record<HistoryFact, HistoryRow>> = {
  "history.mailbox_seen": {
    traces: ["mailbox"],
    says: (_, day) => `This mailbox was last seen on ${day}.`,
  },
  "history.mailbox_fraud": {
    traces: ["mailbox"],
    says: (_, day) => `This mailbox was labelled fraud on ${day}.`,
  },
  "history.domain_fraud_30d": {
    traces: ["domain"],
    says: (count, day) =>
      `Labelled fraud in the last 30 days: ${count} about this email domain, the newest on ${day}.`,
  },
  "history.network_fraud_30d": {
    traces: ["network"],
    says: (count, day) =>
      `Labelled fraud in the last 30 days: ${count} about this network, the newest on ${day}.`,
  },
  "history.account_networks_30d": {
    traces: ["account", "network"],
    says: (count) => `Networks from which this account was used in the last 30 days: ${count}.`,
  },
  "history.account_failures_1h": {
    traces: ["account"],
    says: (count) => `Failed logins to this account in the last hour: ${count}.`,
  },
  "history.address_failures_1h": {
    traces: ["address"],
    says: (count) => `Failed logins from this address in the last hour: ${count}.`,
  },
  "history.network_failures_1h": {
    traces: ["network"],
    says: (count) => `Failed logins from this network in the last hour: ${count}.`,
  },
  "history.network_failed_accounts_1h": {
    traces: ["network", "account"],
    says: (count) => `Accounts with failed logins from this network in the last hour: ${count}.`,
  },
  "history.network_logins_1h": {
    traces: ["network"],
    says: (count) => `Logins from this network in the last hour: ${count}.`,
  },
};

/** What a ruleset reads about earlier decisions. */
export interface Wanted {
  readonly facts: readonly HistoryFact[];
  /** What each decision must store so that later decisions have these facts. */
  readonly traces: ReadonlySet<Trace>;
  /** Whether a live rule or a reason reads one of the facts, so that they can change an action. */
  readonly decides: boolean;
}

/** @param live what live rules and reasons read @param shadow what shadow rules read */
export function wantedHistory(live: ReadonlySet<FactIndex>, shadow: ReadonlySet<FactIndex>): Wanted {
  const facts = HISTORY_FACTS.filter((name) => live.has(FACT_INDEX[name]) || shadow.has(FACT_INDEX[name]));
  return {
    facts,
    traces: new Set(facts.flatMap((name) => HISTORY[name].traces)),
    decides: facts.some((name) => live.has(FACT_INDEX[name])),
  };
}

/** Returns the facts that a ruleset reads and that could be known about a visitor. */
export function knowableHistory({ facts }: Wanted, has: (trace: Trace) => boolean): readonly HistoryFact[] {
  return facts.filter((name) => has(HISTORY[name].traces[0]));
}

const BOOLEAN: ReadonlySet<HistoryFact> = new Set(["history.mailbox_seen", "history.mailbox_fraud"]);

/** Returns the facts with what the server remembers. */
export function withHistory(facts: Facts, memories: Memories): Facts {
  const all: (FactValue | undefined)[] = [...facts];
  for (const name of HISTORY_FACTS) {
    const memory = memories[name];
    if (memory !== undefined) all[FACT_INDEX[name]] = BOOLEAN.has(name) ? memory.value > 0 : memory.value;
  }
  return all;
}

const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

/** Returns what the answer says about the server's memory; undefined if it remembers nothing about the visitor. */
export function historyAnswer(memories: Memories): DecisionAnswer["history"] {
  const said = HISTORY_FACTS.flatMap((name) => {
    const memory = memories[name];
    if (memory === undefined || memory.value === 0) return [];
    const { value, newest } = memory;
    const day = newest === undefined ? "" : DAY.format(Date.parse(newest.at));
    const text = HISTORY[name].says(value.toLocaleString("en"), day);
    return [{ fact: name, text, ...newest }];
  });
  return said.length === 0 ? undefined : said;
}

/** Returns whether an action could depend on what a program without memory cannot know. */
export function lacksHistory(wanted: Wanted, has: (trace: Trace) => boolean): boolean {
  return wanted.decides && knowableHistory(wanted, has).length > 0;
}
