// connections.ts: a bound on open connections, which Bun.serve does not have.
//
// in   the listener's port, the most connections that may be open at once; where several workers have the port, how many
//      the others have
// out  how many are open; those beyond the bound are shut down, the newest first, four times a second
// err  where the system does not list open files (not Linux), nothing is bounded and `open` is undefined
// cost while fewer files are open than connections may be, one stat; beyond that 1.2 µs for each open file and look
//
// Between two looks a flood is bounded by the process's limit of open files. Beyond that Bun goes on answering the
// connections that it has, and accepts again when idle ones have run into their time-out (10 to 14 s).
// Looking and shutting down happen on the thread that accepts, so no descriptor changes hands in between; Bun
// treats the shutdown as if the other side had left. Of several workers each stores four times a second how many it has,
// and shuts down its share of the excess.

import { ptr } from "bun:ffi";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { openLibc } from "./libc.ts";

const LOOK_MS = 250;
const OPEN_FILES = "/proc/self/fd";
/** Descriptors kept for files, the database, the admin listener and verifying. */
const RESERVED_FILES = 256;
const SHUT_BOTH = 2;
const ADDRESS_BYTES = 128; // sockaddr_storage

interface Sockets {
  /** At least as many as connections are open. */
  openFiles(): number;
  /** Descriptors of connections that were accepted on `port`, by number: mostly the oldest first. */
  connected(port: number): number[];
  shutdown(descriptor: number): void;
}

export interface ConnectionLimitOptions {
  readonly port: number;
  readonly most: number;
  /** Called after each look that found too many. */
  readonly onExcess: (closed: number, most: number) => void;
  /** Stores how many connections this worker has. @returns how many all have. Without it, this one is alone */
  readonly share?: (open: number) => number;
  /** Workers that have the port; each may open as many files as the limit allows. */
  readonly workers?: number;
}

export class ConnectionLimit {
  /** In force: less than requested when the limit of open files leaves no room for it. */
  readonly most: number;
  private readonly options: ConnectionLimitOptions;
  private readonly sockets = openSockets();
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly mostHere: number;
  private closed = 0;

  constructor(options: ConnectionLimitOptions) {
    this.options = options;
    this.mostHere = mostOfProcess();
    this.most = mostConnections(options.most, options.workers);
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  /** Connections open now; undefined where the system does not list them. */
  get open(): number | undefined {
    return this.sockets?.connected(this.options.port).length;
  }

  /** Connections shut down since the start. */
  get refused(): number {
    return this.closed;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { sockets } = this;
    if (sockets === undefined) return;
    const { share = (open: number) => open, port } = this.options;
    const atMost = sockets.openFiles();
    if (atMost <= this.mostHere && share(atMost) <= this.most) return;
    const connected = sockets.connected(port);
    const together = share(connected.length);
    const excess = Math.max(
      connected.length - this.mostHere,
      Math.ceil(((together - this.most) * connected.length) / together),
    );
    if (!(excess > 0)) return;
    for (const descriptor of connected.slice(-excess)) sockets.shutdown(descriptor);
    this.closed += excess;
    share(connected.length - excess);
    this.options.onExcess(excess, this.most);
  }
}

/** What `asked` becomes where the limit of open files leaves no room for it; the workers of a server have the limit of this process. */
export function mostConnections(asked: number, workers = 1): number {
  return Math.min(asked, mostOfProcess() * workers);
}

const mostOfProcess = () => Math.max(1, openFilesLimit() - RESERVED_FILES);

/** How many files this process may open; infinite where it is not known. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY; // no /proc: not Linux
  }
}

function openSockets(): Sockets | undefined {
  const libc = openLibc({
    getsockname: { args: ["int", "ptr", "ptr"], returns: "int" },
    getpeername: { args: ["int", "ptr", "ptr"], returns: "int" },
    shutdown: { args: ["int", "int"], returns: "int" },
  });
  if (libc === undefined) return undefined;
  const { getsockname, getpeername, shutdown } = libc;
  const address = new Uint8Array(ADDRESS_BYTES);
  const size = new Uint32Array(1);
  const succeeds = (call: typeof getsockname, descriptor: number) => {
    size[0] = ADDRESS_BYTES;
    return call(descriptor, ptr(address), ptr(size)) === 0;
  };
  // sockaddr_in and sockaddr_in6 both hold the port in bytes 2 and 3, big-endian; AF_INET is 2, AF_INET6 10.
  const isOn = (port: number, descriptor: number) =>
    succeeds(getsockname, descriptor) &&
    (address[0] === 2 || address[0] === 10) &&
    address[2]! * 256 + address[3]! === port;
  return {
    // Linux gives the number as the folder's size since 6.2, and 0 before.
    openFiles: () => statSync(OPEN_FILES).size || readdirSync(OPEN_FILES).length,
    connected: (port) =>
      readdirSync(OPEN_FILES)
        .map(Number)
        .filter((descriptor) => isOn(port, descriptor) && succeeds(getpeername, descriptor))
        .sort((a, b) => a - b),
    shutdown: (descriptor) => {
      shutdown(descriptor, SHUT_BOTH);
    },
  };
}
