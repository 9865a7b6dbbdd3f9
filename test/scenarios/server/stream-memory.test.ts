// stream-memory.test.ts: tests the memory of a server whose client sends streams and reads no answers, with gzip in
// both directions and evidence, which takes the most memory. SECURITY.md has the figure that the test compares.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ServerProgram } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

const MB = 1024 * 1024;
const [, documented] =
  /one key\s+can\s+take\s+(\d+) MB/.exec(
    readFileSync(join(import.meta.dir, "../../../SECURITY.md"), "utf8"),
  ) ?? [];
/** More streams than a key may have. */
const STREAMS = 40;

const server = new ServerProgram({ env: { INKLING_WORKERS: "1", INKLING_LOG_LEVEL: "error" } });
const sockets: Socket[] = [];
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.kill();
});

function residentBytes(): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.child.pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Sends as much as the server takes, and reads nothing. */
function flood(body: Buffer): Socket {
  const socket = connect(server.port, "127.0.0.1");
  socket.pause();
  socket.on("error", () => {}); // its stream was refused
  const send = () => {
    while (!socket.destroyed && socket.write(body));
  };
  socket.on("drain", send);
  socket.write(
    `POST /v1/ip-intel/geolocate?include=evidence,network HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nAccept-Encoding: gzip\r\nContent-Length: 99999999999\r\n\r\n`,
  );
  send();
  return socket;
}

test.if(process.platform === "linux")(
  "unread streams of one key take no more than SECURITY.md says",
  async () => {
    expect(documented).toBeDefined();
    await until(async () => (await server.status()) === 200);
    const before = residentBytes();
    const lines = Array.from({ length: 200_000 }, (_, i) => `"81.2.69.${i % 256}"\n`).join("");
    const body = gzipSync(lines.repeat(4));
    for (let i = 0; i < STREAMS; i++) sockets.push(flood(body));
    let most = 0;
    let quiet = 0;
    let sent = -1;
    // Until the server takes nothing more.
    while (quiet < 20) {
      await Bun.sleep(100);
      most = Math.max(most, residentBytes() - before);
      const now = sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
      quiet = now === sent ? quiet + 1 : 0;
      sent = now;
    }
    expect(sent).toBeGreaterThan(1 * MB);
    expect(server.child.exitCode).toBe(null);
    expect(most / MB).toBeLessThan(Number(documented));
  },
);
