// mx-counts.ts: what `checks=mx` counts for /metrics: outcomes, never a domain.

import type { MxOutcome } from "./mx.ts";

export interface MxState {
  /** Domains that DNS is being asked about. */
  readonly underWay: number;
  readonly waiting: number;
  readonly kept: number;
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

  hit(): void {
    this.hits++;
  }

  lookedUp(outcome: MxOutcome, ms: number): void {
    this.lookups.set(outcome, (this.lookups.get(outcome) ?? 0) + 1);
    this.seconds += ms / 1000;
  }

  answered(outcome: MxOutcome): void {
    this.answers.set(outcome, (this.answers.get(outcome) ?? 0) + 1);
  }
}
