// bootstrap.ts: what a server stands on before it opens anything: its log and its data folder.
//
// err  StartError with a hint

import { mkdirSync } from "node:fs";
import { StartError } from "../http/start-error.ts";
import type { ServerOptions } from "../server.ts";
import { Log } from "../telemetry/log.ts";

/** Called in the reverse order when the start fails. */
export type Closers = (() => unknown)[];

export function makeLog(options: ServerOptions, closers: Closers): Log {
  const log = new Log({
    level: options.logLevel,
    write: options.writeLog ?? ((lines) => void process.stderr.write(lines)),
    now: Date.now,
  });
  closers.push(() => log.flush());
  return log;
}

export function makeDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      "DATA_FOLDER",
      `cannot use the data folder ${dataDir}: ${reason}`,
      "set INKLING_DATA_DIR to a folder that this user may write to",
      error,
    );
  }
}
