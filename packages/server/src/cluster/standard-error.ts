// standard-error.ts: writes to standard error that never wait for its reader.
//
// out  bytes written; throws EAGAIN where the reader is too slow, EPIPE where it is gone, ENOSPC on a full disk
// why  Whether writes wait is a property of the open file, which the primary, its workers and others share, and which
//      starting a process sets back. So a pipe or a terminal is opened once more, for this process alone. What cannot be
//      opened again (a socket, a pipe of another user) is told before each write.

import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { openLibc } from "@inkling/release-store/libc";
import type { WriteBytes } from "../telemetry/log-sink.ts";

const F_SETFL = 4;
const NOT_WAITING = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** @param fd the same open file under another number */
export function standardError(fd: number = process.stderr.fd): WriteBytes {
  // where nothing below applies, the runtime's stream makes it one that does not wait
  const kind = fstatSync(fd);
  if (kind.isFile()) return (bytes) => writeSync(fd, bytes);
  const own = reopen(fd);
  if (own !== undefined) return (bytes) => writeSync(own, bytes);
  const libc = openLibc({ fcntl: { args: ["int", "int", "int"], returns: "int" } });
  return (bytes) => {
    libc?.fcntl(fd, F_SETFL, NOT_WAITING);
    return writeSync(fd, bytes);
  };
}

function reopen(fd: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return openSync(`/proc/self/fd/${fd}`, NOT_WAITING);
  } catch {
    return undefined;
  }
}
