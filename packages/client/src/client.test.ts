import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { inspect } from "node:util";
import {
  CLEAN,
  cut,
  type FakeServer,
  fakeServer,
  html,
  json,
  KEY,
  problem,
  problemDocument,
  reply,
  type Step,
  silence,
} from "../test/fake-server.ts";
import { denies, Inkling, InklingError, type InklingOptions, Unavailable } from "./index.ts";
import type { Effects } from "./transport.ts";

const open: FakeServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** Returns a server with these steps, and a client that does not really wait between its attempts. */
async function pair(
  steps: readonly Step[],
  options: Partial<InklingOptions> = {},
  effects: Partial<Effects> = {},
) {
  const server = await fakeServer(...steps);
  open.push(server);
  const pauses: number[] = [];
  const client = new Inkling(
    { url: server.url, key: KEY, ...options },
    {
      random: () => 0,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted();
        pauses.push(ms);
      },
      ...effects,
    },
  );
  return { server, client, pauses };
}

async function failure(work: Promise<unknown>): Promise<InklingError> {
  const error = await work.then(
    (value) => assert.fail(`answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  assert.ok(error instanceof InklingError, inspect(error));
  return error;
}

const EMAIL = { valid: true, disposable: false, providers: [] };
const DECISION = { id: "asm_0", action: "allow", reasons: [] };

describe("a request", () => {
  const rows: [
    name: string,
    call: (client: Inkling) => Promise<unknown>,
    method: string,
    path: string,
    body: string,
  ][] = [
    ["geolocate", (c) => c.geolocate("203.0.113.9"), "GET", "/v1/ip-intel/geolocate/203.0.113.9", ""],
    ["reputation", (c) => c.reputation("203.0.113.9"), "GET", "/v1/ip-intel/reputation/203.0.113.9", ""],
    ["IPv6", (c) => c.reputation("2001:db8::1"), "GET", "/v1/ip-intel/reputation/2001%3Adb8%3A%3A1", ""],
    [
      "text that is not an address cannot leave the path",
      (c) => c.reputation("../x?a=1#b"),
      "GET",
      "/v1/ip-intel/reputation/..%2Fx%3Fa%3D1%23b",
      "",
    ],
    [
      "evidence",
      (c) => c.reputation("203.0.113.9", { evidence: true }),
      "GET",
      "/v1/ip-intel/reputation/203.0.113.9?include=evidence",
      "",
    ],
    ["email", (c) => c.email('a"b@x.org'), "POST", "/v1/user-intel/email", '{"values":["a\\"b@x.org"]}'],
    [
      "email with everything",
      (c) => c.email("a@x.org", { evidence: true, checks: ["mx"] }),
      "POST",
      "/v1/user-intel/email?include=evidence&checks=mx",
      '{"values":["a@x.org"]}',
    ],
    [
      "a decision",
      (c) => c.assess({ event: "sign_up", ip: "203.0.113.9", email: "a@x.org" }),
      "POST",
      "/v1/assess",
      '{"event":"sign_up","ip":"203.0.113.9","email":"a@x.org"}',
    ],
    [
      "a decision with everything",
      (c) => c.assess({ event: "login", email: "a@x.org" }, { evidence: true, facts: true }),
      "POST",
      "/v1/assess?include=evidence,facts",
      '{"event":"login","email":"a@x.org"}',
    ],
    [
      "an outcome",
      (c) => c.outcome("asm_../x", "fraud"),
      "POST",
      "/v1/assess/asm_..%2Fx/outcome",
      '{"outcome":"fraud"}',
    ],
  ];
  for (const [name, call, method, path, body] of rows) {
    test(name, async () => {
      const { server, client } = await pair([json({ ...CLEAN, ...DECISION, country: {}, answers: [EMAIL] })]);
      await call(client as Inkling);
      const [request] = server.requests;
      assert.deepEqual([request?.method, request?.path, request?.body], [method, path, body]);
      assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
    });
  }

  test("is sent even if it is not well-formed Unicode", async () => {
    const { server, client } = await pair([problem(400, "IP_ADDRESS_INVALID"), json({})]);
    assert.equal((await failure(client.reputation("\ud800"))).code, "IP_ADDRESS_INVALID");
    await client.outcome("asm_\udc00", "fraud");
    assert.deepEqual(
      server.requests.map(({ path }) => path),
      ["/v1/ip-intel/reputation/%EF%BF%BD", "/v1/assess/asm_%EF%BF%BD/outcome"],
    );
  });

  test("goes below a path of the URL", async () => {
    const { server } = await pair([json(CLEAN)]);
    const client = new Inkling({ url: `${server.url}/inkling/`, key: KEY });
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.equal(server.requests[0]?.path, "/inkling/v1/ip-intel/reputation/203.0.113.9");
  });
});

describe("a decision", () => {
  const visitor = { event: "sign_up", ip: "203.0.113.9" };

  test("keeps its idempotency key when it is asked for again", async () => {
    const { server, client } = await pair([cut, json(DECISION)]);
    assert.deepEqual(await client.assess(visitor, { idempotencyKey: "form-81" }), DECISION);
    assert.deepEqual(
      server.requests.map(({ headers }) => headers["idempotency-key"]),
      ["form-81", "form-81"],
    );
  });

  test("with an idempotency key that cannot be sent is refused, which is not an outage", async () => {
    const { server, client } = await pair([json(DECISION)], { onUnavailable: "allow" });
    for (const idempotencyKey of ["", "two words", "line\nbreak", "jos\u00e9", "\u4e2d", "x".repeat(201)])
      assert.equal(
        (await failure(client.assess(visitor, { idempotencyKey }))).code,
        "IDEMPOTENCY_KEY_INVALID",
      );
    assert.deepEqual(server.requests, []);
    assert.deepEqual(await client.assess(visitor, { idempotencyKey: "!~" }), DECISION);
  });

  for (const [name, step, verdict] of [
    ["a server that is down lets the visitor in, marked", cut, "allow"],
    ["a key whose rate is used up does not", problem(429, "RATE_LIMITED"), "deny"],
  ] as const)
    test(name, async () => {
      const { client } = await pair([step], { onUnavailable: "allow" });
      const found = await client.assess(visitor);
      assert.ok(found instanceof Unavailable);
      assert.equal(found.verdict, verdict);
      assert.equal(
        denies(found, () => false),
        verdict === "deny",
      );
    });

  for (const [name, body] of [
    ["an action that this client does not support", { ...DECISION, action: "quarantine" }],
    ["the answer of something else", CLEAN],
  ] as const)
    test(`is not read from ${name}`, async () => {
      const { client } = await pair([json(body)]);
      assert.equal((await failure(client.assess(visitor))).code, "ANSWER_UNREADABLE");
    });

  test("has options and outcomes that are checked", async () => {
    const { client, server } = await pair([json(DECISION)]);
    await assert.rejects(client.assess(visitor, { evidences: true } as object), /evidences is not an option/);
    await assert.rejects(client.assess(visitor, { facts: "yes" } as object), /facts must be/);
    await assert.rejects(client.assess("203.0.113.9" as never), /must be an object/);
    await assert.rejects(client.outcome("asm_0", "abuse" as "fraud"), /must be one of legitimate, fraud/);
    assert.equal(server.requests.length, 0);
  });

  test("with an outcome that cannot be stored throws, whatever `onUnavailable` is", async () => {
    const { client } = await pair([problem(503, "KEYS_NOT_LOADED")], { onUnavailable: "allow", retries: 0 });
    assert.equal((await failure(client.outcome("asm_0", "legitimate"))).code, "KEYS_NOT_LOADED");
  });
});

test("without a key, for a proxy that adds it, no Authorization header is sent", async () => {
  const { server, client } = await pair([json(CLEAN), json({ answers: [EMAIL] })], { key: null });
  await client.reputation("203.0.113.9");
  await client.email("a@x.org");
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    [undefined, undefined],
  );
  assert.equal(client.isSandbox, false);
});

describe("answers", () => {
  test("are those of the server", async () => {
    const { client } = await pair([json({ answers: [EMAIL] })]);
    assert.deepEqual(await client.email("a@x.org"), EMAIL);
  });

  test("a public address without a place is not an error", async () => {
    const { client } = await pair([problem(404, "IP_ADDRESS_NOT_FOUND")]);
    assert.equal(await client.geolocate("203.0.113.9"), undefined);
  });

  test("a problem instead of an answer is an error, and is retried if it may be temporary", async () => {
    const { client, server } = await pair([
      json({ answers: [problemDocument(503, "DATA_NOT_LOADED")] }),
      json({ answers: [EMAIL] }),
    ]);
    assert.deepEqual(await client.email("a@x.org"), EMAIL);
    assert.equal(server.requests.length, 2);
  });
});

describe("failures", () => {
  const rows: [
    name: string,
    step: Step,
    code: string,
    status: number | undefined,
    tries: number,
    isUnavailable: boolean,
  ][] = [
    ["not an address", problem(400, "IP_ADDRESS_INVALID"), "IP_ADDRESS_INVALID", 400, 1, false],
    ["a wrong key", problem(401, "KEY_INVALID"), "KEY_INVALID", 401, 1, false],
    ["a key that is over", problem(401, "KEY_EXPIRED"), "KEY_EXPIRED", 401, 1, true],
    ["a missing scope", problem(403, "SCOPE_REQUIRED"), "SCOPE_REQUIRED", 403, 1, false],
    ["too many requests", problem(429, "RATE_LIMITED", { "Retry-After": "1" }), "RATE_LIMITED", 429, 3, true],
    ["a fault of the server", problem(500, "INTERNAL"), "INTERNAL", 500, 3, true],
    ["no data", problem(503, "DATA_NOT_LOADED"), "DATA_NOT_LOADED", 503, 3, true],
    ["a code of a later server", problem(400, "NEW_CODE"), "NEW_CODE", 400, 1, false],
    ["the connection is cut", cut, "CONNECTION_FAILED", undefined, 3, true],
    ["HTML instead of JSON", html(200), "ANSWER_UNREADABLE", 200, 1, true],
    ["a proxy's own page", html(502), "ANSWER_UNREADABLE", 502, 3, true],
    ["a path of another server", html(404), "ANSWER_UNREADABLE", 404, 1, true],
    ["JSON with the type of a page", reply(200, "text/html", "[1"), "ANSWER_UNREADABLE", 200, 1, true],
    ["an empty answer", reply(200, "application/json", ""), "ANSWER_UNREADABLE", 200, 1, true],
    ["204", reply(204, "application/json", ""), "ANSWER_UNREADABLE", 204, 1, true],
    [
      "a redirect",
      reply(302, "text/html", "", { Location: "/elsewhere" }),
      "ANSWER_UNREADABLE",
      302,
      1,
      true,
    ],
    ["JSON, but not in Inkling's format", json({ hello: "world" }), "ANSWER_UNREADABLE", 200, 1, true],
    ["null", json(null), "ANSWER_UNREADABLE", 200, 1, true],
  ];
  for (const [name, step, code, status, tries, isUnavailable] of rows) {
    test(name, async () => {
      const { server, client } = await pair([step]);
      const error = await failure(client.email("jane@secret.example"));
      assert.deepEqual(
        [error.code, error.httpStatus, server.requests.length, error.isUnavailable],
        [code, status, tries, isUnavailable],
      );
      assert.match(error.message, new RegExp(`\\(${code}\\)$`));
      assert.ok(error.hint.length > 10);
      if (status !== undefined) assert.equal(error.requestId, "req1");
      const printed = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error) + error.stack;
      for (const secret of [KEY, "jane", "secret.example", "It works"])
        assert.ok(!printed.includes(secret), printed);
    });
  }

  test("other JSON is not an answer of any lookup", async () => {
    const { client } = await pair([json({ ok: true })]);
    for (const work of [client.geolocate("203.0.113.9"), client.reputation("203.0.113.9")])
      assert.equal((await failure(work)).code, "ANSWER_UNREADABLE");
  });

  test("connection refused", async () => {
    const { server, client } = await pair([json(CLEAN)]);
    await server.close();
    const error = await failure(client.reputation("203.0.113.9"));
    assert.equal(error.code, "CONNECTION_FAILED");
    assert.ok(error.cause instanceof Error);
  });

  test("a good answer after bad ones", async () => {
    const { server, client } = await pair([cut, problem(503, "KEYS_NOT_LOADED"), json(CLEAN)]);
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.equal(server.requests.length, 3);
  });

  test("no second try with retries: 0", async () => {
    const { server, client } = await pair([cut, json(CLEAN)], { retries: 0 });
    await failure(client.reputation("203.0.113.9"));
    assert.equal(server.requests.length, 1);
  });

  test("waits for Retry-After", async () => {
    const { client, pauses } = await pair([
      problem(429, "RATE_LIMITED", { "Retry-After": "2" }),
      json(CLEAN),
    ]);
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.deepEqual(pauses, [2_000]);
  });

  test("does not wait when Retry-After is later than the end of its time", async () => {
    const { server, client, pauses } = await pair([problem(503, "DATA_NOT_LOADED", { "Retry-After": "10" })]);
    const error = await failure(client.reputation("203.0.113.9"));
    assert.deepEqual([error.retryAfterSeconds, pauses, server.requests.length], [10, [], 1]);
  });

  test("a server that is silent once gets a second request", async () => {
    const { server, client } = await pair([silence, json(CLEAN)], { timeoutMs: 5_000 });
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.equal(server.requests.length, 2);
  });

  test("a silent server is given up", async () => {
    const { client } = await pair([silence], { timeoutMs: 120 });
    assert.equal((await failure(client.reputation("203.0.113.9"))).code, "TIMED_OUT");
  });

  for (const [name, second] of [
    ["a silent server", silence],
    ["a pause of minutes", problem(503, "DATA_NOT_LOADED", { "Retry-After": "600" })],
  ] as const) {
    test(`a clock that is set back gives ${name} no more time`, async () => {
      let now = 3_600_000;
      const fail = problem(500, "INTERNAL");
      const setBack: Step = (...exchange) => {
        now = 0;
        return fail(...exchange);
      };
      const { client, pauses } = await pair([setBack, second], { timeoutMs: 2_000 }, { now: () => now });
      assert.equal((await failure(client.reputation("203.0.113.9"))).isUnavailable, true);
      assert.ok(
        pauses.every((ms) => ms < 2_000),
        String(pauses),
      );
    });
  }

  test("a body that never ends is given up", async () => {
    const endless: Step = (response) => void response.writeHead(200).write('{"is_abuser":');
    const { client } = await pair([endless], { timeoutMs: 120 });
    assert.equal((await failure(client.reputation("203.0.113.9"))).code, "TIMED_OUT");
  });

  test("a truncated body is requested again", async () => {
    const half: Step = (response) => {
      response.writeHead(200, { "Content-Length": "100" }).write('{"is_abuser":');
      setTimeout(() => response.socket?.destroy(), 20);
    };
    const { client } = await pair([half, json(CLEAN)]);
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
  });
});

describe("a signal", () => {
  test("that has aborted sends no request", async () => {
    const { server, client } = await pair([json(CLEAN)], { onUnavailable: "allow" });
    const reason = new Error("enough");
    await assert.rejects(client.reputation("203.0.113.9", { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(server.requests.length, 0);
  });

  test("ends what is under way with its own reason, whatever onUnavailable is", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const { server, client } = await pair([() => controller.abort(reason)], { onUnavailable: "allow" });
    await assert.rejects(client.reputation("203.0.113.9", { signal: controller.signal }), reason);
    assert.equal(server.requests.length, 1);
  });

  test("is not a failure of the connection, even if no attempt is left", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const { client } = await pair([() => controller.abort(reason)], { retries: 0 });
    await assert.rejects(client.reputation("203.0.113.9", { signal: controller.signal }), reason);
  });

  test("ends a pause", async () => {
    const controller = new AbortController();
    const server = await fakeServer((response, request) => {
      problem(429, "RATE_LIMITED", { "Retry-After": "60" })(response, request);
      setTimeout(() => controller.abort(), 30);
    });
    open.push(server);
    const client = new Inkling({ url: server.url, key: KEY, timeoutMs: 600_000 });
    await assert.rejects(client.reputation("203.0.113.9", { signal: controller.signal }), {
      name: "AbortError",
    });
  });
});

describe("onUnavailable", () => {
  for (const verdict of ["allow", "deny"] as const) {
    test(`${verdict}: a value that is no answer`, async () => {
      const { client } = await pair([html(502)], { onUnavailable: verdict });
      const found = await client.reputation("203.0.113.9");
      assert.ok(found instanceof Unavailable);
      assert.deepEqual(
        [found.available, found.verdict, found.error.code],
        [false, verdict, "ANSWER_UNREADABLE"],
      );
      assert.ok(!("is_proxy" in { ...found }));
    });
    test(`${verdict}: a wrong value or a wrong key still throws`, async () => {
      const codes = ["KEY_INVALID", "IP_ADDRESS_INVALID", "SANDBOX_VALUE_REQUIRED"];
      const { client } = await pair(
        codes.map((code) => problem(400, code)),
        { onUnavailable: verdict },
      );
      for (const code of codes) assert.equal((await failure(client.reputation("203.0.113.9"))).code, code);
    });
    test(`${verdict}: an address that no visitor from the internet has is no answer`, async () => {
      const { client } = await pair([problem(400, "IP_ADDRESS_RESERVED")], { onUnavailable: verdict });
      for (const found of [await client.reputation("10.0.0.1"), await client.geolocate("10.0.0.1")]) {
        assert.ok(found instanceof Unavailable);
        assert.deepEqual([found.verdict, found.error.code], [verdict, "IP_ADDRESS_RESERVED"]);
        assert.equal(
          denies(found, () => false),
          verdict === "deny",
        );
      }
    });
  }
});

describe("onThrottled", () => {
  const lookups: [name: string, step: Step, code: string][] = [
    ["the key's rate is used up", problem(429, "RATE_LIMITED"), "RATE_LIMITED"],
    ["the key's quota is used up", problem(429, "QUOTA_EXCEEDED"), "QUOTA_EXCEEDED"],
    ["a proxy throttles", html(429), "ANSWER_UNREADABLE"],
  ];
  for (const [name, step, code] of lookups) {
    test(`${name}: "deny" by default, whatever onUnavailable is`, async () => {
      for (const onUnavailable of ["allow", "deny"] as const) {
        const { client } = await pair([step], { onUnavailable, retries: 0 });
        const found = await client.reputation("203.0.113.9");
        assert.ok(found instanceof Unavailable);
        assert.deepEqual([found.verdict, found.error.code, found.error.isThrottled], ["deny", code, true]);
      }
    });
    test(`${name}: "allow" if the application sets that`, async () => {
      const options = { onUnavailable: "deny", onThrottled: "allow", retries: 0 } as const;
      const { client } = await pair([step], options);
      const found = await client.reputation("203.0.113.9");
      assert.ok(found instanceof Unavailable);
      assert.equal(found.verdict, "allow");
    });
    test(`${name}: throws with "throw"`, async () => {
      const { client } = await pair([step], { retries: 0 });
      assert.equal((await failure(client.reputation("203.0.113.9"))).code, code);
    });
  }
  test("an outage is not throttling", async () => {
    const { client } = await pair([problem(503, "DATA_NOT_LOADED")], { onUnavailable: "allow", retries: 0 });
    const found = await client.reputation("203.0.113.9");
    assert.ok(found instanceof Unavailable);
    assert.deepEqual([found.verdict, found.error.isThrottled], ["allow", false]);
  });
});

describe("the data behind an answer", () => {
  const PARTIAL = {
    "Inkling-Data-State": 'partial; missing="is_abuser is_proxy"; incomplete="is_tor_exit"',
    "Inkling-Data-Version": "r1",
  };
  const state = {
    missing: ["is_abuser", "is_proxy"],
    incomplete: ["is_tor_exit"],
    ageHours: {},
    version: "r1",
  };
  const throwing = async (...[steps, options, effects]: Parameters<typeof pair>) => {
    const made = await pair(steps, options, effects);
    return { server: made.server, client: made.client as Inkling };
  };
  const COMPLETE = { "Inkling-Data-Version": "r2" };
  const cached = { "Cache-Control": "private, max-age=300", ETag: '"one"' };

  test("is part of each answer, and not of its JSON, its fields or its copies", async () => {
    const { client } = await throwing([
      json(CLEAN, PARTIAL),
      json({ country: {} }, COMPLETE),
      json(
        { answers: [EMAIL] },
        { ...COMPLETE, "Inkling-Data-State": 'partial; incomplete="disposable"; age="disposable:278d"' },
      ),
    ]);
    const reputation = await client.reputation("203.0.113.9");
    assert.deepEqual(reputation.data, state);
    assert.deepEqual(reputation, CLEAN);
    assert.equal(JSON.stringify(reputation), JSON.stringify(CLEAN));
    assert.deepEqual({ ...reputation }, CLEAN);
    const place = await client.geolocate("203.0.113.9");
    assert.deepEqual(place?.data, { missing: [], incomplete: [], ageHours: {}, version: "r2" });
    const email = await client.email("a@x.org");
    assert.deepEqual(email.data, {
      missing: [],
      incomplete: ["disposable"],
      ageHours: { disposable: 278 * 24 },
      version: "r2",
    });
    assert.deepEqual(email, EMAIL);
  });

  test("of a cached answer is that of the response it came with, and changes with what validates it", async () => {
    const clock = { now: 1_000_000 };
    const notModified =
      (headers: Record<string, string>): Step =>
      (response) =>
        void response.writeHead(304, { ...cached, ...headers }).end();
    const { server, client } = await throwing(
      [
        json(CLEAN, { ...cached, ...PARTIAL }),
        notModified({}), // from a cache in between
        notModified(COMPLETE),
      ],
      {},
      { now: () => clock.now },
    );
    const seen = [];
    for (let i = 0; i < 6; i++) {
      if (i > 0 && i % 2 === 0) clock.now += 300_000;
      seen.push((await client.reputation("203.0.113.9")).data);
    }
    assert.equal(server.requests.length, 3);
    const complete = { missing: [], incomplete: [], ageHours: {}, version: "r2" };
    assert.deepEqual(seen, [state, state, state, state, complete, complete]);
  });

  test("is required: an answer without it is unavailable, with a code and a hint", async () => {
    const { server, client } = await throwing([json(CLEAN, PARTIAL)], {
      require: ["is_proxy", "is_tor_exit"],
    });
    const error = await failure(client.reputation("203.0.113.9"));
    assert.deepEqual([error.code, error.httpStatus, error.requestId], ["DATA_INCOMPLETE", 200, "req1"]);
    assert.match(error.message, /data is incomplete for is_proxy, is_tor_exit \(/);
    assert.match(error.hint, /inkling data status/);
    assert.equal(error.isUnavailable, true);
    assert.equal(server.requests.length, 1);
  });

  for (const [name, message] of [
    ["is_proxy", /no data for is_proxy \(/],
    ["is_tor_exit", /data is incomplete for is_tor_exit \(/],
  ] as const)
    test(`is required: ${name}`, async () => {
      const { client } = await throwing([json(CLEAN, PARTIAL)], { require: [name] });
      const error = await failure(client.reputation("203.0.113.9"));
      assert.equal(error.code, "DATA_INCOMPLETE");
      assert.match(error.message, message);
    });

  for (const [header, ageHours] of [
    ['complete; age="is_abuser:93d is_proxy:3h"', { is_abuser: 2232, is_proxy: 3 }],
    ['partial; age="is_proxy:0h"; missing="is_abuser"', { is_proxy: 0 }],
    ['complete; age="is_proxy:3w is_abuser:x is_tor_exit:47h"', { is_tor_exit: 47 }],
    ["complete", {}],
  ] as const)
    test(`ages of ${header}`, async () => {
      const headers = { ...COMPLETE, "Inkling-Data-State": header };
      const { client } = await throwing([json(CLEAN, headers)], { require: ["is_proxy"] });
      assert.deepEqual((await client.reputation("203.0.113.9")).data.ageHours, ageHours);
    });

  for (const verdict of ["allow", "deny"] as const) {
    test(`${verdict}: decides where required data is missing`, async () => {
      const { client } = await pair([json(CLEAN, PARTIAL)], {
        onUnavailable: verdict,
        require: ["is_proxy"],
      });
      const found = await client.reputation("203.0.113.9");
      assert.ok(found instanceof Unavailable);
      assert.equal(found.error.code, "DATA_INCOMPLETE");
      assert.equal(
        denies(found, () => false),
        verdict === "deny",
      );
    });
  }

  test("a lookup's own list replaces the client's; each lookup heeds its own flags", async () => {
    const { client } = await throwing(
      [
        json(CLEAN, { ...PARTIAL, "Inkling-Data-State": 'partial; missing="is_proxy"' }),
        json(CLEAN, PARTIAL),
        json({ answers: [EMAIL] }, COMPLETE),
      ],
      { require: ["is_proxy", "disposable"] },
    );
    assert.deepEqual(await client.reputation("203.0.113.9", { require: ["is_tor_exit"] }), CLEAN);
    assert.deepEqual(await client.reputation("203.0.113.9", { require: [] }), CLEAN);
    assert.deepEqual(await client.email("a@x.org"), EMAIL);
  });

  test("that is not known, because a proxy removes the headers, is not taken for complete", async () => {
    const { client } = await throwing([json(CLEAN)], { require: ["is_proxy"] });
    const error = await failure(client.reputation("203.0.113.9"));
    assert.deepEqual([error.code, /proxy removes/.test(error.hint)], ["DATA_INCOMPLETE", true]);
    assert.equal((await client.reputation("203.0.113.9", { require: [] })).data.version, undefined);
  });

  test("that was missing is not waited for until the cached answer expires", async () => {
    const { server, client } = await throwing([
      json(CLEAN, { ...cached, ...PARTIAL }),
      json({ ...CLEAN, is_proxy: true }, { ...cached, ...COMPLETE, ETag: '"two"' }),
    ]);
    await client.reputation("203.0.113.9");
    const found = await client.reputation("203.0.113.9", { require: ["is_proxy"] });
    assert.deepEqual([found.is_proxy, server.requests.length], [true, 2]);
  });

  test("cannot be changed for others", async () => {
    const { client } = await throwing([json(CLEAN, { ...cached, ...PARTIAL })]);
    const { data } = await client.reputation("203.0.113.9");
    assert.throws(() => (data.missing as string[]).pop(), TypeError);
    assert.throws(() => Object.assign(data, { version: "x" }), TypeError);
  });
});

describe("the cache", () => {
  const cached = { "Cache-Control": "private, max-age=300", ETag: '"one"' };

  async function withClock(steps: readonly Step[], options: Partial<InklingOptions> = {}) {
    const clock = { now: 1_000_000 };
    return { clock, ...(await pair(steps, options, { now: () => clock.now })) };
  }

  test("gives an answer again while it is fresh", async () => {
    const { server, client, clock } = await withClock([json(CLEAN, cached)]);
    const first = (await client.reputation("203.0.113.9")) as { is_abuser: boolean };
    first.is_abuser = true; // must not change the cached answer
    clock.now += 299_999;
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.equal(server.requests.length, 1);
  });

  test("revalidates an expired answer", async () => {
    const { server, client, clock } = await withClock([
      json(CLEAN, cached),
      (response) => void response.writeHead(304, cached).end(),
    ]);
    await client.reputation("203.0.113.9");
    clock.now += 300_000;
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
    assert.equal(server.requests[1]?.headers["if-none-match"], '"one"');
    clock.now += 299_999;
    await client.reputation("203.0.113.9");
    assert.equal(server.requests.length, 2);
  });

  test("requests again when the clock was set back: the age of an answer is unknown then", async () => {
    const { server, client, clock } = await withClock([json(CLEAN, cached)]);
    await client.reputation("203.0.113.9");
    clock.now -= 1;
    await client.reputation("203.0.113.9");
    assert.equal(server.requests.length, 2);
  });

  test("stores the new answer when the old one has changed", async () => {
    const { client, clock } = await withClock([
      json(CLEAN, cached),
      json({ ...CLEAN, is_proxy: true }, { ...cached, ETag: '"two"' }),
    ]);
    await client.reputation("203.0.113.9");
    clock.now += 300_000;
    assert.deepEqual(await client.reputation("203.0.113.9"), { ...CLEAN, is_proxy: true });
  });

  const kept: [name: string, headers: Record<string, string>, requests: number][] = [
    ["no-store", { "Cache-Control": "no-store", ETag: '"one"' }, 2],
    ["no-store among others", { "Cache-Control": "max-age=300, No-Store" }, 2],
    ["no headers", {}, 2],
    ["an age", { "Cache-Control": "max-age=300", Age: "300" }, 2],
    ["max-age alone", { "Cache-Control": "max-age=300" }, 1],
  ];
  for (const [name, headers, requests] of kept) {
    test(`honours ${name}`, async () => {
      const { server, client } = await withClock([json(CLEAN, headers)]);
      for (let i = 0; i < 2; i++) await client.reputation("203.0.113.9");
      assert.equal(server.requests.length, requests);
    });
  }

  test("keeps paths and lookups apart", async () => {
    const { server, client } = await withClock([json({ ...CLEAN, country: {} }, cached)]);
    for (let i = 0; i < 2; i++) {
      await client.reputation("203.0.113.9");
      await client.reputation("203.0.113.9", { evidence: true });
      await client.reputation("203.0.113.10");
      await client.geolocate("203.0.113.9");
    }
    assert.equal(server.requests.length, 4);
  });

  test("is bounded: the longest unused goes", async () => {
    const { server, client } = await withClock([json(CLEAN, cached)], { cacheEntries: 2 });
    for (const last of [1, 2, 1, 3, 1, 2]) await client.reputation(`203.0.113.${last}`);
    assert.deepEqual(
      server.requests.map(({ path }) => path.at(-1)),
      ["1", "2", "3", "2"],
    );
  });

  test("can be switched off", async () => {
    const { server, client } = await withClock([json(CLEAN, cached)], { cacheEntries: 0 });
    for (let i = 0; i < 2; i++) await client.reputation("203.0.113.9");
    assert.equal(server.requests.length, 2);
  });

  test("never caches email addresses", async () => {
    const { server, client } = await withClock([json({ answers: [EMAIL] }, cached)]);
    for (let i = 0; i < 2; i++) await client.email("a@x.org");
    assert.equal(server.requests.length, 2);
  });

  test("keeps no failures", async () => {
    const { client } = await withClock([problem(400, "IP_ADDRESS_INVALID", cached), json(CLEAN, cached)]);
    await failure(client.reputation("203.0.113.9"));
    assert.deepEqual(await client.reputation("203.0.113.9"), CLEAN);
  });
});

describe("options", () => {
  const good: InklingOptions = { url: "http://127.0.0.1:8080", key: KEY };
  const rows: [name: string, options: Record<string, unknown>, pattern: RegExp][] = [
    ["no URL", { url: undefined }, /url must be/],
    ["a URL without a scheme", { url: "127.0.0.1:8080" }, /url must be/],
    ["another scheme", { url: "ftp://127.0.0.1" }, /url must begin/],
    ["a URL with a password", { url: "http://a:b@127.0.0.1" }, /url must not contain a user/],
    ["a URL with a query", { url: "http://127.0.0.1/?a" }, /url must not contain a query/],
    ["no key", { key: undefined }, /key must be a whole key/],
    ["an empty key", { key: "" }, /key must be a whole key/],
    ["a key with a line end", { key: `${KEY}\n` }, /key must be a whole key/],
    [
      "a misspelt option",
      { onUnavailible: "deny" },
      /onUnavailible is not an option of a client. Options: url/,
    ],
    [
      "a verdict that does not exist",
      { onUnavailable: "allow", onThrottled: "throw" },
      /onThrottled must be/,
    ],
    ["a verdict without effect", { onThrottled: "allow" }, /onThrottled has no effect/],
    ["another choice", { onUnavailable: "maybe" }, /onUnavailable must be/],
    ["a flag that does not exist", { require: ["is_vpn"] }, /require must be a list; .*"is_proxy"/],
    ["one flag that is no list", { require: "is_proxy" }, /require must be a list/],
    ["no time", { timeoutMs: 0 }, /timeoutMs must be a whole number/],
    ["half a try", { retries: 0.5 }, /retries must be/],
    ["a negative cache", { cacheEntries: -1 }, /cacheEntries must be/],
  ];
  for (const [name, options, pattern] of rows) {
    test(`refuse ${name}`, () => {
      assert.throws(
        () => new Inkling({ ...good, ...options } as InklingOptions),
        (error) => error instanceof TypeError && pattern.test(error.message) && !error.message.includes(KEY),
      );
    });
  }

  test("a value that is not text is a TypeError, immediately", async () => {
    const { server, client } = await pair([json(CLEAN)], { onUnavailable: "allow" });
    await assert.rejects(client.reputation(undefined as unknown as string), TypeError);
    await assert.rejects(client.email(7 as unknown as string), TypeError);
    // another lookup's flag would never be missing
    await assert.rejects(client.email("a@x.org", { require: ["is_proxy"] }), /require must be/);
    assert.throws(() => client.batch("email", [], { require: ["is_proxy"] }), /require must be/);
    assert.equal(server.requests.length, 0);
  });

  test("an address that would ask for another path is invalid, and is not sent", async () => {
    const { server, client } = await pair([json(CLEAN)], { onUnavailable: "allow" });
    for (const value of ["", ".", ".."]) {
      await assert.rejects(client.reputation(value), { code: "IP_ADDRESS_INVALID" });
      await assert.rejects(client.geolocate(value), { code: "IP_ADDRESS_INVALID" });
      await assert.rejects(client.outcome(value, "fraud"), TypeError);
    }
    assert.equal(server.requests.length, 0);
  });

  test("an option's type takes a variable of the environment", () => {
    const key: string | undefined = KEY;
    assert.equal(new Inkling({ url: good.url, key }).isSandbox, false);
  });

  test("an unknown option of a lookup is a TypeError: JavaScript would get answers without it", async () => {
    const { server, client } = await pair([json(CLEAN)], { onUnavailable: "allow" });
    const refused: [options: object, pattern: RegExp][] = [
      [
        { include: "network" },
        /include is not an option: use \{ evidence: true \}, \{ network: true \} or \{ subject: true \}/,
      ],
      [{ include: ["evidence"] }, /include is not an option/],
      [{ netwrok: true }, /netwrok is not an option of a lookup. The options are evidence, network/],
      [{ evidence: "yes" }, /evidence must be true or false/],
      [{ checks: "mx" }, /checks must be a list/],
      [{ checks: ["MX"] }, /checks must be a list; the only value allowed is "mx"/],
    ];
    for (const [options, message] of refused) {
      const isClear = (error: unknown) => error instanceof TypeError && message.test(error.message);
      await assert.rejects(client.reputation("8.8.8.8", options), isClear);
      await assert.rejects(client.email("a@x.org", options), isClear);
      assert.throws(() => client.batch("geolocate", [], options), isClear);
    }
    assert.equal(server.requests.length, 0);
    const extras = { network: false, evidence: undefined, signal: undefined } as object;
    assert.ok("is_proxy" in (await client.reputation("8.8.8.8", extras)));
  });

  test("the key is not shown by a client that is printed", () => {
    const client = new Inkling(good);
    assert.ok(!inspect(client, { depth: 10, showHidden: true }).includes(KEY));
    assert.ok(!JSON.stringify(client).includes(KEY));
    assert.equal(client.isSandbox, false);
  });
});
