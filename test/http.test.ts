// The HTTP contract by end point and status, over a real socket, in a fresh data folder, with a release that the
// compiler built from the mirror and DB-IP. packages/server/src/api/app.test.ts has the same table in more detail.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parsePrefix } from "@inkling/engine";
import {
  type Key,
  type NewKey,
  openStore,
  parseNewKey,
  type RunningServer,
  startServer,
} from "@inkling/server";
import { fetch } from "./checked-fetch.ts";
import { freshMirror, realRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";
import { freshToken } from "./tokens.ts";

const EVERYTHING: NewKey = parseNewKey({ name: "test", rate: 0 }, Date.now());

/** The keys of the table, by name. */
const KEYS = {
  good: {},
  sandbox: { mode: "test" },
  emailOnly: { scopes: ["email"] },
  elsewhere: { networks: [parsePrefix("192.0.2.0/24")!] },
  here: { networks: [parsePrefix("127.0.0.0/8")!] },
  expired: { expiresAt: 1_000 },
  revoked: {},
  slow: { rate: 0.001, burst: 1 },
  spent: { quota: 1 },
} as const satisfies Record<string, Partial<NewKey>>;
type KeyName = keyof typeof KEYS;

/** Well formed, checksum included. */
const NOBODYS = freshToken();
const tokens = new Map<KeyName, string>();
let server: RunningServer;
let bare: RunningServer;

async function start(dataDir: string, trusted: readonly string[]): Promise<RunningServer> {
  return startServer({
    ...testServerOptions(dataDir),
    rate: 1000,
    burst: 2000,
    trustedProxies: trusted,
    writeLog: () => {},
  });
}

async function makeKeys(dataDir: string): Promise<void> {
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  for (const [name, over] of Object.entries(KEYS) as [KeyName, Partial<NewKey>][]) {
    const { key, token }: { key: Key; token: string } = await store.createKey({ ...EVERYTHING, ...over });
    tokens.set(name, token);
    if (name === "revoked") await store.revokeKey(key.id);
  }
  await store.close();
}

const lists = freshMirror();
const firstLine = (file: string) =>
  readFileSync(join(lists, file), "utf8")
    .split("\n")
    .find((line) => line !== "" && !line.startsWith("#"))!;

const GEO = "/v1/ip-intel/geolocate/";
const REP = "/v1/ip-intel/reputation/";
const MAIL = "/v1/user-intel/email/";
const FULL_KEYS = [
  "city",
  "continent",
  "country",
  "location",
  "postal",
  "registered_country",
  "subdivisions",
];
const isPlace = (country: string) => (body: Record<string, unknown>) => {
  expect(Object.keys(body)).toEqual(FULL_KEYS);
  expect(body.country).toMatchObject({ iso_code: country });
};
const flags = (over: object) => (body: object) =>
  expect(body).toEqual({ is_abuser: false, is_proxy: false, is_tor_exit: false, ...over });
const code = (expected: string) => (body: object) => expect(body).toHaveProperty("code", expected);
const equals = (expected: object) => (body: object) => expect(body).toEqual(expected);

interface Row {
  readonly path: () => string;
  readonly key?: KeyName | "unknown" | "none";
  readonly init?: RequestInit;
  readonly status: number;
  readonly check: (body: Record<string, unknown>) => void;
}
const row = (
  path: string | (() => string),
  status: number,
  check: Row["check"],
  over: Pick<Row, "key" | "init"> = {},
): Row => ({ path: typeof path === "string" ? () => path : path, status, check, ...over });

const TABLE: Readonly<Record<string, Row>> = {
  "geolocate 200": row(`${GEO}81.2.69.142`, 200, isPlace("GB")),
  "geolocate 200 IPv6": row(`${GEO}2a00:1450:4009:81f::200e`, 200, (body) => {
    expect(Object.keys(body)).toEqual(FULL_KEYS);
  }),
  "geolocate 200 mapped": row(`${GEO}::ffff:81.2.69.142`, 200, isPlace("GB")),
  "geolocate 200 me by proxy": row(`${GEO}me`, 200, isPlace("GB"), {
    init: { headers: { "X-Forwarded-For": "10.9.9.9, 81.2.69.142" } },
  }),
  "geolocate 400 invalid": row(`${GEO}81.2.69`, 400, code("IP_ADDRESS_INVALID")),
  "geolocate 400 reserved": row(`${GEO}192.168.0.1`, 400, code("IP_ADDRESS_RESERVED")),
  "geolocate 400 me without proxy": row(`${GEO}me`, 400, code("IP_ADDRESS_INVALID")),
  "geolocate 400 path": row(`${GEO}%C0%AF`, 400, code("PATH_INVALID")),
  "geolocate 400 parameter": row(`${GEO}81.2.69.142?x=1`, 400, code("PARAMETER_INVALID")),
  "geolocate 400 parameter without a value": row(
    `${GEO}81.2.69.142?include=`,
    400,
    code("PARAMETER_INVALID"),
  ),
  "geolocate 200 evidence": row(`${GEO}81.2.69.142?include=evidence`, 200, (body) => {
    expect(Object.keys(body)).toEqual([...FULL_KEYS, "evidence"]);
    expect((body.evidence as unknown[])[0]).toMatchObject({ feed: "dbip-city-lite", effect: "sets" });
  }),
  "geolocate 404 evidence": row(`${GEO}4000::1?include=evidence`, 404, code("IP_ADDRESS_NOT_FOUND")),
  "geolocate 401 missing": row(`${GEO}81.2.69.142`, 401, code("KEY_MISSING"), { key: "none" }),
  "geolocate 401 unknown": row(`${GEO}81.2.69.142`, 401, code("KEY_INVALID"), { key: "unknown" }),
  "geolocate 401 revoked": row(`${GEO}81.2.69.142`, 401, code("KEY_INVALID"), { key: "revoked" }),
  "geolocate 401 expired": row(`${GEO}81.2.69.142`, 401, code("KEY_EXPIRED"), { key: "expired" }),
  "geolocate 403 scope": row(`${GEO}81.2.69.142`, 403, code("SCOPE_REQUIRED"), { key: "emailOnly" }),
  "geolocate 403 source": row(`${GEO}81.2.69.142`, 403, code("SOURCE_NOT_ALLOWED"), {
    key: "elsewhere",
    init: { headers: { "X-Forwarded-For": "8.8.8.8" } },
  }),
  "geolocate 403 without the caller": row(`${GEO}81.2.69.142`, 403, code("CALLER_UNKNOWN"), { key: "here" }),
  "geolocate 404": row(`${GEO}4000::1`, 404, code("IP_ADDRESS_NOT_FOUND")),
  "geolocate 405": row(`${GEO}81.2.69.142`, 405, code("METHOD_NOT_ALLOWED"), { init: { method: "POST" } }),
  "reputation 200 clean": row(`${REP}81.2.69.142`, 200, flags({})),
  "reputation 200 Tor exit": row(
    () => REP + firstLine("tor-bulk-exits.txt"),
    200,
    (body) => expect(body.is_tor_exit).toBe(true),
  ),
  "reputation 200 VPN": row(
    () => REP + firstLine("x4bnet-vpn-v4.txt").split("/")[0],
    200,
    (body) => expect(body.is_proxy).toBe(true),
  ),
  "reputation 200 abuser": row(
    () => REP + firstLine("ipsum-3.txt"),
    200,
    (body) => expect(body.is_abuser).toBe(true),
  ),
  "reputation 200 unknown": row(`${REP}4000::1`, 200, flags({})),
  "reputation 200 from an allowed network": row(`${REP}81.2.69.142`, 200, flags({}), {
    key: "here",
    init: { headers: { "X-Forwarded-For": "127.0.0.9" } },
  }),
  "reputation 200 sandbox": row(`${REP}192.0.2.6`, 200, flags({ is_tor_exit: true }), { key: "sandbox" }),
  "reputation 200 evidence": row(
    () => `${REP + firstLine("tor-bulk-exits.txt")}?include=evidence`,
    200,
    (body) => {
      expect(body.is_tor_exit).toBe(true);
      expect(body.evidence).toContainEqual(
        expect.objectContaining({
          feed: "tor-bulk-exits",
          label: "tor_exit",
          effect: "sets",
          flags: ["is_tor_exit"],
          network: `${firstLine("tor-bulk-exits.txt")}/32`,
          fetched_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        }),
      );
    },
  ),
  "reputation 200 evidence of nothing": row(
    `${REP}81.2.69.142?include=evidence`,
    200,
    equals({ is_abuser: false, is_proxy: false, is_tor_exit: false, evidence: [] }),
  ),
  "reputation 200 evidence in the sandbox": row(
    `${REP}192.0.2.8?include=evidence`,
    200,
    (body) => expect(body.evidence).toHaveLength(2),
    { key: "sandbox" },
  ),
  "reputation 400 evidence twice": row(
    `${REP}81.2.69.142?include=evidence&include=evidence`,
    400,
    code("PARAMETER_INVALID"),
  ),
  "reputation 401 before parameters": row(`${REP}81.2.69.142?x=1`, 401, code("KEY_MISSING"), { key: "none" }),
  "reputation 400 invalid": row(`${REP}1.2.3.4%2F32`, 400, code("IP_ADDRESS_INVALID")),
  "reputation 400 reserved": row(`${REP}fe80::1`, 400, code("IP_ADDRESS_RESERVED")),
  "reputation 403 sandbox": row(`${REP}203.0.113.8`, 403, code("SCOPE_REQUIRED"), { key: "sandbox" }),
  "reputation 429 sandbox": row(`${REP}203.0.113.14`, 429, code("RATE_LIMITED"), { key: "sandbox" }),
  "email 200 disposable": row(
    () => `${MAIL}jane@${firstLine("disposable-email-domains.txt")}`,
    200,
    (body) => {
      expect(body).toMatchObject({ valid: true, disposable: true });
      expect(body.providers).toContain(firstLine("disposable-email-domains.txt"));
    },
  ),
  "email 200 ordinary": row(
    `${MAIL}jane@gmail.com`,
    200,
    equals({ valid: true, disposable: false, providers: [] }),
  ),
  "email 200 relay": row(
    `${MAIL}jane@duck.com`,
    200,
    equals({ valid: true, disposable: false, providers: [] }),
  ),
  "email 200 broken": row(`${MAIL}jane`, 200, equals({ valid: false, disposable: false, providers: [] })),
  "email 200 with one scope": row(
    `${MAIL}jane@gmail.com`,
    200,
    equals({ valid: true, disposable: false, providers: [] }),
    { key: "emailOnly" },
  ),
  "email 200 evidence of a relay": row(`${MAIL}jane@duck.com?include=evidence`, 200, (body) => {
    expect(body).toMatchObject({ valid: true, disposable: false, providers: [] });
    expect(body.evidence).toContainEqual(expect.objectContaining({ label: "relay", domain: "duck.com" }));
  }),
  "email 400 evidence of everything": row(
    `${MAIL}jane@gmail.com?include=everything`,
    400,
    code("PARAMETER_INVALID"),
  ),
  "email 400 path": row(`${MAIL}%FF@x.org`, 400, code("PATH_INVALID")),
  "email 401": row(`${MAIL}jane@gmail.com`, 401, code("KEY_MISSING"), { key: "none" }),
  "email 404 two segments": row(`${MAIL}a/b@gmail.com`, 404, code("PATH_NOT_FOUND")),
  "status 200": row("/v1/status", 200, (body) => {
    expect(body).toMatchObject({ missing: [], refused_release: null });
    expect((body.feeds as unknown[]).length).toBeGreaterThan(10);
  }),
  "status 400": row("/v1/status?include=evidence", 400, code("PARAMETER_INVALID")),
  "status 401": row("/v1/status", 401, code("KEY_MISSING"), { key: "none" }),
  "healthz 200": row("/healthz", 200, equals({ status: "alive" }), { key: "none" }),
  "readyz 200": row("/readyz", 200, equals({ status: "ready" }), { key: "none" }),
  "nothing 404": row("/v2/status", 404, code("PATH_NOT_FOUND")),
};

function send(
  running: RunningServer,
  { path, key = "good", init = {} }: Row,
  method = "GET",
): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = key === "none" ? undefined : key === "unknown" ? NOBODYS : tokens.get(key);
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  return fetch(`http://127.0.0.1:${running.port}${path()}`, { method, ...init, headers });
}

describe("the HTTP contract", () => {
  beforeAll(async () => {
    const dataDir = await realRelease();
    await makeKeys(dataDir);
    server = await start(dataDir, ["127.0.0.1/32", "10.0.0.0/8"]);
    const empty = temporaryFolder();
    bare = await start(empty, []);
  });
  afterAll(async () => {
    await server.stop();
    await bare.stop();
  });

  test.each(Object.entries(TABLE))("%s", async (_, row) => {
    const response = await send(server, row);
    expect(response.status).toBe(row.status);
    expect(response.headers.get("x-request-id")).toMatch(/^\w{10}$/);
    const isProblem = row.status >= 400;
    const type = isProblem ? "application/problem+json" : "application/json";
    expect(response.headers.get("content-type")).toBe(type);
    const body = (await response.json()) as Record<string, unknown>;
    if (isProblem) expect(body.request_id).toBe(response.headers.get("x-request-id"));
    row.check(body);
  });

  const mirrored = Object.entries(TABLE).filter(([, { init }]) => init?.method === undefined);
  test.each(mirrored)("HEAD %s", async (_, row) => {
    const get = await send(server, row);
    const head = await send(server, row, "HEAD");
    expect(head.status).toBe(get.status);
    expect(await head.text()).toBe("");
    for (const name of [
      "content-type",
      "cache-control",
      "etag",
      "vary",
      "www-authenticate",
      "inkling-data-version",
    ]) {
      expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
    const { date } = Object.fromEntries(head.headers);
    expect(Math.abs(Date.parse(date!) - Date.now())).toBeLessThan(60_000);
  });

  test("a matching If-None-Match: 304", async () => {
    const first = await send(server, TABLE["geolocate 200"]!);
    const etag = first.headers.get("etag")!;
    const again = row(`${GEO}81.2.69.142`, 304, () => {}, { init: { headers: { "If-None-Match": etag } } });
    const response = await send(server, again);
    expect(response.status).toBe(304);
    expect(await response.text()).toBe("");
    expect(response.headers.get("etag")).toBe(etag);
  });

  test("429: rate, then quota", async () => {
    const limited = row(`${REP}81.2.69.142`, 429, () => {}, { key: "slow" });
    expect((await send(server, limited)).status).toBe(200);
    const response = await send(server, limited);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(100);
    expect(await response.json()).toMatchObject({ code: "RATE_LIMITED" });
    const spent = row(`${REP}81.2.69.142`, 429, () => {}, { key: "spent" });
    expect((await send(server, spent)).status).toBe(200);
    const over = await send(server, spent);
    expect(over.status).toBe(429);
    expect(await over.json()).toMatchObject({ code: "QUOTA_EXCEEDED" });
    expect(over.headers.get("ratelimit")).toContain('"daily";r=0;');
  });

  test("503: a server without a release is alive, not ready, and has no answers", async () => {
    const alive = await send(bare, TABLE["healthz 200"]!);
    expect(alive.status).toBe(200);
    const ready = await send(bare, TABLE["readyz 200"]!);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: "not ready", reasons: ["no release of data is loaded"] });
  });
});
