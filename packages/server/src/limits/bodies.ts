// bodies.ts: reads whole request bodies. Every path that needs a whole body reads it here, with or without a key, so
// that one limit holds for all unfinished bodies of this thread.
//
// 5,000 connections without a key held 340 MB of unfinished bodies. Bun closes a connection whose body takes longer
// than 12 s, so nobody can keep a share for long.

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
  /** Decodes the body, if it is encoded. */
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
