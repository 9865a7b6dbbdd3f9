// ports.ts: free ports on this machine, for servers that need a fixed port.
//
// The system may assign a port that was free a moment ago to another process that asks for any port. These ports are
// therefore below the range that systems assign (from 32768), and each process searches its own range.

const FIRST = 10_000;
const RANGE = 100;
const RANGES = 220;

let at = 0;

/** Returns a free port. A process gets the same port again only after it has tried all RANGE ports. */
export function freePort(): number {
  for (let tried = 0; tried < RANGE; tried++) {
    const port = FIRST + (process.pid % RANGES) * RANGE + (at++ % RANGE);
    if (isFree(port)) return port;
  }
  throw new Error(`no port is free: ${RANGE} were tried`);
}

/** Can a server listen on this port on 127.0.0.1? */
export function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
