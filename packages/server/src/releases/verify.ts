// verify.ts: verifies a release in a thread. It takes a second, in which the server must keep answering.

import { ReleaseError } from "@inkling/data";
import { threadModule } from "@inkling/data/program";
import type { Verdict, VerifyOrder } from "./verify-thread.ts";

/** Reads every byte of a release. @throws ReleaseError if the release is unsound; the signal's reason if it aborts */
export async function verifyInThread(dataDir: string, name: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const thread = new Worker(threadModule("verify"), { smol: true });
  const { promise, resolve, reject } = Promise.withResolvers<Verdict>();
  const abort = () => reject(signal?.reason);
  signal?.addEventListener("abort", abort);
  thread.onmessage = ({ data }: MessageEvent<Verdict>) => resolve(data);
  thread.onerror = ({ message }) => reject(new Error(`the verification of ${name} failed: ${message}`));
  thread.postMessage({ dataDir, name } satisfies VerifyOrder);
  try {
    const { refused } = await promise;
    if (refused !== undefined) throw new ReleaseError(refused.message, refused.hint, refused);
  } finally {
    signal?.removeEventListener("abort", abort);
    thread.terminate();
  }
}
