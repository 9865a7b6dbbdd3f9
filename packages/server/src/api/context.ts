// context.ts: what handlers work with.

import type { Prefix } from "@inkling/engine";
import type { Arriving } from "../batch/body.ts";
import type { ProblemCode } from "../http/problems.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Buckets } from "../limits/token-bucket.ts";
import type { EmailChecks } from "../lookup/mx.ts";
import type { Pipeline } from "../lookup/pipeline.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { Admission, UsageCounter } from "./admission.ts";
import type { ExchangeOptions } from "./exchange.ts";
import type { Responses } from "./responses.ts";

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

export interface AppOptions extends StatusSource, ExchangeOptions {
  readonly releases: StatusSource["releases"];
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly checks: Pick<EmailChecks, "mx">;
  readonly trustedProxies: readonly Prefix[];
  readonly counts: Counts<ProblemCode>;
  readonly log: Log;
  /** Loads them with the first request for one, so that the start does not wait for it. */
  readonly documents: () => Promise<OpenDocuments>;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  /** Seconds after which an idle stream is closed; for tests. */
  readonly streamIdleSeconds?: number;
}

export interface ApiContext extends AppOptions {
  readonly pipeline: Pipeline;
  readonly admission: Admission;
  readonly responses: Responses;
  readonly arriving: Arriving;
}
