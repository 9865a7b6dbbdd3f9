// verify-thread.ts: verifies one release in a thread (verify.ts).

import { messageOf, ReleaseError, verifyRelease } from "@inkling/data";

export interface VerifyOrder {
  readonly dataDir: string;
  readonly name: string;
}

export interface Verdict {
  /** Undefined if the release is sound. */
  readonly refused?: Pick<ReleaseError, "message" | "hint" | "isRetryable" | "damaged">;
}

declare const self: Worker;

self.onmessage = ({ data: { dataDir, name } }: MessageEvent<VerifyOrder>) => {
  self.postMessage(verdictOn(dataDir, name));
};

function verdictOn(dataDir: string, name: string): Verdict {
  try {
    verifyRelease(dataDir, name);
    return {};
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const { hint, isRetryable, damaged } = error;
    return { refused: { message: messageOf(error), hint, isRetryable, damaged } };
  }
}
