// raw-http.ts: sends bytes to a port and reads the response, without an HTTP client that would correct them.

import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Sends bytes on a new connection and reads until either side closes it.
 * @param isDone returns whether this side closes the connection; if undefined, it closes right after the
 * bytes
 */
export function converse(
  port: number,
  bytes: Uint8Array,
  isDone?: (received: string, socket: Socket) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1");
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      try {
        if (isDone?.(received, socket)) socket.end();
      } catch (error) {
        socket.destroy();
        reject(error);
      }
    });
    socket.on("close", () => resolve(received));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // The server may close while bytes are still on their way. The responses received so far count.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.write(bytes);
    if (isDone === undefined) socket.end();
  });
}

/**
 * Sends bytes, waits for `count` responses, and sends another request on the same connection.
 * @returns everything received
 */
export function exchange(port: number, bytes: Uint8Array, count: number, next: Uint8Array): Promise<string> {
  let isNextSent = false;
  return converse(port, bytes, (received, socket) => {
    const found = responsesIn(received).length;
    if (found < count) return false;
    if (!isNextSent) socket.write(next);
    isNextSent = true;
    return found > count;
  });
}

/**
 * Returns the complete responses in `received`, without interim ones (100).
 * @throws Error if anything but a response follows a response
 */
export function responsesIn(received: string): RawAnswer[] {
  const found: RawAnswer[] = [];
  for (let at = 0; at < received.length; ) {
    const end = received.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const head = received.slice(at, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${head} `)?.[1]);
    if (!(status >= 100)) throw new Error(`not HTTP: ${JSON.stringify(head.slice(0, 200))}`);
    const header = (name: string) => new RegExp(`^${name}: *(.*)$`, "im").exec(head)?.[1]?.trim();
    const from = end + 4;
    let body = "";
    at = from;
    if (header("transfer-encoding") === "chunked") {
      const chunked = chunksIn(received, from);
      if (chunked === undefined) break;
      [body, at] = chunked;
    } else if (!received.startsWith("HTTP/1.1 ", from)) {
      // The response to a HEAD request states the length of a body that is not sent.
      at = from + Number(header("content-length") ?? 0);
      if (at > received.length && received.length > from) break;
      body = received.slice(from, at);
    }
    if (status !== 100) found.push({ status, body });
  }
  return found;
}

function chunksIn(text: string, from: number): [body: string, end: number] | undefined {
  let body = "";
  for (let at = from; ; ) {
    const line = text.indexOf("\r\n", at);
    const size = line < 0 ? Number.NaN : Number.parseInt(text.slice(at, line), 16);
    if (!(line + size + 4 <= text.length)) return undefined;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
    if (size === 0) return [body, at];
  }
}
