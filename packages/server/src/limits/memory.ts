// memory.ts: limits the unfinished bodies and the open streams of this thread, for all keys together and for each key.
//
// Every path that needs a whole body reads it here, with or without a key, so that one limit holds for all of them.
// Without this limit, 5,000 connections without a key held 340 MB of unfinished bodies. Bun closes a connection whose
// body takes longer than 12 s, so nobody can keep a share for long.

import { FairShares } from "../sharing/fair-shares.ts";

const MIB = 1024 * 1024;
/** Limits for the bytes of unfinished bodies: all together, and those of one holder while no other holder has any. */
const ARRIVING_BYTES = { all: 128 * MIB, alone: 32 * MIB };
/**
 * Maximum declared length of a body that is read in one piece. Reading it as a stream would take as long as the rest of
 * a request to `/v1/assess`.
 */
const ONE_PIECE_BYTES = 64 * 1024;

type ByteStream = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Why a body could not be read: it is too large, its client left or its encoding is damaged, or too many arrive. */
type BodyFailure = "too-large" | "cut-short" | "too-many";

interface Reading {
  /** Whose share the body counts against: a key, an admin token, or a path that takes bodies without a key. */
  readonly holder: string;
  /** Maximum length, decoded. */
  readonly maxBytes: number;
  readonly decode?: ((body: ByteStream) => ByteStream) | undefined;
}

export class Bodies {
  private readonly arriving: FairShares;

  constructor({ all, alone } = ARRIVING_BYTES) {
    this.arriving = new FairShares(all, alone);
  }

  async read(request: Request, reading: Reading): Promise<Uint8Array | BodyFailure> {
    const { holder, maxBytes, decode } = reading;
    const declared = request.headers.get("content-length");
    const length = Number(declared ?? 0);
    if (length > maxBytes) return "too-large";
    if (declared === null || decode !== undefined || length > ONE_PIECE_BYTES) {
      const body = (request.body as ByteStream | null) ?? new Blob([]).stream();
      return this.readPieces(decode?.(body) ?? body, reading);
    }
    if (!this.arriving.take(holder, length)) return "too-many";
    try {
      return await request.bytes();
    } catch {
      return "cut-short"; // also if the client has disconnected; it then receives no response
    } finally {
      this.arriving.giveBack(holder, length);
    }
  }

  private async readPieces(
    stream: ByteStream,
    { holder, maxBytes }: Reading,
  ): Promise<Uint8Array | BodyFailure> {
    const reader = stream.getReader();
    const pieces: Uint8Array[] = [];
    let length = 0;
    let held = 0;
    try {
      for (;;) {
        const { value } = await reader.read();
        if (value === undefined) return Buffer.concat(pieces, length);
        length += value.length;
        const isTaken = this.arriving.take(holder, value.length);
        if (isTaken) held += value.length;
        if (!isTaken || length > maxBytes) {
          void reader.cancel().catch(() => {}); // the rest is not needed
          return isTaken ? "too-large" : "too-many";
        }
        pieces.push(value);
      }
    } catch {
      return "cut-short";
    } finally {
      this.arriving.giveBack(holder, held);
    }
  }
}

/** A stream that uses gzip in either direction counts as two streams. */
export const GZIP_WEIGHT = 2;
/**
 * Maximum number of open streams: for all keys together, and for a key while no other key has streams. SECURITY.md
 * states how much memory they use (test/scenarios/server/stream-memory.test.ts).
 */
const STREAMS = { all: 128, alone: 32 };
/** Minimum limits per worker, regardless of the number of workers. */
const MIN_STREAMS = { all: 32, alone: 8 };

/**
 * The open streams and the unfinished bodies.
 *
 * Bun reads up to 1 MiB of a body before it pauses the socket, and delivers it in one piece. While the answers to that
 * piece are unread, Bun reads as much again. A quiet stream uses 90 KB. When input and answers pile up, a stream uses
 * up to 5 MB, and with gzip 12 to 35 MB, mostly garbage. Only a limit on the number of streams bounds this memory.
 */
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
