// Tests traces with a server and a collector on loopback.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { fetch } from "../../../../test/harness/checked-fetch.ts";
import { eventLog, type LoggedEvent } from "../../../../test/harness/logged-events.ts";
import { type SmallServer, startSmallServer } from "../../../../test/harness/server.ts";
import { until } from "../../../../test/harness/until.ts";
import { OWN_TRACES_A_SECOND, Tracer } from "./tracer.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: object;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const bodies: string[] = [];
/** What the collector does with a request. */
let collect: () => Response | Promise<Response> = () => new Response("{}");
const collector = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    bodies.push(`${new URL(request.url).pathname} ${await request.text()}`);
    return collect();
  },
});
let it: SmallServer;
beforeAll(async () => {
  it = await startSmallServer({ otlpUrl: `http://127.0.0.1:${collector.port}/`, logLevel: "info" });
});
afterAll(async () => {
  await it.server.stop();
  await collector.stop(true);
});

const spansOf = (text: string): Span[] => {
  const [path, json] = [text.slice(0, text.indexOf(" ")), text.slice(text.indexOf(" "))];
  expect(path).toBe("/v1/traces");
  return JSON.parse(json).resourceSpans[0].scopeSpans[0].spans;
};
const spans = () => bodies.flatMap(spansOf);
const metric = (outcome: string) => it.metric(`inkling_trace_spans_total\\{outcome="${outcome}"\\}`);
const assess = (traceparent: string | undefined, email = "jane@mailinator.com") =>
  fetch(`${it.origin}/v1/assess`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${it.keys.live}`,
      "Content-Type": "application/json",
      ...(traceparent !== undefined && { traceparent }),
    },
    body: JSON.stringify({ event: "sign_up", ip: "8.8.8.8", email }),
  });

test("a decision is a span below its request, which is below the caller's", async () => {
  const { action, score } = (await (await assess(SAMPLED)).json()) as { action: string; score: number };
  await until(() => spans().length >= 2);
  const [request, decision] = spans() as [Span, Span];
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: "POST /v1/assess" });
  expect(decision).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, name: "decision" });
  const nanoseconds = [
    request.startTimeUnixNano,
    decision.startTimeUnixNano,
    decision.endTimeUnixNano,
    request.endTimeUnixNano,
  ].map(BigInt);
  expect(nanoseconds.toSorted((a, b) => Number(a - b))).toEqual(nanoseconds);
  expect(decision.attributes).toContainEqual({
    key: "inkling.decision.action",
    value: { stringValue: action },
  });
  expect(decision.attributes).toContainEqual({
    key: "inkling.decision.score",
    value: { doubleValue: score },
  });
  expect(request.attributes).toContainEqual({
    key: "http.response.status_code",
    value: { intValue: "200" },
  });
  await until(async () => (await metric("sent")) === 2);
});

test("no span has an address, an email address or a key", async () => {
  await it.lookUp(it.keys.live); // without a traceparent: among the first of this second
  await fetch(`${it.origin}/v1/ip-intel/geolocate/8.8.8.8?secret=1`, { headers: { traceparent: SAMPLED } });
  await fetch(`${it.origin}/nowhere/8.8.8.8`, { headers: { traceparent: SAMPLED } });
  await until(() => spans().some(({ name }) => name === "GET none"));
  const names = spans().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["GET /v1/ip-intel/geolocate/{ip}", "GET none"]));
  expect(bodies.join()).not.toMatch(/8\.8\.8\.8|127\.0\.0|mailinator|jane|ink_|key_|secret/);
});

test("the caller's flag decides, and a traced request has one span for itself and one for its decision", async () => {
  bodies.length = 0;
  await assess(`00-${TRACE}-${PARENT}-00`);
  await assess(SAMPLED);
  await until(() => spans().length >= 2);
  expect(spans().map(({ traceId }) => traceId)).toEqual([TRACE, TRACE]);
});

/** A tracer whose counts and log are kept, and whose spans only `flush` sends. */
function ownTracer() {
  const sums = { sent: 0, dropped: 0 };
  const events: LoggedEvent[] = [];
  const tracer = new Tracer({
    url: `http://127.0.0.1:${collector.port}`,
    version: "1",
    counts: {
      countSpans: (outcome, count) => {
        sums[outcome] += count;
      },
    },
    log: eventLog(events),
    elapsed: () => 0,
    randomBytes: (n) => new Uint8Array(n),
  });
  const request = () => tracer.start(SAMPLED, 0)?.end("GET", "/", 200, undefined, "id");
  return { tracer, sums, events, request };
}

test("without a traceparent, the first requests of a second are traced", async () => {
  const { tracer } = ownTracer();
  const traced = (now: number) =>
    Array.from({ length: 40 }, () => tracer.start(undefined, now) !== undefined);
  for (const second of [1_000, 2_999]) expect(traced(second).indexOf(false)).toBe(OWN_TRACES_A_SECOND);
  await tracer.stop();
});

test("a collector that hangs or fails changes nothing but a metric and the log", async () => {
  const held = Promise.withResolvers<Response>();
  collect = () => held.promise;
  const { tracer, sums, events, request } = ownTracer();
  request();
  const hanging = tracer.flush();
  for (let i = 0; i < 700; i++) request();
  expect(sums).toEqual({ sent: 0, dropped: 200 }); // the queue is full
  held.resolve(new Response("", { status: 503 }));
  await hanging;
  expect(events).toEqual([{ type: "traces-failed", reason: "it returned 503" }]);
  collect = () => new Response("{}");
  await tracer.flush();
  expect(sums).toEqual({ sent: 500, dropped: 201 });
  expect(events.at(-1)).toEqual({ type: "traces-back" });
  await tracer.stop();
});
