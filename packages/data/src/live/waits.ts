// waits.ts: waits with a time limit, until an abort, and before a retry.

import { once } from "node:events";

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
