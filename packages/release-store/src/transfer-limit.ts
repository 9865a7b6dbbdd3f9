// transfer-limit.ts: ends a transfer that takes too long or drips: a byte now and then is no progress.
//
// in   the bytes of each chunk that has arrived
// out  one call with the problem, for the caller's own error

/** Ten minutes: 150 MB at 2 Mbit/s. */
export const TRANSFER_MS = 600_000;
const WINDOW_MS = 30_000;
/** 1 KB/s. A drip of a byte every 5 ms is a fifth of it. */
const MIN_WINDOW_BYTES = 30_000;

export interface TransferTimes {
  /** From the request to the last byte. */
  readonly totalMs: number;
  /** In each window of this length {@link MIN_WINDOW_BYTES} have to arrive. */
  readonly windowMs?: number | undefined;
}

export class TransferLimit {
  private readonly windowMs: number;
  private readonly onProblem: (problem: string) => void;
  private readonly total: ReturnType<typeof setTimeout>;
  private window: ReturnType<typeof setInterval> | undefined;
  private bytes = 0;

  /** The total time begins now. */
  constructor({ totalMs, windowMs = WINDOW_MS }: TransferTimes, onProblem: (problem: string) => void) {
    this.windowMs = windowMs;
    this.onProblem = onProblem;
    this.total = setTimeout(() => onProblem(`took longer than ${totalMs} ms`), totalMs);
  }

  /** The body begins: from now on its speed counts. */
  startBody(): void {
    this.window = setInterval(() => {
      const { bytes, windowMs } = this;
      if (bytes < MIN_WINDOW_BYTES)
        this.onProblem(`is too slow: ${bytes} bytes in ${windowMs} ms, ${MIN_WINDOW_BYTES} are the least`);
      this.bytes = 0;
    }, this.windowMs);
  }

  count(bytes: number): void {
    this.bytes += bytes;
  }

  endBody(): void {
    clearInterval(this.window);
  }

  end(): void {
    this.endBody();
    clearTimeout(this.total);
  }
}
