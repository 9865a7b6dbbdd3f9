// connections.ts: a bound on open connections, which Bun.serve does not have.
//
// in   the listener's port, the most connections that may be open at once; where several workers have the port, how many
//      the others have; the proxies that the operator trusts
// out  how many are open; those beyond the bound are shut down four times a second (connection-eviction.ts)
// err  where the system does not list open files (not Linux, or none can be opened on the whole machine), nothing is
//      bounded and `open` is undefined
// cost while fewer files are open than connections may be, one stat; beyond that 2 µs for each open file and look
//
// Between two looks a flood is bounded by the process's limit of open files. Beyond that Bun continues answering the
// connections that it has, and accepts again when idle ones have run into their time-out (10 to 14 s).
// Looking and shutting down happen on the thread that accepts, so no descriptor changes hands in between; Bun
// treats the shutdown as if the other side had left. Of several workers each stores four times a second how many it has,
// and shuts down its share of the excess.

import { ptr } from "bun:ffi";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { IpAddress, type Prefix, prefixContains } from "@inkling/engine";
import { openLibc } from "@inkling/release-store/libc";
import { type Connection, excessConnections } from "./connection-eviction.ts";

const LOOK_MS = 250;
const OPEN_FILES = "/proc/self/fd";
/** Descriptors kept for files, the database, the admin listener and verifying. */
const RESERVED_FILES = 256;
const SHUT_BOTH = 2;
const ADDRESS_BYTES = 128; // sockaddr_storage
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** In struct tcp_info: milliseconds since data was last sent, and received. */
const LAST_SENT = 44;
const LAST_RECEIVED = 52;

interface Sockets {
  /** At least as many as connections are open. */
  openFiles(): number;
  /** Those that were accepted on `port`; undefined while they cannot be listed. */
  connected(port: number): Connection[] | undefined;
  /** How long nothing was sent or received. */
  idleMs(connection: Connection): number;
  shutdown(connection: Connection): void;
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
  /**
   * Connections that another listener of this process may have. They are open files too, and a look at each costs time: so
   * there is none before more files are open than both may have connections.
   */
  readonly mostBeside?: number;
  readonly trustedProxies: readonly Prefix[];
}

type ChangeableOptions = Pick<ConnectionLimitOptions, "most" | "mostBeside" | "trustedProxies">;

export class ConnectionLimit {
  /** In force: less than requested when the limit of open files leaves no room for it. */
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

  /** Connections open now; undefined if, or while, the system does not list them. */
  get open(): number | undefined {
    return this.sockets?.connected(this.options.port)?.length;
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

/** The connection limit that applies: lower than `asked` where the limit of open files, which each worker has, allows no more. */
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

/**
 * Listing takes a descriptor. At the limit of open files none is left, but then every number below the limit is in use.
 * @returns undefined if the whole system has none left
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

/** @param most open files of this process */
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
    // Linux gives the number as the folder's size since 6.2, and 0 before.
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

/** @param into gets the address. @returns the source: an IPv4 address, or the /64 of an IPv6 address */
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
