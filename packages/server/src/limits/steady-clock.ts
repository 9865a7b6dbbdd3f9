// steady-clock.ts: the time that decides which UTC day a lookup belongs to, for quotas and usage: the machine's clock, but
// one that jumps counts only after it has remained so.
//
// in   the machine's clock; a monotonic clock
// out  `at`: the time without a jump of the last hour
// err  none
// cost two reads of clocks, once for each millisecond with requests
//
// A clock that is a month ahead for some minutes would begin a day with its own quotas, and usage would be booked on it.
// Time that a machine was suspended looks like a jump: its day begins up to an hour late. Leases of a group go by the
// database's clock (leases/).

import type { EpochMs } from "../keys/key.ts";

/** Corrections below this are taken at once. */
const JUMP_MS = 3_600_000;
/** A jump that lasts longer is the right time. */
const HOLD_MS = 3_600_000;

interface SteadyClockOptions {
  /** How far ahead the machine's clock is held to be from the start: of a process whose parent noticed a jump. */
  readonly aheadMs?: number;
  readonly now?: () => EpochMs;
  readonly elapsed?: () => number;
  /** The clock jumped, is believed now, or is back; `aheadMs` is 0 in the latter cases. */
  readonly onJump?: (aheadMs: number) => void;
}

export class SteadyClock {
  /** What is taken off the machine's clock. */
  aheadMs: number;
  private readonly now: () => EpochMs;
  private readonly elapsed: () => number;
  private readonly onJump: (aheadMs: number) => void;
  private lastNow: EpochMs;
  private lastElapsed: number;
  private jumpedAt = 0;

  constructor({ aheadMs = 0, now, elapsed, onJump }: SteadyClockOptions = {}) {
    this.aheadMs = aheadMs;
    this.now = now ?? Date.now;
    this.elapsed = elapsed ?? (() => performance.now());
    this.onJump = onJump ?? (() => {});
    this.lastNow = this.now();
    this.lastElapsed = this.elapsed();
    this.jumpedAt = this.lastElapsed;
  }

  /** @param time of the machine's clock, read just now or at the start of a request */
  at(time: EpochMs): EpochMs {
    if (time !== this.lastNow) this.look(); // requests of one millisecond share a comparison
    return time - this.aheadMs;
  }

  /** Compares both clocks. */
  private look(): void {
    const [now, elapsed] = [this.now(), this.elapsed()];
    const jumped = now - this.lastNow - (elapsed - this.lastElapsed);
    this.lastNow = now;
    this.lastElapsed = elapsed;
    if (Math.abs(jumped) > JUMP_MS) {
      const ahead = this.aheadMs + jumped;
      this.jumpedAt = elapsed;
      this.hold(Math.abs(ahead) > JUMP_MS ? ahead : 0);
    } else if (this.aheadMs !== 0 && elapsed - this.jumpedAt >= HOLD_MS) this.hold(0);
  }

  private hold(aheadMs: number): void {
    this.aheadMs = aheadMs;
    this.onJump(aheadMs);
  }
}
