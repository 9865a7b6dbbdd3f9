// request-context.ts: defines the state of one request from its arrival to its answer.

import type { ProblemCode } from "@inkling/contract";
import type { IpAddress, LoadedRelease, Overrides } from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import { sendersOf } from "../http/client-address.ts";
import { type RequestIds, requestId, traceIdOf, traceparentOf } from "../http/request-id.ts";
import type { RateState } from "../limits/token-bucket.ts";
import { PLAIN, type Question } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { Audience } from "../telemetry/counts.ts";
import type { RequestSpan } from "../telemetry/tracer.ts";

/** Returns the address at the other end of a connection, and sets its idle timeout. Bun's server implements this. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Sets the number of seconds after which an idle connection is closed. */
  timeout?(request: Request, seconds: number): void;
}

/**
 * One request. It keeps the release and overrides that were current when it started, so that no answer mixes two
 * versions. Only a stream that takes long replaces its release (batch/stream.ts).
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
  release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  readonly allowMissing: boolean;
  private readonly services: ThreadServices;
  /** The key that the request carries, admitted or not. */
  key: Key | undefined = undefined;
  isSandbox = false;
  rate: RateState | undefined;
  /** Whether the request was answered as a single lookup, which is charged to the key's quota. */
  isLookup = false;
  wants: number = PLAIN;
  /** The problem's code, if the answer is a problem. */
  code: ProblemCode | undefined = undefined;
  /** Number of values in a batch. For a stream, a promise that resolves when the stream has ended. */
  values: number | Promise<number> | undefined;
  private caller: { readonly address: IpAddress | undefined } | undefined;

  constructor(request: Request, peers: Peers, target: string, pathEnd: number, services: ThreadServices) {
    this.request = request;
    this.peers = peers;
    this.target = target;
    this.pathEnd = pathEnd;
    this.id = requestId(request.headers, services.newRequestId);
    this.traceparent = traceparentOf(request.headers);
    this.now = services.now();
    this.span = services.tracer?.start(this.traceparent, this.now);
    this.release = services.releases.current;
    this.overrides = services.overrides.current;
    this.allowMissing = services.settings.allowMissing;
    this.services = services;
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

  get admittedRate(): RateState {
    return admitted(this.rate);
  }

  /** What identifies the request in the log and in stored decisions. */
  get ids(): RequestIds {
    return { request_id: this.id, trace_id: traceIdOf(this.traceparent) ?? null };
  }

  /** Returns the question about a visitor that a proxy or a hook sends. It has no opt-ins, and counts for no key. */
  questionAboutVisitor(allowMissing = this.allowMissing): Question {
    const { release, overrides, now, isSandbox, ids, span } = this;
    const findCaller = () => undefined;
    return { release, overrides, now, isSandbox, ids, span, allowMissing, wants: PLAIN, findCaller };
  }

  /** Remembers the caller, because its address is lost when the connection closes. */
  keepCaller(): void {
    this.caller = { address: this.findCaller() };
  }

  findCaller(): IpAddress | undefined {
    return this.caller === undefined ? this.senders.caller : this.caller.address;
  }

  /** Finds the caller, the visitor and the proxy (http/client-address.ts). */
  get senders() {
    const { trustedProxies } = this.services;
    const peer = this.peers.requestIP(this.request)?.address;
    const forwardedFor = trustedProxies.length === 0 ? null : this.request.headers.get("x-forwarded-for");
    return sendersOf(peer, forwardedFor, trustedProxies);
  }
}

function admitted<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("this request was not admitted");
  return value;
}
