import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import {
  CLEAN,
  cut,
  type FakeServer,
  fakeServer,
  html,
  KEY,
  problem,
  problemDocument,
  reply,
  type Step,
} from "../test/fake-server.ts";
import { NO_FLAGS } from "./generated.ts";
import { type BatchResult, Inkling, InklingError, type Reputation } from "./index.ts";

const open: FakeServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function pair(...steps: readonly Step[]) {
  const server = await fakeServer(...steps);
  open.push(server);
  const pauses: number[] = [];
  const sleep = async (ms: number) => void pauses.push(ms);
  return { server, pauses, client: new Inkling({ url: server.url, key: KEY }, { sleep, random: () => 0 }) };
}

const valuesOf = (body: string): string[] =>
  body
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
/**
 * Returns a distinct answer for each value, so that tests can check the order: is_proxy is true if its last number is
 * odd.
 */
const answerTo = (value: string) => ({
  ...NO_FLAGS,
  is_proxy: Number(value.split(".")[3]) % 2 === 1,
});
const HEAD = { "Content-Type": "application/x-ndjson", "X-Request-Id": "req1" };
const line = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Answers as the server does. */
const good: Step = (response, { body }) =>
  void response.writeHead(200, HEAD).end(
    valuesOf(body)
      .map((value) => line(answerTo(value)))
      .join(""),
  );
/**
 * Called for each result that {@link collect} has read. A cut waits for it, because fetch drops buffered data
 * when the connection breaks.
 */
let onRead = () => {};
/** Answers this many values, and then the connection breaks. */
const goodUntil =
  (count: number): Step =>
  (response, { body }) => {
    const lines = valuesOf(body)
      .slice(0, count)
      .map((value) => line(answerTo(value)));
    let unread = lines.length;
    onRead = () => {
      if (--unread === 0) response.socket?.destroy();
    };
    response.writeHead(200, HEAD).write(lines.join(""));
  };
const raw =
  (text: string, head: object = HEAD): Step =>
  (response) =>
    void response.writeHead(200, { ...head }).end(text);

const addresses = (count: number) => Array.from({ length: count }, (_, i) => `203.0.${i >> 8}.${i & 255}`);

async function collect(results: AsyncIterable<BatchResult<Reputation>>) {
  const all: BatchResult<Reputation>[] = [];
  let error: unknown;
  try {
    for await (const result of results) {
      all.push(result);
      onRead();
    }
  } catch (caught) {
    error = caught;
  }
  return { all, error };
}

function assertAll(all: readonly BatchResult<Reputation>[], values: readonly string[]) {
  assert.equal(all.length, values.length);
  for (const [i, result] of all.entries()) {
    assert.ok(result.ok);
    assert.equal(result.value, values[i]);
    assert.deepEqual(result.answer, answerTo(values[i]!));
  }
}

describe("a batch", () => {
  test("answers every value in order, in requests of bounded size", async () => {
    const { server, client } = await pair(good);
    const values = addresses(2_500);
    const { all, error } = await collect(client.batch("reputation", values));
    assert.equal(error, undefined);
    assertAll(all, values);
    assert.deepEqual(
      server.requests.map(({ body }) => valuesOf(body).length),
      [1_000, 1_000, 500],
    );
    const [request] = server.requests;
    assert.deepEqual(
      [request?.method, request?.path, request?.headers["content-type"]],
      ["POST", "/v1/ip-intel/reputation", "application/x-ndjson"],
    );
  });

  test("of no values sends no request", async () => {
    const { server, client } = await pair(good);
    assert.deepEqual(await collect(client.batch("reputation", [])), { all: [], error: undefined });
    assert.equal(server.requests.length, 0);
  });

  const sources: [name: string, source: () => Iterable<string> | AsyncIterable<string>][] = [
    ["a set", () => new Set(addresses(7))],
    [
      "a generator",
      function* () {
        yield* addresses(7);
      },
    ],
    [
      "an async generator",
      async function* () {
        yield* addresses(7);
      },
    ],
    [
      "promises of another realm, as Jest's are to Node's own streams",
      () => {
        const iterator = addresses(7)[Symbol.iterator]();
        // biome-ignore lint/suspicious/noThenProperty: a promise that is none of this realm
        const next = () => ({ then: (resolve: (step: unknown) => void) => resolve(iterator.next()) });
        return { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<string>;
      },
    ],
  ];
  for (const [name, source] of sources) {
    test(`takes ${name}`, async () => {
      const { client } = await pair(good);
      assertAll((await collect(client.batch("reputation", source(), { size: 3 }))).all, addresses(7));
    });
  }

  test("requests extras", async () => {
    const { server, client } = await pair(raw(line({ valid: true, disposable: false, providers: [] })));
    for await (const _ of client.batch("email", ["a@x.org"], { evidence: true, checks: ["mx"] }));
    assert.equal(server.requests[0]?.path, "/v1/user-intel/email?include=evidence&checks=mx");
  });

  test("a problem of one value is its result; an unknown place is no problem", async () => {
    const { client } = await pair(
      raw(
        line(problemDocument(400, "IP_ADDRESS_INVALID")) + line(problemDocument(404, "IP_ADDRESS_NOT_FOUND")),
      ),
    );
    const results = [];
    for await (const result of client.batch("geolocate", ["x", "203.0.113.9"])) results.push(result);
    const [first, second] = results;
    assert.ok(first?.ok === false && first.error instanceof InklingError);
    assert.deepEqual(
      [first.value, first.error.code, first.error.requestId],
      ["x", "IP_ADDRESS_INVALID", "req1"],
    );
    const data = { missing: [], incomplete: [], ageHours: {}, version: undefined };
    assert.deepEqual(second, { value: "203.0.113.9", ok: true, answer: undefined, data });
  });

  test("each result has the state of its request's data; the answers are the server's alone", async () => {
    const state = { "Inkling-Data-State": 'partial; missing="is_proxy"', "Inkling-Data-Version": "r1" };
    const { client } = await pair(
      reply(200, "application/x-ndjson", line(CLEAN) + line(problemDocument(400, "VALUE_INVALID")), state),
    );
    const results = [];
    for await (const result of client.batch("reputation", ["203.0.113.9", "x"])) results.push(result);
    assert.deepEqual(
      results.map(({ ok, data }) => [ok, data.missing, data.version]),
      [
        [true, ["is_proxy"], "r1"],
        [false, ["is_proxy"], "r1"],
      ],
    );
    assert.ok(results[0]?.ok && !("data" in results[0].answer));
  });

  test("throws at once where required data is missing, whatever onUnavailable is", async () => {
    const state = { "Inkling-Data-State": 'partial; missing="is_proxy"', "Inkling-Data-Version": "r1" };
    const { server } = await pair(reply(200, "application/x-ndjson", line(CLEAN), state));
    const client = new Inkling({
      url: server.url,
      key: KEY,
      onUnavailable: "allow",
      require: ["is_proxy"],
    });
    await assert.rejects(client.batch("reputation", ["203.0.113.9"]).next(), { code: "DATA_INCOMPLETE" });
    assert.equal(server.requests.length, 1);
    const { value } = await client.batch("reputation", ["203.0.113.9"], { require: ["is_abuser"] }).next();
    assert.ok(value?.ok);
  });
});

describe("back-pressure", () => {
  test("reads no more of its source than is in progress", async () => {
    const { client } = await pair(good);
    let read = 0;
    function* endless() {
      for (;;) yield `203.0.113.${read++ & 255}`;
    }
    const results = client.batch("reputation", endless(), { size: 10, concurrency: 3 });
    let most = 0;
    for (let taken = 1; taken <= 500; taken++) {
      assert.equal((await results.next()).done, false);
      most = Math.max(most, read - taken);
    }
    await results.return();
    assert.ok(most <= 3 * 10 + 10, `${most} ahead`);
    assert.ok(most >= 10);
  });

  test("has at most this many requests in progress", async () => {
    let underWay = 0;
    let most = 0;
    const { client } = await pair(async (response, request) => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
      await good(response, request);
    });
    const { all } = await collect(client.batch("reputation", addresses(100), { size: 10, concurrency: 2 }));
    assertAll(all, addresses(100));
    assert.equal(most, 2);
  });

  test("a slow source's values do not wait for a full group", async () => {
    const { client } = await pair(good);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slow() {
      yield "203.0.113.1";
      await held;
      yield "203.0.113.2";
    }
    const results = client.batch("reputation", slow(), { lingerMs: 5 });
    assert.equal((await results.next()).value?.value, "203.0.113.1");
    release();
    assert.equal((await results.next()).value?.value, "203.0.113.2");
    assert.equal((await results.next()).done, true);
  });

  test("however long it is, no promise and no signal collects what waits for it", async () => {
    const { client } = await pair(good);
    const waiting = new Map<object, number>();
    const count = (target: object, change: number) =>
      waiting.set(target, (waiting.get(target) ?? 0) + change);
    let most = 0;
    const { then } = Promise.prototype;
    const { addEventListener, removeEventListener } = AbortSignal.prototype;
    // biome-ignore lint/suspicious/noThenProperty: it is watched, as Promise.race calls it
    Promise.prototype.then = function (...handlers) {
      count(this, 1);
      return then.apply(this, handlers) as never;
    };
    AbortSignal.prototype.addEventListener = function (...listener: [string, never]) {
      most = Math.max(most, count(this, 1).get(this)!);
      addEventListener.apply(this, listener);
    };
    AbortSignal.prototype.removeEventListener = function (...listener: [string, never]) {
      count(this, -1);
      removeEventListener.apply(this, listener);
    };
    try {
      const values = addresses(60);
      const options = { size: 1, concurrency: 20, signal: new AbortController().signal };
      assertAll((await collect(client.batch("reputation", values, options))).all, values);
    } finally {
      // biome-ignore lint/suspicious/noThenProperty: as it was
      Promise.prototype.then = then;
      Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener });
    }
    assert.ok(Math.max(most, ...waiting.values()) <= 10, `${most}, ${Math.max(...waiting.values())}`);
  });

  test("leaving the loop ends the source and what is under way", async () => {
    const { client } = await pair(good);
    let isEnded = false;
    async function* source() {
      try {
        for (;;) yield "203.0.113.1";
      } finally {
        isEnded = true;
      }
    }
    for await (const _ of client.batch("reputation", source(), { size: 5 })) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(isEnded, true);
  });
});

describe("a batch that meets trouble", () => {
  const values = addresses(10);
  const rows: [name: string, steps: readonly Step[], sent: readonly number[]][] = [
    ["a cut connection", [cut, good], [10, 10]],
    ["a cut in the middle: only the rest is sent again", [goodUntil(4), good], [10, 6]],
    [
      "cuts without end, as long as each brings an answer",
      [goodUntil(3), goodUntil(3), goodUntil(3), good],
      [10, 7, 4, 1],
    ],
    ["a server that is starting", [problem(503, "KEYS_NOT_LOADED", { "Retry-After": "5" }), good], [10, 10]],
    ["too many requests", [problem(429, "RATE_LIMITED", { "Retry-After": "1" }), good], [10, 10]],
    ["a proxy's own page", [html(502), good], [10, 10]],
    ["an answer that ends too early", [raw(line(answerTo(values[0]!))), good], [10, 9]],
    ["an answer that ends in a line", [raw(`${line(answerTo(values[0]!))}{"is_ab`), good], [10, 9]],
  ];
  for (const [name, steps, sent] of rows) {
    test(`goes on after ${name}`, async () => {
      const { server, client } = await pair(...steps);
      const { all, error } = await collect(client.batch("reputation", values));
      assert.equal(error, undefined);
      assertAll(all, values);
      assert.deepEqual(
        server.requests.map(({ body }) => valuesOf(body).length),
        sent,
      );
    });
  }

  test("takes a last line without its end", async () => {
    const { client } = await pair(raw(JSON.stringify(answerTo(values[0]!))));
    assertAll((await collect(client.batch("reputation", values.slice(0, 1)))).all, values.slice(0, 1));
  });

  const failing: [name: string, steps: readonly Step[], code: string, answered: number][] = [
    ["a wrong key", [problem(401, "KEY_INVALID")], "KEY_INVALID", 0],
    [
      "a quota that is used up until midnight",
      [problem(429, "QUOTA_EXCEEDED", { "Retry-After": "3600" })],
      "QUOTA_EXCEEDED",
      0,
    ],
    ["a connection that is always cut", [cut], "CONNECTION_FAILED", 0],
    ["answers, then only cuts", [goodUntil(4), cut], "CONNECTION_FAILED", 4],
    ["a page instead of answers", [html(200)], "ANSWER_UNREADABLE", 0],
    ["JSON instead of NDJSON", [raw("[]", { "Content-Type": "application/json" })], "ANSWER_UNREADABLE", 0],
    ["a line that is no answer", [raw(line(answerTo(values[0]!)) + line("hello"))], "ANSWER_UNREADABLE", 1],
    [
      "more answers than values",
      [
        raw(
          values
            .concat(values)
            .map((value) => line(answerTo(value)))
            .join(""),
        ),
      ],
      "ANSWER_UNREADABLE",
      10,
    ],
  ];
  for (const [name, steps, code, answered] of failing) {
    test(`throws for ${name}, after what was answered`, async () => {
      const { client } = await pair(...steps);
      const { all, error } = await collect(client.batch("reputation", values));
      assert.ok(error instanceof InklingError);
      assert.equal(error.code, code);
      assertAll(all, values.slice(0, answered));
    });
  }

  test("does not wait for a quota until midnight", async () => {
    const { client, server, pauses } = await pair(problem(429, "QUOTA_EXCEEDED", { "Retry-After": "3600" }));
    await collect(client.batch("reputation", values));
    assert.deepEqual([server.requests.length, pauses], [1, []]);
  });

  test("throws what the source throws, after what came before", async () => {
    const { client } = await pair(good);
    async function* source() {
      yield* values;
      throw new Error("the file is gone");
    }
    const { all, error } = await collect(client.batch("reputation", source(), { size: 10 }));
    assert.equal((error as Error).message, "the file is gone");
    assertAll(all, values);
  });

  test("a silent server is given up, one that answers slowly is not", async () => {
    const slowly: Step = async (response, { body }) => {
      response.writeHead(200, HEAD);
      for (const value of valuesOf(body)) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        response.write(line(answerTo(value)));
      }
      response.end();
    };
    const { client } = await pair(slowly, () => {});
    // The answer takes longer than the short limit. A pause of a busy machine does not reach the long limit.
    assertAll((await collect(client.batch("reputation", values, { timeoutMs: 3_000 }))).all, values);
    const { error } = await collect(client.batch("reputation", values, { timeoutMs: 200 }));
    assert.equal((error as InklingError).code, "TIMED_OUT");
  });

  test("a signal ends it with its own reason", async () => {
    const { client } = await pair(() => {});
    const reason = new Error("enough");
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 20);
    const { error } = await collect(client.batch("reputation", values, { signal: controller.signal }));
    assert.equal(error, reason);
    const before = await collect(client.batch("reputation", values, { signal: AbortSignal.abort(reason) }));
    assert.equal(before.error, reason);
  });

  test("a lookup that there is not is refused before anything is sent", async () => {
    const { server, client } = await pair(good);
    assert.throws(() => client.batch("emails" as "email", ["jane@example.com"]), /the lookup must be one of/);
    assert.equal(server.requests.length, 0);
  });

  const wrong: [name: string, values: unknown][] = [
    ["a text", "203.0.113.9"],
    ["nothing", undefined],
    ["numbers", [1]],
    ["null among texts", ["203.0.113.1", null]],
  ];
  for (const [name, given] of wrong) {
    test(`${name} instead of an iterable of texts is a TypeError`, async () => {
      const { client } = await pair(good);
      const { error } = await collect(client.batch("reputation", given as string[]));
      assert.ok(error instanceof TypeError, String(error));
    });
  }
  test("sizes out of bounds are refused immediately", async () => {
    const { client } = await pair(good);
    assert.throws(() => client.batch("reputation", [], { size: 1_001 }), /size must be/);
    assert.throws(() => client.batch("reputation", [], { concurrency: 0 }), /concurrency must be/);
  });
});
