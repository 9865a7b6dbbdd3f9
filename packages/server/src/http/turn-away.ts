// turn-away.ts: keeps new connections from a listener that is about to close, so that closing it resets none.
//
// why  Closing a listener resets the connections in its queue. Where several listeners share the port, the kernel has
//      assigned each new connection to one of them.
// how  A filter on the listening socket drops packets that begin a connection, and only those: handshakes under way end
//      and are accepted. Whoever is dropped sends the packet again after a second, when another listener has the port.
// err  false where the system has no such filter (not Linux)

import { ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { openLibc } from "@inkling/release-store/libc";

/** Handshakes under way end within it; it is shorter than the second after which a dropped packet is sent again. */
export const TURN_AWAY_MS = 500;
/** Enough to accept the connections in the queue; for a stop that announced nothing to load balancers. */
export const QUEUE_MS = 20;

const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
const SO_ACCEPTCONN = 30;
const FLAGS_OFFSET = 13; // in the TCP header, where the filter of a TCP socket begins
const SYN = 0x02;
const ACK = 0x10;

/** Classic BPF: code, jump if true, jump if false, operand. */
const DROP_SYN: readonly (readonly [number, number, number, number])[] = [
  [0x30, 0, 0, FLAGS_OFFSET], // load a byte
  [0x54, 0, 0, SYN | ACK], // and
  [0x15, 0, 1, SYN], // jump if equal
  [0x06, 0, 0, 0], // return: nothing of the packet is kept
  [0x06, 0, 0, 0xffffffff], // return: all of it
];

/** @returns whether a listener of this process on `port` accepts no new connections now */
export function turnAway(port: number): boolean {
  const libc = openLibc({
    getsockname: { args: ["int", "ptr", "ptr"], returns: "int" },
    getsockopt: { args: ["int", "int", "int", "ptr", "ptr"], returns: "int" },
    setsockopt: { args: ["int", "int", "int", "ptr", "u32"], returns: "int" },
  });
  if (libc === undefined) return false;
  const address = new Uint8Array(128); // sockaddr_storage
  const value = new Int32Array(1);
  const size = new Uint32Array(1);
  const isListener = (descriptor: number) => {
    size[0] = value.byteLength;
    const isSocket = libc.getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(size)) === 0;
    if (!isSocket || value[0] !== 1) return false;
    size[0] = address.byteLength;
    // sockaddr_in and sockaddr_in6 both hold the port in bytes 2 and 3, big-endian; AF_INET is 2, AF_INET6 10.
    return (
      libc.getsockname(descriptor, ptr(address), ptr(size)) === 0 &&
      (address[0] === 2 || address[0] === 10) &&
      address[2]! * 256 + address[3]! === port
    );
  };
  const code = program();
  const filter = new DataView(new ArrayBuffer(16)); // sock_fprog
  filter.setUint16(0, DROP_SYN.length, true);
  filter.setBigUint64(8, BigInt(ptr(code)), true);
  const attach = (descriptor: number) =>
    libc.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(filter), filter.byteLength) === 0;
  const listeners = readdirSync("/proc/self/fd").map(Number).filter(isListener);
  return listeners.length > 0 && listeners.every(attach);
}

function program(): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(DROP_SYN.length * 8)); // sock_filter
  for (const [i, [code, onTrue, onFalse, operand]] of DROP_SYN.entries()) {
    bytes.setUint16(i * 8, code, true);
    bytes.setUint8(i * 8 + 2, onTrue);
    bytes.setUint8(i * 8 + 3, onFalse);
    bytes.setUint32(i * 8 + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
