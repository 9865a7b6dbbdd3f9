// turns.ts: shares time between callers that ask for long work. Each caller has one piece of work running, and a few
// waiting, so that no caller can keep the others waiting. Long computations run in small steps, so that a server can
// answer other requests in between.

import type { Steps } from "@inkling/operations";

/** Thrown if a caller already has too much work waiting. */
export class TooManyWaiting extends Error {
  override readonly name = "TooManyWaiting";
}

interface Waiting {
  readonly owner: string;
  readonly start: () => void;
}

export class Turns {
  private readonly limits: { readonly running: number; readonly waitingPerOwner: number };
  private readonly running = new Set<string>();
  private waiting: Waiting[] = [];

  /** @param limits the number of callers whose work runs at the same time; the waiting pieces of each caller */
  constructor(limits: { readonly running: number; readonly waitingPerOwner: number }) {
    this.limits = limits;
  }

  /**
   * Runs `work` when it is the caller's turn.
   * @param signal ends the wait when the caller has left
   * @throws TooManyWaiting; the signal's reason; the errors of `work`
   */
  async take<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.mayStart(owner)) this.running.add(owner);
    else await this.wait(owner, signal);
    try {
      return await work();
    } finally {
      this.running.delete(owner);
      this.startNext();
    }
  }

  private mayStart(owner: string): boolean {
    return this.running.size < this.limits.running && !this.running.has(owner);
  }

  private async wait(owner: string, signal: AbortSignal): Promise<void> {
    if (this.waiting.filter((one) => one.owner === owner).length >= this.limits.waitingPerOwner)
      throw new TooManyWaiting();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { owner, start: resolve };
    this.waiting.push(one);
    const leave = () => {
      if (!this.waiting.includes(one)) return; // it has started
      this.waiting = this.waiting.filter((other) => other !== one);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave);
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }

  private startNext(): void {
    const index = this.waiting.findIndex(({ owner }) => this.mayStart(owner));
    if (index < 0) return;
    const [next] = this.waiting.splice(index, 1);
    this.running.add(next!.owner);
    next!.start();
    this.startNext();
  }
}

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
