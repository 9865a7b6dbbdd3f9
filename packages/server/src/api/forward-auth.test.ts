// Tests /v1/forward-auth as a function of a request: who the visitor is, who passes, what is charged, and what the
// headers contain. test/scenarios/server/documented-config.test.ts runs the server behind nginx, Caddy and HAProxy.

import { describe, expect, test } from "bun:test";
import { NO_FLAGS } from "@inkling/contract";
import { formatIp, parsePrefix, type Release } from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import { basicAsBearer, bearerToken } from "@inkling/store/keys/token";
import { checkResponse } from "../../../../test/harness/checked-fetch.ts";
import { testSettings } from "../../../../test/harness/server-options.ts";
import {
  encode,
  KEY,
  type Over,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { App } from "./app.ts";

const PATH = "/v1/forward-auth";
const FLAGS = NO_FLAGS;
const PLACE = '{"city":{},"continent":{},"country":{"iso_code":"GB"},"location":{}}';

/** Reputation by address. The data contains no other address. */
const KNOWN: Readonly<Record<string, object>> = {
  "185.220.101.1": { ...FLAGS, is_tor_exit: true },
  "185.220.101.2": { ...NO_FLAGS, is_abuser: true, is_proxy: true, is_tor_exit: true },
  "81.2.69.142": FLAGS,
};

function release(over: Partial<Release> = {}) {
  const segment = (answer: (known: object) => string) =>
    testSegment({
      countryOf: () => "GB",
      lookup: (address) => {
        const known = KNOWN[formatIp(address)];
        return known && encode(answer(known));
      },
    });
  const parts = {
    geo: segment(() => PLACE),
    reputation: segment((known) => JSON.stringify(known)),
    evidence: { geolocate: [], reputation: [], email: [], network: [] },
  };
  return testRelease("20260601T000000000Z-0123456789ab", { id: "0123456789ab", ...over }, parts);
}

interface Setting extends Over {
  readonly key?: Partial<Key>;
  readonly peer?: string;
  readonly used?: number;
}

function setUp({ key: over, peer = "127.0.0.1", used, ...setting }: Setting = {}) {
  const key: Key = { ...KEY, ...over };
  const { services, ...seen } = testServices(
    {
      release: release(),
      trustedProxies: [parsePrefix("127.0.0.0/8")!],
      authenticate: (header) => {
        const token = bearerToken(header);
        if (token === "good") return { ok: true, key };
        return { ok: false, code: token === undefined ? "KEY_MISSING" : "KEY_INVALID" };
      },
      ...setting,
    },
    (_, counted) => `${counted}`,
    used,
  );
  const app = new App(services);
  /** @param visitor the address that the proxy sends; undefined if it sends none */
  const judge = async (visitor: string | undefined, query = "", init: RequestInit = {}) => {
    const headers = {
      Authorization: "Bearer good",
      ...(visitor !== undefined && { "X-Forwarded-For": visitor }),
      ...(init.headers as Record<string, string>),
    };
    const request = new Request(`http://test${PATH}${query}`, { ...init, headers });
    const response = await app.handle(request, { requestIP: () => ({ address: peer }) });
    const { method = "GET" } = init;
    if (method === "GET") await checkResponse(method, PATH, response);
    const text = await response.text();
    const code = text === "" ? undefined : JSON.parse(text).code;
    const shown = (name: string) => response.headers.get(`Inkling-${name}`);
    return {
      status: response.status,
      code,
      flags: shown("Flags"),
      country: shown("Country"),
      dataState: shown("Data-State"),
      all: JSON.stringify([...response.headers, text]),
      headers: response.headers,
    };
  };
  return { judge, services, ...seen };
}

const TOR = "185.220.101.1";
const CLEAN = "81.2.69.142";

describe("what passes", () => {
  const rows: [
    visitor: string,
    query: string,
    status: number,
    code: string | undefined,
    flags: string | null,
  ][] = [
    [CLEAN, "?deny=tor,abuser,proxy", 200, undefined, "none"],
    ["8.8.8.8", "?deny=tor,abuser,proxy", 200, undefined, "none"],
    [TOR, "?deny=tor", 403, "VISITOR_DENIED", "tor"],
    [TOR, "?deny=abuser,tor", 403, "VISITOR_DENIED", "tor"],
    [TOR, "?deny=abuser,proxy", 200, undefined, "tor"],
    [TOR, "", 200, undefined, "tor"],
    ["::ffff:185.220.101.1", "?deny=tor", 403, "VISITOR_DENIED", "tor"],
    ["2002:b9dc:6501::1", "?deny=tor", 403, "VISITOR_DENIED", "tor"],
    ["185.220.101.2", "?deny=proxy", 403, "VISITOR_DENIED", "abuser,proxy,tor"],
    // special-use addresses: nothing is looked up
    ["10.1.2.3", "?deny=tor,abuser,proxy", 200, undefined, "reserved"],
    ["fd00::1", "?deny=tor", 200, undefined, "reserved"],
    ["127.0.0.1", "?deny=tor", 200, undefined, "reserved"],
    // the visitor or the value of `deny` is invalid
    ["unknown", "?deny=tor", 400, "IP_ADDRESS_INVALID", null],
    ["", "?deny=tor", 400, "IP_ADDRESS_INVALID", null],
    [CLEAN, "?deny=", 400, "PARAMETER_INVALID", null],
    [CLEAN, "?deny=is_tor_exit", 400, "PARAMETER_INVALID", null],
    [CLEAN, "?deny=tor&deny=proxy", 400, "PARAMETER_INVALID", null],
    [CLEAN, "?deny=tor,tor", 400, "PARAMETER_INVALID", null],
    [CLEAN, "?include=evidence", 400, "PARAMETER_INVALID", null],
  ];
  test.each(rows)("%s %s", async (visitor, query, status, code, flags) => {
    const found = await setUp().judge(visitor, query);
    expect([found.status, found.code, found.flags]).toEqual([status, code, flags]);
  });

  test("every method: some proxies pass on the visitor's", async () => {
    const { judge } = setUp();
    for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"]) {
      expect((await judge(TOR, "?deny=tor", { method })).status).toBe(403);
      expect((await judge(CLEAN, "?deny=tor", { method })).status).toBe(200);
    }
  });

  test("the connection ends with a long body, which is not read", async () => {
    const { judge } = setUp();
    const closing = async (visitor: string, length: number) => {
      const init = { method: "POST", headers: { "Content-Length": String(length) } };
      return (await judge(visitor, "?deny=tor", init)).headers.get("Connection");
    };
    for (const visitor of [CLEAN, TOR])
      expect([await closing(visitor, 100_000), await closing(visitor, 100)]).toEqual(["close", null]);
  });

  test("200 has no body, and no cache keeps it unless configured to", async () => {
    const { headers } = await setUp().judge(CLEAN);
    expect([headers.get("Content-Type"), headers.get("Cache-Control")]).toEqual([null, "no-store"]);
  });

  test("neither headers nor the body nor the log have the address", async () => {
    const { judge, services, lines } = setUp();
    for (const query of ["", "?deny=tor"]) expect((await judge(TOR, query)).all).not.toContain("185.220");
    services.log.flush();
    expect(lines.join("")).toContain(`"route":"${PATH}"`);
    expect(lines.join("")).not.toContain("185.220");
  });
});

describe("the visitor", () => {
  test("is the one that the trusted proxy reports, whatever the visitor forged", async () => {
    const { judge } = setUp();
    expect((await judge(`${CLEAN}, ${TOR}`, "?deny=tor")).status).toBe(403);
    expect((await judge(`${TOR}, ${CLEAN}`, "?deny=tor")).status).toBe(200);
    expect((await judge(`${TOR}, 127.0.0.2`, "?deny=tor")).status).toBe(403);
  });

  test("is unknown if the proxy is not trusted or sends no visitor: its own address is not judged", async () => {
    const refused = { status: 400, code: "IP_ADDRESS_INVALID", flags: null };
    expect(await setUp({ peer: CLEAN }).judge(TOR)).toMatchObject(refused);
    expect(await setUp({ trustedProxies: [] }).judge(TOR)).toMatchObject(refused);
    expect(await setUp().judge(undefined)).toMatchObject(refused);
  });

  test("the networks of a key are those of the proxy", async () => {
    const key = { networks: [parsePrefix("127.0.0.0/8")!] };
    expect((await setUp({ key }).judge(CLEAN)).status).toBe(200);
    const visitors = { networks: [parsePrefix("81.2.69.0/24")!] };
    const refused = await setUp({ key: visitors }).judge(CLEAN);
    expect(refused.code).toBe("SOURCE_NOT_ALLOWED");
    expect(refused.all).toContain("the server checks the proxy's address, not the visitor's");
  });

  test("the networks of a key are those of the proxy that asks through another", async () => {
    const key = { networks: [parsePrefix("127.0.0.2/32")!] };
    expect((await setUp({ key }).judge(`${CLEAN}, 127.0.0.2`)).status).toBe(200);
    expect((await setUp({ key }).judge(CLEAN)).code).toBe("SOURCE_NOT_ALLOWED");
    // a visitor that pretends to be that proxy
    expect((await setUp({ key }).judge(`127.0.0.2, ${CLEAN}`)).code).toBe("SOURCE_NOT_ALLOWED");
  });
});

describe("missing data", () => {
  const missing = (...names: Release["missing"]) => release({ missing: names });
  test("of a flag that decides is 503 in serve, and a header in up", async () => {
    const setting = { release: missing("is_tor_exit") };
    const refused = await setUp(setting).judge(CLEAN, "?deny=tor,abuser");
    expect(refused).toMatchObject({ status: 503, code: "DATA_NOT_LOADED", flags: null });
    expect(refused.all).toContain("is_tor_exit");
    expect(refused.all).not.toContain("is_abuser");
    const dataState = 'partial; missing="is_tor_exit"';
    expect(await setUp(setting).judge("10.1.2.3", "?deny=tor")).toMatchObject({
      status: 200,
      flags: "reserved",
    });
    const passed = { status: 200, flags: "none", dataState };
    expect(
      await setUp({ ...setting, settings: testSettings({ allowMissing: true }) }).judge(CLEAN, "?deny=tor"),
    ).toMatchObject(passed);
  });
  test("of other flags is a header", async () => {
    const setting = { release: missing("is_proxy") };
    const dataState = 'partial; missing="is_proxy"';
    expect(await setUp(setting).judge(TOR, "?deny=tor")).toMatchObject({ status: 403, dataState });
    expect(await setUp(setting).judge(CLEAN)).toMatchObject({ status: 200, dataState });
  });
  test("no release, and none with reputation, is 503 in both", async () => {
    for (const allowMissing of [false, true]) {
      const without = { ...release(), reputation: undefined };
      for (const release of [undefined, without]) {
        expect((await setUp({ settings: testSettings({ allowMissing }), release }).judge(CLEAN)).code).toBe(
          "DATA_NOT_LOADED",
        );
      }
    }
  });
});

describe("what it costs", () => {
  test("one lookup of reputation, passed or denied; none where nothing was looked up", async () => {
    const { judge, recorded, counts } = setUp();
    await judge(CLEAN, "?deny=tor");
    await judge(TOR, "?deny=tor");
    expect(recorded).toEqual(["reputation", "reputation"]);
    for (const visitor of ["10.1.2.3", "unknown", undefined]) await judge(visitor, "?deny=tor");
    await judge(CLEAN, "?deny=x");
    expect(recorded).toHaveLength(2);
    // this count shows the operator that the proxy sends addresses of proxies
    expect(new Map(counts.problemRows()).get("IP_ADDRESS_RESERVED")).toBe(1);
    expect([...counts.requestRows()].map(({ route }) => route)).toContain(PATH);
  });

  test("the country is there for keys with that scope, and not charged", async () => {
    const { judge, recorded } = setUp();
    expect((await judge(TOR, "?deny=tor")).country).toBe("GB");
    expect((await judge("8.8.8.8")).country).toBe("unknown");
    expect(recorded).toEqual(["reputation", "reputation"]);
    expect((await setUp({ key: { scopes: ["reputation"] } }).judge(TOR)).country).toBe("unknown");
  });

  test("a key without the scope is refused; so is one whose quota is spent", async () => {
    expect((await setUp({ key: { scopes: ["geolocate"] } }).judge(CLEAN)).code).toBe("SCOPE_REQUIRED");
    expect((await setUp({ key: { quota: 3 }, used: 3 }).judge(CLEAN)).code).toBe("QUOTA_EXCEEDED");
  });
});

test("a sandbox key judges the addresses of the sandbox, and no others", async () => {
  const { judge } = setUp({ key: { mode: "test" }, release: undefined });
  const rows: [visitor: string, status: number, code: string | undefined, flags: string | null][] = [
    ["192.0.2.1", 200, undefined, "none"],
    ["192.0.2.6", 403, "VISITOR_DENIED", "tor"],
    ["2001:db8::6", 403, "VISITOR_DENIED", "tor"],
    ["192.0.2.5", 200, undefined, "proxy"],
    ["203.0.113.17", 503, "DATA_NOT_LOADED", null],
    ["10.0.0.1", 200, undefined, "reserved"],
    ["8.8.8.8", 422, "SANDBOX_VALUE_REQUIRED", null],
  ];
  for (const [visitor, status, code, flags] of rows) {
    expect([visitor, await judge(visitor, "?deny=tor,abuser")]).toMatchObject([
      visitor,
      { status, code, flags },
    ]);
  }
  expect((await judge("192.0.2.1")).country).toBe("GB");
});

describe("Basic authentication", () => {
  const basic = (pair: string) => ({ headers: { Authorization: `Basic ${btoa(pair)}` } });
  test("is the other way to send a key here", async () => {
    const { judge } = setUp();
    expect((await judge(TOR, "?deny=tor", basic("any:good"))).status).toBe(403);
    expect((await judge(TOR, "?deny=tor", basic("good:bad"))).code).toBe("KEY_INVALID");
    expect((await judge(TOR, "?deny=tor", { headers: { Authorization: "" } })).code).toBe("KEY_MISSING");
  });
  test.each([
    ["Basic YTpr", "Bearer k"],
    ["basic  YTpr", "Bearer k"],
    [`Basic ${btoa(":k")}`, "Bearer k"],
    [`Basic ${btoa("a:k:l")}`, "Bearer k:l"],
    [`Basic ${btoa("a:")}`, "Bearer "],
    [`Basic ${btoa("a")}`, `Basic ${btoa("a")}`],
    ["Basic !", "Basic !"],
    ["Bearer YTpr", "Bearer YTpr"],
    ["", ""],
    [null, null],
  ])("%s", (header, bearer) => expect(basicAsBearer(header)).toBe(bearer));
});
