// replay.ts: starts the servers of the contract test, and sends them requests one after the other.

import { resolve } from "node:path";
import { temporaryFolder } from "../harness/release.ts";
import { Connection } from "./connection.ts";
import { Etags, normalised, type Request, type Response, requestBytes } from "./exchange.ts";
import { SERVERS, type ServerName, type Started } from "./server.ts";

export type Exchange = Request & { readonly response: Response };

export const RECORDED = resolve(import.meta.dir, "recorded.ndjson.br");

/**
 * @param each called with every response as it arrives
 * @param executable an executable that answers instead of this project's sources
 */
export async function replay(
  requests: readonly Request[],
  each: (request: Request, response: Response, index: number) => void,
  executable?: string,
): Promise<void> {
  const args = [
    resolve(import.meta.dir, "server.ts"),
    temporaryFolder(),
    ...(executable ? [executable] : []),
  ];
  const child = Bun.spawn([process.execPath, ...args], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    const { ports, tokens } = await firstLine(child.stdout);
    const connections = Object.fromEntries(
      SERVERS.map((name) => [name, new Connection(ports[name])]),
    ) as Record<ServerName, Connection>;
    const etags = new Etags();
    for (const [index, request] of requests.entries()) {
      const connection = connections[request.server];
      if (isAlone(request)) connection.close();
      const response = await connection
        .send(requestBytes(request, tokens, etags), request.method !== "HEAD")
        .then((raw) => normalised(request, raw, etags))
        .catch((error: Error) => failure(connection, error));
      if (isAlone(request)) connection.close();
      each(request, response, index);
    }
    for (const connection of Object.values(connections)) connection.close();
  } finally {
    child.stdin.end();
    await child.exited;
  }
}

/**
 * Is the connection's state unknown afterwards? It is after bytes that are not HTTP, and after a body that
 * was announced but not sent.
 */
const isAlone = ({ raw, headers = [] }: Request) =>
  raw !== undefined || headers.some((line) => line.startsWith("Content-Length:"));

/** Treats a broken connection as a response, because the server closes the connection after some requests. */
function failure(connection: Connection, error: Error): Response {
  connection.close();
  return { status: error.message, headers: [], body: "" };
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<Started> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("\n")) return JSON.parse(text);
  }
  throw new Error("the servers did not start");
}
