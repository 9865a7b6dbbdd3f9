// steady-clock.ts: provides the time that determines a lookup's UTC day, for quotas and usage. It follows the machine's
// clock, but ignores a jump that is quickly reversed.
//
// Cost: two clock reads per millisecond with requests.
//
// Without this, a clock that is a month ahead for a few minutes would start a day with new quotas, and usage would
// count towards that day. The time for which a machine was suspended looks like a jump, so the day on that machine may
// start up to an hour late. A group of hosts follows the database's clock, see `offsetMs`.

import type { EventLog } from "@inkling/contract";
import type { EpochMs } from "@inkling/store/keys/key";

/** Corrections of up to this many milliseconds apply immediately. */
const JUMP_MS = 3_600_000;
/** A jump that lasts longer than this many milliseconds is accepted as correct. */
const HOLD_MS = 3_600_000;

interface SteadyClockOptions {
  /**
   * How far ahead the machine's clock is considered to be at first, in milliseconds. A worker gets this from its
   * primary.
   */
  readonly aheadMs?: number;
  readonly now?: () => EpochMs;
  readonly elapsed?: () => number;
  /** Learns when the clock has jumped, when the jump is accepted, and when the clock has jumped back. */
  readonly log?: EventLog;
}

export class SteadyClock {
  /** Milliseconds to subtract from the machine's clock. */
  aheadMs: number;
  /** Milliseconds by which this steady time is ahead of the database's clock, which a group of hosts shares. */
  offsetMs = 0;
  private readonly now: () => EpochMs;
  private readonly elapsed: () => number;
  private readonly log: EventLog | undefined;
  private lastNow: EpochMs;
  private lastElapsed: number;
  private jumpedAt = 0;

  constructor({ aheadMs = 0, now, elapsed, log }: SteadyClockOptions = {}) {
    this.aheadMs = aheadMs;
    this.now = now ?? Date.now;
    this.elapsed = elapsed ?? (() => performance.now());
    this.log = log;
    this.lastNow = this.now();
    this.lastElapsed = this.elapsed();
    this.jumpedAt = this.lastElapsed;
  }

  /** @param time a time of the machine's clock, read just now or when the request started */
  at(time: EpochMs): EpochMs {
    if (time !== this.lastNow) this.look(); // requests in the same millisecond share one comparison
    return time - this.aheadMs - this.offsetMs;
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
    if (aheadMs === 0) this.log?.info("clock-steady", { effect: "quotas and usage follow the clock again" });
    else
      this.log?.error("clock-jumped", {
        seconds: Math.round(aheadMs / 1_000),
        effect: "quotas and usage keep the date from before the jump, for at most an hour",
        hint: "check the time synchronization of this host",
      });
  }
}
