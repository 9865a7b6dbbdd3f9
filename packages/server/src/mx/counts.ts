// counts.ts: keeps counters of `checks=mx` for /metrics. They count outcomes and contain no domain.
//
// The numbers are in shared memory, like those of telemetry/counts.ts.

import { MX_OUTCOMES, type MxOutcome } from "@inkling/contract";

interface MxState {
  /** Domains that are being looked up in DNS. */
  readonly underWay: number;
  readonly waiting: number;
  readonly cached: number;
}

const OUTCOMES = MX_OUTCOMES.length;
const [LOOKUPS, ANSWERS, HITS, SECONDS, STATE] = [
  0,
  OUTCOMES,
  2 * OUTCOMES,
  2 * OUTCOMES + 1,
  2 * OUTCOMES + 2,
];
/** Number of bytes that the counts need. */
export const MX_COUNTS_BYTES = 8 * (STATE + 3);

export class MxCounts {
  private readonly all: Float64Array;
  private readState: (() => MxState) | undefined;

  /** @param memory MX_COUNTS_BYTES; one thread adds to the counts, and other threads may read them */
  constructor(memory = new SharedArrayBuffer(MX_COUNTS_BYTES)) {
    this.all = new Float64Array(memory);
  }

  /** Adds up the counts of several workers. */
  static sum(counts: Iterable<MxCounts>): MxCounts {
    const sum = new MxCounts();
    for (const { all } of counts) for (const [i, n] of all.entries()) sum.all[i]! += n;
    return sum;
  }

  /** Finished DNS lookups, by outcome. */
  get lookups(): ReadonlyMap<MxOutcome, number> {
    return this.byOutcome(LOOKUPS);
  }

  /** Answers to callers, by outcome. The lookup behind a timeout may still finish later. */
  get answers(): ReadonlyMap<MxOutcome, number> {
    return this.byOutcome(ANSWERS);
  }

  /** Answers from the cache. */
  get hits(): number {
    return this.all[HITS]!;
  }

  /** Total duration of all lookups, in seconds. */
  get seconds(): number {
    return this.all[SECONDS]!;
  }

  get state(): MxState {
    this.shareState();
    const [underWay = 0, waiting = 0, cached = 0] = this.all.subarray(STATE);
    return { underWay, waiting, cached };
  }

  /** @param read returns the current numbers of running and waiting lookups */
  readStateFrom(read: () => MxState): void {
    this.readState = read;
    this.shareState();
  }

  /** Writes the current state into the memory, for other threads. */
  shareState(): void {
    if (this.readState === undefined) return;
    const { underWay, waiting, cached } = this.readState();
    this.all.set([underWay, waiting, cached], STATE);
  }

  countCacheHit(): void {
    this.all[HITS]! += 1;
  }

  countLookup(outcome: MxOutcome, ms: number): void {
    this.all[LOOKUPS + MX_OUTCOMES.indexOf(outcome)]! += 1;
    this.all[SECONDS]! += ms / 1000;
  }

  recordAnswer(outcome: MxOutcome): void {
    this.all[ANSWERS + MX_OUTCOMES.indexOf(outcome)]! += 1;
  }

  private byOutcome(from: number): ReadonlyMap<MxOutcome, number> {
    const counts = MX_OUTCOMES.map((outcome, i) => [outcome, this.all[from + i]!] as const);
    return new Map(counts.filter(([, count]) => count > 0));
  }
}
