// messages.ts: what the supervisor and a worker say to each other.
//
// Messages go as structured clones, which keep no classes: networks go as text. Each of keys, overrides and release is
// sent whole whenever it changed, so a worker that starts later is told the same.

import { formatPrefix, type Mode, type Override, type Prefix, parsePrefix } from "@inkling/engine";
import type { Key } from "../keys/key.ts";
import type { LoadedKeys } from "../keys/keyring.ts";
import type { MxReport } from "../mx/counts.ts";
import type { DnsServer } from "../mx/dns-servers.ts";
import type { Refusal } from "../releases/follow.ts";
import type { LogLevel } from "../telemetry/log.ts";

export interface WorkerOptions {
  /** From 0; a worker that takes the place of another has its number. */
  readonly worker: number;
  readonly workers: number;
  /** LAYOUT of the supervisor's code. */
  readonly layout: string;
  /** Of the shared memory: epoch ms. */
  readonly base: number;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly mode: Mode;
  readonly version: string;
  readonly rate: number;
  readonly burst: number;
  readonly trustedProxies: readonly string[];
  readonly maxConnections: number;
  readonly dnsServers: readonly DnsServer[];
  readonly logLevel: LogLevel;
}

export interface WireKeys {
  readonly stamp: string;
  readonly tokens: readonly {
    readonly hash: string;
    readonly validUntil: number | undefined;
    readonly key: Omit<Key, "networks"> & { readonly networks: readonly string[] };
  }[];
}

/** Which release answers, as the supervisor has found. */
export interface ReleaseNews {
  readonly name: string | undefined;
  readonly isVerified: boolean;
  readonly refused: Refusal | undefined;
  readonly since: number | undefined;
}

export interface KeysNews {
  readonly type: "keys";
  readonly change: number;
  /** Undefined when none were ever read. */
  readonly keys: WireKeys | undefined;
  /** Cells by key id. */
  readonly cells: readonly (readonly [string, number])[];
  /** Why the database is away. */
  readonly away: string | undefined;
}

export type ToWorker =
  | { readonly type: "options"; readonly options: WorkerOptions }
  | ({ readonly type: "release" } & ReleaseNews)
  | { readonly type: "overrides"; readonly overrides: readonly Override[] }
  | KeysNews
  /** Everything has been told: listen. */
  | { readonly type: "listen" }
  | { readonly type: "report" }
  | { readonly type: "stop" };

export interface WorkerReport {
  readonly mx: MxReport;
  readonly connections: {
    readonly open: number | undefined;
    readonly refused: number;
    readonly most: number;
  };
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** The release that answers. */
  readonly release: string | undefined;
}

export type FromWorker =
  | { readonly type: "listening" }
  /** It cannot start, and another try would not help. */
  | { readonly type: "failed"; readonly code: string; readonly message: string; readonly hint: string }
  | { readonly type: "keys"; readonly change: number }
  | { readonly type: "report"; readonly report: WorkerReport };

export function keysToWire({ stamp, tokens }: LoadedKeys): WireKeys {
  return {
    stamp,
    tokens: tokens.map(({ hash, key, validUntil }) => ({
      hash,
      validUntil,
      key: { ...key, networks: key.networks.map(formatPrefix) },
    })),
  };
}

export function keysFromWire({ stamp, tokens }: WireKeys): LoadedKeys {
  return {
    stamp,
    tokens: tokens.map(({ hash, key, validUntil }) => ({
      hash,
      validUntil,
      key: { ...key, networks: prefixesFromWire(key.networks) },
    })),
  };
}

export function prefixesFromWire(texts: readonly string[]): Prefix[] {
  return texts.map((text) => parsePrefix(text)!); // what formatPrefix wrote
}
