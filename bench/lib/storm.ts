// storm.ts: load over many connections that checks the status of every answer and counts the releases that answers name.
//
// The client is a process of its own (this file, run with an order), on a core of its own: keep-alive connections over
// plain TCP, each always with a request in flight. A lost connection is opened again after RECONNECT_MS: at once, the
// system may give it to the queue of the process that is ending.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_CORE, linesOf, pinned } from "./proc.ts";
import type { Run } from "./record.ts";
import { temporaryFolder } from "./server.ts";
import { quantile } from "./stats.ts";

const RECONNECT_MS = 50;

export interface StormOrder {
  /** Connections are spread over them. */
  readonly ports: readonly number[];
  readonly seconds: number;
  readonly connections: number;
  /** Requests a second, sent when they are due, times counted from then; absent: as fast as they are answered. */
  readonly rate?: number;
  readonly paths: readonly string[];
  readonly token: string;
}

/** What happened within a second. */
export interface StormSecond {
  /** Counted from 0. */
  readonly second: number;
  readonly answers: number;
  /** Connections that ended during a request, and answers that were not 200. */
  readonly failed: number;
  /** ms */
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  /** Ids of the releases in answers. */
  readonly releases: readonly string[];
}

/** @param each called for every second while the load goes on. @returns all of them */
export async function storm(
  run: Run,
  order: StormOrder,
  each: (second: StormSecond) => void = () => {},
): Promise<StormSecond[]> {
  const file = join(temporaryFolder(run), "order.json");
  writeFileSync(file, JSON.stringify(order));
  const command = pinned(CLIENT_CORE, [process.execPath, "--no-install", import.meta.path, file]);
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  run.defer(() => child.kill());
  const seconds: StormSecond[] = [];
  for await (const line of linesOf(child.stdout)) {
    seconds.push(JSON.parse(line));
    each(seconds.at(-1)!);
  }
  if ((await child.exited) !== 0)
    throw new Error(`the client ended with ${child.exitCode ?? child.signalCode}`);
  return seconds;
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;
const VERSION = /\r\ninkling-data-version: *([0-9a-f]+)/i;

/** Bytes of a whole answer; NaN before its head is complete. */
function answerLength(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  return head < 0 ? Number.NaN : head + 4 + Number(LENGTH.exec(text.slice(0, head))?.[1]);
}

/** The client's process. */
async function main(order: StormOrder): Promise<void> {
  const { ports, seconds, connections, rate, paths, token } = order;
  const requests = paths.map(
    (path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const start = performance.now();
  const isOver = () => performance.now() - start >= seconds * 1000;
  let times: number[] = [];
  let [failed, second, next] = [0, 0, 0];
  let releases = new Set<string>();

  const judge = (answer: string | undefined) => {
    if (answer?.startsWith("HTTP/1.1 200 ") !== true) {
      failed++;
      return;
    }
    releases.add(VERSION.exec(answer)?.[1] ?? "");
  };

  /** Sends one request after the other on one connection, until it ends. */
  const converse = (port: number) =>
    new Promise<void>((resolve) => {
      let part = "";
      let [number, from] = [0, 0];
      const write = (socket: Bun.Socket, due: number) => {
        from = Math.min(due, performance.now()); // a timer may be early
        socket.write(requests[number % requests.length]!);
      };
      const send = (socket: Bun.Socket) => {
        number = next++;
        const now = performance.now();
        const due = rate === undefined ? now : start + (number / rate) * 1000;
        if (due <= now) write(socket, due);
        else setTimeout(() => (isOver() ? socket.end() : write(socket, due)), due - now);
      };
      const finish = (answer?: string) => {
        times.push(performance.now() - from);
        judge(answer);
      };
      const ended = () => {
        if (from > 0) finish();
        from = 0;
        resolve();
      };
      const data = (socket: Bun.Socket, chunk: Buffer) => {
        part += chunk.toString("latin1");
        if (!(part.length >= answerLength(part))) return;
        finish(part);
        part = "";
        from = 0;
        if (isOver()) socket.end();
        else send(socket);
      };
      Bun.connect({
        hostname: "127.0.0.1",
        port,
        socket: { open: send, data, close: ended, error: ended },
      }).catch(() => {
        failed++; // nothing listens
        resolve();
      });
    });
  const report = () => {
    const [p50 = 0, p99 = 0, most = 0] =
      times.length === 0 ? [] : [0.5, 0.99, 1].map((q) => quantile(times, q));
    const counts = { second: second++, answers: times.length, failed, p50, p99, most };
    process.stdout.write(`${JSON.stringify({ ...counts, releases: [...releases] })}\n`);
    [times, failed, releases] = [[], 0, new Set()];
  };
  const conversations = Array.from({ length: connections }, async (_, i) => {
    for (; !isOver(); await Bun.sleep(RECONNECT_MS)) await converse(ports[i % ports.length]!);
  });
  while (second + 1 < seconds) {
    await Bun.sleep(Math.max(0, start + (second + 1) * 1000 - performance.now()));
    report();
  }
  await Promise.all(conversations);
  report();
  process.exit(0);
}

if (import.meta.main) await main(JSON.parse(readFileSync(process.argv[2]!, "utf8")));
