// ports.ts: free ports on this machine, for servers that need a fixed port.
//
// A port that was free a moment ago may be given to another process that asks for any port. So these lie below the
// ports that systems give out (from 32768), and each process looks in a range of its own.

const FIRST = 10_000;
const RANGE = 100;
const RANGES = 220;

let at = 0;

/** A free port, never the same one twice in a process. */
export function freePort(): number {
  for (let tried = 0; tried < RANGE; tried++) {
    const port = FIRST + (process.pid % RANGES) * RANGE + (at++ % RANGE);
    if (isFree(port)) return port;
  }
  throw new Error(`no port is free: ${RANGE} were tried`);
}

/** Whether a server can listen on it, on 127.0.0.1. */
export function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
