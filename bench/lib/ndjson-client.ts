// ndjson-client.ts: a client that streams lines for some time, or a number of them, and counts the answers: a process of
// its own, so that its CPU is not the server's.
//
// in   one argument: JSON of NdjsonOrder
// out  one line of JSON: NdjsonResult
// err  ends with an error when the answers are not as many as the lines, or not 200; those sent as gzip are not counted

import { readFileSync } from "node:fs";

export interface NdjsonOrder {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Lines to send, over and over. */
  readonly file: string;
  readonly seconds: number;
  /** Ends earlier with this many. */
  readonly lines?: number;
}

export interface NdjsonResult {
  readonly lines: number;
  readonly seconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** Of the body, in one chunk of HTTP: about what a library would send. */
const PIECE_BYTES = 60_000;
const NEWLINE = 0x0a;
const CLOSING_BRACE = 0x7d;
const END = "\r\n0\r\n\r\n";

/** Whole lines of about PIECE_BYTES each, as chunks ready to be sent. */
function chunksOf(file: string): { readonly bytes: Uint8Array; readonly lines: number }[] {
  const all = readFileSync(file);
  const chunks: { bytes: Uint8Array; lines: number }[] = [];
  for (let at = 0; at < all.length; ) {
    const cut = all.indexOf(NEWLINE, Math.min(all.length - 1, at + PIECE_BYTES)) + 1;
    const piece = all.subarray(at, cut === 0 ? all.length : cut);
    const framed = [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")];
    chunks.push({ bytes: Buffer.concat(framed), lines: countLines(piece) });
    at += piece.length;
  }
  return chunks;
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

if (import.meta.main) {
  const order: NdjsonOrder = JSON.parse(process.argv[2]!);
  const chunks = chunksOf(order.file);
  const isGzip = "Accept-Encoding" in order.headers;
  const from = performance.now();
  let next = 0;
  let sent = 0;
  let answered = 0;
  let bytesIn = 0;
  let bytesOut = 0;
  let unsent: Uint8Array | undefined;
  let isAtEnd = false;
  let last = 0;
  let tail = "";
  let begin = "";
  const finish = (problem?: string) => {
    if (problem === undefined && (sent === answered || isGzip)) {
      const seconds = (performance.now() - from) / 1000;
      const result: NdjsonResult = { lines: sent, seconds, bytesIn, bytesOut };
      process.stdout.write(`${JSON.stringify(result)}\n`);
      process.exit(0);
    }
    process.stderr.write(`${problem ?? `${sent} lines, ${answered} answers`}: ${begin}\n`);
    process.exit(1);
  };
  const isEnough = () =>
    sent >= (order.lines ?? Number.POSITIVE_INFINITY) || performance.now() - from >= order.seconds * 1000;
  const push = (socket: Bun.Socket) => {
    for (;;) {
      if (unsent === undefined) {
        if (isAtEnd) return;
        isAtEnd = isEnough();
        if (isAtEnd) unsent = Buffer.from(END.slice(2));
        else {
          const chunk = chunks[next++ % chunks.length]!;
          unsent = chunk.bytes;
          sent += chunk.lines;
          bytesIn += chunk.bytes.length;
        }
      }
      const written = socket.write(unsent);
      if (written < unsent.length) {
        unsent = unsent.subarray(Math.max(0, written));
        return;
      }
      unsent = undefined;
    }
  };
  const fields = Object.entries({ Host: "bench", "Transfer-Encoding": "chunked", ...order.headers });
  await Bun.connect({
    hostname: "127.0.0.1",
    port: order.port,
    socket: {
      open: (socket) => {
        socket.write(
          `POST ${order.path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
        );
        push(socket);
      },
      drain: push,
      data: (_, bytes) => {
        if (begin.length < 15) {
          begin += bytes.toString("latin1", 0, 200);
          if (!begin.startsWith("HTTP/1.1 200".slice(0, begin.length))) finish("refused");
        }
        bytesOut += bytes.length;
        // A line of an answer ends with "}\n"; those of HTTP's chunks do not.
        for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
          if ((at === 0 ? last : bytes[at - 1]) === CLOSING_BRACE) answered++;
        }
        last = bytes.at(-1)!;
        tail = (tail + bytes.toString("latin1", Math.max(0, bytes.length - END.length))).slice(-END.length);
        if (tail === END) finish();
      },
      close: () => finish("closed"),
      error: (_, error) => finish(error.message),
    },
  });
}
