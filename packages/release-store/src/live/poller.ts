// poller.ts: a check that runs again and again, one at a time, and immediately on request.

import { aborted } from "./aborted.ts";

interface RepeatedCheckOptions {
  /** Never rejects. */
  readonly check: () => Promise<void>;
  /** Milliseconds from the end of one check to the start of the next. */
  readonly waitMs: () => number;
}

export class Poller {
  private readonly options: RepeatedCheckOptions;
  private running: Promise<void> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(options: RepeatedCheckOptions) {
    this.options = options;
  }

  /** Checks now, after a check that is under way, which may have missed a change. Not after {@link stop}. */
  async now(): Promise<void> {
    await this.running;
    if (this.isStopped) return;
    this.running ??= this.options.check().finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** Goes on checking, the next time after the wait. */
  schedule(): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      void this.now().then(() => this.schedule());
    }, this.options.waitMs());
  }

  /** Checks now, and continues until `signal` is aborted; ends when the check that is under way has. */
  async runUntil(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await this.now();
    this.schedule();
    await aborted(signal);
    await this.stop();
  }

  /** Ends when the check that is under way has: none begins after it. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }
}
