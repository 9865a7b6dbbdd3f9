// steps.ts: long computations in small steps, so that a server can answer other requests in between.

/** A computation that pauses after each step of at most a few milliseconds. */
export type Steps<T> = Generator<undefined, T>;

/** Runs a computation without a pause. */
export function finish<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Runs a computation, and lets other work run after each step. @throws the signal's reason, if it is aborted */
export async function finishInSteps<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    step = steps.next();
  }
  return step.value;
}
