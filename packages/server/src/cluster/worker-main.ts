// worker-main.ts: the process of one worker. Started by the primary (worker-pool.ts), which talks to it.
//
// SIGTERM starts a graceful stop; the primary replaces the worker. SIGINT and SIGHUP go to every process of a terminal's
// job: the primary acts on them.

import { StartError } from "../http/start-error.ts";
import { exitOnFault } from "../telemetry/exit-on-fault.ts";
import { Log } from "../telemetry/log.ts";
import { lineWriter } from "../telemetry/standard-error.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { LOG_DESCRIPTOR } from "./shared-memory.ts";
import { Worker, type WorkerHost } from "./worker.ts";

const host: WorkerHost = {
  send: (message: FromWorker) => {
    if (process.connected) process.send!(message); // there is one where there is a channel
  },
  writeLog: lineWriter(LOG_DESCRIPTOR),
  exit: (code) => process.exit(code),
};

let worker: Worker | undefined;
const log = new Log({ level: "error", write: host.writeLog, now: Date.now });
exitOnFault((error) => {
  const own = worker?.log ?? log; // which writes its access lines first
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
