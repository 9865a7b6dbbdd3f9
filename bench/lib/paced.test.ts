// The client at a fixed rate, against servers that answer, stall, send in pieces and refuse.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Paced, pacedLoad } from "./load.ts";
import { compiled } from "./peers.ts";

const program = Bun.which("gcc") === null ? undefined : compiled("paced");
const folder = mkdtempSync(join(tmpdir(), "inkling-paced-"));
afterAll(() => rmSync(folder, { recursive: true }));
const paths = join(folder, "paths.txt");
writeFileSync(paths, "/one\n/two\n");

const RATE = 1_000;
const SECONDS = 0.3;
const COUNT = RATE * SECONDS;

const run = (port: number, connections = 4): Promise<Paced> =>
  pacedLoad(program!, { port, rate: RATE, seconds: SECONDS, connections, paths, token: "secret" });

/** A server that writes these pieces for each request, one a turn. */
function raw(pieces: readonly string[], isClosing = false) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async data(socket) {
        for (const piece of pieces) {
          socket.write(piece);
          socket.flush();
          await Bun.sleep(1);
        }
        if (isClosing) socket.end();
      },
    },
  });
}

describe.skipIf(program === undefined)("requests at a fixed rate", () => {
  test("are all sent, in turn, with the key, and answered", async () => {
    const received: string[] = [];
    const server = Bun.serve({
      port: 0,
      fetch(request) {
        received.push(`${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
        return new Response("x".repeat(100_000));
      },
    });
    const { requests, ms } = await run(server.port!);
    await server.stop(true);
    expect(requests).toBe(COUNT);
    expect(received.toSorted()).toEqual([
      ...new Array(COUNT / 2).fill("/one Bearer secret"),
      ...new Array(COUNT / 2).fill("/two Bearer secret"),
    ]);
    expect([ms.p50, ms.p90, ms.p99, ms.p999, ms.p9999, ms.most]).toEqual(
      Object.values(ms).toSorted((a, b) => a - b),
    );
    expect(ms.p50).toBeGreaterThan(0);
  });

  test("a stall of the server counts for all that were due in it, not only for those in flight", async () => {
    let count = 0;
    const server = Bun.serve({
      port: 0,
      fetch() {
        if (++count === 100) Bun.sleepSync(100);
        return new Response("x");
      },
    });
    const { ms, slow, sentLate } = await run(server.port!, 1);
    await server.stop(true);
    expect(ms.most).toBeGreaterThanOrEqual(100);
    expect(slow).toBeGreaterThanOrEqual(95); // due in the first 95 of these 100 ms
    expect(sentLate).toBeGreaterThanOrEqual(95);
  });

  test.each([
    ["head and body in pieces", ["HTTP/1.1 200 OK\r\nCont", "ent-length: 4\r\n\r", "\nab", "cd"]],
    ["no body", ["HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"]],
  ])("%s", async (_, pieces) => {
    const server = raw(pieces);
    expect((await run(server.port, 64)).requests).toBe(COUNT);
    server.stop(true);
  });

  test.each([
    [
      "another status",
      ["HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n"],
      false,
      "an answer of status 429",
    ],
    ["no Content-Length", ["HTTP/1.1 200 OK\r\n\r\n"], false, "without Content-Length"],
    ["more than was announced", ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"], false, "more bytes"],
    ["no HTTP", ["hello\r\n\r\n"], false, "not an answer"],
    ["a connection that is closed", ["HTTP/1.1 200 OK\r\nContent-Le"], true, "a connection ended"],
    ["a head without end", ["x".repeat(20_000)], false, "a head of more than"],
  ])("%s ends it", async (_, pieces, isClosing, words) => {
    const server = raw(pieces, isClosing);
    await expect(run(server.port)).rejects.toThrow(words);
    server.stop(true);
  });

  test("nothing listens", async () => {
    await expect(run(1)).rejects.toThrow("cannot connect");
  });
});
