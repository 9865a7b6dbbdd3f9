// request-context.ts: one request: what is fixed when it arrives, and what becomes known while it is answered. And what
// the API needs of the server around it.

import type { IpAddress, LoadedRelease, Mode, Overrides, Prefix } from "@inkling/engine";
import type { VisitorCounts } from "../assess/visitor-counts.ts";
import type { BatchMemory } from "../batch/memory.ts";
import type { Decisions } from "../decisions/decisions.ts";
import { callerAddress, proxyAddress, visitorAddress } from "../http/client-address.ts";
import type { Key } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
import type { Buckets, Decision } from "../limits/token-bucket.ts";
import type { EmailChecks } from "../lookup/mx.ts";
import { PLAIN, type Question } from "../lookup/pipeline.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { PublishedRuleset } from "../rulesets/record.ts";
import type { Audience, Counts } from "../telemetry/counts.ts";
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
  readonly buckets: Pick<Buckets, "limitsOf" | "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly overrides: { readonly current: Overrides };
  readonly rulesets: { readonly current: PublishedRuleset };
  readonly visits: Pick<VisitorCounts, "add">;
  readonly decisions: Decisions;
  /** Are the decisions of assessments stored? */
  readonly storesDecisions: boolean;
  readonly checks: Pick<EmailChecks, "checkMx">;
  readonly trustedProxies: readonly Prefix[];
  /** Of /v1/hooks/supabase, in base64; without any there is no such path. */
  readonly hookSecrets: readonly string[];
  readonly counts: Counts;
  readonly log: Log;
  /** Called with the first request for one, so that the start does not wait for it. */
  readonly documents: () => Promise<OpenDocuments>;
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly newRequestId: () => string;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Shared with another App of this process; its own by default. */
  readonly memory?: BatchMemory;
  /** Seconds after which an idle stream is closed; for tests. */
  readonly streamIdleSeconds?: number;
}

/** Takes release and overrides once: no answer mixes two. */
export class Exchange implements Question {
  readonly request: Request;
  readonly peers: Peers;
  /** Path and query, as sent. */
  readonly target: string;
  /** Index of the query's "?" in the target, or its length. */
  readonly pathEnd: number;
  readonly id: string;
  readonly now: number;
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  readonly mode: Mode;
  private readonly options: AppOptions;
  /** The key that the request came with, admitted or not. */
  key: Key | undefined = undefined;
  isSandbox = false;
  rate: Decision | undefined;
  /** Was it answered as one lookup, charged to the key's quota? */
  isLookup = false;
  wants: number = PLAIN;
  /** Values of a batch; of a stream when it has ended. */
  values: number | Promise<number> | undefined;

  constructor(request: Request, peers: Peers, target: string, pathEnd: number, options: AppOptions) {
    this.request = request;
    this.peers = peers;
    this.target = target;
    this.pathEnd = pathEnd;
    this.id = options.newRequestId();
    this.now = options.now();
    this.release = options.releases.current;
    this.overrides = options.overrides.current;
    this.mode = options.mode;
    this.options = options;
  }

  setKey(key: Key | undefined): void {
    this.key = key;
    this.isSandbox = key?.mode === "test";
  }

  get audience(): Audience {
    return this.key === undefined ? "none" : this.key.mode;
  }

  /** On routes that need a key. */
  get admittedKey(): Key {
    return admitted(this.key);
  }

  get admittedRate(): Decision {
    return admitted(this.rate);
  }

  findCaller(): IpAddress | undefined {
    const { trustedProxies } = this.options;
    const forwardedFor = trustedProxies.length === 0 ? null : this.forwardedFor;
    return callerAddress(this.peer, forwardedFor, trustedProxies);
  }

  /** Whose request a proxy asks about; undefined if no trusted one names it. */
  findVisitor(): IpAddress | undefined {
    return visitorAddress(this.peer, this.forwardedFor, this.options.trustedProxies);
  }

  /** The proxy that asks about a visitor; the machine at the other end of the connection where none names one. */
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
