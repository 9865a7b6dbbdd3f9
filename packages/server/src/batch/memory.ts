// memory.ts: limits the open streams and the unfinished bodies of this thread, for all keys together and for each key.
//
// Bun reads up to 1 MiB of a body before it pauses the socket, and delivers it in one piece. While the answers to that
// piece are unread, Bun reads as much again. A quiet stream uses 90 KB. When input and answers pile up, a stream uses
// up to 5 MB, and with gzip 12 to 35 MB, mostly garbage. Only a limit on the number of streams bounds this memory.

import { Bodies } from "../limits/bodies.ts";
import { FairShares } from "../sharing/fair-shares.ts";

/** A stream that uses gzip in either direction counts as two streams. */
export const GZIP_WEIGHT = 2;
/**
 * Maximum number of open streams: for all keys together, and for a key while no other key has streams. SECURITY.md
 * states how much memory they use (test/scenarios/server/stream-memory.test.ts).
 */
const STREAMS = { all: 128, alone: 32 };
/** Minimum limits per worker, regardless of the number of workers. */
const MIN_STREAMS = { all: 32, alone: 8 };

export class BatchMemory {
  readonly bodies: Bodies;
  readonly streams: FairShares;

  /**
   * @param workers number of workers; each worker gets a share of the streams, because connections are spread across
   *   all workers
   * @param bodies shared with the other listener of this thread, if there is one
   */
  constructor(workers = 1, bodies = new Bodies()) {
    this.bodies = bodies;
    const share = (of: keyof typeof STREAMS) => Math.max(MIN_STREAMS[of], Math.ceil(STREAMS[of] / workers));
    this.streams = new FairShares(share("all"), share("alone"));
  }
}
