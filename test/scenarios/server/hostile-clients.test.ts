// Tests clients that send what no library would send, over real sockets.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { startServer } from "../../../packages/server/src/server.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { until } from "../../harness/until.ts";

let small: SmallServer;
beforeAll(async () => {
  small = await startSmallServer();
});
afterAll(() => small.server.stop());

/** Sends a request, and returns everything received until the connection ends. */
function exchange(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(small.server.port, "127.0.0.1", () =>
      socket.write(Buffer.from(request, "latin1")),
    );
    socket.on("data", (bytes) => {
      received += bytes;
    });
    socket.on("close", () => resolve(received)).on("error", reject);
  });
}

describe("the Host header", () => {
  const PATHS = ["/v1/ip-intel/geolocate/81.2.69.142", "/healthz", "/nowhere"];
  const get = async (path: string, hosts: readonly string[], version = "1.1") => {
    const fields = [
      ...hosts.map((host) => `Host: ${host}`),
      `Authorization: Bearer ${small.keys.live}`,
      "Connection: close",
    ];
    const response = await exchange(
      `GET ${path} HTTP/${version}\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`,
    );
    return { status: response.slice(9, 12), code: /"code":"(\w+)"/.exec(response)?.[1] };
  };

  test.each([[["a", "b"]], [["a", "a"]], [["a b"]], [["user@a"]], [["a/b"]], [["a:b"]], [["\xff"]]])(
    "%j is refused on every path",
    async (hosts) => {
      for (const path of PATHS)
        expect(await get(path, hosts)).toEqual({ status: "400", code: "HOST_INVALID" });
    },
  );

  test.each([[["a"]], [["a:8080"]], [["[::1]:80"]], [[""]]])("%j is answered", async (hosts) => {
    const statuses = [];
    for (const path of PATHS) statuses.push((await get(path, hosts)).status);
    expect(statuses).toEqual(["200", "200", "404"]);
  });

  test("HTTP/1.0 needs none", async () => {
    expect(await get("/healthz", [], "1.0")).toMatchObject({ status: "200" });
  });
});

describe("one source with many connections", () => {
  const MAX_CONNECTIONS = 40;
  const FLOOD = 200;
  const GREEDY = "127.0.9.9";
  const get = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

  /** Opens connections from an address, and sends a request on each. */
  async function open(port: number, from: string, count: number): Promise<Socket[]> {
    const opening = Array.from({ length: count }, async () => {
      const socket = connect({ port, host: "127.0.0.1", localAddress: from });
      socket.on("error", () => {});
      await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
      socket.write(get);
      socket.resume();
      return socket;
    });
    return Promise.all(opening);
  }
  const isOpen = ({ readyState }: Socket) => readyState === "open";
  const answers = (socket: Socket) =>
    new Promise<boolean>((resolve) => {
      socket.once("data", () => resolve(true)).once("close", () => resolve(false));
      socket.write(get);
    });

  test.each([
    ["is cut to its share; nobody else is", [], true],
    ["that is a trusted proxy goes before others", [`${GREEDY}/32`], false],
  ])("%s", async (_, trustedProxies, isGreedyCut) => {
    const server = await startServer({
      ...testServerOptions(temporaryFolder()),
      maxConnections: MAX_CONNECTIONS,
      trustedProxies,
      writeLog: () => {},
    });
    const others = await Promise.all([1, 2, 3, 4].map((i) => open(server.port, `127.0.1.${i}`, 3)));
    const greedy = await open(server.port, GREEDY, FLOOD);
    // Connections opened later have higher descriptors than the flood.
    const late = (await Promise.all([5, 6].map((i) => open(server.port, `127.0.1.${i}`, 3)))).flat();
    await until(() => [...others.flat(), ...greedy, ...late].filter(isOpen).length <= MAX_CONNECTIONS);
    const alive = [...others.flat(), ...late].filter(isOpen);
    if (isGreedyCut) expect(await Promise.all(alive.map(answers))).toEqual(Array(18).fill(true));
    else expect(alive).toEqual([]);
    expect(greedy.filter(isOpen).length).toBeGreaterThan(0);
    for (const socket of [...others.flat(), ...greedy, ...late]) socket.destroy();
    await server.stop();
  });

  test("loses those that have been idle for longest", async () => {
    const server = await startServer({
      ...testServerOptions(temporaryFolder()),
      maxConnections: MAX_CONNECTIONS,
      writeLog: () => {},
    });
    const idle = await open(server.port, GREEDY, MAX_CONNECTIONS / 2);
    const busy = await open(server.port, GREEDY, MAX_CONNECTIONS / 2);
    const using = setInterval(() => {
      for (const socket of busy) socket.write(get);
    }, 20);
    await Bun.sleep(1_000);
    const fresh = await open(server.port, GREEDY, 10);
    await until(() => idle.filter(isOpen).length <= 10);
    expect([busy, fresh].map((sockets) => sockets.filter(isOpen).length)).toEqual([MAX_CONNECTIONS / 2, 10]);
    clearInterval(using);
    for (const socket of [...idle, ...busy, ...fresh]) socket.destroy();
    await server.stop();
  });
});
