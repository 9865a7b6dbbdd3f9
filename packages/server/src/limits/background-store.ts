// background-store.ts: stores in the background what was recorded, such as usage and decisions. While the store is
// unreachable, attempts become less frequent.

import { type Poller, pacedPoller } from "@inkling/data";

/** Maximum milliseconds between two attempts while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;

export abstract class BackgroundStore {
  /** Consecutive failed flushes since the last success. */
  protected failuresInRow = 0;
  protected lastError: unknown;
  protected readonly flushes: Poller;
  private queue: Promise<boolean> = Promise.resolve(true);

  /** @param flushMs milliseconds from the start of one flush to the next */
  constructor(flushMs: number) {
    this.flushes = pacedPoller(
      () => this.flush(),
      flushMs,
      MAX_BACKOFF_MS,
      () => this.failuresInRow,
    );
  }

  /** Stores everything that has been recorded so far. @returns whether it is stored; never rejects */
  flush(): Promise<boolean> {
    this.queue = this.queue.then(() => this.attempt());
    return this.queue;
  }

  private async attempt(): Promise<boolean> {
    try {
      await this.sendAll();
      this.failuresInRow = 0;
      this.lastError = undefined;
    } catch (error) {
      this.failuresInRow++;
      this.lastError = error;
    }
    this.logChange();
    return this.failuresInRow === 0;
  }

  /** Sends what was recorded. If it throws, the next flush sends it again. */
  protected abstract sendAll(): Promise<void>;
  /** Logs when storing begins to fail, and when it succeeds again. */
  protected abstract logChange(): void;
}
