// breaker.ts: implements a circuit breaker. While the server does not answer at all, lookups fail immediately instead
// of waiting for it.
//
// The breaker opens after `breakAfter` consecutive lookups without any response. When the pause is over, it lets one
// probe through. Any response closes the breaker, and a failed probe doubles the pause. Lookups that were already in
// progress when the breaker opened do not count. Otherwise, a hundred simultaneous visitors would extend the first
// pause to the maximum.

import { InklingError } from "./errors.ts";
import { pauseMs } from "./retry.ts";

/** Number of consecutive lookups without any response that open the breaker. Each counts after its last retry. */
export const BREAK_AFTER = 3;

export class Breaker {
  private readonly now: () => number;
  private readonly random: () => number;
  private readonly breakAfter: number;
  private failures = 0;
  private isProbing = false;
  private openedMs = 0;
  private pauseMs = 0;
  private last: InklingError | undefined;

  constructor(now: () => number, random: () => number, breakAfter: number) {
    this.now = now;
    this.random = random;
    this.breakAfter = breakAfter;
  }

  /**
   * @returns whether this lookup is the probe; each lookup that may proceed ends with a call to one of the methods
   *   below
   * @throws InklingError while the breaker is open
   */
  enter(): boolean {
    if (this.last === undefined) return false;
    const leftMs = this.leftMs();
    if (this.isProbing || leftMs > 0) throw refusal(this.last, leftMs);
    this.isProbing = true;
    return true;
  }

  /** Records a response, whatever its status. */
  succeed(): void {
    this.failures = 0;
    this.isProbing = false;
    this.last = undefined;
  }

  /** Records that the connection failed or timed out. */
  fail(isProbe: boolean, error: InklingError): void {
    if (this.last !== undefined && !isProbe) return;
    this.isProbing = false;
    this.failures++;
    if (this.failures < this.breakAfter) return;
    this.last = error;
    this.openedMs = this.now();
    this.pauseMs = pauseMs(this.failures, undefined, this.random());
  }

  /** Records that the caller aborted the lookup, so nothing is known about the server. */
  abandon(isProbe: boolean): void {
    if (isProbe) this.isProbing = false;
  }

  /** Returns the remaining milliseconds of the pause; 0 or less if the pause is over or the clock was set back. */
  private leftMs(): number {
    const passedMs = this.now() - this.openedMs;
    return passedMs < 0 ? 0 : this.pauseMs - passedMs;
  }
}

function refusal(last: InklingError, leftMs: number): InklingError {
  const next = leftMs > 0 ? `in ${Math.ceil(leftMs)} ms` : "in progress";
  return new InklingError(last.code, "Not sent, because the server did not respond to recent requests", {
    cause: last,
    hint: `the next request to the server is ${next}; ${last.hint}`,
  });
}
