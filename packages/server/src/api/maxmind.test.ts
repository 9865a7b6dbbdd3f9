// Tests /geoip/v2.1 as a function of a request: answers and errors in MaxMind's format, and Basic authentication, which
// only this path accepts. test/scenarios/application/maxmind-sdk.test.ts sends requests with MaxMind's own SDK.

import { describe, expect, test } from "bun:test";
import { formatIp } from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import { Keyring } from "@inkling/store/keys/keyring";
import { hashToken } from "@inkling/store/keys/token";
import { checkResponse } from "../../../../test/harness/checked-fetch.ts";
import { keyUpdate } from "../../../../test/harness/key-updates.ts";
import {
  encode,
  KEY,
  type Over,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { freshToken } from "../../../../test/harness/tokens.ts";
import { App } from "./app.ts";

const PLACE =
  '{"city":{"name":"Boxford"},"continent":{"code":"EU"},"country":{"iso_code":"FR"},"location":{"latitude":1.5},"postal":{},"registered_country":{},"subdivisions":[]}';
const FACTS = '{"asn":64500,"organization":"Café","kind":"isp","shared":false,"services":[]}';

function release() {
  const segment = (text: string, bits: number) =>
    testSegment({
      lookup: (address) => (formatIp(address) === "81.2.69.142" ? encode(text) : undefined),
      networkBits: () => bits,
    });
  const parts = {
    geo: segment(PLACE, 20),
    reputation: segment("", 0),
    network: segment(FACTS, 24),
    evidence: { geolocate: [], reputation: [], email: [], network: [] },
  };
  return testRelease("20260601T000000000Z-0123456789ab", { id: "0123456789ab" }, parts);
}

const TOKEN = freshToken();

function setUp(over: Partial<Key> = {}, more: Over = {}, used = 0) {
  const key: Key = { ...KEY, ...over };
  const keyring = new Keyring();
  keyring.replace(keyUpdate("1", [{ hash: hashToken(TOKEN), key, validUntil: undefined }]));
  const { services, ...seen } = testServices(
    { release: release(), keyring, ...more },
    (_, counted) => counted,
    used,
  );
  const app = new App(services);
  const send = async (path: string, authorization: string | undefined, method = "GET") => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const request = new Request(`http://test${path}`, { method, headers });
    const response = await app.handle(request, { requestIP: () => ({ address: "81.2.69.142" }) });
    await checkResponse(method, path.split("?")[0]!, response);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
  };
  return { send, services, ...seen };
}

const CITY = "/geoip/v2.1/city/";
const COUNTRY = "/geoip/v2.1/country/";
const basic = (password: string, user = "42") => `Basic ${btoa(`${user}:${password}`)}`;
const GOOD = basic(TOKEN);

describe("answers", () => {
  test("City", async () => {
    const { status, headers, body } = await setUp().send(`${CITY}81.2.69.142`, GOOD);
    expect([status, headers.get("Content-Type")]).toEqual([
      200,
      "application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1",
    ]);
    expect(body).toEqual({
      city: { names: { en: "Boxford" } },
      continent: { code: "EU" },
      country: { is_in_european_union: true, iso_code: "FR" },
      location: { latitude: 1.5 },
      traits: {
        autonomous_system_number: 64500,
        autonomous_system_organization: "Café",
        ip_address: "81.2.69.142",
        network: "81.2.69.0/24",
      },
    });
  });
  test("Country", async () => {
    const { headers, body } = await setUp().send(`${COUNTRY}81.2.69.142`, GOOD);
    expect(headers.get("Content-Type")).toBe(
      "application/vnd.maxmind.com-country+json; charset=UTF-8; version=2.1",
    );
    expect(body).toEqual({
      continent: { code: "EU" },
      country: { is_in_european_union: true, iso_code: "FR" },
      traits: { ip_address: "81.2.69.142", network: "81.2.64.0/20" },
    });
  });
  test("me", async () => {
    const { body } = await setUp().send(`${CITY}me`, GOOD);
    expect(body.traits.ip_address).toBe("81.2.69.142");
  });
  test("of a sandbox key are those of the sandbox", async () => {
    const { send } = setUp({ mode: "test" });
    const { body } = await send(`${CITY}192.0.2.1`, GOOD);
    expect(body).toMatchObject({
      city: { names: { en: "Exampleton" } },
      subdivisions: [{ iso_code: "ENG" }, { iso_code: "OXF" }],
      traits: { autonomous_system_number: 64496, ip_address: "192.0.2.1", network: "192.0.2.0/24" },
    });
    expect((await send(`${CITY}8.8.8.8`, GOOD)).body.code).toBe("SANDBOX_VALUE_REQUIRED");
  });
  test("cost one lookup of geolocate each; so does an unknown location, and nothing else", async () => {
    const { send, recorded, counts } = setUp();
    for (const ip of ["81.2.69.142", "8.8.8.8", "10.0.0.1", "x"]) await send(CITY + ip, GOOD);
    expect(recorded).toEqual(["geolocate", "geolocate"]);
    expect([...counts.requestRows()].map(({ route }) => route)).toContain("/geoip/v2.1/city/{ip}");
  });
});

describe("errors", () => {
  const rows: [
    name: string,
    key: Partial<Key>,
    path: string,
    auth: string | undefined,
    status: number,
    code: string,
  ][] = [
    ["no address", {}, `${CITY}8.8.8`, GOOD, 400, "IP_ADDRESS_INVALID"],
    ["an unreadable path", {}, `${CITY}%FF`, GOOD, 400, "IP_ADDRESS_INVALID"],
    ["a private address", {}, `${COUNTRY}10.0.0.1`, GOOD, 400, "IP_ADDRESS_RESERVED"],
    ["an unknown location", {}, `${CITY}8.8.8.8`, GOOD, 404, "IP_ADDRESS_NOT_FOUND"],
    ["no key", {}, `${CITY}8.8.8.8`, undefined, 401, "LICENSE_KEY_REQUIRED"],
    ["an empty key", {}, `${CITY}8.8.8.8`, basic(""), 401, "LICENSE_KEY_REQUIRED"],
    ["another key", {}, `${CITY}8.8.8.8`, basic(freshToken()), 401, "AUTHORIZATION_INVALID"],
    ["no key at all", {}, `${CITY}8.8.8.8`, basic("abc"), 401, "AUTHORIZATION_INVALID"],
    ["the key as the account", {}, `${CITY}8.8.8.8`, basic("1", TOKEN), 401, "AUTHORIZATION_INVALID"],
    [
      "an expired key",
      { expiresAt: Date.UTC(2026, 5, 1, 12) },
      `${CITY}8.8.8.8`,
      GOOD,
      401,
      "AUTHORIZATION_INVALID",
    ],
    ["a key first, then the address", {}, `${CITY}x`, basic("abc"), 401, "AUTHORIZATION_INVALID"],
    ["another scope", { scopes: ["email"] }, `${CITY}8.8.8.8`, GOOD, 402, "PERMISSION_REQUIRED"],
    ["the quota", { quota: 0 }, `${CITY}8.8.8.8`, GOOD, 402, "INSUFFICIENT_FUNDS"],
    ["a parameter", {}, `${CITY}8.8.8.8?include=evidence`, GOOD, 400, "PARAMETER_INVALID"],
  ];
  test.each(rows)("%s", async (_, key, path, auth, status, code) => {
    const { status: got, headers, body } = await setUp(key).send(path, auth);
    expect([got, body.code]).toEqual([status, code]);
    expect(Object.keys(body)).toEqual(["code", "error"]);
    expect(headers.get("Content-Type")).toBe(
      "application/vnd.maxmind.com-error+json; charset=UTF-8; version=2.0",
    );
    expect(headers.get("WWW-Authenticate")).toBe(status === 401 ? 'Basic realm="inkling"' : null);
  });
  test("of the server and of the rate", async () => {
    const { status, body } = await setUp({}, { release: undefined }).send(`${CITY}8.8.8.8`, GOOD);
    expect([status, body.code]).toEqual([503, "DATA_NOT_LOADED"]);
    const slow = setUp({ rate: 0.001, burst: 1 });
    await slow.send(`${CITY}8.8.8.8`, GOOD);
    const limited = await slow.send(`${CITY}8.8.8.8`, GOOD);
    expect([limited.status, limited.body.code]).toEqual([429, "RATE_LIMITED"]);
    expect(Number(limited.headers.get("Retry-After"))).toBeGreaterThan(0);
  });
  test("of the method are problem documents, as everywhere", async () => {
    const { status, body } = await setUp().send(`${CITY}8.8.8.8`, GOOD, "POST");
    expect([status, body.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
  });
});

describe("Basic authentication", () => {
  test("opens no other path, also after it was seen here", async () => {
    const { send } = setUp();
    for (const path of [
      "/v1/ip-intel/geolocate/81.2.69.142",
      "/v1/ip-intel/reputation/8.8.8.8",
      "/v1/status",
    ]) {
      expect((await send(path, GOOD)).body.code).toBe("KEY_MISSING");
      expect((await send(`${CITY}81.2.69.142`, GOOD)).status).toBe(200);
      expect((await send(path, GOOD)).body.code).toBe("KEY_MISSING");
      expect((await send(path, `Bearer ${TOKEN}`)).status).toBe(200);
    }
  });
  test("is not the only way here", async () => {
    expect((await setUp().send(`${CITY}81.2.69.142`, `Bearer ${TOKEN}`)).status).toBe(200);
  });
  test("an access line has Inkling's own code, not MaxMind's", async () => {
    const { send, services, lines } = setUp();
    expect((await send(`${CITY}10.0.0.1`, GOOD)).body.code).toBe("IP_ADDRESS_RESERVED");
    expect((await send(`${CITY}81.2.69.142`, basic("nothing"))).body.code).toBe("AUTHORIZATION_INVALID");
    services.log.flush();
    const log = lines.join("");
    for (const code of ["IP_ADDRESS_RESERVED", "KEY_INVALID"]) expect(log).toContain(`"code":"${code}"`);
  });
  test("leaves neither key nor address in the log, also where the server fails", async () => {
    const lookup = () => {
      throw new Error(`${TOKEN} ${GOOD} 81.2.69.142`);
    };
    const broken = { ...release(), geo: testSegment({ lookup }) };
    const { send, lines } = setUp({}, { release: broken });
    const { status, body } = await send(`${CITY}81.2.69.142`, GOOD);
    expect([status, body.code]).toEqual([500, "INTERNAL"]);
    const log = lines.join("");
    expect(log).toContain("request-failed");
    for (const secret of [TOKEN, "81.2.69.142"]) expect(log).not.toContain(secret);
  });
});
