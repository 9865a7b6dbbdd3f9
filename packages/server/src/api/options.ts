// options.ts: what the API needs of the server around it.

import type { LoadedRelease, Mode, Overrides, Prefix } from "@inkling/engine";
import type { BatchMemory } from "../batch/memory.ts";
import type { ProblemCode } from "../http/problems.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
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

/** A file that this server publishes about itself. */
export interface OpenDocument {
  readonly body: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface OpenDocuments {
  /** /openapi.json */
  openApi(): OpenDocument;
  /** @param name what follows "/docs/", or "" for /docs itself */
  docsPage(name: string): OpenDocument | undefined;
}

export interface AppOptions extends StatusSource {
  readonly mode: Mode;
  readonly releases: StatusSource["releases"] & { readonly current: LoadedRelease | undefined };
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly overrides: { readonly current: Overrides };
  readonly checks: Pick<EmailChecks, "checkMx">;
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
  /** Shared with another App of this process; its own by default. */
  readonly memory?: BatchMemory;
  /** Seconds after which an idle stream is closed; for tests. */
  readonly streamIdleSeconds?: number;
}
