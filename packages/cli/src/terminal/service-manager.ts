// service-manager.ts: tells systemd that the server is ready, alive, or stopping (sd_notify).
//
// A message that cannot be sent is dropped, and systemd acts on its absence. The runtime cannot send datagrams over
// unix sockets, so the C library sends them. systemd's main process is the launcher, and this process is its child. The
// unit therefore needs `NotifyAccess=all`.

import { ptr } from "bun:ffi";
import { openLibc } from "@inkling/data/libc";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** Maximum bytes of sun_path, without the terminating zero. */
const MAX_PATH_BYTES = 107;

/** The environment variables that systemd sets. */
export interface NotifyOptions {
  /** A path, or an abstract name that begins with "@". */
  readonly notifySocket: string | undefined;
  readonly watchdogUsec: number | undefined;
}

interface ServiceManager {
  /**
   * Reports that the server is ready. From then on, it also reports at half the watchdog interval that this
   * process is alive.
   */
  ready(): void;
  stopping(): void;
}

export function serviceManager({ notifySocket, watchdogUsec }: NotifyOptions): ServiceManager {
  const send = notifySocket === undefined ? undefined : openSocket(notifySocket);
  if (send === undefined) return { ready() {}, stopping() {} };
  return {
    ready: () => {
      send("READY=1");
      if (watchdogUsec !== undefined) setInterval(() => send("WATCHDOG=1"), watchdogUsec / 2_000).unref();
    },
    stopping: () => send("STOPPING=1"), // the watchdog keeps running, so that systemd also ends a stop that hangs
  };
}

function openSocket(path: string): ((message: string) => void) | undefined {
  const name = Buffer.from(path.replace(/^@/, "\0")); // "@" starts an abstract name
  const libc = openLibc({
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "ptr", "u64", "int", "ptr", "u32"], returns: "i64" },
  });
  if (libc === undefined || name.length > MAX_PATH_BYTES) return undefined;
  const descriptor = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return undefined;
  const address = new Uint8Array(2 + name.length); // sockaddr_un
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(name, 2);
  return (message) => {
    const bytes = Buffer.from(message);
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    libc.sendto(descriptor, ptr(bytes), bytes.length, flags, ptr(address), address.length);
  };
}
