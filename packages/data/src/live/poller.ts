// poller.ts: repeats a check without overlap, and runs it immediately on request.

import { aborted } from "./waits.ts";

interface RepeatedCheckOptions {
  /** The check, which must never reject. */
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

  /**
   * Checks now. Waits for a running check first, because that check may have missed a change. Has no effect after
   * stop().
   */
  async now(): Promise<void> {
    await this.running;
    if (this.isStopped) return;
    this.running ??= this.options.check().finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** Keeps checking. The first check comes after the wait. */
  schedule(): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      void this.now().then(() => this.schedule());
    }, this.options.waitMs());
  }

  /** Checks now, and keeps checking until `signal` is aborted. Resolves when a running check has ended. */
  async runUntil(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await this.now();
    this.schedule();
    await aborted(signal);
    await this.stop();
  }

  /** Stops checking. Resolves when a running check has ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }
}
