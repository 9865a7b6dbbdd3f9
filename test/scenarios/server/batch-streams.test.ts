// Tests batch streams over real sockets. Clients send odd chunks, too much, too slowly or nothing, or do not read.
// packages/server/src/batch/batch.test.ts tests the same app without sockets.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { gunzipSync, gzipSync } from "node:zlib";
import { currentName, openRelease } from "@inkling/data";
import { App } from "../../../packages/server/src/api/app.ts";
import { cellsOnDemand } from "../../../packages/server/src/limits/key-cells.testing.ts";
import { Buckets } from "../../../packages/server/src/limits/token-bucket.ts";
import { Log } from "../../../packages/server/src/telemetry/log.ts";
import { randomBelow } from "../../harness/random.ts";
import { smallCity, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { KEY, testServices } from "../../harness/thread-services.ts";

const GEO = "/v1/ip-intel/geolocate";
const IDLE_SECONDS = 8;
const KNOWN = "81.2.69.142";
const MB = 1024 * 1024;

const counted = { lookups: 0 };
const logged: string[] = [];
let server: Bun.Server<undefined>;
let answers: { place: string; unknown: string; invalid: string };

/** Starts the app behind a listener with the limits of serve.ts, but with an idle limit that a test can wait for. */
function listen(): Bun.Server<undefined> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const release = openRelease(dataDir, currentName(dataDir)!);
  const { services } = testServices(
    {
      release: release,
      authenticate: (header) => {
        if (header === "Bearer slow")
          return { ok: true, key: { ...KEY, id: "key_slow", rate: 200, burst: 20 } };
        return header === "Bearer good" ? { ok: true, key: KEY } : { ok: false, code: "KEY_INVALID" };
      },
      buckets: new Buckets({ rate: 0, burst: 1 }, cellsOnDemand()),
      log: new Log({ level: "access", write: (text) => logged.push(text), now: () => 0 }),
      now: Date.now,
      elapsed: () => performance.now(),
    },
    (_, what, count) => {
      if (what === "geolocate") counted.lookups += count; // lookups in batches are also counted separately
    },
  );
  const app = new App(services);
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: 10,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, listener) =>
      app.handle(request, {
        requestIP: () => listener.requestIP(request),
        timeout: () => listener.timeout(request, IDLE_SECONDS),
      }),
  });
}

beforeAll(async () => {
  server = listen();
  const [place, unknown, invalid] = (
    await exchange([KNOWN, "8.8.8.8", "nobody"].map((v) => JSON.stringify(v)).join("\n"))
  )
    .trim()
    .split("\n");
  answers = { place: place!, unknown: unknown!, invalid: invalid! };
  expect(place).toContain(smallCity(1));
  expect(unknown).toContain("IP_ADDRESS_NOT_FOUND");
  expect(invalid).toContain("IP_ADDRESS_INVALID");
});
afterAll(() => server.stop(true));

function head(fields: Readonly<Record<string, string>> = {}, path = GEO): string {
  const all = {
    Host: "test",
    Authorization: "Bearer good",
    "Content-Type": "application/x-ndjson",
    "Transfer-Encoding": "chunked",
    ...fields,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== "");
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}
const chunk = (data: string | Uint8Array) =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(data).toString(16)}\r\n`),
    Buffer.from(data),
    Buffer.from("\r\n"),
  ]);
const LAST_CHUNK = "0\r\n\r\n";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** A connection that keeps everything it receives. */
class Client {
  readonly socket: Socket;
  isClosed = false;
  private readonly pieces: Buffer[] = [];
  private wake: () => void = () => {};

  constructor() {
    this.socket = connect(server.port!, "127.0.0.1");
    this.socket.on("data", (bytes) => {
      this.pieces.push(Buffer.from(bytes));
      this.wake();
    });
    const closed = () => {
      this.isClosed = true;
      this.wake();
    };
    this.socket.on("close", closed).on("end", closed).on("error", closed);
  }

  get received(): Buffer {
    return Buffer.concat(this.pieces);
  }

  /** The received bytes without the interim answer to `Expect`. */
  private get final(): Buffer {
    const all = this.received;
    return all.subarray(0, CONTINUE.length).toString("latin1") === CONTINUE
      ? all.subarray(CONTINUE.length)
      : all;
  }

  /** Resolves when the system has taken the data, or the connection is gone. */
  send(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.isClosed) return resolve();
      this.socket.once("close", resolve);
      this.socket.write(data, () => {
        this.socket.off("close", resolve);
        resolve();
      });
    });
  }

  async until(isDone: () => boolean): Promise<this> {
    while (!isDone() && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this;
  }

  /** Waits until the answer or the connection has ended. */
  async untilAnswered(): Promise<this> {
    return this.until(() => {
      if (this.pieces.at(-1)?.subarray(-5).toString("latin1") === LAST_CHUNK) return true;
      return this.declared !== undefined && this.body.length === this.declared;
    });
  }

  /** The declared length. If an answer ends with its first piece, Bun sends a length instead of chunks. */
  private get declared(): number | undefined {
    const head = this.final.toString("latin1", 0, 1_000).split("\r\n\r\n")[0]!;
    const length = /^content-length: (\d+)$/im.exec(head)?.[1];
    return length === undefined ? undefined : Number(length);
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.final.toString("latin1", 0, 20))?.[1] ?? 0);
  }

  /** The body without its chunk framing. */
  get body(): Buffer {
    const all = this.final;
    if (this.declared !== undefined) return all.subarray(all.indexOf("\r\n\r\n") + 4);
    const parts: Buffer[] = [];
    for (let at = all.indexOf("\r\n\r\n") + 4; at > 3 && at < all.length; ) {
      const end = all.indexOf("\r\n", at);
      const size = Number.parseInt(all.toString("latin1", at, end), 16);
      if (!(size > 0)) break;
      parts.push(all.subarray(end + 2, end + 2 + size));
      at = end + 2 + size + 2;
    }
    return Buffer.concat(parts);
  }
}

/** Sends one body and returns the whole response. */
async function exchange(
  body: string | Uint8Array,
  fields: Readonly<Record<string, string>> = {},
  path = GEO,
): Promise<string> {
  const client = new Client();
  await client.send(head(fields, path));
  await client.send(chunk(body));
  await client.send(LAST_CHUNK);
  await client.untilAnswered();
  client.socket.destroy();
  return client.body.toString();
}

/** Lines with three kinds of answers in no regular order, and the expected answers. */
function mixed(count: number): { lines: string; want: string } {
  const lines: string[] = [];
  const want: string[] = [];
  const random = randomBelow(7);
  for (let i = 0; i < count; i++) {
    const kind = random(3);
    lines.push(kind === 0 ? `"${KNOWN}"\n` : kind === 1 ? '"8.8.8.8"\n' : '"nobody"\n');
    want.push(`${kind === 0 ? answers.place : kind === 1 ? answers.unknown : answers.invalid}\n`);
  }
  return { lines: lines.join(""), want: want.join("") };
}

describe("a stream", () => {
  test("in chunks of every size is answered in order, and the connection goes on", async () => {
    const { lines, want } = mixed(2_000);
    const client = new Client();
    await client.send(head());
    for (let at = 0, size = 1; at < lines.length; at += size, size = (size * 3) % 997) {
      await client.send(chunk(lines.slice(at, at + size)));
    }
    await client.send(LAST_CHUNK);
    await client.untilAnswered();
    expect(client.body.toString()).toBe(want);
    const before = client.received.length;
    await client.send(`GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n`);
    await client.until(() => client.received.length > before);
    expect(client.received.subarray(before).toString("latin1")).toStartWith("HTTP/1.1 200");
    client.socket.destroy();
  });

  test("with a length, and Expect: 100-continue", async () => {
    const { lines, want } = mixed(500);
    const client = new Client();
    const fields = {
      "Transfer-Encoding": "",
      "Content-Length": String(lines.length),
      Expect: "100-continue",
    };
    await client.send(head(fields));
    await client.until(() => client.received.includes("\r\n\r\n"));
    expect(client.received.toString("latin1")).toStartWith(CONTINUE);
    await client.send(lines);
    await client.untilAnswered();
    expect(client.status).toBe(200);
    expect(client.body.toString() === want).toBe(true);
    client.socket.destroy();
  });

  test("each line is answered before the next is sent", async () => {
    const client = new Client();
    await client.send(head());
    for (let i = 1; i <= 5; i++) {
      await client.send(chunk(`"${KNOWN}"\n`));
      await client.until(() => client.body.length >= i * (answers.place.length + 1));
    }
    await client.send(LAST_CHUNK);
    await client.untilAnswered();
    expect(client.body.toString()).toBe(`${answers.place}\n`.repeat(5));
    client.socket.destroy();
  });

  test("each line is answered before the next is sent, as gzip too", async () => {
    const client = new Client();
    await client.send(head({ "Accept-Encoding": "gzip" }));
    for (let i = 1; i <= 3; i++) {
      const before = client.received.length;
      await client.send(chunk(`"${KNOWN}"\n`));
      await client.until(() => client.received.length > before + 10);
    }
    await client.send(LAST_CHUNK);
    await client.untilAnswered();
    expect(gunzipSync(client.body).toString()).toBe(`${answers.place}\n`.repeat(3));
    client.socket.destroy();
  });

  test("of a key with a rate is delayed, and no line is refused", async () => {
    const lines = `"${KNOWN}"\n`.repeat(100);
    expect(await exchange(lines, { Authorization: "Bearer slow" })).toBe(`${answers.place}\n`.repeat(100));
  });

  test("that is read irregularly has correct answers", async () => {
    const { lines, want } = mixed(150_000);
    const client = new Client();
    const stalling = setInterval(() => {
      client.socket.pause();
      setTimeout(() => client.socket.resume(), 7);
    }, 20);
    await client.send(head());
    for (let at = 0; at < lines.length; at += 50_000) await client.send(chunk(lines.slice(at, at + 50_000)));
    await client.send(LAST_CHUNK);
    await client.untilAnswered();
    clearInterval(stalling);
    client.socket.resume();
    // A piece that was overwritten before it was sent would differ.
    expect(client.body.toString() === want).toBe(true);
    client.socket.destroy();
  });
});

describe("too much", () => {
  test("a line of 512 KB is skipped, and the stream goes on", async () => {
    const text = `${"x".repeat(512 * 1024)}\n"${KNOWN}"\n`;
    const [long, place] = (await exchange(text)).split("\n");
    expect(long).toContain("VALUE_INVALID");
    expect(place).toBe(answers.place);
  });

  test("a line without end is read no further than 1 MiB and what had arrived", async () => {
    const client = new Client();
    await client.send(head());
    const piece = chunk(new Uint8Array(MB).fill(0x78));
    let sent = 0;
    while (!client.isClosed && sent < 1_000 && client.status === 0) {
      await client.send(piece);
      sent++;
    }
    await client.until(() => client.body.length > 0);
    expect(client.body.toString()).toContain("More than 1 MiB");
    expect(sent).toBeLessThan(1_000);
    client.socket.destroy();
  });

  test.each(["\n", "x"])(
    "a gzip bomb of 4 GB of %j is inflated no further than 1 MiB and a piece",
    async (byte) => {
      const member = gzipSync(Buffer.alloc(16 * MB, byte), { level: 1 });
      const bomb = Buffer.concat(Array<Buffer>(256).fill(member));
      const before = process.memoryUsage().rss;
      const answer = await exchange(bomb, { "Content-Encoding": "gzip" });
      expect(answer).toContain("More than 1 MiB");
      expect(answer.trim().split("\n")).toHaveLength(1);
      // The runtime decides when to collect garbage. On a busy machine, some hundred MB may remain until then.
      expect(process.memoryUsage().rss - before).toBeLessThan(1024 * MB);
    },
  );

  test.each([
    ["declared", { "Content-Length": String(2 * MB), "Transfer-Encoding": "" }, 413],
    ["in chunks", {}, 413],
    ["of a refused key, in chunks", { Authorization: "Bearer bad" }, 401],
    [
      "declared, of a refused key",
      { Authorization: "Bearer bad", "Content-Length": String(2 * MB), "Transfer-Encoding": "" },
      401,
    ],
  ])("JSON: %s, is refused and the connection closed", async (_, fields, status) => {
    const client = new Client();
    await client.send(head({ "Content-Type": "application/json", ...fields }));
    for (let i = 0; i < 32 && !client.isClosed; i++) {
      const piece = Buffer.alloc(65_536, 0x20);
      await client.send("Transfer-Encoding" in fields ? piece : chunk(piece));
    }
    await client.until(() => false);
    expect(client.status).toBe(status);
  });
});

describe("clients that stop", () => {
  test("a client that disconnects ends the work, and its answers are counted", async () => {
    const client = new Client();
    counted.lookups = 0;
    await client.send(head());
    await client.send(chunk(`"${KNOWN}"\n`.repeat(13)));
    await client.until(() => client.body.length >= 13 * (answers.place.length + 1));
    client.socket.destroy();
    while (!logged.join("").includes('"values":13,')) await Bun.sleep(20);
    expect(counted.lookups).toBe(13);
  });

  test("clients that leave at any moment make room: a key has 32 streams at once", async () => {
    const opened = async (then: (client: Client) => Promise<void>) => {
      const client = new Client();
      await client.send(head());
      await then(client);
      return client;
    };
    const leaving: ((client: Client) => Promise<void>)[] = [
      async () => {},
      async (client) => client.send(chunk(`"${KNOWN}"\n`)),
      async (client) => client.send(chunk(`"${KNOWN}"\n`.repeat(10_000))),
    ];
    for (let i = 0; i < 40; i++) (await opened(leaving[i % 3]!)).socket.destroy();
    const line = (client: Client) => client.send(chunk(`"${KNOWN}"\n`));
    const open: Client[] = [];
    while (open.length < 32) {
      const client = await opened(line);
      await client.until(() => client.status !== 0);
      if (client.status === 200) open.push(client);
      else client.socket.destroy();
    }
    const late = await opened(line);
    await late.until(() => late.status !== 0);
    expect(late.status).toBe(429);
    for (const { socket } of [late, ...open]) socket.destroy();
  });

  // All run at once, because each waits for Bun's connection clock, which ticks every 4 s.
  test("are closed after the idle limit; those that go on slowly are not", async () => {
    counted.lookups = 0;
    const lines = chunk(`"${KNOWN}"\n`.repeat(4_000));
    const notReading = async () => {
      const client = new Client();
      client.socket.pause();
      let sent = 0;
      void client.send(head());
      // The loop ends with the connection, because only the system's buffers take bytes that are not read.
      while (!client.socket.destroyed && sent < 1_000) {
        const isTaken = await Promise.race([client.send(lines).then(() => true), Bun.sleep(30_000)]);
        if (isTaken !== true) break;
        sent++;
      }
      client.socket.destroy();
      return { sent, answered: counted.lookups };
    };
    const notSending = async (start: string) => {
      const client = new Client();
      await client.send(head());
      await client.send(start);
      await client.until(() => false);
      return client.isClosed;
    };
    const dripping = async () => {
      const client = new Client();
      await client.send(head());
      const from = performance.now();
      // A byte of a line at intervals makes progress, although there is no answer yet.
      while (performance.now() - from < 16_000 && !client.isClosed) {
        await client.send(chunk(" "));
        await Bun.sleep(400);
      }
      await client.send(chunk(`"${KNOWN}"\n`));
      await client.send(LAST_CHUNK);
      await client.untilAnswered();
      client.socket.destroy();
      return client.body.toString();
    };
    const [read, silent, half, dripped] = await Promise.all([
      notReading(),
      notSending(""),
      notSending('5\r\n"81.'),
      dripping(),
    ]);
    expect([silent, half]).toEqual([true, true]);
    expect(dripped).toBe(`${answers.place}\n`);
    // The system's buffers hold some MB of answers and of requests. The limits are far above that.
    expect(read.sent).toBeLessThan(1_000);
    expect(read.answered * answers.place.length).toBeLessThan(64 * MB);
    expect(read.answered).toBeGreaterThan(1_000);
  });
});
