import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NO_FLAGS } from "../generated.ts";
import { denies, InklingError, Unavailable } from "../index.ts";
import { fakeInkling } from "./index.ts";

describe("a fake client", () => {
  test("has no answers of its own", async () => {
    const inkling = fakeInkling({ onUnavailable: "allow" });
    assert.equal(inkling.isSandbox, true);
    const isClear = (error: unknown) =>
      error instanceof InklingError && error.code === "ANSWER_NOT_SET" && /server\.answer/.test(error.hint);
    await assert.rejects(inkling.reputation("192.0.2.6"), isClear);
    await assert.rejects(inkling.geolocate("192.0.2.6"), isClear);
    await assert.rejects(inkling.email("jane@disposable.example"), isClear);
    await assert.rejects(inkling.assess({ event: "login", ip: "192.0.2.6" }), isClear);
    await assert.rejects(inkling.batch("reputation", ["192.0.2.6"]).next(), isClear);
    await assert.rejects(inkling.outcome("asm_1", "fraud"), { code: "DECISION_NOT_FOUND" });
  });

  test("answers what is asked for", async () => {
    const { server, ...rest } = fakeInkling();
    assert.deepEqual(rest, {});
    const inkling = fakeInkling();
    const network = { prefix: "192.0.2.0/24", kind: "hosting", shared: false, services: [] } as const;
    inkling.server.answer("reputation", "192.0.2.6", { is_tor_exit: true, network });
    assert.deepEqual(await inkling.reputation("192.0.2.6"), { ...NO_FLAGS, is_tor_exit: true });
    assert.deepEqual(
      await inkling.reputation("192.0.2.6", { network: true, subject: true, evidence: true }),
      { ...NO_FLAGS, is_tor_exit: true, network, ip: "192.0.2.6", prefix: "192.0.2.6/32", evidence: [] },
    );
    inkling.server.answer("reputation", "192.0.2.1", "RATE_LIMITED");
    const results: unknown[] = [];
    for await (const result of inkling.batch("reputation", ["192.0.2.6", "192.0.2.1"]))
      results.push(result.ok ? result.answer.is_tor_exit : result.error.code);
    assert.deepEqual(results, [true, "RATE_LIMITED"]);
  });

  test("has answers of a test's own: what matters is given, the rest is an ordinary visitor's", async () => {
    const inkling = fakeInkling();
    inkling.server.answer("reputation", "81.2.69.142", { is_proxy: true });
    assert.deepEqual(await inkling.reputation("81.2.69.142"), { ...NO_FLAGS, is_proxy: true });
    inkling.server.answer("geolocate", "2A02:6B8::1", { country: { iso_code: "FR" } });
    const place = await inkling.geolocate("2a02:6b8:0::1");
    assert.deepEqual([place?.country.iso_code, place?.subdivisions], ["FR", []]);
    inkling.server.answer("email", "jane@acme.com", { disposable: true });
    const mail = await inkling.email("jane@acme.com", { checks: ["mx"], evidence: true });
    assert.deepEqual(mail, {
      valid: true,
      disposable: true,
      providers: ["acme.com"],
      checks: { mx: "found" },
      evidence: [],
    });
    // setting an answer again replaces the earlier one
    inkling.server.answer("reputation", "81.2.69.142", {});
    assert.equal((await inkling.reputation("81.2.69.142")).is_proxy, false);
  });

  test("has errors of a test's own", async () => {
    const inkling = fakeInkling({ onUnavailable: "deny" });
    inkling.server.answer("geolocate", "81.2.69.142", "IP_ADDRESS_NOT_FOUND");
    assert.equal(await inkling.geolocate("81.2.69.142"), undefined);
    inkling.server.answer("reputation", "81.2.69.142", "RATE_LIMITED");
    const limited = await inkling.reputation("81.2.69.142");
    assert.ok(limited instanceof Unavailable);
    assert.deepEqual([limited.error.code, limited.error.httpStatus], ["RATE_LIMITED", 429]);
    assert.throws(
      () => inkling.server.answer("email", "a@acme.com", "RATE_LIMIT" as "RATE_LIMITED"),
      TypeError,
    );
  });

  for (const code of ["CONNECTION_FAILED", "TIMED_OUT", "ANSWER_UNREADABLE", "DATA_NOT_LOADED"] as const) {
    test(`is unavailable, and available again at once: ${code}`, async () => {
      const inkling = fakeInkling({ onUnavailable: "deny" });
      inkling.server.answer("reputation", "192.0.2.1", {});
      inkling.server.fail(code);
      for (let i = 0; i < 10; i++) {
        const found = await inkling.reputation("192.0.2.1");
        assert.ok(found instanceof Unavailable);
        assert.equal(found.error.code, code);
        assert.equal(
          denies(found, () => false),
          true,
        );
      }
      await assert.rejects(inkling.batch("reputation", ["192.0.2.1"]).next(), { code });
      inkling.server.recover();
      for (let i = 0; i < 2; i++)
        assert.equal(
          denies(await inkling.reputation("192.0.2.1"), () => false),
          false,
        );
    });
  }

  test("recovers for lookups that an application makes at the same time", async () => {
    const inkling = fakeInkling({ onUnavailable: "deny" });
    inkling.server.answer("reputation", "192.0.2.1", {});
    inkling.server.answer("geolocate", "192.0.2.2", {});
    inkling.server.answer("email", "jane@example.com", {});
    inkling.server.fail();
    for (let i = 0; i < 10; i++) await inkling.reputation("192.0.2.1");
    inkling.server.recover();
    const answers = await Promise.all([
      inkling.reputation("192.0.2.1"),
      inkling.geolocate("192.0.2.2"),
      inkling.email("jane@example.com"),
    ]);
    assert.deepEqual(
      answers.map((answer) => answer instanceof Unavailable),
      [false, false, false],
    );
  });

  test("takes the options that decide how an application sees an answer, and no others", async () => {
    const inkling = fakeInkling({ onUnavailable: "allow", onThrottled: "allow" });
    inkling.server.fail("RATE_LIMITED");
    const found = await inkling.reputation("192.0.2.1");
    assert.ok(found instanceof Unavailable);
    assert.equal(found.verdict, "allow");
    assert.throws(() => fakeInkling({ onUnavaliable: "allow" } as object), /onUnavaliable is not an option/);
  });

  test("has incomplete data, for applications that require it", async () => {
    const inkling = fakeInkling({ require: ["is_proxy"] });
    inkling.server.answer("reputation", "192.0.2.1", {});
    inkling.server.lack("is_proxy", "disposable");
    const error = await inkling.reputation("192.0.2.1").catch((error) => error);
    assert.ok(error instanceof InklingError);
    assert.equal(error.code, "DATA_INCOMPLETE");
    const { data } = await inkling.reputation("192.0.2.1", { require: [] });
    assert.deepEqual(data, { missing: ["is_proxy"], incomplete: [], ageHours: {}, version: "fake" });
    inkling.server.lack();
    assert.equal((await inkling.reputation("192.0.2.1")).is_proxy, false);
  });

  test("forgets what a test has set", async () => {
    const inkling = fakeInkling({ require: ["is_proxy"] });
    const { server } = inkling;
    server.answer("reputation", "192.0.2.1", { is_tor_exit: true });
    server.lack("is_proxy");
    server.fail();
    server.reset();
    await assert.rejects(inkling.reputation("192.0.2.1"), { code: "ANSWER_NOT_SET" });
    server.answer("reputation", "192.0.2.1", {});
    assert.deepEqual(await inkling.reputation("192.0.2.1"), NO_FLAGS);
  });

  test("records what the application has sent", async () => {
    const inkling = fakeInkling({ onUnavailable: "allow" });
    const { server } = inkling;
    server.answer("assess", "192.0.2.1", {});
    server.answer("reputation", "192.0.2.1", {});
    const visitor = { event: "login", ip: "192.0.2.1", account: "81" };
    await inkling.assess(visitor, { facts: true });
    await inkling.outcome("asm_0000000000000000", "fraud");
    await inkling.reputation("192.0.2.1");
    for await (const _ of inkling.batch("reputation", ["192.0.2.1"]));
    assert.deepEqual(server.requests, [
      { path: "/v1/assess?include=facts", body: visitor },
      { path: "/v1/assess/asm_0000000000000000/outcome", body: { outcome: "fraud" } },
      { path: "/v1/ip-intel/reputation/192.0.2.1" },
      { path: "/v1/ip-intel/reputation", body: '"192.0.2.1"\n' },
    ]);
    server.reset();
    assert.deepEqual(server.requests, []);
    server.fail("RATE_LIMITED");
    await inkling.assess(visitor);
    assert.deepEqual(server.requests, new Array(3).fill({ path: "/v1/assess", body: visitor })); // two retries
  });

  test("decides as a test wants", async () => {
    const inkling = fakeInkling({ onUnavailable: "allow" });
    inkling.server.answer("assess", "jane@acme.com", { action: "challenge", review: true });
    inkling.server.answer("assess", "81.2.69.142", "RATE_LIMITED");
    inkling.server.answer("assess", "192.0.2.1", { action: "allow" });
    const both = await inkling.assess({ event: "sign_up", ip: "192.0.2.1", email: "jane@acme.com" });
    assert.equal(!(both instanceof Unavailable) && both.action, "challenge"); // the stricter decision
    const visitor = { event: "sign_up", email: "jane@acme.com" };
    const decided = await inkling.assess(visitor);
    assert.ok(!(decided instanceof Unavailable));
    assert.deepEqual([decided.action, decided.review, decided.ruleset], ["challenge", true, 0]);
    assert.ok((await inkling.assess({ event: "login", ip: "81.2.69.142" })) instanceof Unavailable);
    await inkling.outcome(decided.id, "legitimate");
    inkling.server.fail();
    assert.ok((await inkling.assess(visitor)) instanceof Unavailable);
  });
});
