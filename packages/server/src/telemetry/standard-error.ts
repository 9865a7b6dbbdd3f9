// standard-error.ts: writes log lines to standard error, which several processes share.
//
// in   whole lines
// out  writes of at most 4,096 bytes of whole lines: a pipe takes each as one, so lines of several processes do not mix
// err  none thrown: without a reader, or with a full disk, lines are lost and the service continues. A slow reader is
//      waited for

import { writeSync } from "node:fs";

/** PIPE_BUF of Linux. */
const ATOMIC_BYTES = 4096;
const LINE_END = 0x0a;
const RETRY_MS = 1;

/** @returns bytes written. @throws with a code, such as ENOSPC, EPIPE or EAGAIN */
type Write = (fd: number, bytes: Uint8Array) => number;

export function lineWriter(fd: number, write: Write = writeSync): (lines: string) => void {
  /** What is left of a piece that was written in part: without it the next line would be broken. */
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

/** Writes what can be written. @returns the rest */
function unwritten(bytes: Uint8Array, fd: number, write: Write): Uint8Array {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(write(fd, rest));
    } catch (error) {
      // Standard error is where any other fault would be reported.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return rest;
      Bun.sleepSync(RETRY_MS);
    }
  }
  return rest;
}

/** Whole lines, as many at once as are written in one go. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    let end = bytes.lastIndexOf(LINE_END, start + ATOMIC_BYTES - 1) + 1;
    if (end <= start) end = bytes.indexOf(LINE_END, start) + 1 || bytes.length; // one long line
    yield bytes.subarray(start, end);
    start = end;
  }
}
