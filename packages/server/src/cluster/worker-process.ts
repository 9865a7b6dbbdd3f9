// worker-process.ts: starts the process of a worker (worker-main.ts), which waits to be told what it is to do.
//
// note imports nothing that takes time to load: the first worker is started before anything else (standby.ts)

import { join } from "node:path";
import type { FromWorker } from "./messages.ts";

const MAIN = join(import.meta.dir, "worker-main.ts");
/** As the launcher of the command line starts Bun. */
const BUN_FLAGS = ["--no-install", "--no-env-file"];

export type WorkerProcess = Bun.Subprocess<"ignore", "inherit", "inherit">;

export interface WorkerEvents {
  message(message: FromWorker): void;
  ended(code: number | null, signal: number | string | null): void;
}

/** @param descriptor of the shared memory: inherited as WORKER_DESCRIPTOR */
export function startWorkerProcess(descriptor: number, events: WorkerEvents): WorkerProcess {
  const child = Bun.spawn([process.execPath, ...BUN_FLAGS, MAIN], {
    stdio: ["ignore", "inherit", "inherit", descriptor],
    serialization: "advanced",
    ipc: (message: FromWorker) => events.message(message),
    onExit: (_, code, signal) => events.ended(code, signal),
  }) as WorkerProcess;
  child.unref();
  return child;
}
