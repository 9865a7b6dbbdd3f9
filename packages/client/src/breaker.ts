// breaker.ts: a circuit breaker: while the server does not answer at all, lookups fail at once instead of waiting for it.
//
// in   how each lookup ended, the time, random numbers
// out  may a lookup send its request? One of those that wait for the server is the probe
// err  the failure that opened it: the same code, with a hint
// note closed -> open after `breakAfter` lookups in a row without any response; open -> one probe when the pause is over;
//      a response of any status closes it, a failed probe doubles the pause. Lookups that were under way when it opened
//      do not count, or a hundred visitors at once would make the first pause the longest

import { InklingError } from "./errors.ts";
import { pauseMs } from "./retry.ts";

/** Lookups in a row without any response, each given up after its retries, that open the breaker. */
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
   * @returns is this lookup the probe? Each that was let through ends with one of the methods below
   * @throws InklingError while it is open
   */
  enter(): boolean {
    if (this.last === undefined) return false;
    const leftMs = this.leftMs();
    if (this.isProbing || leftMs > 0) throw refusal(this.last, leftMs);
    this.isProbing = true;
    return true;
  }

  /** There was a response, whatever its status. */
  succeed(): void {
    this.failures = 0;
    this.isProbing = false;
    this.last = undefined;
  }

  /** The connection failed, or the time was over. */
  fail(isProbe: boolean, error: InklingError): void {
    if (this.last !== undefined && !isProbe) return;
    this.isProbing = false;
    this.failures++;
    if (this.failures < this.breakAfter) return;
    this.last = error;
    this.openedMs = this.now();
    this.pauseMs = pauseMs(this.failures, undefined, this.random());
  }

  /** The caller left: nothing is known about the server. */
  abandon(isProbe: boolean): void {
    if (isProbe) this.isProbing = false;
  }

  /** Not above 0 when the pause is over, or when the clock was set back. */
  private leftMs(): number {
    const passedMs = this.now() - this.openedMs;
    return passedMs < 0 ? 0 : this.pauseMs - passedMs;
  }
}

function refusal(last: InklingError, leftMs: number): InklingError {
  const next = leftMs > 0 ? `in ${Math.ceil(leftMs)} ms` : "under way";
  return new InklingError(last.code, "Not sent: the server did not respond to the lookups before", {
    cause: last,
    hint: `the next request to the server is ${next}; ${last.hint}`,
  });
}
