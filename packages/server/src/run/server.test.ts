// Tests the running server over real sockets: which connections and requests it refuses, and how it starts and stops.

import { afterAll, afterEach, beforeAll, describe, expect, mock, spyOn, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { releaseId } from "@inkling/data";
import { ANSWERS, releaseName } from "@inkling/engine";
import { openStore, Store } from "@inkling/store/store";
import { fetch } from "../../../../test/harness/checked-fetch.ts";
import { testServerOptions } from "../../../../test/harness/server-options.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { freshToken } from "../../../../test/harness/tokens.ts";
import { Releases } from "../releases/releases.ts";
import { LocalServing } from "./local-serving.ts";
import { type RunningServer, type ServerOptions, StartError, startServer } from "./server.ts";

const TOKEN = freshToken("test");
const logged: string[] = [];

function options(over: Partial<ServerOptions> = {}): ServerOptions {
  const dataDir = temporaryFolder();
  return {
    ...testServerOptions(dataDir),
    rate: 1000,
    burst: 2000,
    logLevel: "info",
    apiKey: TOKEN,
    writeLog: (lines) => logged.push(lines),
    ...over,
  };
}

let settings: ServerOptions;
let server: RunningServer;
beforeAll(async () => {
  settings = options();
  server = await startServer(settings);
});
afterAll(async () => {
  await server.stop();
});

const PATH = "/v1/ip-intel/reputation/192.0.2.6";
const REQUEST = `GET ${PATH} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${TOKEN}\r\n`;

/** A connection that records what it receives. */
class Client {
  received = "";
  isClosed = false;
  private readonly socket: Socket;
  private wake: () => void = () => {};

  constructor(port = server.port) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
      this.wake();
    });
    const closed = () => {
      this.isClosed = true;
      this.wake();
    };
    this.socket.on("close", closed).on("end", closed).on("error", closed);
  }

  send(text: string): this {
    if (!this.isClosed) this.socket.write(text, "latin1");
    return this;
  }

  async until(isDone: (client: this) => boolean): Promise<this> {
    while (!isDone(this)) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this;
  }

  /** Waits for `count` responses, or until the server closes the connection. */
  answers(count = 1): Promise<this> {
    return this.until(({ received, isClosed }) => isClosed || received.split("HTTP/1.1 ").length > count);
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1] ?? 0);
  }

  end(): void {
    this.socket.destroy();
  }
}

async function once(text: string): Promise<Client> {
  const client = await new Client().send(text).answers();
  client.end();
  return client;
}

describe("requests", () => {
  test.each([
    ["HTTP/1.1", `${REQUEST}\r\n`],
    ["HTTP/1.0 without a host", `GET ${PATH} HTTP/1.0\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`],
    ["an empty host", `${REQUEST.replace("Host: test", "Host: ")}\r\n`],
    ["an absolute target", `${REQUEST.replace("GET ", "GET http://elsewhere")}\r\n`],
    ["almost 8 KiB of headers", `${REQUEST}X-Long: ${"x".repeat(7_800)}\r\n\r\n`],
  ])("%s is answered", async (_, text) => {
    const client = await once(text);
    expect(client.status).toBe(200);
    expect(client.received).toContain('"is_tor_exit":true');
  });

  test.each([
    ["more than 8 KiB of headers", `${REQUEST}X-Long: ${"x".repeat(8_200)}\r\n\r\n`, 431],
    ["more than 8 KiB of path", `GET /${"x".repeat(8_200)} HTTP/1.1\r\nHost: test\r\n\r\n`, 431],
    [
      "a body of 9 KiB",
      `POST ${PATH} HTTP/1.1\r\nHost: t\r\nContent-Length: 9216\r\n\r\n${"x".repeat(9216)}`,
      413,
    ],
    ["a body of 100 KiB", `POST ${PATH} HTTP/1.1\r\nHost: t\r\nContent-Length: 102400\r\n\r\n`, 413],
    ["a host that is none", `${REQUEST.replace("Host: test", "Host: [::")}\r\n`, 400],
    ["a host with a space", `${REQUEST.replace("Host: test", "Host: a b")}\r\n`, 400],
    ["no Host", `GET ${PATH} HTTP/1.1\r\n\r\n`, 400],
    ["OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n", 400],
    ["CONNECT", "CONNECT foo:80 HTTP/1.1\r\nHost: test\r\n\r\n", 404],
    ["TRACE", `TRACE ${PATH} HTTP/1.1\r\nHost: test\r\n\r\n`, 405],
    [
      "length and chunks together",
      `${REQUEST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
  ])("%s is refused", async (_, text, status) => {
    expect((await once(text)).status).toBe(status);
  });

  test("HEAD has the headers of GET and no body", async () => {
    const get = await once(`${REQUEST}\r\n`);
    const head = await once(`${REQUEST.replace("GET", "HEAD")}\r\n`);
    const headers = ({ received }: Client) =>
      received
        .split("\r\n\r\n")[0]!
        .split("\r\n")
        .map((line) => line.toLowerCase())
        .filter((line) => !/^(date|x-request-id|ratelimit):/.test(line))
        .sort();
    expect(headers(head)).toEqual(headers(get));
    expect(head.received.split("\r\n\r\n")[1]).toBe("");
  });

  test("a body on GET is passed over, and the next request on the connection is read right", async () => {
    const client = await new Client()
      .send(`${REQUEST}Content-Length: 3000\r\n\r\n${"x".repeat(3000)}${REQUEST}\r\n`)
      .answers(2);
    client.end();
    expect(client.received.split("HTTP/1.1 200").length).toBe(3);
  });

  test("what does not arrive in time is cut off, also when it comes byte by byte", async () => {
    const slow = {
      "a request that never begins": ["", ""],
      "a request that stops": ["GET / HTTP/1.1\r\nHo", ""],
      "headers byte by byte": ["GET / HTTP/1.1\r\nX: ", "x"],
      "a second request byte by byte": [`${REQUEST}\r\nGET / HTTP/1.1\r\nX: `, "x"],
      "a path byte by byte": ["GET /", "x"],
    } as const;
    // All connections are tested at once, because Bun closes each of them only after 12 s.
    await Promise.all(
      Object.values(slow).map(async ([start, drip]) => {
        const client = new Client().send(start);
        const dripping = setInterval(() => client.send(drip), 200);
        await client.until(({ isClosed }) => isClosed);
        clearInterval(dripping);
        client.end();
      }),
    );
  });
});

describe("the admin listener", () => {
  test("a fault outside the admin API is a 500 and in the log; the API is loaded again", async () => {
    let failures = 1;
    const lines: string[] = [];
    const running = await startServer(
      options({
        actions: async () => {
          if (failures-- > 0) throw new Error("EMFILE: too many open files");
          return {} as never;
        },
        console: async () => {
          throw new Error("no bundle");
        },
        writeLog: (text) => lines.push(...text.split("\n").filter(Boolean)),
      }),
    );
    const get = (path: string) => globalThis.fetch(`http://127.0.0.1:${running.adminPort}${path}`);
    const status = async () => (await get("/admin/v1/status")).status;
    const faults = () =>
      lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "admin-request-failed");
    const refused = await get("/admin/v1/status");
    expect([refused.status, refused.headers.get("content-type")]).toEqual([500, "application/problem+json"]);
    const { code, request_id } = (await refused.json()) as Record<string, string>;
    expect(code).toBe("INTERNAL");
    expect(faults()).toMatchObject([{ error: "Error: EMFILE: too many open files", request_id }]);
    expect([await status(), await status(), failures]).toEqual([401, 401, -1]);
    expect((await get("/")).status).toBe(500);
    expect(faults().slice(1)).toMatchObject([{ error: "Error: no bundle" }]);
    const metrics = await (await get("/metrics")).text();
    expect(metrics).toContain('inkling_admin_problems_total{code="INTERNAL"} 2');
    await running.stop();
  });

  const admin = (path: string) => globalThis.fetch(`http://127.0.0.1:${server.adminPort}${path}`);
  test("/metrics, and nothing else", async () => {
    const metrics = await admin("/metrics");
    expect(metrics.status).toBe(200);
    expect(metrics.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    expect(await metrics.text()).toContain("inkling_build_info");
    expect((await admin("/healthz")).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status).toBe(404);
  });
});

describe("start and stop", () => {
  test.each(["port", "adminPort"] as const)("a %s in use is one line and a hint", async (which) => {
    const busy = which === "port" ? server.port : server.adminPort;
    const attempt = startServer(options({ [which]: busy }));
    const error: StartError = await attempt.then(
      () => expect.unreachable(),
      (cause) => cause,
    );
    expect(error).toBeInstanceOf(StartError);
    expect(error.code).toBe("EADDRINUSE");
    expect(error.message).toContain(String(busy));
    expect(error.message).not.toContain("\n");
    expect(error.hint).toContain(which === "port" ? "INKLING_PORT" : "INKLING_ADMIN_PORT");
  });

  test("a data folder that is a file", async () => {
    const over = options();
    const file = join(over.dataDir, "file");
    writeFileSync(file, "");
    expect(startServer({ ...over, dataDir: join(file, "data") })).rejects.toThrow(
      "cannot use the data folder",
    );
  });

  test("a configured key that is not a key", async () => {
    expect(startServer(options({ apiKey: "ink_live_x" }))).rejects.toMatchObject({
      code: "KEY",
      hint: expect.stringContaining("INKLING_API_KEY"),
    });
  });

  describe("what cannot be closed", () => {
    afterEach(() => {
      mock.restore();
    });
    const failing = () => {
      const { stop } = Releases.prototype;
      return spyOn(Releases.prototype, "stop").mockImplementationOnce(async function (this: Releases) {
        await stop.call(this);
        throw new Error("EIO: stuck");
      });
    };

    test("does not hide why a start fails, nor keep the rest open", async () => {
      const stop = failing();
      const kill = spyOn(LocalServing.prototype, "kill"); // closed after the releases
      const attempt = startServer(options({ adminPort: server.adminPort }));
      await expect(attempt).rejects.toMatchObject({ name: "StartError", code: "EADDRINUSE" });
      expect([stop.mock.calls.length, kill.mock.calls.length]).toEqual([1, 1]);
    });

    test("is logged by a stop, which ends the rest", async () => {
      const lines: string[] = [];
      const over = options({ writeLog: (text) => lines.push(...text.split("\n").filter(Boolean)) });
      const running = await startServer(over);
      failing();
      const close = spyOn(Store.prototype, "close");
      await running.stop();
      expect(lines.map((line) => JSON.parse(line)).slice(-3)).toMatchObject([
        { event: "stopping" },
        { event: "stop-failed", error: "Error: EIO: stuck" },
        { event: "stopped" },
      ]);
      expect(close).toHaveBeenCalledTimes(1);
    });
  });

  test("stop stores usage, and refuses new connections", async () => {
    const over = options();
    const other = await startServer(over);
    const url = `http://127.0.0.1:${other.port}${PATH}`;
    for (let i = 0; i < 5; i++) {
      expect((await fetch(url, { headers: { Authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
    }
    await Promise.all([other.stop(), other.stop()]);
    expect(fetch(url)).rejects.toThrow();
    const store = await openStore(over.databaseUrl);
    const [key] = await store.listKeys();
    const today = new Date().toISOString().slice(0, 10);
    const usage = await store.usage.readByDay(key!.id, "2000-01-01", today);
    expect(usage.map(({ lookup, count }) => [lookup, count])).toEqual([["reputation", 5]]);
    await store.close();
  });
});

describe("answers without data", () => {
  const manifest = {
    format: 1 as const,
    created_at: "2026-06-01T00:00:00.000Z",
    code: "0".repeat(64),
    segments: {},
    feeds: [],
    missing: [...ANSWERS],
    partial: [],
  };
  const release = { id: releaseId(manifest), ...manifest };

  test.each([
    [false, true],
    [true, false],
  ] as const)("are told in the log if INKLING_ALLOW_MISSING is %p: %p", async (allowMissing, isTold) => {
    const lines: string[] = [];
    const over = options({ allowMissing, writeLog: (text) => lines.push(text) });
    mkdirSync(join(over.dataDir, "releases"));
    writeFileSync(join(over.dataDir, "releases", `${releaseName(release)}.json`), JSON.stringify(release));
    writeFileSync(join(over.dataDir, "current"), releaseName(release));
    const running = await startServer(over);
    await running.stop();
    expect(lines.join("")).toContain('"event":"release-serving"');
    expect(lines.join("").includes('"event":"answers-missing","missing":["geolocation"')).toBe(isTold);
  });
});
