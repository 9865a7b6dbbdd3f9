// transfer-limit.ts: detects that a transfer takes too long or is too slow. An occasional byte does not count as
// progress.

/** Default limit for the total time, in milliseconds: ten minutes, enough for 150 MB at 2 Mbit/s. */
export const TRANSFER_MS = 600_000;
const WINDOW_MS = 30_000;
/**
 * Minimum number of bytes per window. In the default window, this is 1 KB/s. A sender of one byte every 5 ms reaches
 * only a fifth of that.
 */
const MIN_WINDOW_BYTES = 30_000;

export interface TransferTimes {
  /** Milliseconds from the request to the last byte. */
  readonly totalMs: number;
  /** Length of a window in milliseconds. At least {@link MIN_WINDOW_BYTES} must arrive in each window. */
  readonly windowMs?: number | undefined;
}

export class TransferLimit {
  private readonly windowMs: number;
  private readonly onProblem: (problem: string) => void;
  private readonly total: ReturnType<typeof setTimeout>;
  private window: ReturnType<typeof setInterval> | undefined;
  private bytes = 0;

  /** Starts measuring the total time. */
  constructor({ totalMs, windowMs = WINDOW_MS }: TransferTimes, onProblem: (problem: string) => void) {
    this.windowMs = windowMs;
    this.onProblem = onProblem;
    this.total = setTimeout(() => onProblem(`took longer than ${totalMs} ms`), totalMs);
  }

  /** Starts measuring the speed. Call it when the body begins. */
  startBody(): void {
    this.window = setInterval(() => {
      const { bytes, windowMs } = this;
      if (bytes < MIN_WINDOW_BYTES)
        this.onProblem(`is too slow: ${bytes} bytes in ${windowMs} ms, the minimum is ${MIN_WINDOW_BYTES}`);
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
