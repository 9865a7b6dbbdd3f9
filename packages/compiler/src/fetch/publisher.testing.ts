// publisher.testing.ts: a publisher on 127.0.0.1 for tests. It sends valid and faulty responses.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createRawServer } from "node:net";
import { gzipSync } from "node:zlib";

export const LIST = "192.0.2.1\n192.0.2.2\n";
export const ETAG = '"v1"';
export const LAST_MODIFIED = "Sat, 01 Aug 2026 12:00:00 GMT";
/** 16 MiB of zeros, compressed to 16 KiB. */
const BOMB = gzipSync(Buffer.alloc(2 ** 24));

export interface Publisher {
  readonly base: string;
  /** The path and the relevant headers of each request. */
  readonly requests: { path: string; userAgent: string | undefined; ifNoneMatch: string | undefined }[];
  stop(): Promise<void>;
}

export async function startPublisher(): Promise<Publisher> {
  const requests: Publisher["requests"] = [];
  const server = createServer((request, response) => {
    const { "user-agent": userAgent, "if-none-match": ifNoneMatch } = request.headers;
    const path = request.url!;
    requests.push({ path, userAgent, ifNoneMatch });
    const ok = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
      response.writeHead(200, headers).end(body);
    const redirect = (location: string, status = 302) => response.writeHead(status, { location }).end();
    const hops = /^\/hops\/(\d+)$/.exec(path)?.[1];
    if (hops !== undefined) {
      if (hops === "0") ok(LIST);
      else redirect(`/hops/${Number(hops) - 1}`);
      return;
    }
    const answers: Record<string, () => unknown> = {
      "/good?token=secret": () => ok(LIST),
      "/good": () =>
        ifNoneMatch === ETAG
          ? response.writeHead(304).end()
          : ok(LIST, { etag: ETAG, "last-modified": LAST_MODIFIED }),
      "/gzip": () => ok(gzipSync(LIST)),
      "/encoded": () => ok(gzipSync(LIST), { "content-encoding": "gzip" }),
      "/twice": () => ok(gzipSync(gzipSync(LIST)), { "content-encoding": "gzip" }),
      "/empty": () => ok(""),
      "/one-byte": () => ok("1"),
      "/304": () => response.writeHead(304).end(),
      "/500": () => response.writeHead(500).end("oops"),
      "/403": () => response.writeHead(403).end("<html>no</html>"),
      "/moved": () => redirect("/new/home", 301),
      "/new/home": () => redirect("/good?token=secret", 308),
      "/moved-far": () => redirect(`/${"z".repeat(400)}`, 301),
      [`/${"z".repeat(400)}`]: () => ok(LIST),
      "/moved-for-now": () => redirect("/moved"),
      "/to-http": () => redirect("http://publisher.example/list"),
      "/to-loopback": () => redirect("http://127.0.0.1:1/list"),
      "/to-ftp": () => redirect("ftp://127.0.0.1/list"),
      "/to-nonsense": () => redirect("http://[nonsense"),
      "/to-nowhere": () => response.writeHead(302).end(),
      "/large": () => ok(Buffer.alloc(2 ** 20, "1")),
      "/bomb": () => ok(BOMB),
      "/bomb-encoded": () => ok(BOMB, { "content-encoding": "gzip" }),
      "/cut-encoded": () => ok(gzipSync(LIST.repeat(1000)).subarray(0, 40), { "content-encoding": "gzip" }),
      "/cut-gzip": () => ok(gzipSync(Buffer.from(LIST.repeat(1000))).subarray(0, 40)),
      "/damaged-gzip": () => {
        const body = gzipSync(LIST);
        body[body.length - 6]! ^= 1;
        return ok(body);
      },
      "/silent": () => undefined,
      "/stops": () => response.writeHead(200).write("1"),
      "/drip": () => {
        response.writeHead(200);
        const timer = setInterval(() => response.write("1"), 5);
        response.on("close", () => clearInterval(timer));
      },
    };
    const answer = answers[path];
    if (answer === undefined) response.writeHead(404).end("<!doctype html><title>404</title>");
    else answer();
  });
  await listen(server);
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Pick<Server, "listen">): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
}

/** Starts a server that sends `text` on each connection and then closes it. */
export async function startRaw(text: string): Promise<{ base: string; stop(): Promise<void> }> {
  const server = createRawServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export interface Script {
  readonly base: string;
  /** Number of requests so far. */
  count: number;
  /** Responds to a request. Tests replace this function. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  stop(): Promise<void>;
}

/** Starts a publisher with scripted responses. */
export async function startScript(): Promise<Script> {
  const server = createServer((request, response) => {
    script.count++;
    script.answer(request, response);
  });
  await listen(server);
  const script: Script = {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: 0,
    answer: (_, response) => response.writeHead(404).end(),
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return script;
}
