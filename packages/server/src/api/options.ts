// options.ts: what the API needs of the server around it.

import type { Mode, Overrides, Prefix } from "@inkling/engine";
import type { ProblemCode } from "../http/problems.ts";
import type { Counted, Key } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Buckets } from "../limits/token-bucket.ts";
import type { EmailChecks } from "../lookup/mx.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";

/** Knows the address at the other end of a connection; a Bun server does. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Sets after how many seconds an idle connection is closed. */
  timeout?(request: Request, seconds: number): void;
}

interface UsageCounter {
  record(keyId: string, counted: Counted, now: number, count?: number): void;
  countToday(keyId: string, now: number): number;
  /** Takes from the quota, so that no other request gets the same. @returns how many; all where the key has none */
  takeQuota(key: Key, now: number, most: number): number;
  /** Returns what was taken and is not recorded. */
  giveQuotaBack(key: Key, now: number, count: number): void;
}

/** A file that this server publishes about itself. */
export interface OpenDocument {
  readonly body: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface OpenDocuments {
  /** /openapi.json of a version of the server. */
  openApiDocument(version: string): OpenDocument;
  /** @param name what follows "/docs/", or "" for /docs itself */
  docsPage(name: string): OpenDocument | undefined;
}

export interface AppOptions extends StatusSource {
  readonly mode: Mode;
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly overrides: { readonly current: Overrides };
  readonly checks: Pick<EmailChecks, "mx">;
  readonly trustedProxies: readonly Prefix[];
  readonly counts: Counts<ProblemCode>;
  readonly log: Log;
  /** Called with the first request for one, so that the start does not wait for it. */
  readonly documents: () => Promise<OpenDocuments>;
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  /** Seconds after which an idle stream is closed; for tests. */
  readonly streamIdleSeconds?: number;
}
