// Tests the API as a function of a request. The recorded contract (test/contract.test.ts) covers status, headers and
// body of thousands of requests. This file covers the rest: data that is missing in unusual ways, DNS, crashes, counts,
// and the order of limits.

import { afterEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { NO_FLAGS, OPERATION_IDS, OPERATIONS, type OperationId } from "@inkling/contract";
import {
  formatIp,
  knownHosts,
  type LoadedRelease,
  type Override,
  parsePrefix,
  type Release,
} from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import { bearerToken } from "@inkling/store/keys/token";
import { emailHash } from "@inkling/store/overrides/override";
import { overridesOf } from "@inkling/store/overrides/record";
import fc from "fast-check";
import { anyText } from "../../../../test/harness/any-text.ts";
import { checkResponse } from "../../../../test/harness/checked-fetch.ts";
import { testSettings } from "../../../../test/harness/server-options.ts";
import {
  encode,
  KEY,
  NOON,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { requestIds } from "../http/request-id.ts";
import { cellsOnDemand } from "../limits/key-cells.testing.ts";
import { Buckets } from "../limits/token-bucket.ts";
import type { MxFinding } from "../mx/check.ts";
import { App } from "./app.ts";

const PLACE =
  '{"city":{"name":"Boxford"},"continent":{},"country":{},"location":{},"postal":{},"registered_country":{},"subdivisions":[]}';
const THEN = "2026-05-31T00:00:00Z";
/** The fields of a segment's evidence, without network or domain. */
const ENTRY = { feed: "a", label: "vpn", effect: "sets" };
const ABUSER = JSON.stringify({ ...NO_FLAGS, is_abuser: true });

function release(over: Partial<Release> = {}): LoadedRelease {
  const answers = (known: string, text: string) =>
    testSegment({
      lookup: (address) => (formatIp(address) === known ? encode(text) : undefined),
      evidence: (address) => (formatIp(address) === known ? record(24) : undefined),
      networkBits: () => 20,
    });
  const parts = {
    geo: answers("81.2.69.142", PLACE),
    reputation: answers("81.2.69.142", ABUSER),
    evidence: {
      geolocate: [encode("}")],
      reputation: [encode(`,"fetched_at":"${THEN}"}`)],
      email: [encode("}")],
      network: [encode("}")],
    },
  };
  const name = "20260601T000000000Z-0123456789ab";
  return testRelease(name, { id: "0123456789ab", ...over }, parts, record(2));
}

const FACTS = '{"asn":64500,"organization":"Café","kind":"isp","shared":false,"services":[]}';

/** Creates a release with a network segment that returns the same facts for every address. */
function withNetwork(): LoadedRelease {
  const loaded = release({
    segments: { network: { sha256: "0".repeat(64), bytes: 1, inputs: "0".repeat(64) } },
  });
  const network = testSegment({ lookup: () => encode(FACTS), evidence: () => record(24) });
  const evidence = { ...loaded.evidence, network: [encode(`,"fetched_at":"${THEN}"}`)] };
  return { ...loaded, network, evidence };
}

/** Creates evidence with one entry, in the format of a segment (packages/engine/segment-format.md). */
function record(span: number): Uint8Array {
  const text = encode(JSON.stringify(ENTRY).slice(0, -1));
  return Uint8Array.from([1, 0, 0, 0, 0, 0, text.length, 0, span, ...text]);
}

interface Setting {
  readonly now?: () => number;
  readonly release?: LoadedRelease | undefined;
  readonly key?: Partial<Key>;
  readonly allowMissing?: boolean;
  readonly trustedProxies?: readonly string[];
  readonly hookSecrets?: readonly string[];
  readonly peer?: string;
  readonly rate?: number;
  readonly burst?: number;
  readonly used?: number;
  readonly overrides?: readonly Override[];
  readonly mx?: MxFinding | Promise<MxFinding>;
}

/** Requires that `handle` returned the response synchronously, as it does for every lookup without `?checks=mx`. */
function immediate(response: Response | Promise<Response>): Response {
  if (response instanceof Promise) throw new Error("the answer has to be waited for");
  return response;
}

/** Checks of all answers against /openapi.json, which run after each test. */
const held: Promise<void>[] = [];
afterEach(async () => void (await Promise.all(held.splice(0))));

/**
 * Creates an app in which the token "good" is valid, "old" is expired, and "early" arrives before the keys are loaded.
 */
function setUp(setting: Setting = {}) {
  const key: Key = { ...KEY, ...setting.key };
  const { services, ...seen } = testServices(
    {
      ...(setting.now && { now: setting.now }),
      release: "release" in setting ? setting.release : release(),
      authenticate: (header) => {
        const token = bearerToken(header);
        if (token === undefined) return { ok: false, code: "KEY_MISSING" };
        if (token === "good") return { ok: true, key };
        if (token === "old") return { ok: false, code: "KEY_EXPIRED", key };
        return { ok: false, code: token === "early" ? "KEYS_NOT_LOADED" : "KEY_INVALID" };
      },
      buckets: new Buckets({ rate: setting.rate ?? 1000, burst: setting.burst ?? 2000 }, cellsOnDemand(NOON)),
      overrides: { current: overridesOf(setting.overrides ?? []) },
      ...(setting.mx && { checks: { checkMx: () => setting.mx! } }),
      settings: testSettings({
        supabaseHookSecret: setting.hookSecrets ?? [],
        allowMissing: setting.allowMissing ?? false,
      }),
      trustedProxies: (setting.trustedProxies ?? []).map((text) => parsePrefix(text)!),
      newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
    },
    (keyId, counted) => `${keyId} ${counted}`,
    setting.used,
  );
  const app = new App(services);
  const peers = { requestIP: () => ({ address: setting.peer ?? "81.2.69.142" }) };
  const send = (path: string, init: RequestInit = {}) => {
    const headers = { Authorization: "Bearer good", ...(init.headers as Record<string, string>) };
    const response = immediate(app.handle(new Request(`http://test${path}`, { ...init, headers }), peers));
    held.push(checkResponse(init.method ?? "GET", path.split("?")[0]!, response));
    return response;
  };
  return { app, send, peers, services, ...seen };
}

const GEO = "/v1/ip-intel/geolocate/";
const REP = "/v1/ip-intel/reputation/";
const MAIL = "/v1/user-intel/email/";

/** The Accept header that Firefox sends for a page. */
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

const auth = (value: string | undefined): RequestInit => ({
  headers: value === undefined ? {} : { Authorization: value },
});

/** Returns the code of a problem, or else the whole JSON. */
async function bodyOrCode(response: Response): Promise<unknown> {
  const body = (await response.json()) as { code?: string };
  return body.code ?? body;
}

const CLEAN = NO_FLAGS;
const NOT_DISPOSABLE = { disposable: false, providers: [] };

const TABLE: readonly [
  name: string,
  setting: Setting,
  path: string,
  init: RequestInit,
  status: number,
  want: unknown,
][] = [
  ["a place", {}, `${GEO}81.2.69.142`, {}, 200, JSON.parse(PLACE)],
  ["no place", {}, `${GEO}8.8.8.8`, {}, 404, "IP_ADDRESS_NOT_FOUND"],
  [
    "disposable",
    {},
    `${MAIL}a@mailinator.com`,
    {},
    200,
    { valid: true, disposable: true, providers: ["mailinator.com"] },
  ],
  [
    "network where the release has none",
    {},
    `${REP}81.2.69.142?include=network`,
    {},
    200,
    { ...JSON.parse(ABUSER), network: null },
  ],
  [
    "network, subject and evidence",
    { release: withNetwork() },
    `${GEO}::ffff:81.2.69.142?include=evidence,subject,network`,
    {},
    200,
    {
      ...JSON.parse(PLACE),
      ip: "81.2.69.142",
      prefix: "81.2.64.0/20",
      network: { prefix: "81.2.69.0/24", ...JSON.parse(FACTS) },
      evidence: [
        { ...ENTRY, network: "81.2.69.0/24" },
        { ...ENTRY, network: "81.2.69.0/24", fetched_at: THEN },
      ],
    },
  ],
  ["evidence of no place", {}, `${GEO}8.8.8.8?include=evidence`, {}, 404, "IP_ADDRESS_NOT_FOUND"],
  [
    "a check of an email address",
    {},
    `${MAIL}a@gmail.com?checks=mx`,
    {},
    200,
    { valid: true, ...NOT_DISPOSABLE, checks: { mx: "found" } },
  ],
  [
    "no such domain",
    { mx: { outcome: "nxdomain", known: [] } },
    `${MAIL}a@gmail.com?checks=mx`,
    {},
    200,
    { valid: false, ...NOT_DISPOSABLE, checks: { mx: "nxdomain" } },
  ],
  [
    "a disposable mail host, with evidence",
    { mx: { outcome: "found", known: knownHosts(["in.mail.tm"]) } },
    `${MAIL}a@gmail.com?checks=mx&include=evidence`,
    {},
    200,
    {
      valid: true,
      disposable: true,
      providers: ["mail.tm"],
      checks: { mx: "found" },
      evidence: [
        {
          feed: "inkling",
          label: "mail_host",
          effect: "sets",
          flags: ["disposable"],
          mail_host: "in.mail.tm",
        },
      ],
    },
  ],
  [
    "a disposable mail host, without data",
    { release: undefined, mx: { outcome: "found", known: knownHosts(["in.mail.tm"]) } },
    `${MAIL}a@gmail.com?checks=mx`,
    {},
    503,
    "DATA_NOT_LOADED",
  ],
  ["no release, but validated", { release: undefined }, `${GEO}10.0.0.1`, {}, 400, "IP_ADDRESS_RESERVED"],
  [
    "another lookup's data is missing",
    { release: release({ missing: ["is_proxy"] }) },
    `${GEO}81.2.69.142`,
    {},
    200,
    JSON.parse(PLACE),
  ],
  [
    "no segment at all, missing data allowed",
    { release: { ...release({ missing: ["geolocation"] }), geo: undefined }, allowMissing: true },
    `${GEO}81.2.69.142`,
    {},
    503,
    "DATA_NOT_LOADED",
  ],
  ["keys not read yet", {}, `${GEO}81.2.69.142`, auth("Bearer early"), 503, "KEYS_NOT_LOADED"],
];

describe("answers", () => {
  test.each(TABLE)("%s", async (_, setting, path, init, status, want) => {
    const { send } = setUp(setting);
    const response = send(path, init);
    expect(response.status).toBe(status);
    const isProblem = typeof want === "string";
    expect(response.headers.get("content-type")).toBe(
      isProblem ? "application/problem+json" : "application/json",
    );
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-hjkmnp-tv-z]{10}$/);
    expect(response.headers.get("inkling-data-version")).toBeTruthy();
    const cacheable = status === 200 && path.startsWith("/v1/ip-intel/");
    expect(response.headers.get("cache-control")).toBe(cacheable ? "private, max-age=300" : "no-store");
    expect(response.headers.get("vary")).toBe(cacheable ? "Authorization" : null);
    expect(response.headers.has("etag")).toBe(cacheable);
    expect(await bodyOrCode(response)).toEqual(want);
  });

  test("a crash is 500 without words; the log has the stack and not the value", async () => {
    const { send, services, lines } = setUp();
    Object.assign(services.usage, {
      record: () => {
        throw new Error("cannot count jane@gmail.com with ink_live_secret");
      },
    });
    const response = send(`${MAIL}jane@gmail.com`);
    expect(response.status).toBe(500);
    const body = (await response.json()) as { code: string; request_id: string };
    expect(body.code).toBe("INTERNAL");
    expect(JSON.stringify(body)).not.toContain("count");
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({ event: "request-failed", request_id: body.request_id });
    expect(line.stack.length).toBeGreaterThan(0);
    expect(lines.join("")).not.toMatch(/jane|gmail|secret/);
  });
});

describe("headers", () => {
  test("a key from a wrong network uses nothing of its rate", () => {
    const { send } = setUp({ rate: 1, burst: 1, key: { networks: [parsePrefix("192.0.2.0/24")!] } });
    for (let i = 0; i < 3; i++) {
      const response = send(`${GEO}81.2.69.142`);
      expect(response.status).toBe(403);
      expect(response.headers.get("ratelimit")).toBe('"default";r=1;t=0');
    }
  });

  test("Inkling-Data-State has the age of the lookup's data, from the feeds' present state, on every answer", async () => {
    const feed = {
      id: "a",
      sets: "is_proxy",
      source: "fetched",
      state: "loaded",
      entries: 1,
      licence: "",
    } as const;
    const at = (hours: number) => new Date(NOON - hours * 3_600_000).toISOString();
    const made = release({ feeds: [{ ...feed, fetched_at: at(300) }] });
    let now = NOON;
    const { send, services } = setUp({ release: made, now: () => now });
    const stateOf = (path: string) => send(path).headers.get("inkling-data-state");
    expect(stateOf(`${REP}8.8.8.8`)).toBe('complete; age="is_proxy:12d"');
    expect(stateOf(`${REP}8.8.8.8?include=network`)).toBe('partial; missing="network"; age="is_proxy:12d"');
    expect(stateOf(`${GEO}81.2.69.142`)).toBeNull();
    // The feed was confirmed again. The header is computed once a minute, so it changes within a minute.
    Object.assign(services.releases, { feeds: [{ ...feed, fetched_at: at(1) }] });
    expect(stateOf(`${REP}8.8.8.8`)).toBe('complete; age="is_proxy:12d"');
    now += 60_000;
    expect(stateOf(`${REP}8.8.8.8`)).toBe('complete; age="is_proxy:1h"');
    expect(await send("/v1/status").json()).toMatchObject({
      ages: [{ answer: "is_proxy", feed: "a", seconds: 3_660 }],
    });
  });

  test("Inkling-Data-State lists the network if it is requested but missing", () => {
    const stateOf = (path: string, over = {}) => setUp(over).send(path).headers.get("inkling-data-state");
    expect(stateOf(`${REP}8.8.8.8?include=network`)).toBe('partial; missing="network"');
    expect(stateOf(`${REP}8.8.8.8?include=subject`)).toBeNull();
    expect(stateOf(`${REP}8.8.8.8?include=network`, { release: withNetwork() })).toBeNull();
    const lacking = { allowMissing: true, release: release({ missing: ["is_proxy"] }) };
    expect(stateOf(`${REP}8.8.8.8?include=network`, lacking)).toBe('partial; missing="is_proxy network"');
  });
});

describe("headers that are kept between requests", () => {
  test("an answer keeps its own when the next is made", () => {
    const { send } = setUp();
    const first = send(`${GEO}81.2.69.142`);
    const [id, left] = [first.headers.get("x-request-id"), first.headers.get("ratelimit")];
    const second = send(`${GEO}81.2.69.142`);
    expect([first.headers.get("x-request-id"), first.headers.get("ratelimit")]).toEqual([id, left]);
    expect(second.headers.get("x-request-id")).not.toBe(id);
  });

  test("keys with other limits, and none, take turns", () => {
    const { app, services, peers } = setUp();
    const keys = [
      { ...KEY, id: "a", rate: 5, burst: 10 },
      { ...KEY, id: "b", rate: 0 },
      { ...KEY, id: "c", rate: 0, quota: 7 },
    ];
    Object.assign(services.keyring, {
      authenticate: (header: string) => ({ ok: true, key: keys.find(({ id }) => header === `Bearer ${id}`) }),
    });
    const states = ["a", "b", "a", "c", "b", "c"].map((token) => {
      const request = new Request(`http://test${REP}8.8.8.8`, auth(`Bearer ${token}`));
      const { headers } = immediate(app.handle(request, peers));
      return [headers.get("ratelimit-policy"), headers.get("ratelimit")?.replace(/;r=\d+;t=\d+/, "")];
    });
    const a = ['"default";q=10;w=2', '"default"'];
    const none = [null, undefined];
    const c = ['"daily";q=7;w=86400', '"daily"'];
    expect(states as unknown).toEqual([a, none, a, c, none, c]);
  });

  test("a new release has its own", () => {
    const { send, services } = setUp();
    expect(send(`${REP}8.8.8.8`).headers.get("etag")).toBe('"0123456789ab"');
    Object.assign(services.releases, {
      current: release({ id: "ba9876543210", partial: [{ answer: "is_proxy", why: "" }] }),
    });
    const { headers } = send(`${REP}8.8.8.8`);
    expect(headers.get("etag")).toBe('"ba9876543210"');
    expect(headers.get("inkling-data-version")).toBe("ba9876543210");
    expect(headers.get("inkling-data-state")).toBe('partial; incomplete="is_proxy"');
  });
});

describe("conditional requests", () => {
  test("an answer that the client has counts as a lookup", () => {
    const { send, recorded } = setUp();
    const etag = send(`${GEO}81.2.69.142`).headers.get("etag") ?? "";
    expect(send(`${GEO}81.2.69.142`, { headers: { "If-None-Match": etag } }).status).toBe(304);
    expect(recorded).toEqual(["key_1 geolocate", "key_1 geolocate"]);
  });

  test("me has an ETag of its own for each address", () => {
    const here = setUp().send(`${REP}me`).headers.get("etag");
    const there = setUp({ peer: "8.8.8.8" }).send(`${REP}me`).headers.get("etag");
    expect(here).not.toBe(there);
  });
});

describe("callers", () => {
  const behind = { peer: "10.0.0.1", trustedProxies: ["10.0.0.0/8"] };
  test("a trusted proxy that sends no visitor is not the caller, even if the key is bound to its network", async () => {
    expect(await bodyOrCode(setUp(behind).send(`${REP}me`))).toBe("IP_ADDRESS_INVALID");
    const bound = { ...behind, key: { networks: [parsePrefix("10.0.0.0/8")!] } };
    const response = setUp(bound).send(`${REP}8.8.8.8`);
    expect(response.status).toBe(403);
    expect(await bodyOrCode(response)).toBe("CALLER_UNKNOWN");
    // if no proxy is trusted, the same machine is the caller
    expect(setUp({ ...bound, trustedProxies: [] }).send(`${REP}8.8.8.8`).status).toBe(200);
  });
});

describe("a traced key", () => {
  const TRACED = { tracedUntil: NOON + 1 };
  const networks = (lines: readonly string[]) =>
    lines
      .flatMap((text) => text.trim().split("\n"))
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === "key-traced")
      .map(({ level, key, network }) => `${level} ${key} ${network}`);

  test.each<[string, Parameters<typeof setUp>[0], string[]]>([
    ["an IPv4 caller", { peer: "203.0.113.9" }, ["info key_1 203.0.113.0/24"]],
    ["IPv4 inside IPv6", { peer: "::ffff:203.0.113.9" }, ["info key_1 203.0.113.0/24"]],
    ["an IPv6 caller", { peer: "2001:db8:1:2::9" }, ["info key_1 2001:db8:1::/48"]],
    [
      "a trusted proxy that sends no visitor",
      { peer: "10.0.0.1", trustedProxies: ["10.0.0.0/8"] },
      ["info key_1 unknown"],
    ],
    ["over", { peer: "203.0.113.9", key: { tracedUntil: NOON } }, []],
    ["not traced", { peer: "203.0.113.9", key: {} }, []],
  ])("%s: one line a minute for each network, never the address", (_, services, expected) => {
    const { send, lines } = setUp({ key: TRACED, ...services });
    for (let i = 0; i < 3; i++) send(`${REP}8.8.8.8`);
    expect(networks(lines)).toEqual(expected);
    expect(lines.join("")).not.toContain("203.0.113.9");
  });

  test("is logged at every level, again in the next minute, and also where it is refused", () => {
    const peer = "203.0.113.9";
    const clock = { now: NOON };
    const { send, services, lines } = setUp({
      key: { tracedUntil: NOON + 120_000, scopes: ["email"] },
      peer,
      now: () => clock.now,
    });
    services.log.level = "error";
    expect(send(`${REP}8.8.8.8`).status).toBe(403);
    clock.now += 60_000;
    send(`${REP}8.8.8.8`);
    expect(networks(lines)).toEqual(Array(2).fill("info key_1 203.0.113.0/24"));
  });

  test("writes no more lines than a worker may", () => {
    const clock = { peer: 0 };
    const { app, lines } = setUp({ key: TRACED });
    for (; clock.peer < 1_100; clock.peer++) {
      const address = `20.${clock.peer >> 8}.${clock.peer & 255}.1`;
      app.handle(new Request(`http://test${REP}8.8.8.8`, { headers: { Authorization: "Bearer good" } }), {
        requestIP: () => ({ address }),
      });
    }
    expect(networks(lines)).toHaveLength(1_000);
  });
});

describe("usage and counts", () => {
  test.each<[string, Parameters<typeof setUp>[0], string, string[]]>([
    ["no scope for it", { key: { scopes: ["email"] } }, "good", ["not_allowed"]],
    ["not from there", { key: { networks: [parsePrefix("10.0.0.0/8")!] } }, "good", ["not_allowed"]],
    ["expired", {}, "old", ["not_allowed"]],
    ["too fast", { rate: 1, burst: 1 }, "good", ["rate_limited"]],
    ["its quota is used up", { key: { quota: 1 } }, "good", ["quota_exceeded"]],
    ["an unknown key", {}, "bad", []],
    ["bad input is not refused", {}, "good", []],
  ])("what a key is refused is counted as that: %s", (name, setting, token, want) => {
    const { send, refused } = setUp(setting);
    const init = { headers: { Authorization: `Bearer ${token}` } };
    send(`${GEO}81.2.69.142`, init);
    const before = refused.length;
    send(name.startsWith("bad") ? `${GEO}nonsense` : `${GEO}81.2.69.142`, init);
    expect(refused.slice(before)).toEqual(want.map((reason) => `${KEY.id} ${reason}`));
  });

  test("answers are lookups, refusals are not", () => {
    const { send, recorded, counts } = setUp();
    send(`${GEO}81.2.69.142`);
    send(`${GEO}8.8.8.8`);
    send(`${MAIL}broken`);
    send(`${REP}10.0.0.1`);
    send(`${REP}8.8.8.8?x=1`);
    send("/v1/status");
    expect(recorded).toEqual(["key_1 geolocate", "key_1 geolocate", "key_1 email"]);
    const rows = [...counts.requestRows()].map(
      (row) => `${row.route} ${row.status} ${row.audience} ${row.count}`,
    );
    expect(rows).toEqual([
      "/v1/ip-intel/geolocate/{ip} 200 live 1",
      "/v1/ip-intel/geolocate/{ip} 404 live 1",
      "/v1/ip-intel/reputation/{ip} 400 live 2",
      "/v1/user-intel/email/{email_address} 200 live 1",
      "/v1/status 200 live 1",
    ]);
    expect(new Map(counts.problemRows()).get("IP_ADDRESS_RESERVED")).toBe(1);
  });

  test.each<[path: string, meant: string | undefined]>([
    ["/v1/ip-intel/reputatio/8.8.8.8", "/v1/ip-intel/reputation/{ip}"],
    ["/v1/ip-intel/reputation/", "/v1/ip-intel/reputation/{ip}"],
    ["/v1/asess", "/v1/assess"],
    ["/v2/lookup", undefined],
    [`/v1/${"x".repeat(1_000)}`, undefined],
  ])(
    "a path that does not exist is answered with all there are, and the nearest: %s",
    async (path, meant) => {
      const { detail } = (await setUp({}).send(path).json()) as { detail: string };
      expect(/^Did you mean (\S+)\? /.exec(detail)?.[1]).toBe(meant);
      expect(detail).toContain("The paths are /v1/ip-intel/geolocate/{ip}, ");
      expect(detail).toContain(", /v1/assess, ");
    },
  );

  test.each([
    [
      "live",
      [`${GEO}81.2.69.142`, `${GEO}8.8.8.8`, `${MAIL}broken`, `${REP}10.0.0.1`],
      ["geolocate 2", "email 1"],
    ],
    // 203.0.113.10 and path-not-found.example return 404 PATH_NOT_FOUND and do not count as lookups.
    ["test", [`${GEO}192.0.2.1`, `${GEO}203.0.113.10`, `${MAIL}a@path-not-found.example`], ["geolocate 1"]],
  ] as const)("metrics count as lookups what usage records, and no other 404: %s", (mode, paths, want) => {
    const { send, recorded, batched, counts } = setUp({ key: { mode } });
    const statuses = paths.map((path) => send(path).status);
    expect(statuses).toContain(404);
    const rows = [...counts.lookupRows()];
    expect(rows.map(({ lookup, count }) => `${lookup} ${count}`)).toEqual([...want]);
    expect(rows.every(({ audience }) => audience === mode)).toBe(true);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(recorded.length);
    expect(rows.every(({ kind }) => kind === "single")).toBe(true);
    expect(batched).toEqual([]);
  });

  test("access lines contain the route and the key's id, never the value", () => {
    const { send, services, lines } = setUp();
    send(`${MAIL}jane@gmail.com`);
    send(`${GEO}81.2.69.142?secret=1`);
    send("/private/jane@gmail.com");
    services.log.flush();
    const logged = lines.join("");
    expect(logged).not.toMatch(/jane|81\.2|secret|good/);
    const each = logged.trim().split("\n");
    expect(each.map((line) => JSON.parse(line)).map(({ route, code }) => [route, code])).toEqual([
      ["/v1/user-intel/email/{email_address}", undefined],
      ["/v1/ip-intel/geolocate/{ip}", "PARAMETER_INVALID"],
      ["none", "PATH_NOT_FOUND"],
    ]);
  });
});

/** A sample value for each placeholder in a path. */
const SAMPLES: Readonly<Record<string, string>> = {
  ip: "81.2.69.142",
  email_address: "a@gmail.com",
  decision_id: `asm_${"0".repeat(16)}`,
  file: "start.js",
};

/** Bodies of the POST operations that do not take a batch. */
const BODIES: Readonly<Partial<Record<OperationId, string>>> = {
  assess: '{"event":"login","ip":"81.2.69.142"}',
  assess_outcome: '{"outcome":"fraud"}',
  supabase_hook: '{"metadata":{"name":"before-user-created","ip_address":"81.2.69.142"},"user":{}}',
};
const HOOK_SECRET = "A".repeat(44);

/** Signs a body as Standard Webhooks does. */
function signed(body: string): Record<string, string> {
  const timestamp = String(Math.floor(NOON / 1000));
  const key = Buffer.from(HOOK_SECRET, "base64");
  const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${body}`).digest("base64");
  return {
    "Content-Length": String(Buffer.byteLength(body)),
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}

test.each(OPERATION_IDS)("%s answers as its row says", async (id) => {
  const { path: template, method, answers, docs } = OPERATIONS[id];
  const path = template.replace(/\{(\w+)\}/, (_, name: string) => SAMPLES[name] ?? name);
  const { app } = setUp({ trustedProxies: ["10.0.0.0/8"], hookSecrets: [HOOK_SECRET] });
  const body = BODIES[id] ?? '{"values":[]}';
  const request = new Request(`http://test${path}`, {
    headers: {
      ...(id === "supabase_hook" && signed(body)),
      Authorization: "Bearer good",
      "Content-Type": "application/json",
      "X-Forwarded-For": "81.2.69.142",
      ...BROWSER,
    },
    ...(method === "POST" && { method, body }),
  });
  const response = await app.handle(request, { requestIP: () => ({ address: "10.0.0.1" }) });
  await checkResponse(request.method, path, response);
  // only "/" is missing from the document
  const expected = docs === undefined ? [302] : Object.keys(answers).map(Number);
  expect(expected).toContain(response.status);
});

describe("any path at all", () => {
  const escaped = fc.array(
    fc.oneof(
      fc.constantFrom("%", "%4", "%00", "%FF", "%C0%AF", "%2e%2e", "..", "%2F", "?", "#", ":", "@", "[", "]"),
      fc.constantFrom("me", "8.8.8.8", "::1", "a@b.com", "xn--", ".", "%25", "+", '"'),
      anyText(6).map(encodeURIComponent),
      fc.string({ maxLength: 6 }),
    ),
    { maxLength: 12 },
  );
  test("never gives a 5xx", () => {
    const { app, peers } = setUp();
    const statuses = new Map<number, number>();
    fc.assert(
      fc.property(fc.constantFrom(GEO, REP, MAIL, "/v1/", "/", ""), escaped, (prefix, parts) => {
        const url = prefix + parts.join("");
        const request = { url, method: "GET", headers: new Headers({ Authorization: "Bearer good" }) };
        const response = immediate(app.handle(request as unknown as Request, peers));
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: 5_000 },
    );
    for (const status of [200, 400, 404]) expect(statuses.get(status)).toBeGreaterThan(50);
  });
});

describe("overrides", () => {
  const TOR = { ...CLEAN, is_tor_exit: true };
  const made = (kind: Override["kind"], value: string, over: Partial<Override>): Override => ({
    id: "ovr_0123456789abcdef",
    kind,
    value,
    flag: "is_abuser",
    verdict: false,
    note: "x",
    author: "ada",
    createdAt: 0,
    expiresAt: undefined,
    removedAt: undefined,
    ...over,
  });
  const disposable = (verdict: boolean): Partial<Override> => ({
    flag: "disposable",
    verdict,
  });
  const tor: Partial<Override> = { flag: "is_tor_exit", verdict: true };
  const hash = emailHash("jane@gmail.com")!;
  const rows: [name: string, override: Override, path: string, want: object][] = [
    [
      "a flag off, for a mapped address",
      made("network", "81.2.69.0/24", {}),
      `${REP}::ffff:81.2.69.142`,
      CLEAN,
    ],
    ["a flag on, IPv6", made("network", "2606:4700::/32", tor), `${REP}2606:4700::1111`, TOR],
    ["both", made("address", "81.2.69.142", tor), `${REP}81.2.69.142`, { ...TOR, is_abuser: true }],
    ["me", made("address", "81.2.69.142", {}), `${REP}me`, CLEAN],
    ["expired", made("address", "81.2.69.142", { expiresAt: NOON }), `${REP}81.2.69.142`, JSON.parse(ABUSER)],
    [
      "a domain that is not",
      made("domain", "mailinator.com", disposable(false)),
      `${MAIL}a%20b@Mailinator.com`,
      { valid: false, ...NOT_DISPOSABLE },
    ],
    [
      "one email address",
      made("email_hash", hash, disposable(true)),
      `${MAIL}Jane+shop@Gmail.com`,
      { valid: true, disposable: true, providers: [] },
    ],
    [
      "another email address",
      made("email_hash", hash, disposable(true)),
      `${MAIL}jim@gmail.com`,
      { valid: true, ...NOT_DISPOSABLE },
    ],
  ];
  test.each(rows)("%s", async (_, override, path, want) => {
    const response = setUp({ overrides: [override] }).send(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(want);
  });

  test("an answer that is changed has another ETag, and its own 304; others keep theirs", async () => {
    const { send } = setUp({ overrides: [made("address", "81.2.69.142", {})] });
    const etag = (path: string) => send(path).headers.get("etag");
    const plain = setUp().send(`${REP}81.2.69.142`).headers.get("etag")!;
    const changed = etag(`${REP}81.2.69.142`)!;
    expect(changed).toBe('"0123456789ab-o0"');
    expect([etag(`${REP}8.8.8.8`), etag(`${GEO}81.2.69.142`)]).toEqual([plain, plain]);
    const status = (condition: string) =>
      send(`${REP}81.2.69.142`, { headers: { "If-None-Match": condition } }).status;
    expect([status(changed), status(plain)]).toEqual([304, 200]);
    expect(etag(`${REP}me`)).toBe(`${setUp().send(`${REP}me`).headers.get("etag")!.slice(0, -1)}-o0"`);
    expect(send(`${REP}81.2.69.142`).headers.get("vary")).toBe("Authorization");
  });

  test("evidence begins with them, and its ETag changes with them", async () => {
    const path = `${REP}81.2.69.142?include=evidence`;
    const one = made("address", "81.2.69.142", {});
    const response = setUp({ overrides: [one] }).send(path);
    const [first, second] = ((await response.json()) as { evidence: object[] }).evidence;
    const entry = { feed: "override", label: "override", effect: "removes", flags: ["is_abuser"] };
    expect(first).toEqual({ ...entry, id: one.id, network: "81.2.69.142/32" });
    expect(second).toMatchObject({ feed: "a" });
    const other = { ...one, id: "ovr_fedcba9876543210" };
    const etags = [[], [one], [other]].map((overrides) =>
      setUp({ overrides }).send(path).headers.get("etag"),
    );
    expect(new Set(etags).size).toBe(3);
    const domain = made("domain", "gmail.com", disposable(false));
    const mail = setUp({ overrides: [domain] }).send(`${MAIL}a@gmail.com?include=evidence`);
    expect(await mail.json()).toEqual({
      valid: true,
      ...NOT_DISPOSABLE,
      evidence: [{ ...entry, flags: ["disposable"], id: domain.id, domain: "gmail.com" }],
    });
  });

  test("a sandbox key does not see them, and missing data stays missing", async () => {
    const overrides = [made("network", "0.0.0.0/0", tor)];
    const sandbox = setUp({ overrides, key: { mode: "test" } });
    expect(await sandbox.send(`${REP}192.0.2.1`).json()).toEqual(
      await setUp({ key: { mode: "test" } })
        .send(`${REP}192.0.2.1`)
        .json(),
    );
    const bare = setUp({ overrides, release: undefined });
    expect(await bodyOrCode(bare.send(`${REP}8.8.8.8`))).toBe("DATA_NOT_LOADED");
  });
});

describe("checks=mx that has to wait for DNS", () => {
  const waiting = () => {
    const { promise, resolve, reject } = Promise.withResolvers<MxFinding>();
    return { promise, resolve: () => resolve({ outcome: "found", known: [] }), reject };
  };
  const path = `${MAIL}a@gmail.com?checks=mx`;
  const request = () => new Request(`http://test${path}`, { headers: { Authorization: "Bearer good" } });

  test("is answered, counted and charged once DNS has replied", async () => {
    const { promise, resolve } = waiting();
    const { app, peers, recorded, lines, counts, services } = setUp({ mx: promise, key: { quota: 10 } });
    const response = app.handle(request(), peers);
    expect(response).toBeInstanceOf(Promise);
    expect(recorded).toEqual([]);
    resolve();
    const { status, headers } = await response;
    expect(status).toBe(200);
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.get("RateLimit")).toContain("r=9");
    expect(recorded).toEqual([`${KEY.id} email`]);
    services.log.flush();
    expect(lines.join("").match(/"status":200/g)).toHaveLength(1);
    expect([...counts.requestRows()]).toMatchObject([{ status: "200", count: 1 }]);
  });

  test("the same answer as without a wait, header by header", async () => {
    const { promise, resolve } = waiting();
    const { app, peers } = setUp({ mx: promise });
    const late = app.handle(request(), peers);
    resolve();
    const [a, b] = [await late, setUp({ mx: { outcome: "found", known: [] } }).send(path)];
    const fields = ({ headers }: Response) => [...headers].filter(([name]) => name !== "x-request-id");
    expect(fields(a)).toEqual(fields(b));
    expect(await a.text()).toBe(await b.text());
  });

  test("its headers have what is left by then, whatever other requests took meanwhile", async () => {
    const { promise, resolve } = waiting();
    const { app, peers, send, services } = setUp({ mx: promise, rate: 1, burst: 10 });
    const response = app.handle(request(), peers);
    for (let i = 0; i < 4; i++) send(`${REP}8.8.8.8`);
    services.buckets.takeUpTo({ ...KEY }, NOON, 2); // stands for a batch
    resolve();
    expect((await response).headers.get("RateLimit")).toBe('"default";r=3;t=7');
  });

  test("an error meanwhile is 500 without the address", async () => {
    const { promise, reject } = waiting();
    const { app, peers, lines, services, recorded } = setUp({ mx: promise });
    const response = app.handle(request(), peers);
    reject(new Error("broken for a@gmail.com"));
    expect((await response).status).toBe(500);
    expect(recorded).toEqual([]);
    services.log.flush();
    expect(lines.join("")).not.toContain("gmail");
  });
});
