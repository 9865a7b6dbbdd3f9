// options.ts: what a server is started with, what its starter gets, and what changes while it runs.

import type { Mode, Prefix } from "@inkling/engine";
import type { HostReport, Verification } from "@inkling/release-store";
import type { DataActions } from "../admin/context.ts";
import type { DnsServer } from "../mx/dns-servers.ts";
import type { ProcessEnvironment } from "../releases/process.ts";
import type { HostEntry } from "../store/waiting-entries.ts";
import type { Log, LogLevel } from "../telemetry/log.ts";

export interface ServerOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Host names of the admin listener, beside those that no web page can have: "inkling.example:8443". */
  readonly adminNames?: readonly string[];
  readonly dataDir: string;
  readonly mode: Mode;
  /** `sqlite://PATH` or `postgres://…`. */
  readonly databaseUrl: string;
  /** Lookups per second and key; 0 = no limit. */
  readonly rate: number;
  readonly burst: number;
  /** /readyz is 503 after usage could not be stored for so long; 0, the default: answers go on. */
  readonly maxUnstoredSeconds?: number;
  /** Keys are refused after the database was unreachable for so long; 0, the default: never. */
  readonly maxStaleSeconds?: number;
  /** Between two checks for changes of keys and overrides, in place of 1 s and 0.5 s. */
  readonly checkMs?: number;
  readonly trustedProxies: readonly Prefix[];
  readonly maxConnections: number;
  /** How long a stop keeps accepting connections while `/readyz` is 503; 0 by default. */
  readonly drainSeconds?: number;
  /** Processes that answer; 1, the default, is this process itself. */
  readonly workers?: number;
  /** Of the workers, and of processes that read releases; empty by default: they need no setting, and no credential. */
  readonly workerEnvironment?: ProcessEnvironment;
  /** For `?checks=mx`; none = the system's. */
  readonly dnsServers?: readonly DnsServer[];
  /** Domains that `?checks=mx` never asks about. */
  readonly dnsExclude?: readonly string[];
  readonly logLevel: LogLevel;
  /** The files of the operators' web pages, served by the admin listener. */
  readonly console?: (request: Request, path: string) => Promise<Response | undefined>;
  /** What the admin API can have done with the data; loaded with its first request. */
  readonly actions?: () => Promise<DataActions>;
  /** A key of the operator's choosing. */
  readonly adoptKey?: string;
  readonly version: string;
  /** Where log lines go; standard error by default. */
  readonly writeLog?: (lines: string) => void;
}

/** What a running server takes over. */
export type ReloadableOptions = Pick<
  ServerOptions,
  "rate" | "burst" | "trustedProxies" | "maxConnections" | "dnsServers" | "dnsExclude" | "logLevel"
>;

/** These alone: what else a server is started with is secret, or no message. */
export function reloadable(options: ReloadableOptions): ReloadableOptions {
  const { rate, burst, trustedProxies, maxConnections, dnsServers = [], dnsExclude = [], logLevel } = options;
  return { rate, burst, trustedProxies, maxConnections, dnsServers, dnsExclude, logLevel };
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
  /** In force for requests that begin from now on; connections stay open. */
  reload(options: ReloadableOptions): Promise<void>;
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
export const CHANGES = ["release", "overrides", "keys"] as const;
export type Change = (typeof CHANGES)[number];

/** What a start that fails has to undo, in the reverse order; or the steps of a stop. */
export type Closers = (() => unknown)[];

/** Calls each of them, one after the other, whatever those before it threw. */
export async function closeAll(closers: Closers, onError: (error: unknown) => void): Promise<void> {
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      onError(error);
    }
  }
}
