// Tests protect() in the real frameworks, with the sandbox's decisions. For Next.js, the tests use the
// Request that its handlers get.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { afterEach, describe, mock, test } from "node:test";
import express from "express";
import fastify from "fastify";
import { type Context, Hono } from "hono";
import { fakeVisitors } from "../../test/fake-visitors.ts";
import type { OnUnavailable } from "../index.ts";
import { Unavailable } from "../index.ts";
import type { FakeInkling } from "../testing/index.ts";
import { protect as protectExpress } from "./express.ts";
import { protect as protectFastify } from "./fastify.ts";
import { type FetchProtectOptions, protect as protectFetch } from "./fetch.ts";
import { protect as protectHono } from "./hono.ts";
import { type KoaLikeContext, protect as protectKoa, type State } from "./koa.ts";
import { protect as protectNext } from "./next.ts";
import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";

const require = createRequire(import.meta.url);
/** Without types: Express 4 has those of Express 5 here, because what the test calls is in both. */
const express4: typeof express = require("express-4");
const { bodyParser } = require("@koa/bodyparser");
const Koa = require("koa");

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Send = (body: unknown, from: string, type?: string) => Promise<Response>;
const seen = (decision: Admitted, email: unknown) => ({
  decision: decision instanceof Unavailable ? decision.error.code : decision.action,
  email,
});
const bodyOf = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body));
const sent = (body: unknown, from: string, type = "application/json") => ({
  method: "POST",
  headers: { "Content-Type": type, "X-Forwarded-For": from },
  body: bodyOf(body),
});

/** An application for each framework. Its handler returns what it got. */
interface Hooks {
  /** Does the visitor insist on the address? Undefined: the route has no hooks. */
  readonly insists: boolean;
}
type Start = (client: Assessor, hooks?: Hooks) => Promise<Send>;
function startExpress(framework: typeof express): Start {
  return async (client, hooks) => {
    const app = framework().use(framework.json(), framework.urlencoded({ extended: true }));
    const guarded =
      hooks === undefined
        ? protectExpress(client, { trustProxy: 1 })
        : protectExpress(client, {
            trustProxy: 1,
            onDenied: ({ action }, _request, response: express.Response) =>
              response.status(409).type("text").send(`denied ${action}`),
            onChallenge: ({ action }, _request, response) =>
              hooks.insists ? "admit" : response.status(409).type("text").send(`denied ${action}`),
            onInvalid: ({ error }, _request, response) =>
              hooks.insists ? "admit" : response.status(409).type("text").send(error),
          });
    app.post("/", guarded, (request, response) => {
      response.json(seen(request.decision, request.body.email));
    });
    const url = await listen(createServer(app));
    return (...values) => fetch(url, sent(...values));
  };
}
const FRAMEWORKS: Readonly<Record<string, Start>> = {
  Express: startExpress(express),
  "Express 4": startExpress(express4),
  async Fastify(client, hooks) {
    const app = fastify();
    closing.push(() => app.close());
    app.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string" },
      (_request, body, done) => {
        const form = new URLSearchParams(String(body));
        const all = form.getAll("email");
        done(null, { email: all.length === 1 ? all[0] : all });
      },
    );
    const preHandler = protectFastify(client, {
      trustProxy: 1,
      ...(hooks !== undefined && {
        onDenied: ({ action }, _request, reply) => reply.code(409).send(`denied ${action}`),
        onChallenge: ({ action }, _request, reply) =>
          hooks.insists ? "admit" : reply.code(409).send(`denied ${action}`),
        onInvalid: ({ error }, _request, reply) => (hooks.insists ? "admit" : reply.code(409).send(error)),
      }),
    });
    app.post("/", { preHandler }, async (request) =>
      seen(request.decision, (request.body as { email: string }).email),
    );
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return (...values) => fetch(url, sent(...values));
  },
  async Hono(client, hooks) {
    const app = new Hono();
    const guarded = protectHono(client, {
      trustProxy: 1,
      ...(hooks !== undefined && {
        onDenied: ({ action }, c) => c.text(`denied ${action}`, 409),
        onChallenge: ({ action }, c) => (hooks.insists ? "admit" : c.text(`denied ${action}`, 409)),
        onInvalid: ({ error }, c) => (hooks.insists ? "admit" : c.text(error, 409)),
      }),
    } satisfies Parameters<typeof protectHono<Context>>[1]);
    app.post("/", guarded, async (c) => {
      const isJson = c.req.header("content-type") === "application/json";
      const form: { email?: unknown } = isJson ? await c.req.json() : await c.req.parseBody();
      return c.json(seen(c.var.decision, form.email));
    });
    return async (...values) => app.fetch(new Request("http://example.com/", sent(...values)));
  },
  async Koa(client, hooks) {
    const app = new Koa({ proxy: true }); // its own setting must have no effect
    app.silent = true;
    const options: ProtectOptions<KoaLikeContext, [KoaLikeContext]> = {
      trustProxy: 1,
      ...(hooks !== undefined && {
        onDenied: ({ action }, ctx) => Object.assign(ctx, { status: 409, body: `denied ${action}` }),
        onChallenge: ({ action }, ctx) =>
          hooks.insists ? "admit" : Object.assign(ctx, { status: 409, body: `denied ${action}` }),
        onInvalid: ({ error }, ctx) =>
          hooks.insists ? "admit" : Object.assign(ctx, { status: 409, body: error }),
      }),
    };
    app.use(bodyParser()).use(protectKoa(client, options));
    app.use((ctx: KoaLikeContext & { state: State; request: { body: { email: string } } }) => {
      ctx.body = seen(ctx.state.decision, ctx.request.body.email);
    });
    const url = await listen(createServer(app.callback()));
    return (...values) => fetch(url, sent(...values));
  },
  "Next.js": (client, hooks) => startFetch(client, hooks, protectNext),
  Request: (client, hooks) => startFetch(client, hooks, protectFetch),
};

async function startFetch(
  client: Assessor,
  hooks: Hooks | undefined,
  protect: typeof protectNext,
): Promise<Send> {
  const options: FetchProtectOptions<Request> & { trustProxy: number } = {
    trustProxy: 1,
    ...(hooks !== undefined && {
      onDenied: ({ action }) => new Response(`denied ${action}`, { status: 409 }),
      onChallenge: ({ action }) =>
        hooks.insists ? "admit" : new Response(`denied ${action}`, { status: 409 }),
      onInvalid: ({ error }) => (hooks.insists ? "admit" : new Response(error, { status: 409 })),
    }),
  };
  const handler = protect(client, options, async (request) => {
    const isJson = request.headers.get("content-type") === "application/json";
    const email = isJson
      ? ((await request.json()) as { email: string }).email
      : (await request.formData()).get("email");
    return Response.json(seen(request.decision, email));
  });
  return (...values) => handler(new Request("http://example.com/", sent(...values)));
}

const FORM = "application/x-www-form-urlencoded";
const JANE = "jane@example.com";

for (const [framework, start] of Object.entries(FRAMEWORKS)) {
  describe(framework, () => {
    const rows: [name: string, email: unknown, from: string, status: number, decision: string | undefined][] =
      [
        ["an ordinary visitor", { email: JANE }, "192.0.2.1", 200, "allow"],
        ["a Tor exit is challenged by the handler", { email: JANE }, "192.0.2.6", 200, "challenge"],
        ["a forged address", { email: JANE }, "192.0.2.1, 192.0.2.6", 200, "challenge"],
        ["a disposable address", { email: "jane@disposable.example" }, "192.0.2.1", 403, undefined],
        ["no email address", {}, "192.0.2.1", 422, undefined],
        ["several email addresses", { email: [JANE, JANE] }, "192.0.2.1", 422, undefined],
        ["an object", { email: { toString: JANE } }, "192.0.2.1", 422, undefined],
        ["a private address: the email address decides", { email: JANE }, "10.0.0.1", 200, "allow"],
        [
          "the same with a disposable address",
          { email: "jane@disposable.example" },
          "10.0.0.1",
          403,
          undefined,
        ],
      ];
    for (const [name, body, from, status, decision] of rows)
      test(name, async () => {
        const send = await start(fakeVisitors({ onUnavailable: "allow" }));
        mock.method(console, "warn", () => {});
        const response = await send(body, from);
        assert.equal(response.status, status);
        if (status === 200) assert.deepEqual(await response.json(), { decision, email: JANE });
        else assert.match(((await response.json()) as { error: string }).error, /\w/);
        mock.restoreAll();
      });

    test("a mistyped address: 422 with what was meant, and a hook can answer or admit", async () => {
      const client = fakeVisitors();
      client.server.answer("assess", "jane@gmial.com", { did_you_mean: "jane@gmail.com" });
      client.server.answer("assess", "spam@gmial.com", { did_you_mean: "spam@gmail.com", action: "deny" });
      const send = await start(client);
      const response = await send({ email: "jane@gmial.com" }, "192.0.2.1");
      assert.deepEqual(
        [response.status, await response.json()],
        [
          422,
          {
            error: "Did you mean jane@gmail.com?",
            did_you_mean: "jane@gmail.com",
            decision: "asm_0000000000000000",
          },
        ],
      );
      assert.equal((await send({ email: "spam@gmial.com" }, "192.0.2.1")).status, 422);
      for (const email of ["notanemail", "jane@invalid.example", ""]) {
        const invalid = await send({ email }, "192.0.2.1");
        const { error, did_you_mean } = (await invalid.json()) as Record<string, string>;
        assert.deepEqual(
          [invalid.status, error, did_you_mean],
          [422, "Please check the email address.", undefined],
        );
      }
      const insisted = await start(client, { insists: true });
      const admitted = await insisted({ email: "jane@gmial.com" }, "192.0.2.1");
      assert.deepEqual(
        [admitted.status, await admitted.json()],
        [200, { decision: "allow", email: "jane@gmial.com" }],
      );
      const rows = [
        ["spam@gmial.com", "denied deny"],
        ["jane@disposable.example", "denied deny"],
        ["jane@invalid.example", "denied deny"],
      ] as const;
      for (const [email, text] of rows) {
        const denied = await insisted({ email }, "192.0.2.1");
        assert.deepEqual([denied.status, await denied.text()], [409, text]);
      }
      const hooked = await start(client, { insists: false });
      const answered = await hooked({ email: "jane@gmial.com" }, "192.0.2.1");
      assert.deepEqual([answered.status, await answered.text()], [409, "Did you mean jane@gmail.com?"]);
    });

    test("a hook answers a challenge, or admits who has passed it", async () => {
      const client = fakeVisitors();
      const asked = await (await start(client, { insists: false }))({ email: JANE }, "192.0.2.6");
      assert.deepEqual([asked.status, await asked.text()], [409, "denied challenge"]);
      const passed = await (await start(client, { insists: true }))({ email: JANE }, "192.0.2.6");
      assert.deepEqual([passed.status, await passed.json()], [200, { decision: "challenge", email: JANE }]);
    });

    test("a body that is too large, or of a type that nobody reads, reaches neither Inkling nor the handler", async () => {
      const assess = mock.fn(async () => assert.fail("assessed"));
      mock.method(console, "error", () => {}); // the frameworks print errors
      const send = await start({ onUnavailable: "throw", assess });
      const { status } = await send({ email: JANE, note: "x".repeat(2 ** 21) }, "192.0.2.1");
      assert.equal(status, 413);
      for (const type of ["text/plain", "application/xml", "application/jsonx"]) {
        const refused = await send({ email: JANE }, "192.0.2.1", type);
        assert.ok([415, 422].includes(refused.status), String(refused.status));
      }
      assert.equal(assess.mock.callCount(), 0);
      mock.restoreAll();
    });

    test("malformed JSON never reaches the handler", async () => {
      mock.method(console, "error", () => {}); // the frameworks print errors
      const send = await start(fakeVisitors());
      const { status } = await send('{"email":', "192.0.2.1");
      assert.equal(status, /Express|Fastify|Koa/.test(framework) ? 400 : 422);
      mock.restoreAll();
    });

    test("a form, and its handler can read it", async () => {
      const send = await start(fakeVisitors());
      const response = await send("email=jane%40example.com&plan=free", "192.0.2.1", FORM);
      assert.deepEqual([response.status, await response.json()], [200, { decision: "allow", email: JANE }]);
      assert.equal((await send("email=jane%40disposable.example", "192.0.2.1", FORM)).status, 403);
      assert.equal((await send(`email=${JANE}&email=${JANE}`, "192.0.2.1", FORM)).status, 422);
    });

    test("a mistake of the application is its own error, and no visitor passes", async () => {
      const client = fakeVisitors({ onUnavailable: "allow" });
      client.server.fail("SCOPE_REQUIRED");
      mock.method(console, "error", () => {}); // the frameworks print errors
      const send = await start(client);
      const status = await send({ email: JANE }, "192.0.2.1").then(
        (response) => response.status,
        (error) => error.code, // passed on to Next.js and other servers
      );
      assert.ok(status === 500 || status === "SCOPE_REQUIRED", String(status));
      mock.restoreAll();
    });
  });
}

interface Readable {
  json(): Promise<unknown>;
  formData(): Promise<{ get(name: string): unknown; getAll(name: string): unknown[] }>;
  text(): Promise<string>;
}

/** Every email address that a careless handler could read from a request, whatever the content type. */
async function emailsIn(request: Readable & { clone(): Readable }): Promise<unknown[]> {
  const found: unknown[] = [];
  const readers = [
    async () => ((await request.json()) as { email?: unknown }).email,
    async () => (await request.formData()).get("email"),
    async () => (await request.formData()).getAll("email").at(-1),
    async () => new URLSearchParams(await request.text()).get("email"),
    async () => JSON.parse(await request.text()).email,
    async () => ((await request.clone().json()) as { email?: unknown }).email,
    async () => (await request.clone().formData()).get("email"),
    async () => new URLSearchParams(await request.clone().text()).get("email"),
  ];
  for (const read of readers) found.push(await read().catch(() => undefined));
  return found.filter((email) => email !== undefined && email !== null);
}

describe("the handler reads the email address that was assessed", () => {
  const SPAM = "spam@disposable.example";
  const BOUNDARY = "----FormBoundary7MA4"; // Node 20 ends a value at a letter b if that is the boundary
  const part = (value: string, name = "email", more = "") =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const multipart = (...parts: string[]) => `${parts.join("")}--${BOUNDARY}--\r\n`;
  const FILE = part("x", "email", '; filename="a"');
  const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;
  const JSON_TYPE = "application/json";
  const JSON_AND_FORM = `{"email":"${SPAM}","x":"&email=${JANE}&y="}`;
  const FORM_IN_JSON = `{"email":"${JANE}","x":"&email=${SPAM}&y="}`;
  const rows: [name: string, type: string, body: string, admitted: boolean][] = [
    ["JSON as a form", FORM, JSON_AND_FORM, true],
    ["JSON as a form that also has a field", FORM, `{"email":"${SPAM}"}&email=${JANE}`, true],
    ["a form in JSON", JSON_TYPE, FORM_IN_JSON, true],
    ["a form in JSON of another name", "application/ld+json", FORM_IN_JSON, true],
    ["the field twice, the first is clean", JSON_TYPE, `{"email":"${JANE}","email":"${SPAM}"}`, true],
    ["the field twice, the last is clean", JSON_TYPE, `{"email":"${SPAM}","email":"${JANE}"}`, true],
    ["the field twice", FORM, `email=${JANE}&email=${SPAM}`, false],
    ["the field as a list", FORM, `email[]=${SPAM}&email=${JANE}`, true],
    ["no content type that is accepted", "text/plain", FORM_IN_JSON, false],
    ["two content types", `${JSON_TYPE}, ${FORM}`, JSON_AND_FORM, false],
    ["a content type in a parameter", `text/plain; x=${JSON_TYPE}`, FORM_IN_JSON, false],
    ["another character set", `${FORM}; charset=utf-16`, JSON_AND_FORM, true],
    ["JSON in another character set", `${JSON_TYPE}; charset=utf-7`, FORM_IN_JSON, true],
    ["a form in a multipart form", MULTIPART, multipart(part(JANE), part(`&email=${SPAM}&`, "x")), true],
    ["the part twice", MULTIPART, multipart(part(JANE), part(SPAM)), false],
    ["a file and a part", MULTIPART, multipart(FILE, part(JANE)), false],
    ["multipart without a boundary", "multipart/form-data", multipart(part(JANE)), false],
  ];
  const apps: Readonly<Record<string, (client: Assessor) => (request: Request) => Promise<Response>>> = {
    Hono(client) {
      const app = new Hono();
      app.post("/", protectHono(client, { trustProxy: 1 }), async (c) => {
        const ofHono = await emailsIn({
          json: () => c.req.json(),
          formData: () => c.req.formData(),
          text: () => c.req.text(),
          clone: () => c.req.raw.clone(),
        });
        const parsed = await c.req.parseBody().catch(() => ({}));
        return c.json([
          ...ofHono,
          ...Object.values(parsed).filter((it) => it === SPAM),
          ...(await emailsIn(c.req.raw)),
        ]);
      });
      return async (request) => app.fetch(request);
    },
    "Next.js": (client) =>
      protectNext(client, { trustProxy: 1 }, async (request) => Response.json(await emailsIn(request))),
  };
  for (const [framework, start] of Object.entries(apps))
    for (const [name, type, body, admitted] of rows)
      test(`${framework}: ${name}`, async () => {
        const assessed: unknown[] = [];
        const real = fakeVisitors();
        const client: Assessor = {
          onUnavailable: "throw",
          assess(input) {
            assessed.push(input.email);
            return real.assess({ ...input, email: JANE });
          },
        };
        const response = await start(client)(
          new Request("http://example.com/", sent(body, "192.0.2.1", type)),
        );
        const read = (await response.json()) as string[];
        if (admitted) for (const email of read) assert.equal(email, assessed[0]);
        else assert.ok(response.status >= 400, JSON.stringify(read));
        assert.equal(response.ok, admitted);
        assert.ok(!admitted || read.length > 0); // the handler can read it
      });
});

describe("a fetch-style body", () => {
  const guarded = (options: FetchProtectOptions<Request>, handler = () => new Response("welcome")) =>
    protectFetch(fakeVisitors(), { address: () => "192.0.2.1", ...options }, handler);
  const stream = (parts: number, of = 1_000) => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ === parts) controller.close();
        else controller.enqueue(new TextEncoder().encode(sent === 1 ? '{"email":"' : " ".repeat(of)));
      },
    });
    const headers = { "Content-Type": "application/json" };
    const request = new Request("http://example.com/", {
      method: "POST",
      headers,
      body,
      duplex: "half",
    } as object);
    return { request, read: () => sent };
  };
  test("of unknown length is read only up to the limit", async () => {
    const { request, read } = stream(1_000_000);
    assert.equal((await guarded({ maxBodyBytes: 20_000 })(request)).status, 413);
    assert.ok(read() < 40, String(read()));
  });
  test("may have another limit", async () => {
    const body = { email: JANE, note: "x".repeat(2 ** 21) };
    const large = () => new Request("http://example.com/", sent(body, "192.0.2.1"));
    assert.equal((await guarded({})(large())).status, 413);
    assert.equal((await guarded({ maxBodyBytes: 2 ** 22 })(large())).status, 200);
    assert.throws(() => guarded({ maxBodyBytes: 0 }), /maxBodyBytes must be/);
  });
  test("that the application has read before is read from it, in Hono", async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.json();
      await next();
    });
    app.post("/", protectHono(fakeVisitors(), { trustProxy: 1 }), async (c) => c.json(await c.req.json()));
    const response = await app.fetch(new Request("http://example.com/", sent({ email: JANE }, "192.0.2.1")));
    assert.deepEqual([response.status, await response.json()], [200, { email: JANE }]);
  });
  test("comes from the address of the connection, which the server passes beside the request", async () => {
    const ips: unknown[] = [];
    const client: Assessor = {
      onUnavailable: "throw",
      assess(input) {
        ips.push(input.ip);
        return fakeVisitors().assess({ event: "sign_up", ip: "192.0.2.1" });
      },
    };
    const handler = protectFetch(client, {}, (_request, _server: object) => new Response("welcome"));
    for (const server of [
      { requestIP: () => ({ address: "192.0.2.6" }) },
      { remoteAddr: { hostname: "192.0.2.7" } },
    ])
      await handler(new Request("http://example.com/", sent({ email: JANE }, "198.51.100.1")), server);
    assert.deepEqual(ips, ["192.0.2.6", "192.0.2.7"]);
  });
});

describe("a gate", () => {
  const visitor = { peer: "192.0.2.1", forwardedFor: undefined };
  const guarded = <P extends OnUnavailable>(client: FakeInkling<P>, options: ProtectOptions<object> = {}) =>
    gate(client, options);

  const rows: [onUnavailable: OnUnavailable, code: "TIMED_OUT" | "RATE_LIMITED", status: number | "allow"][] =
    [
      ["throw", "TIMED_OUT", "allow"],
      ["allow", "TIMED_OUT", "allow"],
      ["deny", "TIMED_OUT", 503],
      ["throw", "RATE_LIMITED", 503],
      ["allow", "RATE_LIMITED", 503],
      ["deny", "RATE_LIMITED", 503],
    ];
  for (const [onUnavailable, code, status] of rows)
    test(`${onUnavailable}, ${code}: ${status}`, async () => {
      const client = fakeVisitors({ onUnavailable });
      client.server.fail(code);
      const told: string[] = [];
      const found = await guarded(client, { onUndecided: ({ error }) => told.push(error.code) })(
        {},
        visitor,
        { email: JANE },
        [],
      );
      if ("refusal" in found) assert.equal(found.refusal.status, status);
      else assert.equal(found.admitted instanceof Unavailable && found.admitted.verdict, status);
      assert.deepEqual(told, [code]);
    });

  test("warns once for each code of an outage, and once of visitors with a private address", async () => {
    const client = fakeVisitors();
    const warn = mock.method(console, "warn", () => {});
    const shared = guarded(client);
    const probe = { peer: "10.0.0.1", forwardedFor: undefined };
    for (const failure of [
      undefined,
      "TIMED_OUT",
      "CONNECTION_FAILED",
      "TIMED_OUT",
      undefined,
      "TIMED_OUT",
    ] as const) {
      if (failure !== undefined) client.server.fail(failure);
      else client.server.recover();
      for (const from of [probe, visitor, visitor]) await shared({}, from, { email: JANE }, []);
    }
    const texts = warn.mock.calls.map(({ arguments: [text] }) => String(text));
    assert.deepEqual(
      texts.map((text) => /: (\w+)\. /.exec(text)?.[1]),
      ["IP_ADDRESS_RESERVED", "TIMED_OUT", "CONNECTION_FAILED", "TIMED_OUT"],
    );
    mock.restoreAll();
  });

  test("a private address is refused by a client that denies", async () => {
    const found = await guarded(fakeVisitors({ onUnavailable: "deny" }), { onUndecided: () => {} })(
      {},
      { peer: "10.0.0.1", forwardedFor: undefined },
      { email: JANE },
      [],
    );
    assert.ok("refusal" in found && found.refusal.status === 503);
  });

  test("sends what it has, cut to what the server accepts", async () => {
    const inputs: unknown[] = [];
    const client: Assessor = {
      onUnavailable: "throw",
      assess: async (input) => {
        inputs.push(input);
        return fakeVisitors().assess({ event: "login", ip: "192.0.2.1" });
      },
    };
    const ask = gate(client, {
      event: "login",
      email: "mail",
      more: async () => ({ ref: "user-81", expected_country: "DE" }),
    });
    await ask({}, { ...visitor, userAgent: "x".repeat(3_000) }, { mail: JANE }, []);
    const known = { ref: "user-81", expected_country: "DE", event: "login", ip: "192.0.2.1", email: JANE };
    assert.deepEqual(inputs, [{ ...known, user_agent: "x".repeat(2_048) }]);
    await gate(client, { email: null })({}, visitor, undefined, []);
    assert.deepEqual(inputs[1], { event: "sign_up", ip: "192.0.2.1" });
  });

  test("refuses options that do not exist", () =>
    assert.throws(
      () => guarded(fakeVisitors(), { emial: "mail" } as object),
      /emial is not an option of protect/,
    ));
});
