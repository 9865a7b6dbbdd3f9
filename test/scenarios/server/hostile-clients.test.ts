// Tests clients that send what no library would send, over real sockets.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

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
