import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MX_OUTCOMES } from "@inkling/contract";
import { DnsClient, type DnsOutcome, NXDOMAIN_TRUST_SECONDS, type Resolver } from "@inkling/data/dns";
import {
  a,
  aaaa,
  cname,
  type DnsAnswer,
  type DnsQuestion,
  type DnsScript,
  type DnsServer,
  knowing,
  mx,
  soa,
  startDnsServer,
} from "../../../../test/harness/dns-server.ts";
import { until } from "../../../../test/harness/until.ts";
import { Counts } from "../telemetry/counts.ts";
import { CACHE_SECONDS, MX_LIMITS, type MxFinding, MxLookups, type MxLookupsOptions } from "./check.ts";

const MX = 15;
const SOA = 6;
const A = 1;
const AAAA = 28;

type Script = (question: DnsQuestion) => DnsAnswer | "silent" | "hang-up";

/** How the server replies, by the first label of a domain. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  found: ({ name }) => ({ answers: [mx(name, 20, "aspmx.l.google.com"), mx(name, 10, "SMTP.yopmail.com")] }),
  even: ({ name }) => ({
    answers: [
      mx(name, 10, "smtp.yopmail.com"),
      mx(name, 10, "mx.example.net"),
      mx(name, 10, "mx1.simplelogin.co"),
      mx(name, 11, "in.mail.tm"),
    ],
  }),
  alias: ({ name }) => ({ answers: [cname(name, "x.net"), mx("x.net", 1, "in.mail.tm")] }),
  capitals: ({ name, type }) => ({
    answers: [mx(name, 1, "m.net")],
    question: { name: name.toUpperCase(), type },
  }),
  ipv4: ({ name, type }) => (type === A ? { answers: [a(name)] } : {}),
  ipv6: ({ name, type }) => (type === AAAA ? { answers: [aaaa(name)] } : {}),
  nothing: () => ({ authorities: [soa("example", 60)] }),
  null: ({ name }) => ({ answers: [mx(name, 0, "")] }),
  nullandmore: ({ name }) => ({ answers: [mx(name, 0, ""), mx(name, 10, "in.mail.tm")] }),
  nx: () => ({ rcode: 3, authorities: [soa("example", 60)] }),
  nxwithoutsoa: () => ({ rcode: 3 }),
  aliasnx: ({ name }) => ({ rcode: 3, answers: [cname(name, "gone.net")] }),
  nxonlya: ({ type }) => (type === MX ? {} : { rcode: 3 }),
  servfail: () => ({ rcode: 2 }),
  refused: () => ({ rcode: 5 }),
  formerr: () => ({ rcode: 1, question: "none" }),
  servfaila: ({ type }) => (type === MX ? {} : { rcode: 2 }),
  ipv4servfail: ({ name, type }) =>
    type === AAAA ? { answers: [aaaa(name)] } : type === A ? { rcode: 2 } : {},
  silent: () => "silent",
  silenta: ({ type }) => (type === MX ? {} : "silent"),
  slow: () => ({ rcode: 3, delayMs: 2_000 }),
  wrongid: () => ({ rcode: 3, idShift: 1 }),
  wrongname: ({ type }) => ({ rcode: 3, question: { name: "else.example", type } }),
  elsewhere: () => ({ rcode: 3, fromElsewhere: true }),
  loop: ({ name }) => ({ answers: [cname(name, "x.net"), cname("x.net", name)] }),
  garbage: () => ({ raw: Uint8Array.of(0x81, 0x83, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 1) }),
  truncated: ({ name, overTcp }) =>
    overTcp ? { answers: [mx(name, 1, "m.net")] } : { truncated: true, rcode: 3 },
  dripped: ({ name, overTcp }) =>
    overTcp ? { answers: [mx(name, 1, "m.net")], drip: true } : { truncated: true },
  truncatednx: ({ overTcp }) => (overTcp ? { rcode: 3 } : { truncated: true }),
  hungup: ({ overTcp }) => (overTcp ? "hang-up" : { truncated: true }),
  truncatedtwice: () => ({ truncated: true }),
  silenttcp: ({ overTcp }) => (overTcp ? "silent" : { truncated: true }),
  huge: ({ name, overTcp }) =>
    overTcp
      ? { answers: Array.from({ length: 1_500 }, (_, i) => mx(name, i, `m${i}.net`)) }
      : { truncated: true },
};

let server: DnsServer;
beforeAll(async () => {
  server = await startDnsServer(
    knowing(["com"], (question) => {
      const script = SCRIPTS[question.name.split(".")[0]!.toLowerCase()];
      return script?.(question) ?? { rcode: 5 };
    }),
  );
});
afterAll(() => server.stop());

const random = () => crypto.getRandomValues(new Uint16Array(1))[0]!;
const servers = (ports: readonly number[]) => ports.map((port) => ({ address: "127.0.0.1", port }));
const at = (...ports: number[]) =>
  new DnsClient({ servers: servers(ports), newId: random, elapsed: () => 0 });

/** Creates lookups. The default budget is long enough for a busy machine. Tests of timeouts set their own. */
function lookups(options: Partial<MxLookupsOptions> & { dns: Resolver }) {
  const counts = new Counts();
  let ms = 0;
  const made = new MxLookups({ counts, elapsed: () => ms, budgetMs: 10_000, ...options });
  return {
    made,
    counts,
    find: async (host: string, key = "key_1") => made.find(host, key),
    pass: (seconds: number) => {
      ms += seconds * 1000;
    },
  };
}

const countQuestions = (name: string) => server.questions.filter((question) => question.name === name).length;

describe("outcomes", () => {
  const rows: [domain: string, outcome: MxFinding["outcome"], suffixes?: string[]][] = [
    ["found", "found", ["yopmail.com"]],
    ["even", "found", ["yopmail.com", "simplelogin.co"]],
    ["alias", "found", ["in.mail.tm"]],
    ["capitals", "found"],
    ["ipv4", "implicit"],
    ["ipv6", "implicit"],
    ["nothing", "none"],
    ["null", "null"],
    ["nullandmore", "found", ["in.mail.tm"]],
    ["nx", "nxdomain"],
    ["nxwithoutsoa", "nxdomain"],
    ["aliasnx", "nxdomain"],
    ["nxonlya", "none"],
    ["servfail", "failed"],
    ["refused", "failed"],
    ["formerr", "failed"],
    ["servfaila", "failed"],
    ["ipv4servfail", "implicit"],
    ["loop", "failed"],
    ["garbage", "failed"],
    ["truncated", "found"],
    ["dripped", "found"],
    ["truncatednx", "nxdomain"],
    ["hungup", "failed"],
    ["truncatedtwice", "failed"],
    ["huge", "failed"],
  ];
  for (const [domain, outcome, suffixes = []] of rows) {
    test(`${domain}: ${outcome}`, async () => {
      const { find } = lookups({ dns: at(server.port) });
      const { known, ...rest } = await find(`${domain}.example.com`);
      expect({ ...rest, suffixes: known.map(({ suffix }) => suffix) }).toEqual({ outcome, suffixes });
    });
  }

  const silent = ["silent", "silenta", "silenttcp", "slow", "wrongid", "wrongname", "elsewhere"];
  test.concurrent.each(silent)("%s: a timeout, while the server has yet to answer", async (domain) => {
    const { find, made } = lookups({ dns: at(server.port), budgetMs: 300 });
    expect(await find(`${domain}.example.com`)).toEqual({ outcome: "timeout", known: [] });
    made.stop();
  });

  test("a closed port: failed", async () => {
    const closed = await startDnsServer(() => "silent");
    closed.stop();
    expect(await lookups({ dns: at(closed.port) }).find("a.example")).toMatchObject({ outcome: "failed" });
  });

  test("a firewall that refuses the question: failed, and nothing throws", async () => {
    const refuse = () => {
      throw Object.assign(new Error("EPERM: operation not permitted, send"), { code: "EPERM" });
    };
    const opened = { send: refuse, close() {} } as unknown as Awaited<ReturnType<typeof Bun.udpSocket>>;
    const opening = spyOn(Bun, "udpSocket").mockResolvedValue(opened as never);
    const outcome = await lookups({ dns: at(server.port) }).find("firewall.example");
    opening.mockRestore();
    expect(outcome).toMatchObject({ outcome: "failed" });
  });

  test("no server at all: failed", async () => {
    expect(await lookups({ dns: at() }).find("a.example")).toMatchObject({ outcome: "failed" });
  });

  test('a timeout of the address question is not "none"', async () => {
    const kinds: Readonly<Record<string, DnsOutcome>> = {
      mx: { kind: "none", ttlSeconds: 60 },
      a: { kind: "timeout" },
      aaaa: { kind: "none", ttlSeconds: 60 },
    };
    const dns: Resolver = { resolve: async (_, type) => kinds[type]! };
    expect(await lookups({ dns }).find("a.example")).toMatchObject({ outcome: "timeout" });
  });

  test("a resolver that throws: failed", async () => {
    const dns: Resolver = { resolve: () => Promise.reject(new Error("broken")) };
    expect(await lookups({ dns }).find("a.example")).toMatchObject({ outcome: "failed" });
  });
});

describe("several servers", () => {
  test.each([
    ["the first refuses", () => ({ rcode: 5 }) as const],
    ["the first is silent", () => "silent" as const],
    [
      "the first reply is malformed",
      () => ({ raw: Uint8Array.of(0x81, 0x83, 0, 1, 0, 1, 0, 0, 0, 0) }) as const,
    ],
  ])("%s: the second is asked", async (_, script) => {
    const first = await startDnsServer(script);
    const { find } = lookups({ dns: at(first.port, server.port) });
    expect(await find("found.example.com")).toMatchObject({ outcome: "found" });
    expect(first.questions.length).toBe(1);
    first.stop();
  });

  test("one that cannot be reached is not waited for", async () => {
    const unreachable = { address: "::1", port: 1 }; // either no IPv6 here, or nothing listens
    const dns = new DnsClient({
      servers: [unreachable, ...servers([server.port])],
      newId: random,
      elapsed: () => 0,
      nextServerMs: 1_000_000,
    });
    expect(await lookups({ dns }).find("found.example.com")).toMatchObject({ outcome: "found" });
  });

  test("one that refuses is not waited for", async () => {
    const first = await startDnsServer(() => ({ rcode: 5 }));
    const dns = new DnsClient({
      servers: servers([first.port, server.port]),
      newId: random,
      elapsed: () => 0,
      nextServerMs: 1_000_000,
    });
    expect(await lookups({ dns }).find("found.example.com")).toMatchObject({ outcome: "found" });
    first.stop();
  });

  test("after NXDOMAIN from the first, which resolves the top-level domain, the second is not queried", async () => {
    const first = await startDnsServer(knowing(["com"], () => ({ rcode: 3 })));
    const before = server.questions.length;
    expect(await lookups({ dns: at(first.port, server.port) }).find("found.example.com")).toMatchObject({
      outcome: "nxdomain",
    });
    expect(server.questions.length).toBe(before);
    first.stop();
  });

  test("a lost datagram is sent again to the only server", async () => {
    let lost = false;
    const flaky = await startDnsServer(({ name }) => {
      if (lost) return { answers: [mx(name, 1, "m.net")] };
      lost = true;
      return "silent";
    });
    expect(await lookups({ dns: at(flaky.port) }).find("a.example")).toMatchObject({ outcome: "found" });
    flaky.stop();
  });
});

describe("NXDOMAIN from a server that replies it to everything, or nearly", () => {
  const NX: DnsAnswer = { rcode: 3 };
  /** Replies NXDOMAIN to everything except questions for an SOA record. */
  const liar = (aboutTop: DnsAnswer | "silent" = NX) =>
    startDnsServer(({ type }) => (type === SOA ? aboutTop : NX));

  test.each<[string, DnsAnswer]>([
    ["NXDOMAIN", NX],
    ["NXDOMAIN with an SOA record", { rcode: 3, authorities: [soa("", 900)] }],
    ["SERVFAIL", { rcode: 2 }],
    ["REFUSED", { rcode: 5 }],
    ["no such record", {}],
    ["no such record, with an SOA record", { authorities: [soa("", 900)] }],
    ["an address", { answers: [a("com")] }],
    ["the SOA record of another name", { answers: [soa("net", 900)] }],
    ["an alias", { answers: [cname("com", "portal.net"), a("portal.net")] }],
    ["nonsense", { raw: Uint8Array.of(0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0) }],
  ])("%s about the top-level domain, too: failed", async (_, aboutTop) => {
    const bad = await liar(aboutTop);
    const { find, counts } = lookups({ dns: at(bad.port) });
    expect(await find("gmail.com")).toEqual({ outcome: "failed", known: [] });
    expect([...counts.mx.lookups]).toEqual([["failed", 1]]);
    expect(bad.questions.filter(({ type }) => type === SOA).map(({ name }) => name)).toEqual(["com"]);
    bad.stop();
  });

  test("silence about the top-level domain: a timeout, within the budget", async () => {
    const bad = await liar("silent");
    const { find, made } = lookups({ dns: at(bad.port), budgetMs: 1_000 });
    expect(await find("gmail.com")).toMatchObject({ outcome: "timeout" });
    expect(bad.questions.some(({ type }) => type === SOA)).toBe(true);
    made.stop();
    bad.stop();
  });

  test("an SOA record with the NXDOMAIN itself proves nothing: failed", async () => {
    const bad = await startDnsServer(() => ({ rcode: 3, authorities: [soa("com", 900)] }));
    expect(await lookups({ dns: at(bad.port) }).find("gmail.com")).toMatchObject({ outcome: "failed" });
    bad.stop();
  });

  test("addresses that are denied like that: failed, not none", async () => {
    const bad = await startDnsServer(({ type }) => (type === MX ? {} : NX));
    expect(await lookups({ dns: at(bad.port) }).find("gmail.com")).toMatchObject({ outcome: "failed" });
    bad.stop();
  });

  test("it is cached as long as any failure", async () => {
    const bad = await liar();
    const { find, pass } = lookups({ dns: at(bad.port) });
    await find("gmail.com");
    const once = bad.questions.length;
    pass(4.999);
    await find("gmail.com");
    expect(bad.questions.length).toBe(once);
    pass(0.001);
    await find("gmail.com");
    expect(bad.questions.length).toBeGreaterThan(once);
    bad.stop();
  });

  test("the next server is queried immediately, and its reply is used", async () => {
    const bad = await liar();
    const dns = new DnsClient({
      servers: servers([bad.port, server.port]),
      newId: random,
      elapsed: () => 0,
      nextServerMs: 1_000_000,
    });
    const { find } = lookups({ dns });
    expect(await find("found.example.com")).toMatchObject({ outcome: "found" });
    expect(await find("nx.example.com")).toMatchObject({ outcome: "nxdomain" });
    bad.stop();
  });

  test("trust is per server: a good one does not help a bad one", async () => {
    const bad = await liar();
    // Resolves the top-level domain, and leaves questions about other names to the next server.
    const good = await startDnsServer(
      knowing(["com"], ({ name }) => (name === "gone.com" ? NX : { rcode: 5 })),
    );
    const { find } = lookups({ dns: at(good.port, bad.port) });
    expect(await find("gone.com")).toMatchObject({ outcome: "nxdomain" });
    expect(await find("gmail.com")).toMatchObject({ outcome: "failed" });
    good.stop();
    bad.stop();
  });

  test("trust is per top-level domain", async () => {
    const some = await startDnsServer(knowing(["com"], () => NX));
    const { find } = lookups({ dns: at(some.port) });
    expect(await find("gone.com")).toMatchObject({ outcome: "nxdomain" });
    expect(await find("web.de")).toMatchObject({ outcome: "failed" });
    expect(await find("gone.too.com")).toMatchObject({ outcome: "nxdomain" });
    some.stop();
  });

  test("only the first NXDOMAIN costs a second question", async () => {
    const good = await startDnsServer(knowing(["com", "net"], () => NX));
    const { find } = lookups({ dns: at(good.port) });
    for (let i = 0; i < 10; i++)
      for (const top of ["com", "net"])
        expect(await find(`gone${i}.${top}`)).toMatchObject({ outcome: "nxdomain" });
    expect(good.questions.filter(({ type }) => type === SOA).map(({ name }) => name)).toEqual(["com", "net"]);
    expect(good.questions.length).toBe(22);
    good.stop();
  });

  test("one that turns bad, and good again, is noticed when the cache entry expires", async () => {
    const good: DnsScript = knowing(["com"], ({ name, type }) =>
      name === "gmail.com" && type === MX ? { answers: [mx(name, 5, "m.net")] } : NX,
    );
    let script = good;
    const turning = await startDnsServer((question) => script(question));
    let ms = 0;
    const dns = new DnsClient({ servers: servers([turning.port]), newId: random, elapsed: () => ms });
    const find = async (host: string) => (await lookups({ dns }).find(host)).outcome;
    const outcomes = async () => [await find("gmail.com"), await find("gone.com")];

    expect(await outcomes()).toEqual(["found", "nxdomain"]);
    script = () => NX;
    ms = NXDOMAIN_TRUST_SECONDS * 1000 - 1;
    expect(await outcomes()).toEqual(["nxdomain", "nxdomain"]); // the cached result still applies
    ms++;
    expect(await outcomes()).toEqual(["failed", "failed"]);
    script = good;
    expect(await outcomes()).toEqual(["found", "failed"]);
    ms += NXDOMAIN_TRUST_SECONDS * 1000;
    expect(await outcomes()).toEqual(["found", "nxdomain"]);
    turning.stop();
  });

  test("stopping ends the question about the top-level domain, too: a later reply is ignored", async () => {
    const late = await startDnsServer(({ type }) =>
      type === SOA ? { answers: [soa("com", 900)], delayMs: 20 } : NX,
    );
    const topsAsked = () => late.questions.filter(({ type }) => type === SOA).length;
    const dns = at(late.port);
    const ender = new AbortController();
    const asking = dns.resolve("gone.com", "mx", ender.signal);
    await until(() => topsAsked() === 1);
    ender.abort();
    expect(await asking).toEqual({ kind: "timeout" });
    await Bun.sleep(60);
    expect(await dns.resolve("gone.com", "mx", new AbortController().signal)).toMatchObject({
      kind: "nxdomain",
    });
    expect(topsAsked()).toBe(2);
    late.stop();
  });
});

describe("the cache", () => {
  const scripted = (reply: DnsOutcome) => {
    let queries = 0;
    const dns: Resolver = {
      resolve: async () => {
        queries++;
        return reply;
      },
    };
    return { dns, queries: () => queries };
  };
  const records = (ttlSeconds: number): DnsOutcome => ({
    kind: "records",
    mx: [{ preference: 1, host: "m.net" }],
    ttlSeconds,
  });

  test.each([
    ["found, as long as DNS allows", records(600), 600],
    ["found, at least", records(0), 60],
    ["found, at most", records(86_400), 3_600],
    ["nxdomain, as long as DNS allows", { kind: "nxdomain", ttlSeconds: 100 } as const, 100],
    ["nxdomain, at least", { kind: "nxdomain", ttlSeconds: 0 } as const, 30],
    ["nxdomain without a TTL", { kind: "nxdomain", ttlSeconds: undefined } as const, 1],
    ["none, as long as DNS allows", { kind: "none", ttlSeconds: 100 } as const, 100],
    ["none without a TTL", { kind: "none", ttlSeconds: undefined } as const, 1],
    ["nxdomain, at most", { kind: "nxdomain", ttlSeconds: 86_400 } as const, 300],
    ["failed", { kind: "failed" } as const, 5],
    ["timeout", { kind: "timeout" } as const, 5],
  ])("%s", async (_, reply, seconds) => {
    const { dns, queries } = scripted(reply);
    const { find, pass, counts } = lookups({ dns });
    await find("a.example");
    const once = queries();
    pass(seconds - 0.001);
    await find("a.example");
    expect(queries()).toBe(once);
    expect(counts.mx.hits).toBe(1);
    pass(0.001);
    await find("a.example");
    expect(queries()).toBe(2 * once);
  });

  test("an address is cached for no longer than the absence of MX records, which had no TTL", async () => {
    let queries = 0;
    const dns: Resolver = {
      resolve: async (_, type) => {
        queries++;
        return type === "mx" ? { kind: "none", ttlSeconds: undefined } : records(600);
      },
    };
    const { find, pass } = lookups({ dns });
    expect(await find("a.example")).toMatchObject({ outcome: "implicit" });
    pass(0.999);
    await find("a.example");
    expect(queries).toBe(2);
    pass(0.001);
    await find("a.example");
    expect(queries).toBe(4);
  });

  test("every outcome has its bounds", () => {
    const kept = MX_OUTCOMES.filter((outcome) => outcome !== "skipped" && outcome !== "busy");
    expect(Object.keys(CACHE_SECONDS).sort()).toEqual([...kept].sort());
    for (const [least, most] of Object.values(CACHE_SECONDS)) expect(least).toBeLessThanOrEqual(most);
  });

  test("a full cache drops the oldest domain", async () => {
    const { dns, queries } = scripted(records(600));
    const { find, made, counts } = lookups({ dns, maxCached: 3 });
    for (const host of ["a", "b", "c", "d"]) await find(`${host}.example`);
    expect(counts.mx.state.cached).toBe(3);
    for (const host of ["b", "c", "d"])
      expect(made.find(`${host}.example`, "key_1")).not.toBeInstanceOf(Promise);
    await find("a.example");
    expect(queries()).toBe(5);
    expect(counts.mx.state.cached).toBe(3);
  });

  test("a lookup that was too slow for one request answers the next", async () => {
    const { promise, resolve } = Promise.withResolvers<DnsOutcome>();
    const { find, made } = lookups({ dns: { resolve: () => promise }, budgetMs: 20 });
    expect(await find("a.example")).toMatchObject({ outcome: "timeout" });
    resolve(records(600));
    await Bun.sleep(1);
    expect(made.find("a.example", "key_1")).toMatchObject({ outcome: "found" });
  });
});

/** Never replies about domains that begin with "silent", and finds all others at once. */
const silentOrFound: Resolver = {
  resolve: (host, _, signal) => {
    if (!host.startsWith("silent")) return Promise.resolve({ kind: "records", mx: [], ttlSeconds: 60 });
    const { promise, resolve } = Promise.withResolvers<DnsOutcome>();
    signal.addEventListener("abort", () => resolve({ kind: "timeout" }));
    return promise;
  },
};

describe("many at once", () => {
  test("requests for one domain share one lookup", async () => {
    const { find, counts } = lookups({ dns: at(server.port) });
    const before = countQuestions("found.shared.example.com");
    const found = await Promise.all(Array.from({ length: 200 }, () => find("found.shared.example.com")));
    expect(new Set(found.map(({ outcome }) => outcome))).toEqual(new Set(["found"]));
    expect(countQuestions("found.shared.example.com") - before).toBe(1);
    expect([...counts.mx.lookups]).toEqual([["found", 1]]);
  });

  test("2,000 distinct domains: never more than 48 of one key asked about at a time, all answered", async () => {
    let open = 0;
    let most = 0;
    const client = at(server.port);
    const dns: Resolver = {
      async resolve(...question) {
        most = Math.max(most, ++open);
        try {
          return await client.resolve(...question);
        } finally {
          open--;
        }
      },
    };
    const { find, counts } = lookups({ dns, budgetMs: 30_000 });
    const domains = Array.from({ length: 2_000 }, (_, i) => `found.d${i}.example.com`);
    const all = Promise.all(domains.map((domain) => find(domain)));
    expect(counts.mx.state).toEqual({ underWay: 48, waiting: 1_952, cached: 0 });
    const found = await all;
    expect(found.filter(({ outcome }) => outcome === "found").length).toBe(2_000);
    expect(most).toBe(48);
    expect(counts.mx.state).toEqual({ underWay: 0, waiting: 0, cached: 2_000 });
  });

  test("2,000 distinct domains of a silent server: none is waited for, and lookups without requests are not started", async () => {
    const { find, counts, made } = lookups({ dns: at(server.port), budgetMs: 150 });
    const all = await Promise.all(Array.from({ length: 2_000 }, (_, i) => find(`silent.s${i}.example.com`)));
    const busy = all.filter(({ outcome }) => outcome === "busy").length;
    expect(all.filter(({ outcome }) => outcome === "timeout").length).toBe(2_000 - busy);
    expect(busy).toBeGreaterThanOrEqual(2_000 - 128);
    expect(busy).toBeLessThanOrEqual(2_000 - 48);
    expect(counts.mx.state.waiting).toBe(0);
    expect(counts.mx.state.underWay).toBeLessThanOrEqual(128);
    const begun = new Set(
      server.questions.map(({ name }) => name).filter((name) => /^silent\.s\d/.test(name)),
    );
    expect(begun.size).toBeGreaterThanOrEqual(48);
    expect(begun.size).toBeLessThanOrEqual(128);
    made.stop();
    await until(() => counts.mx.state.underWay === 0);
  });

  test("silent domains hold the next one up for no longer than the budget", async () => {
    // Without the budget, silent domains would hold both slots for 1,000 s.
    const { find, counts, made } = lookups({
      dns: silentOrFound,
      maxUnderWay: 2,
      budgetMs: 20,
      lookupMs: 1_000_000,
    });
    await Promise.all(["a", "b", "c", "d", "e", "f"].map((label) => find(`silent.${label}.com`)));
    await until(async () => (await find("found.com")).outcome === "null");
    await until(() => counts.mx.state.underWay === 2); // silent ones, which hold no slot
    made.stop();
    await until(() => counts.mx.state.underWay === 0);
  });

  test("lookups that are slower than the budget are as many as slots, the rest is aborted", async () => {
    const { find, counts, made } = lookups({ dns: at(server.port), maxUnderWay: 2, budgetMs: 30 });
    for (let i = 0; i < 4; i++) {
      await Promise.all([find(`silent.x${i}.example.com`), find(`silent.y${i}.example.com`)]);
      expect(counts.mx.state.underWay).toBeLessThanOrEqual(4);
      await until(() => counts.mx.state.underWay === 2);
    }
    expect(counts.mx.lookups.get("timeout")).toBe(6);
    made.stop();
  });

  test("a full queue: busy immediately, and not cached", async () => {
    const dns: Resolver = { resolve: () => Promise.withResolvers<DnsOutcome>().promise };
    const { find, made, counts } = lookups({ dns, maxUnderWay: 2, maxWaiting: 3, budgetMs: 20 });
    const waiting = Array.from({ length: 5 }, (_, i) => find(`d${i}.example`));
    expect(made.find("one-too-many.example", "key_1")).toEqual({ outcome: "busy", known: [] });
    expect(counts.mx.state.cached).toBe(0);
    await Promise.all(waiting);
  });
});

describe("several keys", () => {
  const silent = (count: number, name: string) =>
    Array.from({ length: count }, (_, i) => `silent.${name}${i}.com`);

  test("one with any number of silent domains takes nothing from others", async () => {
    const { made, find, counts } = lookups({ dns: silentOrFound, budgetMs: 1_000_000, lookupMs: 1_000_000 });
    for (const host of silent(10_000, "a")) void made.find(host, "greedy");
    expect(counts.mx.state).toMatchObject({ underWay: 48, waiting: 3_072 });
    for (let i = 0; i < 200; i++) {
      expect(await find(`found${i}.com`, `key_${i % 5}`)).toMatchObject({ outcome: "null" });
    }
    expect(made.find("silent.more.com", "greedy")).toMatchObject({ outcome: "busy" });
    made.stop();
  });

  test("many greedy ones: each gets the same, and the next still gets a slot", async () => {
    const { made, find, counts } = lookups({ dns: silentOrFound, budgetMs: 1_000_000, lookupMs: 1_000_000 });
    const hosts = silent(6_000, "b");
    for (const [i, host] of hosts.entries()) void made.find(host, `greedy${i % 4}`);
    expect(counts.mx.state.underWay).toBeLessThan(64);
    expect(await find("found.com", "late")).toMatchObject({ outcome: "null" });
    made.stop();
  });

  test("a slot that becomes free goes to the key with the fewest", async () => {
    const queried: string[] = [];
    const pending: (() => void)[] = [];
    const held: Resolver = {
      resolve: (host) => {
        queried.push(host);
        const { promise, resolve } = Promise.withResolvers<DnsOutcome>();
        pending.push(() => resolve({ kind: "records", mx: [], ttlSeconds: 60 }));
        return promise;
      },
    };
    const { made } = lookups({ dns: held, maxUnderWay: 4, budgetMs: 1_000_000, lookupMs: 1_000_000 });
    for (let i = 0; i < 5; i++) void made.find(`a${i}.com`, "a");
    void made.find("b0.com", "b");
    void made.find("b1.com", "b");
    void made.find("c0.com", "c");
    expect(queried).toEqual(["a0.com", "a1.com", "a2.com", "b0.com"]);
    pending[0]!();
    await until(() => queried.length > 4);
    expect(queried[4]).toBe("c0.com");
    made.stop();
    for (const settle of pending) settle();
  });

  test("a domain that is queued behind those of a greedy key is looked up when another key requests it", async () => {
    const { made, find } = lookups({ dns: silentOrFound, budgetMs: 1_000_000, lookupMs: 1_000_000 });
    for (const host of silent(60, "c")) void made.find(host, "greedy");
    void made.find("wanted.com", "greedy");
    expect(await find("wanted.com", "other")).toMatchObject({ outcome: "null" });
    made.stop();
  });
});

describe("stopping", () => {
  test("waiting requests settle immediately, and nothing more is queried", async () => {
    const { find, made, counts } = lookups({
      dns: at(server.port),
      maxUnderWay: 1,
      budgetMs: 1_000_000,
      lookupMs: 1_000_000,
    });
    const waiting = [find("silent.x.example.com"), find("silent.y.example.com")];
    await Bun.sleep(5);
    made.stop();
    expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual(["timeout", "timeout"]);
    expect(counts.mx.state).toMatchObject({ underWay: 0, waiting: 0 });
    const before = server.questions.length;
    expect(await find("found.z.example.com")).toMatchObject({ outcome: "failed" });
    expect(server.questions.length).toBe(before);
  });
});

test("the budget is that of the docs", () => expect(MX_LIMITS.budgetMs).toBe(500));

describe("docs/email.md", () => {
  const docs = readFileSync(join(import.meta.dir, "../../../../docs/email.md"), "utf8");

  test("show what each outcome does", () => {
    const rows = [...docs.matchAll(/^\| `([a-z]+)` \| .* \| (unchanged|becomes `false`) \|$/gm)];
    expect(rows.map(([, outcome]) => outcome!)).toEqual([...MX_OUTCOMES]);
    const refuted = rows.filter(([, , effect]) => effect !== "unchanged").map(([, outcome]) => outcome);
    expect(refuted).toEqual(["null", "nxdomain"]);
  });

  test("have the numbers of the code", () => {
    const number = (value: number) => value.toLocaleString("en");
    for (const text of [
      `within ${MX_LIMITS.budgetMs} ms`,
      `${MX_LIMITS.maxUnderWay} domains`,
      `${number(MX_LIMITS.maxWaiting)} more`,
      `${number(MX_LIMITS.maxCached)} domains`,
    ]) {
      expect(docs).toContain(text);
    }
    expect(CACHE_SECONDS).toMatchObject({ found: [60, 3600], nxdomain: [30, 300], failed: [5, 5] });
    expect(MX_LIMITS.lookupMs).toBe(3000);
  });
});
