// connections.ts: limits open connections, which Bun.serve cannot do.
//
// in   the listener's port; the maximum number of connections; how many connections other workers have on the same
//      port; the proxies that the operator trusts
// out  the number of open connections; excess connections are shut down four times a second (connection-eviction.ts)
// err  If the system does not list open files, nothing is limited and `open` is undefined. This is the case on systems
//      other than Linux, and while the machine has no free file descriptor.
// cost a check needs one stat while the number of open files is below the connection limit; above the limit, checking
//      takes 2 µs per open file
//
// Between two checks, only the process's limit of open files bounds a flood. At that limit, Bun continues to answer its
// existing connections. It accepts new connections once idle connections have timed out (8 to 13 s).
//
// Checking and shutting down run on the thread that accepts connections, so no descriptor is reused in between. Bun
// treats the shutdown as if the other side had closed the connection. Each of several workers stores its number of
// connections four times a second, and shuts down its share of the excess.

import { ptr } from "bun:ffi";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { IpAddress, type Prefix, prefixContains } from "@inkling/engine";
import { openLibc } from "@inkling/release-store/libc";
import { type Connection, excessConnections } from "./connection-eviction.ts";

const LOOK_MS = 250;
const OPEN_FILES = "/proc/self/fd";
/** File descriptors reserved for files, the database, the admin listener and verification. */
const RESERVED_FILES = 256;
const SHUT_BOTH = 2;
const ADDRESS_BYTES = 128; // size of sockaddr_storage
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** Offsets in struct tcp_info of the milliseconds since data was last sent and received. */
const LAST_SENT = 44;
const LAST_RECEIVED = 52;

interface Sockets {
  /** An upper bound for the number of open connections. */
  openFiles(): number;
  /** Connections accepted on `port`; undefined while the system cannot list them. */
  connected(port: number): Connection[] | undefined;
  /** Milliseconds since data was last sent or received. */
  idleMs(connection: Connection): number;
  shutdown(connection: Connection): void;
}

export interface ConnectionLimitOptions {
  readonly port: number;
  readonly most: number;
  /** Called after each check that found too many connections. */
  readonly onExcess: (closed: number, most: number) => void;
  /**
   * Stores this worker's number of connections.
   * @returns the number for all workers. By default, this is the only worker.
   */
  readonly share?: (open: number) => number;
  /** Number of workers that share the port. The limit of open files applies to each worker separately. */
  readonly workers?: number;
  /**
   * Number of connections that another listener of this process may have. They also count as open files. To save time,
   * connections are listed only if there are more open files than both listeners may have connections.
   */
  readonly mostBeside?: number;
  readonly trustedProxies: readonly Prefix[];
}

type ChangeableOptions = Pick<ConnectionLimitOptions, "most" | "mostBeside" | "trustedProxies">;

export class ConnectionLimit {
  /** The connection limit that applies. It is lower than requested if the limit of open files leaves no room. */
  most: number;
  private readonly options: ConnectionLimitOptions;
  private mostBeside: number;
  private sockets: Sockets | undefined;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly mostHere: number;
  private closed = 0;

  constructor(options: ConnectionLimitOptions) {
    this.options = options;
    this.mostHere = mostOfProcess();
    this.sockets = openSockets(options.trustedProxies, this.mostHere + RESERVED_FILES);
    this.most = mostConnections(options.most, options.workers);
    this.mostBeside = options.mostBeside ?? 0;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  change({ most, mostBeside = 0, trustedProxies }: ChangeableOptions): void {
    this.most = mostConnections(most, this.options.workers);
    this.mostBeside = mostBeside;
    this.sockets = openSockets(trustedProxies, this.mostHere + RESERVED_FILES);
  }

  /** Number of open connections; undefined while the system cannot list them. */
  get open(): number | undefined {
    return this.sockets?.connected(this.options.port)?.length;
  }

  /** Number of connections shut down since startup. */
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
    if (atMost <= this.mostHere && share(atMost) <= this.most + this.mostBeside) return;
    const connected = sockets.connected(port);
    if (connected === undefined) return;
    const together = share(connected.length);
    const excess = Math.max(
      connected.length - this.mostHere,
      Math.ceil(((together - this.most) * connected.length) / together),
    );
    if (!(excess > 0)) return;
    for (const connection of excessConnections(connected, excess, sockets.idleMs)) {
      sockets.shutdown(connection);
    }
    this.closed += excess;
    share(connected.length - excess);
    this.options.onExcess(excess, this.most);
  }
}

/**
 * Returns the connection limit that applies. It is lower than `asked` if a worker's limit of open files does not allow
 * that many connections.
 */
export function mostConnections(asked: number, workers = 1): number {
  return Math.min(asked, mostOfProcess() * workers);
}

const mostOfProcess = () => Math.max(1, openFilesLimit() - RESERVED_FILES);

/** Returns the number of files that this process may open; infinity if it is unknown. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY; // no /proc, so this is not Linux
  }
}

/**
 * Lists the open file descriptors. Listing needs a free descriptor. At the limit of open files, no descriptor is free,
 * but then every number below the limit is in use.
 * @returns undefined if the whole system has no free descriptor
 */
function listOpenFiles(most: number): number[] | undefined {
  try {
    return readdirSync(OPEN_FILES).map(Number);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EMFILE") return Array.from({ length: most }, (_, descriptor) => descriptor);
    if (code === "ENFILE") return undefined;
    throw error;
  }
}

/**
 * Returns functions that list, examine and shut down sockets; undefined on systems that do not support them.
 * @param most maximum number of files that this process may open
 */
function openSockets(trustedProxies: readonly Prefix[], most: number): Sockets | undefined {
  const libc = openLibc({
    getsockname: { args: ["int", "ptr", "ptr"], returns: "int" },
    getpeername: { args: ["int", "ptr", "ptr"], returns: "int" },
    getsockopt: { args: ["int", "int", "int", "ptr", "ptr"], returns: "int" },
    shutdown: { args: ["int", "int"], returns: "int" },
  });
  if (libc === undefined) return undefined;
  const { getsockname, getpeername, getsockopt, shutdown } = libc;
  const address = Buffer.alloc(ADDRESS_BYTES);
  const size = new Uint32Array(1);
  const peer = new IpAddress();
  const succeeds = (call: typeof getsockname, descriptor: number) => {
    size[0] = ADDRESS_BYTES;
    return call(descriptor, ptr(address), ptr(size)) === 0;
  };
  // sockaddr_in and sockaddr_in6 both hold the port in bytes 2 and 3, big-endian.
  const isOn = (port: number, descriptor: number) =>
    succeeds(getsockname, descriptor) &&
    (address[0] === AF_INET || address[0] === AF_INET6) &&
    address[2]! * 256 + address[3]! === port;
  return {
    // Since version 6.2, Linux returns the number of open files as the folder's size. Earlier versions return 0.
    openFiles: () => statSync(OPEN_FILES).size || (listOpenFiles(most)?.length ?? 0),
    connected: (port) =>
      listOpenFiles(most)?.flatMap((descriptor) => {
        if (!isOn(port, descriptor) || !succeeds(getpeername, descriptor)) return [];
        const source = readPeer(address, peer);
        return { descriptor, source, isTrusted: trustedProxies.some((net) => prefixContains(net, peer)) };
      }),
    idleMs: ({ descriptor }) => {
      size[0] = ADDRESS_BYTES;
      if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, ptr(address), ptr(size)) !== 0) return 0;
      return Math.min(address.readUInt32LE(LAST_SENT), address.readUInt32LE(LAST_RECEIVED));
    },
    shutdown: ({ descriptor }) => {
      shutdown(descriptor, SHUT_BOTH);
    },
  };
}

/** Reads the peer's address. @returns the source: an IPv4 address, or the /64 of an IPv6 address, in hex */
function readPeer(socketAddress: Buffer, into: IpAddress): string {
  const isV6 = socketAddress[0] === AF_INET6;
  const isMapped =
    isV6 && socketAddress.readBigUInt64BE(8) === 0n && socketAddress.readUInt32BE(16) === 0xffff;
  const isV4 = !isV6 || isMapped;
  const start = isMapped ? 20 : isV4 ? 4 : 8;
  into.family = isV4 ? 4 : 6;
  for (let i = 0; i < (isV4 ? 1 : 4); i++) into.words[i] = socketAddress.readUInt32BE(start + 4 * i);
  return socketAddress.toString("hex", start, start + (isV4 ? 4 : 8));
}
