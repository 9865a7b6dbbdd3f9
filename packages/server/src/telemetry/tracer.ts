// tracer.ts: sends spans of sampled requests, and of their decisions, to an OpenTelemetry collector: OTLP over HTTP, as
// JSON.
//
// Nothing here waits for the collector. Spans wait in a queue of limited length, and a timer sends them once a second.
// Requests beyond that length are not traced, so tracing costs at most the same time per second at any load. No span
// has an address, an email address or a key. Source: OTLP 1.3, Trace Context (W3C), HTTP semantic conventions.

import type { DecisionAnswer } from "@inkling/contract";
import { messageOf } from "@inkling/data";
import type { EpochMs } from "@inkling/store/keys/key";
import type { Counts } from "./counts.ts";
import type { Log } from "./log.ts";

const FLUSH_MS = 1_000;
const TIMEOUT_MS = 5_000;
/** Maximum milliseconds to wait for the collector when the server stops. */
const STOP_MS = 1_000;
/** Maximum number of spans that a thread keeps, and therefore sends per second. */
const MAX_WAITING = 500;
/** Number of requests per second and thread that are traced although their callers send no `traceparent`. */
export const OWN_TRACES_A_SECOND = 5;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const KIND = { internal: 1, server: 2 } as const;
const STATUS_ERROR = 2;

type Attributes = Readonly<
  Record<string, string | number | bigint | boolean | readonly string[] | undefined>
>;

/** The JSON of a span in OTLP. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly object[];
  readonly status?: { readonly code: number };
}

interface TracerOptions {
  /** The collector's base URL. */
  readonly url: string;
  readonly version: string;
  readonly counts: Pick<Counts, "countSpans">;
  readonly log: Pick<Log, "error" | "info">;
  readonly elapsed: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
}

export class Tracer {
  readonly options: TracerOptions;
  private readonly endpoint: string;
  private readonly timer: ReturnType<typeof setInterval>;
  private waiting: Span[] = [];
  private sending: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  private isFailing = false;
  private second = 0;
  private ownTraces = 0;

  constructor(options: TracerOptions) {
    this.options = options;
    this.endpoint = `${options.url.replace(/\/$/, "")}/v1/traces`;
    this.timer = setInterval(() => this.flush(), FLUSH_MS);
    this.timer.unref();
  }

  /**
   * Starts the span of a request if the request is sampled: if its caller's trace is, or, without a `traceparent`, if
   * it is among the first of this second.
   * @param traceparent a valid one
   * @param now epoch ms
   */
  start(traceparent: string | undefined, now: number): RequestSpan | undefined {
    if (traceparent === undefined ? !this.takeOwnTrace(now) : !isSampled(traceparent)) return undefined;
    if (this.waiting.length < MAX_WAITING) return new RequestSpan(this, traceparent, now);
    this.options.counts.countSpans("dropped", 1);
    return undefined;
  }

  private takeOwnTrace(now: number): boolean {
    const second = Math.floor(now / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.ownTraces = 0;
    }
    return this.ownTraces++ < OWN_TRACES_A_SECOND;
  }

  /** Queues the spans of one request. */
  add(spans: readonly Span[]): void {
    const kept = spans.slice(0, Math.max(0, MAX_WAITING - this.waiting.length));
    this.waiting.push(...kept);
    if (kept.length < spans.length) this.options.counts.countSpans("dropped", spans.length - kept.length);
  }

  newId(bytes: number): string {
    return Buffer.from(this.options.randomBytes(bytes)).toString("hex");
  }

  /** Sends what waits, unless the collector has not answered the last request yet. */
  flush(): Promise<void> {
    if (this.sending === undefined && this.waiting.length > 0) {
      const spans = this.waiting;
      this.waiting = [];
      this.sending = this.send(spans).finally(() => {
        this.sending = undefined;
      });
    }
    return this.sending ?? Promise.resolve();
  }

  private async send(spans: readonly Span[]): Promise<void> {
    const { counts, log, version } = this.options;
    const resource = { attributes: attributesOf({ "service.name": "inkling", "service.version": version }) };
    const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "inkling" }, spans }] }] };
    try {
      const response = await fetch(this.endpoint, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        redirect: "manual",
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), this.stopping.signal]),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it returned ${response.status}`);
      counts.countSpans("sent", spans.length);
      if (this.isFailing) log.info("traces-back");
      this.isFailing = false;
    } catch (error) {
      counts.countSpans("dropped", spans.length);
      if (!this.isFailing) log.error("traces-failed", { reason: messageOf(error) });
      this.isFailing = true;
    }
  }

  /** Sends the last spans. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    const timer = setTimeout(() => this.stopping.abort(), STOP_MS);
    await this.sending;
    await this.flush();
    clearTimeout(timer);
  }
}

/** The span of one request, and the spans of its decisions. */
export class RequestSpan {
  private readonly tracer: Tracer;
  private readonly traceId: string;
  private readonly id: string;
  private readonly parentId: string | undefined;
  private readonly now: EpochMs;
  private readonly started: number;
  private readonly decisions: Span[] = [];

  constructor(tracer: Tracer, traceparent: string | undefined, now: number) {
    this.tracer = tracer;
    this.traceId = traceparent?.slice(3, 35) ?? tracer.newId(TRACE_ID_BYTES);
    this.parentId = traceparent?.slice(36, 52);
    this.id = tracer.newId(SPAN_ID_BYTES);
    this.now = now;
    this.started = tracer.options.elapsed();
  }

  /** @returns a function that ends the decision's span, and returns the decision */
  startDecision() {
    const started = this.tracer.options.elapsed();
    return <T extends { readonly answer: DecisionAnswer } | { readonly code: string }>(decided: T): T => {
      if (this.decisions.length >= MAX_WAITING) return decided;
      const about =
        "code" in decided ? { "inkling.problem": decided.code } : attributesOfDecision(decided.answer);
      this.decisions.push(this.span("decision", KIND.internal, started, about, this.id));
      return decided;
    };
  }

  end(method: string, route: string, status: number, problem: string | undefined, requestId: string): void {
    const about = {
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": BigInt(status),
      "inkling.problem": problem,
      "inkling.request_id": requestId,
    };
    const span = this.span(`${method} ${route}`, KIND.server, this.started, about, this.parentId, this.id);
    this.tracer.add([status < 500 ? span : { ...span, status: { code: STATUS_ERROR } }, ...this.decisions]);
  }

  private span(
    name: string,
    kind: number,
    started: number,
    about: Attributes,
    parentSpanId: string | undefined,
    spanId = this.tracer.newId(SPAN_ID_BYTES),
  ): Span {
    const nanoseconds = (elapsed: number) => `${Math.round((this.now + elapsed - this.started) * 1_000)}000`;
    return {
      traceId: this.traceId,
      spanId,
      parentSpanId,
      name,
      kind,
      startTimeUnixNano: nanoseconds(started),
      endTimeUnixNano: nanoseconds(this.tracer.options.elapsed()),
      attributes: attributesOf(about),
    };
  }
}

/** @param traceparent a valid one */
const isSampled = (traceparent: string) => (Number.parseInt(traceparent.slice(53), 16) & 1) === 1;

const attributesOfDecision = (answer: DecisionAnswer): Attributes => ({
  "inkling.decision.action": answer.action,
  "inkling.decision.score": answer.score,
  "inkling.decision.review": answer.review,
  "inkling.decision.rule": answer.rule ?? undefined,
  "inkling.decision.ruleset": BigInt(answer.ruleset),
  "inkling.decision.reasons": answer.reasons.map(({ code }) => code),
});

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );

function anyValue(value: NonNullable<Attributes[string]>): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "bigint") return { intValue: String(value) };
  if (typeof value === "number") return { doubleValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return { arrayValue: { values: value.map(anyValue) } };
}
