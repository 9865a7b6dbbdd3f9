// memory.ts: what batches of all keys may hold at once in this process, and how much of it one key.
//
// why  Bun takes up to 1 MiB of a body before it stops reading from the socket, and hands it over in one piece; while the
//      answers to that are not read it takes as much again. So a stream takes 90 KB when it is quiet, and up to 5 MB when
//      input and answers pile up, with gzip 12 to 35 MB, mostly garbage: only their number bounds the memory.

import { FairShares } from "../limits/fair-shares.ts";
import { MAX_JSON_BYTES } from "./body.ts";

/** A stream with gzip, in either direction, counts as two. */
export const GZIP_WEIGHT = 2;
/** Open streams, of all keys and of one: SECURITY.md has their memory (test/scenarios/server/stream-memory.test.ts). */
const STREAMS = { all: 128, alone: 32 };
/** The least in each of many workers. */
const MIN_STREAMS = { all: 32, alone: 8 };
/** Unfinished JSON bodies: sent slowly, each is held for 12 s. */
const ARRIVING_BYTES = { all: 128 * MAX_JSON_BYTES, alone: 32 * MAX_JSON_BYTES };

export class BatchMemory {
  readonly arriving = new FairShares(ARRIVING_BYTES.all, ARRIVING_BYTES.alone);
  readonly streams: FairShares;

  /** @param workers each gets a share of the streams: connections are spread over them */
  constructor(workers = 1) {
    const share = (of: keyof typeof STREAMS) => Math.max(MIN_STREAMS[of], Math.ceil(STREAMS[of] / workers));
    this.streams = new FairShares(share("all"), share("alone"));
  }
}
