// counts.ts: counters of `checks=mx` for /metrics. They count outcomes and never name a domain.

import type { MxOutcome } from "@inkling/contract";

interface MxState {
  /** Domains that are being looked up in DNS. */
  readonly underWay: number;
  readonly waiting: number;
  readonly cached: number;
}

type OutcomeCounts = readonly (readonly [MxOutcome, number])[];

/** All counts, in the form that a worker sends. */
export interface MxReport {
  readonly lookups: OutcomeCounts;
  readonly answers: OutcomeCounts;
  readonly hits: number;
  readonly seconds: number;
  readonly state: MxState;
}

const IDLE: MxState = { underWay: 0, waiting: 0, cached: 0 };

export class MxCounts {
  /** Finished DNS lookups, by outcome. */
  readonly lookups = new Map<MxOutcome, number>();
  /** Answers to callers, by outcome. The lookup behind a timeout may still finish later. */
  readonly answers = new Map<MxOutcome, number>();
  /** Answers from the cache. */
  hits = 0;
  /** Total duration of all lookups, in seconds. */
  seconds = 0;
  private readState: () => MxState = () => IDLE;

  get state(): MxState {
    return this.readState();
  }

  /** @param read returns the current numbers of running and waiting lookups */
  readStateFrom(read: () => MxState): void {
    this.readState = read;
  }

  get report(): MxReport {
    const { hits, seconds, state } = this;
    return { lookups: [...this.lookups], answers: [...this.answers], hits, seconds, state };
  }

  /** Adds another worker's counts; the state remains unchanged. */
  add(report: Omit<MxReport, "state">): void {
    for (const [outcome, count] of report.lookups) increase(this.lookups, outcome, count);
    for (const [outcome, count] of report.answers) increase(this.answers, outcome, count);
    this.hits += report.hits;
    this.seconds += report.seconds;
  }

  countCacheHit(): void {
    this.hits++;
  }

  countLookup(outcome: MxOutcome, ms: number): void {
    increase(this.lookups, outcome, 1);
    this.seconds += ms / 1000;
  }

  recordAnswer(outcome: MxOutcome): void {
    increase(this.answers, outcome, 1);
  }
}

function increase(counts: Map<MxOutcome, number>, outcome: MxOutcome, by: number): void {
  counts.set(outcome, (counts.get(outcome) ?? 0) + by);
}
