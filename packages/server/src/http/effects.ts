// effects.ts: lists the clocks and sources of random numbers that code gets as arguments, so that tests can replace them.

import { requestIds } from "./request-id.ts";

export interface Effects {
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly newRequestId: () => string;
}

export const EFFECTS: Effects = {
  now: Date.now,
  elapsed: () => performance.now(),
  randomBytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
  newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
};
