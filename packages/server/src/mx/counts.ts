// counts.ts: what `checks=mx` counts for /metrics: outcomes, never a domain.

import type { MxOutcome } from "./check.ts";

export interface MxState {
  /** Domains that DNS is being asked about. */
  readonly underWay: number;
  readonly waiting: number;
  readonly kept: number;
}

/** All numbers, as one worker tells them. */
export interface MxReport {
  readonly lookups: readonly (readonly [MxOutcome, number])[];
  readonly answers: readonly (readonly [MxOutcome, number])[];
  readonly hits: number;
  readonly seconds: number;
  readonly state: MxState;
}

const IDLE: MxState = { underWay: 0, waiting: 0, kept: 0 };

export class MxCounts {
  /** Look-ups in DNS that have ended, by outcome. */
  readonly lookups = new Map<MxOutcome, number>();
  /** Answers to callers, by outcome: a time-out here may be a look-up that ends later. */
  readonly answers = new Map<MxOutcome, number>();
  hits = 0;
  /** Of all look-ups together. */
  seconds = 0;
  private read: () => MxState = () => IDLE;

  get state(): MxState {
    return this.read();
  }

  /** Where the numbers of the moment are. */
  watch(read: () => MxState): void {
    this.read = read;
  }

  get report(): MxReport {
    const { hits, seconds, state } = this;
    return { lookups: [...this.lookups], answers: [...this.answers], hits, seconds, state };
  }

  /** Adds what another worker tells; the numbers of the moment stay as they are. */
  add(report: Omit<MxReport, "state">): void {
    for (const [outcome, count] of report.lookups) increase(this.lookups, outcome, count);
    for (const [outcome, count] of report.answers) increase(this.answers, outcome, count);
    this.hits += report.hits;
    this.seconds += report.seconds;
  }

  hit(): void {
    this.hits++;
  }

  lookedUp(outcome: MxOutcome, ms: number): void {
    increase(this.lookups, outcome, 1);
    this.seconds += ms / 1000;
  }

  answered(outcome: MxOutcome): void {
    increase(this.answers, outcome, 1);
  }
}

function increase(counts: Map<MxOutcome, number>, outcome: MxOutcome, by: number): void {
  counts.set(outcome, (counts.get(outcome) ?? 0) + by);
}
