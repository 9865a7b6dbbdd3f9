import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLEAN } from "../../test/fake-server.ts";
import { fakeVisitors } from "../../test/fake-visitors.ts";
import { type WithData, withData } from "../data-state.ts";
import { denies, InklingError, Unavailable } from "../index.ts";
import type { RequestFacts } from "./request-facts.ts";
import { type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

const COMPLETE = { missing: [], incomplete: [], ageHours: {}, version: "r1" };

function recorder(fails = false) {
  const lookups: string[] = [];
  const answer = async (what: string, ...options: unknown[]) => {
    lookups.push(
      [what, ...options.filter((it) => it !== undefined).map((it) => JSON.stringify(it))].join(" "),
    );
    if (fails) throw new InklingError("TIMED_OUT", "late");
    return what.startsWith("geolocate") ? undefined : withData({ ...CLEAN }, COMPLETE);
  };
  return {
    lookups,
    client: {
      onUnavailable: "throw" as const,
      geolocate: (ip: string, options?: object) => answer(`geolocate ${ip}`, options) as Promise<undefined>,
      reputation: (ip: string, options?: object) =>
        answer(`reputation ${ip}`, options) as Promise<typeof CLEAN & WithData>,
    },
  };
}

const facts = (peer: string | undefined, forwardedFor?: string | string[]): RequestFacts => ({
  peer,
  forwardedFor,
});
const make = (client: VisitorLookups, options: VisitorOptions<RequestFacts> = {}) => {
  const visitorOf = visitors(client, options);
  return (request: RequestFacts) => visitorOf(request, request);
};

describe("a visitor", () => {
  test("is looked up on first use, and once", async () => {
    const { lookups, client } = recorder();
    const visitor = make(client)(facts("203.0.113.9"));
    assert.deepEqual([visitor.address, lookups], ["203.0.113.9", []]);
    const answers = await Promise.all([visitor.reputation(), visitor.reputation()]);
    assert.deepEqual(answers, [CLEAN, CLEAN]);
    assert.equal(await visitor.geolocate(), undefined);
    assert.deepEqual(lookups, ["reputation 203.0.113.9", "geolocate 203.0.113.9"]);
  });

  test("is looked up once for each set of options", async () => {
    const { lookups, client } = recorder();
    const visitor = make(client)(facts("203.0.113.9"));
    await visitor.reputation();
    await visitor.reputation({ network: true, evidence: true });
    await visitor.reputation({ evidence: true, network: true });
    await visitor.geolocate({ network: true });
    assert.deepEqual(lookups, [
      "reputation 203.0.113.9",
      'reputation 203.0.113.9 {"network":true,"evidence":true}',
      'geolocate 203.0.113.9 {"network":true}',
    ]);
  });

  test("a lookup with a signal is its own", async () => {
    const { lookups, client } = recorder();
    const visitor = make(client)(facts("203.0.113.9"));
    const { signal } = new AbortController();
    await Promise.all([visitor.reputation({ signal }), visitor.reputation({ signal })]);
    assert.equal(lookups.length, 2);
  });

  test("has the types of what its options add", async () => {
    const inkling = fakeVisitors();
    inkling.server.answer("reputation", "192.0.2.6", {
      evidence: [{ feed: "tor", label: "tor_exit", effect: "sets" }],
    });
    const visitor = make(inkling)(facts("192.0.2.6"));
    const found = await visitor.reputation({ evidence: true });
    if (found instanceof Unavailable) throw found.error;
    const label: "tor_exit" | (string & {}) | undefined = found.evidence[0]?.label;
    assert.equal(typeof label, "string");
  });

  test("eager: is looked up at once", async () => {
    const { lookups, client } = recorder();
    const visitor = make(client, { eager: true })(facts("203.0.113.9"));
    assert.equal(lookups.length, 2);
    await visitor.reputation();
    assert.equal(lookups.length, 2);
  });

  test("eager: a failed lookup that is not used has no effect", async () => {
    const { client } = recorder(true);
    const visitor = make(client, { eager: true })(facts("203.0.113.9"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await assert.rejects(visitor.reputation(), { code: "TIMED_OUT" });
  });

  test("whose address is not known: an error when a lookup is used", async () => {
    const { lookups, client } = recorder();
    const visitor = make(client, { eager: true })(facts(undefined));
    assert.equal(visitor.address, undefined);
    await assert.rejects(visitor.reputation(), { code: "ADDRESS_UNKNOWN" });
    assert.deepEqual(lookups, []);
  });

  for (const onUnavailable of ["allow", "deny"] as const) {
    const rows: [name: string, peer: string | undefined, code: string][] = [
      ["a health probe", "10.0.0.9", "IP_ADDRESS_RESERVED"],
      ["a colleague in a VPN", "100.64.3.4", "IP_ADDRESS_RESERVED"],
      ["this machine", "::1", "IP_ADDRESS_RESERVED"],
      ["a visitor without an address", undefined, "ADDRESS_UNKNOWN"],
    ];
    for (const [name, peer, code] of rows) {
      test(`${onUnavailable}: ${name} is decided by it and no error`, async () => {
        const visitor = make(fakeVisitors({ onUnavailable }), { eager: true })(facts(peer));
        for (const found of [await visitor.reputation(), await visitor.geolocate()]) {
          assert.ok(found instanceof Unavailable);
          assert.deepEqual([found.verdict, found.error.code], [onUnavailable, code]);
        }
      });
    }
  }

  test("behind a proxy, with a header of several lines", () => {
    const visitorOf = make(recorder().client, { trustProxy: 1 });
    assert.equal(visitorOf(facts("10.0.0.1", ["198.51.100.1", "203.0.113.9"])).address, "203.0.113.9");
  });

  test("of a platform with a header of its own", () => {
    const visitorOf = make(recorder().client, { address: () => "2001:DB8::1" });
    assert.equal(visitorOf(facts("10.0.0.1")).address, "2001:db8:0:0:0:0:0:1");
  });

  test("on this machine has a configurable address", () => {
    const visitorOf = make(recorder().client, { loopback: "192.0.2.6" });
    for (const [peer, address] of [
      ["127.0.0.1", "192.0.2.6"],
      ["::1", "192.0.2.6"],
      ["::ffff:127.0.0.1", "192.0.2.6"],
      ["203.0.113.9", "203.0.113.9"],
    ])
      assert.equal(visitorOf(facts(peer)).address, address);
    assert.equal(make(recorder().client)(facts("127.0.0.1")).address, "127.0.0.1");
  });

  test("is not printed with its client", () => {
    assert.equal(JSON.stringify(make(recorder().client)(facts("203.0.113.9"))), '{"address":"203.0.113.9"}');
  });

  test("invalid options are refused immediately", () => {
    assert.throws(
      () => make(recorder().client, { trustproxy: 1 } as object),
      /trustproxy is not an option of visitor/,
    );
    assert.throws(() => make(recorder().client, { loopback: "here" }), /loopback must be/);
    assert.throws(() => make(recorder().client, { trustProxy: true as unknown as number }), /trustProxy/);
  });
});

describe("denies", () => {
  const error = new InklingError("TIMED_OUT", "late");
  const allow = new Unavailable("allow", error);
  const deny = new Unavailable("deny", error);
  const refuses = (it: { is_proxy: boolean }) => it.is_proxy;
  test("reads the answer", () => {
    assert.equal(denies(CLEAN, refuses), false);
    assert.equal(denies({ ...CLEAN, is_proxy: true }, refuses), true);
  });
  test("without an answer the choice decides", () => {
    assert.equal(denies(allow as typeof CLEAN | Unavailable, refuses), false);
    assert.equal(denies(deny as typeof CLEAN | Unavailable, refuses), true);
  });
  test("an unknown place is not a reason", () =>
    assert.equal(denies(undefined as undefined | typeof CLEAN, refuses), false));
  test("a flag without an answer: with deny the error, with allow nothing", () => {
    const flagOf = (it: object) => (it as { is_proxy?: boolean }).is_proxy;
    assert.equal(flagOf(allow), undefined);
    assert.throws(() => flagOf(deny), error);
    assert.deepEqual(Object.keys(deny), ["available", "verdict", "error"]);
  });
});
