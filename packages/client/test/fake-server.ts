// fake-server.ts: runs a server for tests, with scripted responses.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { NO_FLAGS } from "../src/generated.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** The reaction to one request. */
export type Step = (response: ServerResponse, request: ReceivedRequest) => void | Promise<void>;

export interface FakeServer {
  readonly url: string;
  /** Every request, in order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  close(): Promise<void>;
}

/** Starts a server. Each request gets the next step, and the last step repeats forever. */
export async function fakeServer(...steps: readonly Step[]): Promise<FakeServer> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = "", url = "", headers } = request;
    requests.push({ method, path: url, headers, body: Buffer.concat(parts).toString() });
    const step = steps[Math.min(requests.length, steps.length) - 1]!;
    await step(response, requests.at(-1)!);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Headers = Readonly<Record<string, string>>;

export const reply =
  (status: number, type: string, body: string, headers: Headers = {}): Step =>
  (response) =>
    void response.writeHead(status, { "Content-Type": type, "X-Request-Id": "req1", ...headers }).end(body);

export const json = (value: unknown, headers: Headers = {}): Step =>
  reply(200, "application/json", JSON.stringify(value), headers);

export const problemDocument = (status: number, code: string) => ({
  type: `/docs/errors#${code.toLowerCase()}`,
  title: "A title",
  status,
  detail: "A detail.",
  code,
});

export const problem = (status: number, code: string, headers: Headers = {}): Step =>
  reply(
    status,
    "application/problem+json",
    JSON.stringify({ ...problemDocument(status, code), request_id: "req1" }),
    headers,
  );

/** Answers as a proxy does when no application is behind it. */
export const html = (status: number): Step => reply(status, "text/html", "<html><h1>It works!</h1></html>");

/** Closes the connection without a response. */
export const cut: Step = (response) => void response.socket?.destroy();

/** Never answers. */
export const silence: Step = () => {};

export const CLEAN = NO_FLAGS;
export const KEY = "ink_live_0123456789abcdefghijABCDEFGHIJKL_abc123";
