import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLEAN, KEY } from "../test/fake-server.ts";
import { Inkling, InklingError, Unavailable } from "./index.ts";

/** Returns a client with the test's clock, and a server that the test starts and stops. */
function setUp({ random = 0, retries = 0 } = {}) {
  const state = { now: 1_000_000, requests: 0, isDown: true, status: 200 };
  const held: (() => void)[] = [];
  const hold = { isOn: false };
  const client = new Inkling(
    {
      url: "http://inkling.test",
      key: KEY,
      retries,
      cacheEntries: 0,
      onUnavailable: "allow",
      fetch: async () => {
        state.requests++;
        if (hold.isOn) await new Promise<void>((resolve) => held.push(resolve));
        if (state.isDown) throw new TypeError("refused");
        return Response.json(CLEAN, { status: state.status });
      },
    },
    { now: () => state.now, random: () => random, sleep: async () => {} },
  );
  const lookup = async (options = {}) => {
    const found = await client.reputation("203.0.113.9", options);
    return found instanceof Unavailable ? found.error : "answer";
  };
  /** Returns the number of requests that these lookups sent. */
  const sent = async (lookups: number) => {
    const before = state.requests;
    for (let i = 0; i < lookups; i++) await lookup();
    return state.requests - before;
  };
  const release = () => {
    hold.isOn = false;
    for (const go of held.splice(0)) go();
  };
  return { state, client, lookup, sent, hold, release };
}

describe("the circuit breaker", () => {
  test("after three lookups without a response none is sent, and each fails with the same code", async () => {
    const { lookup, sent } = setUp();
    assert.equal(await sent(100), 3);
    const error = await lookup();
    assert.ok(error instanceof InklingError && error.cause instanceof InklingError);
    assert.deepEqual([error.code, error.cause.code], ["CONNECTION_FAILED", "CONNECTION_FAILED"]);
    assert.match(error.message, /^Not sent/);
    assert.match(
      error.hint,
      /^the next request to the server is in 200 ms; check that the server is running/,
    );
  });

  test("retries of one lookup are not several lookups", async () => {
    const { sent } = setUp({ retries: 2 });
    assert.equal(await sent(2), 6);
    assert.equal(await sent(100), 3);
  });

  for (const [random, pauses] of [
    [0, [200, 400, 800, 1600, 3200, 5000, 5000]],
    [1, [400, 800, 1600, 3200, 6400, 10_000, 10_000]],
  ] as const) {
    test(`its pauses grow to a bound, with a random part: ${random}`, async () => {
      const { state, sent } = setUp({ random, retries: 2 });
      await sent(3);
      for (const pause of pauses) {
        state.now += pause - 1;
        assert.equal(await sent(10), 0);
        state.now += 1;
        assert.equal(await sent(10), 1); // the probe, which is not retried
      }
    });
  }

  test("one lookup is the probe, while the others keep failing immediately; its response ends the pause", async () => {
    const { state, lookup, sent, hold, release } = setUp();
    await sent(3);
    state.now += 10_000;
    state.isDown = false;
    hold.isOn = true;
    const probe = lookup();
    const other = await lookup();
    assert.ok(other instanceof InklingError);
    assert.match(other.hint, /^the next request to the server is in progress/);
    release();
    assert.equal(await probe, "answer");
    assert.equal(state.requests, 4);
    assert.equal(await sent(10), 10);
  });

  test("any response ends it, a refusal as well", async () => {
    const { state, sent } = setUp();
    await sent(3);
    state.now += 10_000;
    Object.assign(state, { isDown: false, status: 503 });
    assert.equal(await sent(5), 5);
  });

  test("a response between failures starts the count again", async () => {
    const { state, sent } = setUp();
    for (let i = 0; i < 5; i++) {
      state.isDown = true;
      assert.equal(await sent(2), 2);
      state.isDown = false;
      assert.equal(await sent(1), 1);
    }
  });

  test("a probe whose caller leaves makes room for another", async () => {
    const { state, client, sent, hold, release } = setUp();
    await sent(3);
    state.now += 10_000;
    hold.isOn = true;
    const controller = new AbortController();
    const probe = client.reputation("203.0.113.9", { signal: controller.signal });
    controller.abort(new Error("enough"));
    release();
    await assert.rejects(probe, /enough/);
    state.isDown = false;
    assert.equal(await sent(2), 2);
  });

  test("callers who leave do not open it", async () => {
    const { state, client, sent } = setUp();
    for (let i = 0; i < 5; i++) {
      const controller = new AbortController();
      const lookup = client.reputation("203.0.113.9", { signal: controller.signal });
      controller.abort(new Error("enough"));
      await assert.rejects(lookup, /enough/);
    }
    state.isDown = false;
    assert.equal(await sent(2), 2);
  });

  test("lookups that were under way when it opened do not lengthen the pause", async () => {
    const { state, lookup, sent, hold, release } = setUp();
    hold.isOn = true;
    const many = Array.from({ length: 100 }, () => lookup());
    release();
    await Promise.all(many);
    state.now += 200;
    assert.equal(await sent(1), 1);
  });

  test("a clock that is set back does not keep it open", async () => {
    const { state, sent } = setUp();
    await sent(3);
    state.now -= 3_600_000;
    assert.equal(await sent(1), 1);
  });

  test("does not concern batches, which wait and retry", async () => {
    const { state, client, sent } = setUp();
    await sent(3);
    const before = state.requests;
    await assert.rejects(client.batch("reputation", ["203.0.113.9"]).next(), { code: "CONNECTION_FAILED" });
    assert.equal(state.requests - before, 1);
  });
});
