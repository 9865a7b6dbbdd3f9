// standard-error.ts: writes log lines to standard error, which all threads of the server share.
//
// A pipe accepts each write as a unit, so lines from different threads do not mix.

import { writeSync } from "node:fs";

export const STANDARD_ERROR = 2;
/** Linux's PIPE_BUF, in bytes. */
const ATOMIC_BYTES = 4096;
const LINE_END = 0x0a;
const RETRY_MS = 1;

/** @returns the number of written bytes. @throws an error with a code, such as ENOSPC, EPIPE or EAGAIN */
type Write = (fd: number, bytes: Uint8Array) => number;

export function lineWriter(fd: number, write: Write = writeSync): (lines: string) => void {
  /** The rest of a piece that was only partly written. It must be written first, or it would break up a later line. */
  let begun: Uint8Array = new Uint8Array();
  return (lines) => {
    begun = unwritten(begun, fd, write);
    if (begun.length > 0) return;
    for (const piece of pieces(Buffer.from(lines))) {
      const left = unwritten(piece, fd, write);
      if (left.length === 0) continue;
      if (left.length < piece.length) begun = left;
      return;
    }
  };
}

/** Writes as much as possible. @returns the rest */
function unwritten(bytes: Uint8Array, fd: number, write: Write): Uint8Array {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(write(fd, rest));
    } catch (error) {
      // Nothing can report this fault, because faults are reported on standard error.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return rest;
      Bun.sleepSync(RETRY_MS);
    }
  }
  return rest;
}

/** Yields pieces of whole lines, each small enough to be written as a unit, unless one line is longer. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    let end = bytes.lastIndexOf(LINE_END, start + ATOMIC_BYTES - 1) + 1;
    if (end <= start) end = bytes.indexOf(LINE_END, start) + 1 || bytes.length; // a single long line
    yield bytes.subarray(start, end);
    start = end;
  }
}
