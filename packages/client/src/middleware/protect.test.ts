// Tests protect() in the real frameworks, with the sandbox's decisions. For Next.js, the tests use the
// Request that its handlers get.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, mock, test } from "node:test";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { OnUnavailable } from "../index.ts";
import { Unavailable } from "../index.ts";
import { type FakeInkling, fakeInkling } from "../testing/index.ts";
import { protect as protectExpress } from "./express.ts";
import { protect as protectFastify } from "./fastify.ts";
import { protect as protectHono } from "./hono.ts";
import { protect as protectNext } from "./next.ts";
import { type Admitted, type Assessor, guard, type ProtectOptions } from "./protect.ts";

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
const FRAMEWORKS: Readonly<Record<string, (client: Assessor) => Promise<Send>>> = {
  async Express(client) {
    const app = express().use(express.json(), express.urlencoded({ extended: true }));
    app.post("/", protectExpress(client, { trustProxy: 1 }), (request, response) => {
      response.json(seen(request.assessment, request.body.email));
    });
    const url = await listen(createServer(app));
    return (...values) => fetch(url, sent(...values));
  },
  async Fastify(client) {
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
    app.post("/", { preHandler: protectFastify(client, { trustProxy: 1 }) }, async (request) =>
      seen(request.assessment, (request.body as { email: string }).email),
    );
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return (...values) => fetch(url, sent(...values));
  },
  async Hono(client) {
    const app = new Hono();
    app.post("/", protectHono(client, { trustProxy: 1 }), async (c) => {
      const isJson = c.req.header("content-type") === "application/json";
      const form: { email?: unknown } = isJson ? await c.req.json() : await c.req.parseBody();
      return c.json(seen(c.var.assessment, form.email));
    });
    return async (...values) => app.fetch(new Request("http://example.com/", sent(...values)));
  },
  async "Next.js"(client) {
    const handler = protectNext(client, { trustProxy: 1 }, async (request) => {
      const isJson = request.headers.get("content-type") === "application/json";
      const email = isJson
        ? ((await request.json()) as { email: string }).email
        : (await request.formData()).get("email");
      return Response.json(seen(request.assessment, email));
    });
    return (...values) => handler(new Request("http://example.com/", sent(...values)));
  },
};

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
        ["no email address", {}, "192.0.2.1", 400, undefined],
        ["several email addresses", { email: [JANE, JANE] }, "192.0.2.1", 400, undefined],
        ["an object", { email: { toString: JANE } }, "192.0.2.1", 400, undefined],
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
        const send = await start(fakeInkling({ onUnavailable: "allow" }));
        mock.method(console, "warn", () => {});
        const response = await send(body, from);
        assert.equal(response.status, status);
        if (status === 200) assert.deepEqual(await response.json(), { decision, email: JANE });
        else assert.match(((await response.json()) as { error: string }).error, /\w/);
        mock.restoreAll();
      });

    test("a form, and its handler can read it", async () => {
      const send = await start(fakeInkling());
      const response = await send("email=jane%40example.com&plan=free", "192.0.2.1", FORM);
      assert.deepEqual([response.status, await response.json()], [200, { decision: "allow", email: JANE }]);
      assert.equal((await send("email=jane%40disposable.example", "192.0.2.1", FORM)).status, 403);
      assert.equal((await send(`email=${JANE}&email=${JANE}`, "192.0.2.1", FORM)).status, 400);
    });

    test("what the application has to mend is its own error, and no visitor passes", async () => {
      const client = fakeInkling({ onUnavailable: "allow" });
      client.server.fail("SCOPE_REQUIRED");
      mock.method(console, "error", () => {}); // the frameworks print errors
      const send = await start(client);
      const status = await send({ email: JANE }, "192.0.2.1").then(
        (response) => response.status,
        (error) => error.code, // Next.js passes errors on
      );
      assert.ok(status === 500 || status === "SCOPE_REQUIRED", String(status));
      mock.restoreAll();
    });
  });
}

describe("a guard", () => {
  const visitor = { peer: "192.0.2.1", forwardedFor: undefined };
  const guarded = <P extends OnUnavailable>(
    client: FakeInkling<P>,
    options: ProtectOptions<typeof visitor> = {},
  ) => guard(client, options, (it: typeof visitor) => it);

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
      const client = fakeInkling({ onUnavailable });
      client.server.fail(code);
      const told: string[] = [];
      const found = await guarded(client, { onUndecided: ({ error }) => told.push(error.code) })(
        visitor,
        "curl/8",
        { email: JANE },
      );
      if ("refusal" in found) assert.equal(found.refusal.status, status);
      else assert.equal(found.admitted instanceof Unavailable && found.admitted.verdict, status);
      assert.deepEqual(told, [code]);
    });

  test("warns once for each code of an outage, and once of visitors with a private address", async () => {
    const client = fakeInkling();
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
      for (const from of [probe, visitor, visitor]) await shared(from, null, { email: JANE });
    }
    const texts = warn.mock.calls.map(({ arguments: [text] }) => String(text));
    assert.deepEqual(
      texts.map((text) => /: (\w+)\. /.exec(text)?.[1]),
      ["IP_ADDRESS_RESERVED", "TIMED_OUT", "CONNECTION_FAILED", "TIMED_OUT"],
    );
    mock.restoreAll();
  });

  test("a private address is refused by a client that denies", async () => {
    const found = await guarded(fakeInkling({ onUnavailable: "deny" }), { onUndecided: () => {} })(
      { peer: "10.0.0.1", forwardedFor: undefined },
      null,
      { email: JANE },
    );
    assert.ok("refusal" in found && found.refusal.status === 503);
  });

  test("sends what it knows, cut to what the server takes", async () => {
    const inputs: unknown[] = [];
    const client: Assessor = {
      onUnavailable: "throw",
      assess: async (input) => {
        inputs.push(input);
        return fakeInkling().assess({ event: "login", ip: "192.0.2.1" });
      },
    };
    const ask = guard(
      client,
      { event: "login", email: "mail", more: () => ({ ref: "user-81", expected_country: "DE" }) },
      (it: typeof visitor) => it,
    );
    await ask(visitor, "x".repeat(3_000), { mail: JANE });
    const known = { ref: "user-81", expected_country: "DE", event: "login", ip: "192.0.2.1", email: JANE };
    assert.deepEqual(inputs, [{ ...known, user_agent: "x".repeat(2_048) }]);
    await guard(client, { email: null }, (it: typeof visitor) => it)(visitor, undefined, undefined);
    assert.deepEqual(inputs[1], { event: "sign_up", ip: "192.0.2.1" });
  });

  test("refuses options that do not exist", () =>
    assert.throws(
      () => guarded(fakeInkling(), { emial: "mail" } as object),
      /emial is not an option of protect/,
    ));
});
