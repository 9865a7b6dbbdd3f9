// Tests traces with a server and a collector on loopback.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { fetch } from "../../../../test/harness/checked-fetch.ts";
import { type SmallServer, startSmallServer } from "../../../../test/harness/server.ts";
import { until } from "../../../../test/harness/until.ts";
import { OWN_TRACES_A_SECOND } from "./tracer.ts";

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

test("the caller's flag decides; without a traceparent, the first requests of a second are traced", async () => {
  bodies.length = 0;
  for (let i = 0; i < 20; i++) await assess(`00-${TRACE}-${PARENT}-00`);
  const started = Math.floor(Date.now() / 1_000);
  for (let i = 0; i < 40; i++) await assess(undefined);
  const seconds = Math.floor(Date.now() / 1_000) - started + 1;
  await assess(SAMPLED);
  await until(() => spans().some(({ traceId }) => traceId === TRACE));
  const own = new Set(spans().flatMap(({ traceId }) => (traceId === TRACE ? [] : [traceId])));
  expect(own.size).toBeGreaterThanOrEqual(Math.min(40, OWN_TRACES_A_SECOND));
  expect(own.size).toBeLessThanOrEqual(OWN_TRACES_A_SECOND * seconds);
  expect(spans().filter(({ traceId }) => traceId === TRACE)).toHaveLength(2);
});

test("a collector that hangs or fails changes nothing but a metric and the log", async () => {
  const held = Promise.withResolvers<Response>();
  collect = () => held.promise;
  const sent = await metric("sent");
  const dropped = await metric("dropped");
  for (let i = 0; i < 700; i += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => assess(SAMPLED)));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
  }
  await until(async () => (await metric("dropped")) > dropped); // the queue is full
  held.resolve(new Response("", { status: 503 }));
  await until(() => it.events("traces-failed").length === 1);
  expect(it.events("traces-failed")).toMatchObject([{ reason: "it returned 503" }]);
  expect(await metric("sent")).toBe(sent);
  collect = () => new Response("{}");
  await assess(SAMPLED);
  await until(() => it.events("traces-back").length === 1);
  expect(await metric("sent")).toBeGreaterThan(sent);
});
