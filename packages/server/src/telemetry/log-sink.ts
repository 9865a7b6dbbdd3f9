// log-sink.ts: where a server's log lines go: a descriptor that may be full, closed or not read.
//
// in   whole lines
// out  the descriptor, in writes of at most 4,096 bytes and whole lines: in a pipe those of several processes do not mix
// err  none thrown. What cannot be written waits, up to MOST_BYTES, and is tried again; lines beyond that are dropped and
//      counted. When writing succeeds again, a line `log-lines-dropped` has their number

/** What waits in each process: an eighth of a second of access lines at full load. */
export const MOST_BYTES = 1024 * 1024;
const ATOMIC_BYTES = 4096;
const LINE_END = 0x0a;
const FIRST_RETRY_MS = 5;
const MAX_RETRY_MS = 1_000;
/** A process that ends gives a slow reader a second. */
const LAST_TRIES = 200;

/** @returns bytes written. @throws with a code, such as ENOSPC, EPIPE or EAGAIN */
export type WriteBytes = (bytes: Uint8Array) => number;

export class LogSink {
  private readonly writeBytes: WriteBytes;
  private readonly now: () => number;
  /** Whole lines; of the first a part may be written already. */
  private readonly waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private droppedSince = 0;
  private droppedInAll = 0;
  private reason = "";
  /** Did the last attempt fail because the reader is slow? */
  private isSlow = false;
  private retryMs = FIRST_RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param now epoch ms */
  constructor(writeBytes: WriteBytes, now: () => number) {
    this.writeBytes = writeBytes;
    this.now = now;
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.droppedInAll;
  }

  write(lines: string): void {
    for (const piece of pieces(Buffer.from(lines))) {
      if (this.waitingBytes + piece.length > MOST_BYTES) this.drop(piece);
      else this.add(piece);
    }
    this.drain();
  }

  /** Before the process ends: waits for a reader that is slow, for a second at most. What still waits then is dropped. */
  close(): void {
    this.drain();
    for (let tries = 0; this.isSlow && this.waiting.length > 0 && tries < LAST_TRIES; tries++) {
      Bun.sleepSync(FIRST_RETRY_MS);
      this.drain();
    }
    clearTimeout(this.timer);
    for (const piece of this.waiting.splice(0)) this.drop(piece);
    this.waitingBytes = 0;
  }

  private add(piece: Uint8Array): void {
    this.waiting.push(piece);
    this.waitingBytes += piece.length;
  }

  private drop(piece: Uint8Array): void {
    const lines = piece.reduce((count, byte) => (byte === LINE_END ? count + 1 : count), 0);
    this.droppedSince += lines;
    this.droppedInAll += lines;
  }

  private drain(): void {
    try {
      this.writeWaiting();
      if (this.droppedSince === 0) return;
      this.add(this.notice());
      this.droppedSince = 0;
      this.writeWaiting();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.isSlow = code === "EAGAIN";
      this.reason = this.isSlow ? "its reader is too slow" : String(code ?? error);
      this.timer ??= setTimeout(() => this.retry(), this.retryMs).unref();
    }
  }

  private retry(): void {
    this.timer = undefined;
    this.retryMs = Math.min(MAX_RETRY_MS, this.retryMs * 2);
    this.drain();
  }

  private writeWaiting(): void {
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      const written = this.writeBytes(first);
      if (written === 0) throw new Error("nothing was written");
      this.retryMs = FIRST_RETRY_MS;
      this.waitingBytes -= written;
      if (written === first.length) this.waiting.shift();
      else this.waiting[0] = first.subarray(written); // the rest of a line is never dropped: the next would be broken
    }
  }

  private notice(): Uint8Array {
    const time = new Date(this.now()).toISOString();
    const fields = { lines: this.droppedSince, reason: this.reason };
    return Buffer.from(
      `${JSON.stringify({ time, level: "error", event: "log-lines-dropped", ...fields })}\n`,
    );
  }
}

/** Whole lines, as many at once as are written in one go. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    let end = bytes.lastIndexOf(LINE_END, start + ATOMIC_BYTES - 1) + 1;
    if (end <= start) end = bytes.indexOf(LINE_END, start) + 1 || bytes.length; // one long line
    yield bytes.subarray(start, end);
    start = end;
  }
}
