// worker-main.ts: the process of one worker. Started by the supervisor (crew.ts), which talks to it.
//
// SIGTERM asks for a graceful end (the supervisor starts another one in its place). SIGINT and SIGHUP go to every process
// of a terminal's job: what to do then is for the supervisor to say.

import { StartError } from "../http/start-error.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { Worker, type WorkerHost } from "./worker.ts";

/** Pipes take so many bytes of one process in a row, without those of others in between. */
const ATOMIC_BYTES = 4096;

const host: WorkerHost = {
  send: (message: FromWorker) => {
    if (process.connected) process.send!(message);
  },
  write: (lines) => {
    for (const piece of pieces(lines)) process.stderr.write(piece);
  },
  exit: (code) => process.exit(code),
};

/** Whole lines together, as many as are written in one go. */
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
let queue: Promise<void> = Promise.resolve();

async function take(message: ToWorker): Promise<void> {
  try {
    if (message.type === "options") worker = new Worker(message.options, host);
    else await worker?.take(message);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    host.send({ type: "failed", code: error.code, message: error.message, hint: error.hint });
  }
}

process.on("message", (message: ToWorker) => {
  // One after the other: an answer to keys that are being taken over does not overtake the next ones.
  if (message.type === "stop" || message.type === "report") void take(message);
  else queue = queue.then(() => take(message));
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
