// errors.ts: the errors that stop bulk work early.

/** An expected failure. `message` is one line; `hint` is what to do next. */
export class BulkError extends Error {
  override readonly name = "BulkError";
  readonly hint: string | undefined;
  /** True if the request is invalid, in which case nothing was attempted. */
  readonly isUsage: boolean;
  constructor(message: string, hint?: string, isUsage = false) {
    super(message);
    this.hint = hint;
    this.isUsage = isUsage;
  }
}

/** The signal stopped the work. `message` states what was not done. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Waits for a promise unless the signal comes first, because some promises may never settle.
 * @throws the error that `interrupted` returns if the signal came first
 */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  interrupted: () => Error,
): Promise<T> {
  let stop = () => {};
  const stopping = new Promise<never>((_, reject) => {
    stop = () => reject(interrupted());
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, stopping]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

export const notAllRead = () => new Interrupted("not all rows were read");

/** Yields the same chunks, but stops waiting for a chunk when the signal comes. @throws Interrupted */
export async function* untilStopped<T>(chunks: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(iterator.next(), signal, notAllRead);
    if (next.done) return;
    yield next.value;
  }
}
