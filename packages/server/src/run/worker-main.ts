// worker-main.ts: runs a worker process. The primary (worker-pool.ts) starts the process and sends it messages.
//
// SIGTERM starts a graceful stop, and the primary replaces the worker. A terminal sends SIGINT and SIGHUP to all
// processes of a job, so workers ignore them and leave the response to the primary.

import { StartError } from "../http/start-error.ts";
import { exitOnFault } from "../telemetry/exit-on-fault.ts";
import { Log } from "../telemetry/log.ts";
import { lineWriter } from "../telemetry/standard-error.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { LOG_DESCRIPTOR } from "./shared-memory.ts";
import { Worker, type WorkerHost } from "./worker.ts";

const host: WorkerHost = {
  send: (message: FromWorker) => {
    if (process.connected) process.send!(message); // `send` exists while the channel is open
  },
  writeLog: lineWriter(LOG_DESCRIPTOR),
  exit: (code) => process.exit(code),
};

let worker: Worker | undefined;
const log = new Log({ level: "error", write: host.writeLog, now: Date.now });
exitOnFault((error) => {
  const own = worker?.log ?? log; // the worker's log first writes its pending access lines
  own.crash("uncaught-error", error, [], { pid: process.pid });
});

process.on("message", async (message: ToWorker) => {
  try {
    if (message.type === "start") worker = new Worker(message.start, host);
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
  else void worker.retire();
});
