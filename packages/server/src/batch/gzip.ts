// gzip.ts: answers on their way, as gzip.
//
// in   pieces of an answer
// out  for each piece the bytes with which the other side can read it: nothing waits for the next piece
// err  none expected: zlib's own faults reject
// cost level 3: 1 GB of answers takes a second, on a thread of zlib's, and becomes 65 MB; level 1 is no faster here,
//      level 6 takes twice as long for 5 % less

import { constants, createGzip, gzipSync } from "node:zlib";

const LEVEL = 3;
/** What fits into one packet anyway is not worth it. */
const LEAST_BYTES = 1_400;

/** A whole answer, where that makes it smaller. */
export function gzipped(body: Uint8Array): Uint8Array | undefined {
  return body.length < LEAST_BYTES ? undefined : gzipSync(body, { level: LEVEL });
}

export class GzipPieces {
  private readonly gzip = createGzip({ level: LEVEL });
  private pieces: Uint8Array[] = [];

  constructor() {
    this.gzip.on("data", (piece: Uint8Array) => this.pieces.push(piece));
  }

  /** Compresses a piece. */
  add(piece: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    return this.made((done) => {
      this.gzip.write(piece);
      this.gzip.flush(constants.Z_SYNC_FLUSH, done);
    });
  }

  /** Closes the stream. @returns its last bytes */
  end(): Promise<Uint8Array<ArrayBuffer>> {
    return this.made((done) => this.gzip.once("end", done).end());
  }

  /** Frees what zlib holds, also in the middle. */
  close(): void {
    this.gzip.destroy();
  }

  private made(work: (done: () => void) => void): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      this.gzip.once("error", reject);
      work(() => {
        this.gzip.off("error", reject);
        const made = Buffer.concat(this.pieces);
        this.pieces = [];
        resolve(made as Uint8Array<ArrayBuffer>);
      });
    });
  }
}
