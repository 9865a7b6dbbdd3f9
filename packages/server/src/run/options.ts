// options.ts: defines the interface of a running server, and undoes the steps of its start.

import type { HostReport } from "@inkling/data";
import type { HostEntry } from "@inkling/store/audit";
import type { Log } from "../telemetry/log.ts";

export interface RunningServer {
  readonly port: number;
  readonly adminPort: number;
  readonly log: Pick<Log, "info" | "error">;
  /** False while there is no intact release. The server then refuses lookups. */
  readonly hasRelease: boolean;
  /** This server's current report about itself. */
  report(): HostReport;
  /**
   * Records a change of this host in the audit trail, and then makes the change.
   * @throws StoreError if the entry cannot be recorded, in which case nothing changes; also the errors of `change`
   */
  audited<T>(entry: HostEntry, change: () => Promise<T>): Promise<T>;
  /**
   * Logs an uncaught error, because the process is about to exit. Other threads may lose access lines of 0.2 seconds.
   * @param secrets texts that must not appear in the log
   */
  crash(error: unknown, secrets: readonly string[]): void;
  /**
   * Drains for `drainSeconds`, then accepts no more requests, finishes those in progress (within 10 s) and stores
   * usage. Safe to call twice.
   */
  stop(): Promise<void>;
}

/**
 * Functions that undo the steps of a start, in the order of those steps. They run when the start fails or the server
 * stops.
 */
export type Closers = (() => unknown)[];

/** Calls the closers one at a time, last one first, even if some of them throw. */
export async function closeAll(closers: Closers, onError: (error: unknown) => void): Promise<void> {
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      onError(error);
    }
  }
}
