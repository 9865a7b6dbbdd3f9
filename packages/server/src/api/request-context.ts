// request-context.ts: defines the state of one request from its arrival to its answer, and what the API needs from the
// server that runs it.

import type { ProblemCode, SettingsOf } from "@inkling/contract";
import type { IpAddress, LoadedRelease, Overrides, Prefix } from "@inkling/engine";
import type { Precisions } from "@inkling/engine/assess";
import type { Decisions } from "@inkling/store/decisions/record";
import type { EpochMs, Key } from "@inkling/store/keys/key";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import type { VisitorCounts } from "../decisions/visitor-counts.ts";
import { callerAddress, proxyAddress, visitorAddress } from "../http/client-address.ts";
import { type RequestIds, requestId, traceIdOf, traceparentOf } from "../http/request-id.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
import type { BatchMemory } from "../limits/memory.ts";
import type { Buckets, Decision } from "../limits/token-bucket.ts";
import type { EmailChecks } from "../lookup/mx.ts";
import { PLAIN, type Question } from "../lookup/pipeline.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { Audience, Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { RequestSpan, Tracer } from "../telemetry/tracer.ts";

/** Returns the address at the other end of a connection, and sets its idle timeout. Bun's server implements this. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Sets the number of seconds after which an idle connection is closed. */
  timeout?(request: Request, seconds: number): void;
}

/** A file that this server publishes about itself. */
export interface OpenDocument {
  readonly body: string | Uint8Array;
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
  readonly releases: StatusSource["releases"] & { readonly current: LoadedRelease | undefined };
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly buckets: Pick<Buckets, "limitsOf" | "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly overrides: { readonly current: Overrides };
  readonly rulesets: { readonly current: PublishedRuleset };
  /** How often each reason was right, as of a few minutes ago. */
  readonly precisions: { readonly current: Precisions };
  readonly visits: Pick<VisitorCounts, "add">;
  readonly decisions: Decisions;
  readonly memoryKeys: readonly string[];
  readonly settings: SettingsOf<"worker">;
  readonly checks: Pick<EmailChecks, "checkMx">;
  readonly trustedProxies: readonly Prefix[];
  readonly counts: Counts;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  /** Returns the documents. The first call loads them, so that startup does not wait for them. */
  readonly documents: () => Promise<OpenDocuments>;
  readonly now: () => EpochMs;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Shared with another App of this thread. If omitted, the App creates its own. */
  readonly memory?: BatchMemory;
  /** Number of seconds after which an idle stream is closed; for tests. */
  readonly streamIdleSeconds?: number;
}

/**
 * One request. It keeps the release and overrides that were current when it started, so that no answer mixes two
 * versions.
 */
export class Exchange implements Question {
  readonly request: Request;
  readonly peers: Peers;
  /** Path and query as sent. */
  readonly target: string;
  /** Index of the query's "?" in the target; the target's length if there is no query. */
  readonly pathEnd: number;
  readonly id: string;
  /** As sent, if it is valid. */
  readonly traceparent: string | undefined;
  readonly now: number;
  readonly span: RequestSpan | undefined;
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  readonly allowMissing: boolean;
  private readonly options: AppOptions;
  /** The key that the request carries, admitted or not. */
  key: Key | undefined = undefined;
  isSandbox = false;
  rate: Decision | undefined;
  /** Whether the request was answered as a single lookup, which is charged to the key's quota. */
  isLookup = false;
  wants: number = PLAIN;
  /** The problem's code, if the answer is a problem. */
  code: ProblemCode | undefined = undefined;
  /** Number of values in a batch. For a stream, a promise that resolves when the stream has ended. */
  values: number | Promise<number> | undefined;

  constructor(request: Request, peers: Peers, target: string, pathEnd: number, options: AppOptions) {
    this.request = request;
    this.peers = peers;
    this.target = target;
    this.pathEnd = pathEnd;
    this.id = requestId(request.headers, options.newRequestId);
    this.traceparent = traceparentOf(request.headers);
    this.now = options.now();
    this.span = options.tracer?.start(this.traceparent, this.now);
    this.release = options.releases.current;
    this.overrides = options.overrides.current;
    this.allowMissing = options.allowMissing;
    this.options = options;
  }

  setKey(key: Key | undefined): void {
    this.key = key;
    this.isSandbox = key?.mode === "test";
  }

  get audience(): Audience {
    return this.key === undefined ? "none" : this.key.mode;
  }

  /** The key of a request that was admitted. @throws Error on routes that need no key */
  get admittedKey(): Key {
    return admitted(this.key);
  }

  get admittedRate(): Decision {
    return admitted(this.rate);
  }

  /** What identifies the request in the log and in stored decisions. */
  get ids(): RequestIds {
    return { request_id: this.id, trace_id: traceIdOf(this.traceparent) ?? null };
  }

  findCaller(): IpAddress | undefined {
    const { trustedProxies } = this.options;
    const forwardedFor = trustedProxies.length === 0 ? null : this.forwardedFor;
    return callerAddress(this.peer, forwardedFor, trustedProxies);
  }

  /** Returns the visitor that a proxy asks about; undefined if no trusted proxy sends a visitor. */
  findVisitor(): IpAddress | undefined {
    return visitorAddress(this.peer, this.forwardedFor, this.options.trustedProxies);
  }

  /**
   * Returns the proxy that asks about a visitor. If no trusted proxy sends a visitor, this is the machine at the other
   * end of the connection.
   */
  findProxy(): IpAddress | undefined {
    return proxyAddress(this.peer, this.forwardedFor, this.options.trustedProxies);
  }

  private get peer(): string | undefined {
    return this.peers.requestIP(this.request)?.address;
  }

  private get forwardedFor(): string | null {
    return this.request.headers.get("x-forwarded-for");
  }
}

function admitted<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("this request was not admitted");
  return value;
}
