// worker-main.ts: runs a worker thread. The primary (worker-pool.ts) starts the thread and sends it messages.

import { StartError } from "../http/start-error.ts";
import { exitOnFault } from "../telemetry/exit-on-fault.ts";
import { Log } from "../telemetry/log.ts";
import { lineWriter, STANDARD_ERROR } from "../telemetry/standard-error.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { RequestWorker, type WorkerHost } from "./worker.ts";

declare const self: Worker;

const host: WorkerHost = {
  send: (message: FromWorker) => self.postMessage(message),
  writeLog: lineWriter(STANDARD_ERROR),
  exit: (code) => process.exit(code), // ends this thread only
};

let worker: RequestWorker | undefined;
const log = new Log({ level: "error", write: host.writeLog, now: Date.now });
exitOnFault((error) => {
  if (worker === undefined) log.crash("uncaught-error", error, []);
  else worker.crash(error);
});

self.onmessage = async ({ data: message }: MessageEvent<ToWorker>) => {
  try {
    if (message.type === "start") worker = new RequestWorker(message.start, host);
    else await worker?.take(message);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    host.send({ type: "failed", code: error.code, message: error.message, hint: error.hint });
  }
};
