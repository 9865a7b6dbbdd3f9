// options.ts: what a server is started with, what its starter gets, and what changes while it runs.

import type { ServerSettings } from "@inkling/contract";
import { type Mode, type Prefix, parsePrefix } from "@inkling/engine";
import type { HostReport, Verification } from "@inkling/release-store";
import type { DataActions } from "../admin/handler.ts";
import type { ProcessEnvironment } from "../releases/process.ts";
import type { HostEntry } from "../store/waiting-entries.ts";
import type { Log } from "../telemetry/log.ts";

/** The settings, and what the starter adds to them. */
export interface ServerOptions extends ServerSettings {
  readonly mode: Mode;
  readonly version: string;
  /** Between two checks for changes of keys and overrides, instead of 1 s and 0.5 s. */
  readonly checkMs?: number;
  /** Of the workers, and of processes that read releases; empty by default: they need no setting, and no credential. */
  readonly workerEnvironment?: ProcessEnvironment;
  /** The files of the operators' web pages, served by the admin listener. */
  readonly console?: (request: Request, path: string) => Promise<Response | undefined>;
  /** What the admin API can have done with the data; loaded with its first request. */
  readonly actions?: () => Promise<DataActions>;
  /** Where log lines go; standard error by default. */
  readonly writeLog?: (lines: string) => void;
}

/** The networks of a setting. @throws Error for text that is none: settings are checked where they are read */
export function networksOf(texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePrefix(text);
    if (prefix === undefined) throw new Error(`${JSON.stringify(text)} in a setting is no network`);
    return prefix;
  });
}

export interface RunningServer {
  readonly port: number;
  readonly adminPort: number;
  readonly log: Pick<Log, "info" | "error">;
  /** Without one, lookups are refused until there is one. */
  readonly hasRelease: boolean;
  /** What this server reports of itself now. */
  report(): HostReport;
  /**
   * Records a change of this host in the audit trail, and makes it then.
   * @throws StoreError where it cannot be recorded: nothing was changed; what `change` throws
   */
  audited<T>(entry: HostEntry, change: () => Promise<T>): Promise<T>;
  /** The reloadable ones are active for requests that begin from now on; connections remain open. */
  reload(settings: ServerSettings): Promise<void>;
  /**
   * Reads what this server has not read yet of a release, which may become the current one then.
   * @throws ReleaseError when it is not sound
   */
  verify(release: string, signal: AbortSignal): Promise<Verification>;
  /**
   * Logs an error that nothing caught, and writes all lines that wait: this process ends next.
   * @param secrets texts that must not appear
   */
  crash(error: unknown, secrets: readonly string[]): void;
  /**
   * Drains for `drainSeconds`, then accepts nothing more, finishes requests under way (at most 10 s), stores usage. Safe to
   * call twice.
   */
  stop(): Promise<void>;
}

/** State of the processes that answer, which can change. */
export const CHANGES = ["release", "overrides", "rulesets", "keys"] as const;
export type Change = (typeof CHANGES)[number];

/** What undoes the steps of a start, in their order: when it fails, and when the server stops. */
export type Closers = (() => unknown)[];

/** Calls the last one first, one after the other, whatever those before it threw. */
export async function closeAll(closers: Closers, onError: (error: unknown) => void): Promise<void> {
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      onError(error);
    }
  }
}
