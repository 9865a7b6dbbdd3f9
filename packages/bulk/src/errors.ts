// errors.ts: how bulk work ends early.

/** An expected failure: `message` is one line, `hint` says what to do next. */
export class BulkError extends Error {
  override readonly name = "BulkError";
  readonly hint: string | undefined;
  /** Is the request at fault, so that nothing was tried? */
  readonly isUsage: boolean;
  constructor(message: string, hint?: string, isUsage = false) {
    super(message);
    this.hint = hint;
    this.isUsage = isUsage;
  }
}

/** The signal came first; `message` says what is missing. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * What a promise gives, unless the signal comes first: for what may take for ever.
 * @throws what `interrupted` makes when it did
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

/** The same chunks; one that is waited for is given up. @throws Interrupted */
export async function* untilStopped<T>(chunks: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(iterator.next(), signal, notAllRead);
    if (next.done) return;
    yield next.value;
  }
}
