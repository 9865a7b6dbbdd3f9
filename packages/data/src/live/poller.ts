// poller.ts: repeats a check without overlap, and runs it immediately on request. It also has the functions that wait
// with a time limit, until an abort, or before a retry.

import { once } from "node:events";

interface PollerOptions {
  /** The check, which must never reject. */
  readonly check: () => Promise<void>;
  /** Milliseconds from the end of one check to the start of the next. */
  readonly waitMs: () => number;
}

export class Poller {
  private readonly options: PollerOptions;
  private running: Promise<void> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(options: PollerOptions) {
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

/**
 * Creates a poller whose checks begin `everyMs` milliseconds apart. If a check takes longer, the next one begins as soon
 * as it ends. After failures, the wait doubles up to `maxMs`.
 * @param failures returns the number of consecutive failures
 */
export function pacedPoller(
  work: () => Promise<unknown>,
  everyMs: number,
  maxMs: number,
  failures: () => number,
): Poller {
  let tookMs = 0;
  return new Poller({
    check: async () => {
      const started = performance.now();
      await work();
      tookMs = performance.now() - started;
    },
    waitMs: () => (failures() === 0 ? Math.max(0, everyMs - tookMs) : backoffMs(everyMs, maxMs, failures())),
  });
}

/**
 * Returns the result of `work` or, if it takes longer than `ms` milliseconds, the result of `late`, which may throw.
 * In the second case, the work continues, and its failure is ignored.
 */
export async function within<Work, Late>(
  ms: number,
  work: Promise<Work>,
  late: () => Late,
): Promise<Work | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** Returns the wait, which doubles after each failure up to `most` milliseconds. */
export const backoffMs = (first: number, most: number, failures: number) =>
  Math.min(first * 2 ** failures, most);
