// standby.ts: a worker's process that is started before anybody knows what it is to do: it loads its code on one core while
// this process loads its own and reads the settings on another.
//
// out  the crew takes it as its first worker; nobody else does, so it is dismissed
// note imports nothing that takes time to load
//
// It ends by itself when this process does, like every worker.

import { closeSync } from "node:fs";
import { openNamelessFile, SHARED_FOLDERS } from "./anonymous-file.ts";
import { startWorkerProcess, type WorkerEvents, type WorkerProcess } from "./worker-process.ts";

export class StandbyWorker {
  /** The memory that it shares, empty as yet. */
  readonly descriptor: number;
  private readonly child: WorkerProcess;
  private events: WorkerEvents | undefined;
  private isSettled = false;
  private isGone = false;

  /** @throws where there is no such memory, or no process can be started: what needs them tells more */
  constructor() {
    this.descriptor = openNamelessFile(SHARED_FOLDERS[0]!);
    this.child = startWorkerProcess(this.descriptor, {
      message: (message) => this.events?.message(message),
      ended: (code, signal) => {
        this.isGone = true;
        this.events?.ended(code, signal);
      },
    });
  }

  /** From now on the memory is the caller's, and so is the process; undefined when it has ended, or was taken before. */
  take(events: WorkerEvents): WorkerProcess | undefined {
    if (this.isSettled) return undefined;
    this.isSettled = true;
    this.events = events;
    return this.isGone ? undefined : this.child;
  }

  /** Ends it, unless somebody has taken it. Safe to call twice. */
  dismiss(): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.child.kill("SIGKILL");
    closeSync(this.descriptor);
  }
}
