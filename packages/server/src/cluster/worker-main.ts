// worker-main.ts: the process of one worker. Started by the primary (worker-pool.ts), which talks to it.
//
// SIGTERM starts a graceful stop; the primary replaces the worker. SIGINT and SIGHUP go to every process of a terminal's
// job: the primary acts on them.

import { StartError } from "../http/start-error.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { Worker, type WorkerHost } from "./worker.ts";

/** A write to a pipe of at most so many bytes is not mixed with those of other processes. */
const ATOMIC_BYTES = 4096;

const host: WorkerHost = {
  send: (message: FromWorker) => {
    if (process.connected) process.send!(message); // there is one where there is a channel
  },
  write: (lines) => {
    for (const piece of pieces(lines)) process.stderr.write(piece);
  },
  exit: (code) => process.exit(code),
};

/** Whole lines, as many at once as are written in one go. */
function* pieces(lines: string): Generator<string> {
  if (lines.length * 3 <= ATOMIC_BYTES) return yield lines;
  let piece = "";
  let bytes = 0;
  for (const line of lines.split("\n").slice(0, -1)) {
    const length = Buffer.byteLength(line) + 1;
    if (bytes > 0 && bytes + length > ATOMIC_BYTES) {
      yield piece;
      piece = "";
      bytes = 0;
    }
    piece += `${line}\n`;
    bytes += length;
  }
  if (bytes > 0) yield piece;
}

let worker: Worker | undefined;

process.on("message", async (message: ToWorker) => {
  try {
    if (message.type === "options") worker = new Worker(message.options, host);
    else await worker?.take(message);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    host.send({ type: "failed", code: error.code, message: error.message, hint: error.hint });
  }
});
process.on("disconnect", () => {
  if (worker === undefined) process.exit(1);
  else void worker.stop(true);
});
for (const name of ["SIGINT", "SIGHUP"]) process.on(name, () => {});
process.on("SIGTERM", () => {
  if (worker === undefined) process.exit(0);
  else void worker.stop();
});
