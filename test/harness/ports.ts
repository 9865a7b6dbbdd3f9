// ports.ts: free ports on this machine, for servers that need a fixed port.
//
// The system may assign a port that was free a moment ago to another process that asks for any port. These ports are
// therefore below the range that systems assign (from 32768), and each process has a range of its own: while it runs,
// it listens on the first port of its range.

const FIRST = 10_000;
const RANGE = 100;
const RANGES = 220;

let start: number | undefined;
let at = 0;

/** Returns a free port. A process gets the same port again only after it has tried all ports of its range. */
export function freePort(): number {
  start ??= ownRange();
  for (let tried = 1; tried < RANGE; tried++) {
    const port = start + 1 + (at++ % (RANGE - 1));
    if (isFree(port)) return port;
  }
  throw new Error(`no port is free: ${RANGE} were tried`);
}

function ownRange(): number {
  for (let tried = 0; tried < RANGES; tried++) {
    const first = FIRST + ((process.pid + tried) % RANGES) * RANGE;
    const held = listen(first);
    if (held === undefined) continue;
    held.unref();
    return first;
  }
  throw new Error(`no range of ports is free: ${RANGES} were tried`);
}

/** Can a server listen on this port on 127.0.0.1? */
export function isFree(port: number): boolean {
  const server = listen(port);
  server?.stop(true);
  return server !== undefined;
}

function listen(port: number) {
  try {
    return Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } });
  } catch {
    return undefined; // another program listens there
  }
}
