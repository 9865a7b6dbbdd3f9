// webhook-receiver.ts: a receiver of webhooks on loopback that verifies deliveries with the npm package
// standardwebhooks.

import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { Webhook as Verifier } from "standardwebhooks";

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  stop(): unknown;
}

/** @param answer returns the response to a request; the first request is number 0 */
export function startReceiver(
  answer: (n: number, request: Received) => Response | Promise<Response> = () => new Response("ok"),
  tls?: { readonly cert: string; readonly key: string },
): Receiver {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(tls && { tls }),
    fetch: async (request) => {
      const { headers, url } = request;
      const one = {
        path: new URL(url).pathname,
        headers: Object.fromEntries(headers),
        body: await request.text(),
      };
      received.push(one);
      return answer(received.length - 1, one);
    },
  });
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${server.port}/hook`,
    received,
    stop: () => server.stop(true),
  };
}

export interface RawReceiver extends Receiver {
  /** Connections so far, whatever they sent. */
  readonly connections: number;
  /** Connections that neither side has closed. */
  readonly open: number;
}

/** Starts a receiver that answers each complete request on its raw socket. */
export async function startRawReceiver(answer: (socket: Socket) => unknown): Promise<RawReceiver> {
  const sockets = new Set<Socket>();
  const received: Received[] = [];
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    sockets.add(socket);
    let bytes = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const request = requestIn(bytes);
      if (request === undefined) return;
      socket.off("data", read);
      received.push(request);
      answer(socket);
    };
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", read);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** @returns undefined while the request is incomplete */
function requestIn(bytes: Buffer): Received | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers["content-length"] ?? 0)) return undefined;
  return { path: first!.split(" ")[1] ?? "", headers, body: body.toString() };
}

/**
 * Verifies a message and returns its payload.
 * @throws the package's error if the signature is invalid
 */
export const verified = (secret: string, { body, headers }: Received): unknown =>
  new Verifier(secret).verify(body, { ...headers });
