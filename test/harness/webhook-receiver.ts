// webhook-receiver.ts: a receiver of webhooks on loopback, which verifies what arrives with the npm package standardwebhooks.

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

/** @param answer of a request, the first of which is number 0 */
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

/** Answers each connection by hand. */
export async function startRawReceiver(answer: (socket: Socket) => unknown): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The payload of a message. @throws what the package throws for a signature that is not valid */
export const verified = (secret: string, { body, headers }: Received): unknown =>
  new Verifier(secret).verify(body, { ...headers });
