// Tests each middleware in its real framework. The Next.js package is a hundred times as large, so its tests use only
// the Request that its handlers get.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { afterEach, describe, test } from "node:test";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { CLEAN } from "../../test/fake-server.ts";
import { fakeVisitors } from "../../test/fake-visitors.ts";
import { InklingError } from "../errors.ts";
import { visitor as expressVisitor } from "./express.ts";
import { visitor as fastifyVisitor } from "./fastify.ts";
import { visitor as fetchVisitor } from "./fetch.ts";
import { visitor as honoVisitor } from "./hono.ts";
import { type KoaLikeContext, visitor as koaVisitor, type State } from "./koa.ts";
import { visitor as nextVisitor, withVisitor } from "./next.ts";

/** 192.0.2.6 is a Tor exit. The test's own address has no flags. */
const client = fakeVisitors();
client.server.answer("reputation", "127.0.0.1", {});
const TOR = { "X-Forwarded-For": "198.51.100.1, 192.0.2.6" };
const AS_TOR = { address: "192.0.2.6", is_tor_exit: true };
const AS_PEER = { address: "127.0.0.1", is_tor_exit: false };

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

const visitorSeen = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(url, { headers })).json();

describe("Express", () => {
  for (const [name, trustProxy, seen] of [
    ["behind a proxy", 1, AS_TOR],
    ["without one a forged header is nothing", 0, AS_PEER],
  ] as const) {
    test(name, async () => {
      const app = express();
      app.set("trust proxy", true); // its own setting must have no effect
      app.use(expressVisitor(client, { trustProxy }));
      app.get("/", async ({ visitor }, response) => {
        const reputation = await visitor.reputation();
        assert.ok("is_tor_exit" in reputation);
        response.json({ address: visitor.address, is_tor_exit: reputation.is_tor_exit });
      });
      assert.deepEqual(await visitorSeen(await listen(createServer(app)), TOR), seen);
    });
  }
});

describe("an uncaught lookup error is a 500 of the application, whatever status the lookup had", () => {
  const refused = async () => {
    throw new InklingError("KEY_INVALID", "Unknown API key", { status: 401 });
  };
  test("Express", async () => {
    const app = express();
    app.set("env", "test"); // prints no stack
    app.get("/", refused);
    assert.equal((await fetch(await listen(createServer(app)))).status, 500);
  });
  test("Fastify", async () => {
    const app = fastify();
    closing.push(() => app.close());
    app.get("/", refused);
    assert.equal((await fetch(await app.listen({ port: 0, host: "127.0.0.1" }))).status, 500);
  });
});

describe("Fastify", () => {
  for (const [name, trustProxy, seen] of [
    ["behind a proxy", 1, AS_TOR],
    ["without one a forged header is nothing", 0, AS_PEER],
  ] as const) {
    test(name, async () => {
      const app = fastify({ trustProxy: true }); // its own setting must have no effect
      closing.push(() => app.close());
      await app.register(fastifyVisitor(client, { trustProxy }));
      app.get("/", async ({ visitor }) => {
        const reputation = await visitor.reputation();
        assert.ok("is_tor_exit" in reputation);
        return { address: visitor.address, is_tor_exit: reputation.is_tor_exit };
      });
      assert.deepEqual(await visitorSeen(await app.listen({ port: 0, host: "127.0.0.1" }), TOR), seen);
    });
  }
});

describe("Koa", () => {
  for (const [name, trustProxy, seen] of [
    ["behind a proxy", 1, AS_TOR],
    ["without one a forged header is nothing", 0, AS_PEER],
  ] as const) {
    test(name, async () => {
      const app = new (createRequire(import.meta.url)("koa"))({ proxy: true }); // its own setting must have no effect
      app.use(koaVisitor(client, { trustProxy }));
      app.use(async (ctx: KoaLikeContext & { state: State }) => {
        const { visitor } = ctx.state;
        const reputation = await visitor.reputation();
        assert.ok("is_tor_exit" in reputation);
        ctx.body = { address: visitor.address, is_tor_exit: reputation.is_tor_exit };
      });
      assert.deepEqual(await visitorSeen(await listen(createServer(app.callback())), TOR), seen);
    });
  }
});

test("a Request, with what Bun and Deno pass beside it", () => {
  const request = new Request("http://example.com/", { headers: TOR });
  const bun = { requestIP: () => ({ address: "127.0.0.1" }) };
  for (const [options, server, address] of [
    [{ trustProxy: 1 }, bun, "192.0.2.6"],
    [{}, bun, "127.0.0.1"],
    [{}, { remoteAddr: { hostname: "127.0.0.1" } }, "127.0.0.1"],
    [{}, undefined, undefined],
  ] as const)
    assert.equal(fetchVisitor(client, options)(request, server).address, address);
});

describe("Hono", () => {
  const request = new Request("http://example.com/", { headers: TOR });
  const environments: [name: string, env: object][] = [
    ["Node", { incoming: { socket: { remoteAddress: "127.0.0.1" } } }],
    ["Bun", { requestIP: (received: Request) => (received === request ? { address: "127.0.0.1" } : null) }],
    ["Bun, with an env of one's own", { server: { requestIP: () => ({ address: "127.0.0.1" }) } }],
    ["Deno", { remoteAddr: { hostname: "127.0.0.1" } }],
  ];
  async function seenBy(options: Parameters<typeof honoVisitor>[1], env?: object) {
    const app = new Hono();
    app.use(honoVisitor(client, options));
    app.get("/", async (c) => {
      const { visitor } = c.var;
      if (visitor.address === undefined) return c.json({ address: null });
      const reputation = await visitor.reputation();
      assert.ok("is_tor_exit" in reputation);
      return c.json({ address: visitor.address, is_tor_exit: reputation.is_tor_exit });
    });
    return (await app.fetch(request, env)).json();
  }
  for (const [name, env] of environments) {
    test(`on ${name}`, async () => {
      assert.deepEqual(await seenBy({ trustProxy: 1 }, env), AS_TOR);
      assert.deepEqual(await seenBy({}, env), AS_PEER);
    });
  }
  test("on a platform with a header of its own", async () => {
    const address = (c: { req: { header(name: string): string | undefined } }) =>
      c.req.header("x-forwarded-for")?.split(", ")[1];
    assert.deepEqual(await seenBy({ address }), AS_TOR);
  });
  test("without an address from the server: undefined", async () =>
    assert.deepEqual(await seenBy({}), { address: null }));
});

describe("Next.js", () => {
  const request = () => new Request("http://example.com/api/signup", { method: "POST", headers: TOR });

  test("a handler gets its request with the visitor, and what else it is given", async () => {
    const handler = withVisitor(
      client,
      { trustProxy: 1 },
      async ({ visitor, method }, context: { id: number }) => [
        method,
        await visitor.reputation(),
        context.id,
      ],
    );
    const response = await handler(request(), { id: 7 });
    assert.deepEqual(response, ["POST", { ...CLEAN, is_tor_exit: true }, 7]);
  });

  test("a component or action has only headers", () => {
    const visitorOf = nextVisitor(client, { trustProxy: 1 });
    assert.equal(visitorOf({ headers: new Headers(TOR) }).address, "192.0.2.6");
    assert.equal(visitorOf({ headers: new Headers() }).address, undefined);
  });

  test("a platform's own header", () => {
    const visitorOf = nextVisitor(client, {
      address: ({ headers }) => headers.get("x-real-ip") ?? undefined,
    });
    assert.equal(visitorOf({ headers: new Headers({ "x-real-ip": "192.0.2.6" }) }).address, "192.0.2.6");
  });

  for (const trustProxy of [0, undefined, ["10.0.0.0/8"]])
    test(`trustProxy ${JSON.stringify(trustProxy)} is refused: it could only be wrong`, () =>
      assert.throws(
        () => nextVisitor(client, { trustProxy } as unknown as { trustProxy: number }),
        /trustProxy/,
      ));
});
