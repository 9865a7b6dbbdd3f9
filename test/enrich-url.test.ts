// `inkling enrich --url` against a real server: the same bytes as with the release at hand, and the errors when the
// server will not answer.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NO_FLAGS } from "@inkling/contract";
import { type NewKey, openStore, parseNewKey, type RunningServer, startServer } from "@inkling/server";
import { runHere } from "../packages/cli/src/program.testing.ts";
import { fetch } from "./checked-fetch.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";
import { freshToken } from "./tokens.ts";

const KEY: NewKey = parseNewKey({ name: "enrich", rate: 0 }, Date.now());
const KEYS = {
  good: {},
  revoked: {},
  noPlaces: { scopes: ["reputation", "email"] },
  few: { quota: 3 },
  fast: { rate: 1_000_000, burst: 1_000_000 },
  paced: { rate: 1_000, burst: 2 },
  sandbox: { mode: "test" },
} as const satisfies Record<string, Partial<NewKey>>;
type KeyName = keyof typeof KEYS;

const dataDir = temporaryFolder();
const tokens = {} as Record<KeyName, string>;
const nobodys = freshToken();
let server: RunningServer;
let url: string;

beforeAll(async () => {
  const asn = {
    id: "asn",
    sets: "network",
    source: "mirror",
    state: "loaded",
    entries: 3,
    licence: "CC0",
  } as const;
  smallRelease(dataDir, 1, [], [asn], true);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  for (const [name, over] of Object.entries(KEYS) as [KeyName, Partial<NewKey>][]) {
    const { key, token } = await store.createKey({ ...KEY, ...over });
    tokens[name] = token;
    if (name === "revoked") await store.revokeKey(key.id);
  }
  await store.close();
  server = await startServer({
    ...testServerOptions(dataDir),
    writeLog: () => {},
  });
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.stop());

function file(name: string, text: string): string {
  const path = join(dataDir, name);
  writeFileSync(path, text);
  return path;
}

const here = (...args: string[]) =>
  runHere(["enrich", ...args], { env: { INKLING_DATA_DIR: dataDir }, cwd: dataDir });
const there = (key: string | undefined, ...args: string[]) =>
  runHere(["enrich", ...args], { env: key === undefined ? {} : { INKLING_API_KEY: key }, cwd: dataDir });

/** More than three blocks of rows: known and unknown addresses, none, private ones, broken rows, mail. */
function manyRows(): string {
  const rows = ["when,ip,mail"];
  for (let i = 0; i < 90_000; i++) {
    const ip = [`81.2.69.${i % 256}`, `8.8.${i % 200}.${i % 7}`, "10.0.0.1", "", "nonsense", "2001:db8::1"][
      i % 6
    ];
    const mail = [`a${i}@disposable-${i % 9}.com`, "b@gmail.com", "", "broken", "ü@exämple.org"][i % 5];
    rows.push(`2026-06-01T00:00:00Z,${ip},${mail}`);
  }
  return `${rows.join("\n")}\n`;
}

describe("the same as with the release at hand", () => {
  test.each<[name: string, text: string, more: string[]]>([
    ["many.csv", manyRows(), ["--add", "all"]],
    ["few.tsv", "ip\tmail\n81.2.69.142\ta@disposable-1.com\n8.8.8.8\t\n", []],
    [
      "networks.csv",
      "ip,mail\n81.2.69.1,a@x.com\n81.2.70.200,\n81.2.70.1,\n8.8.8.8,\n10.0.0.1,\n81.2.69.1,\n",
      ["--network"],
    ],
    [
      "several.csv",
      `src,dst ip,mail\n${'81.2.69.1,"81.2.70.200",a@disposable-1.com\n8.8.8.8,81.2.69.1,\n81.2.69.1\n10.0.0.1,,b@x.com\n'.repeat(9)}`,
      ["--ip-column", "dst ip", "--ip-column", "1", "--email-column", "mail", "--network"],
    ],
    [
      "several.ndjson",
      '{"a":{"src":"81.2.69.1"},"dst":"81.2.70.200"}\n{}\n{"dst":"81.2.69.1"}\n',
      ["--ip-column", "a.src", "--ip-column", "dst", "--add", "all"],
    ],
    ["only-networks.csv", "ip,c\n81.2.69.1,GB\n81.2.70.200,\n", ["--add", "network_asn,network_kind"]],
    ["rows.ndjson", '{"ip":"81.2.69.142"}\n{"ip":\n{}\n{"ip":"10.1.1.1"}\n', []],
    ["any.log", '10.1.1.1 via 81.2.69.142:443 - "GET /"\nno address\n', ["--format", "text"]],
    [
      "access.log",
      `${'81.2.69.142 - - [22/Nov/2026:10:00:00 +0000] "GET /" 200 5\n'.repeat(2)}broken 81.2.69.1\n`,
      [],
    ],
    ["w3c.log", "#Fields: c-ip sc-bytes\n81.2.69.142\t5\n8.8.8.8\t\n81.2.69.1\n", []],
  ])("%s", async (name, text, more) => {
    const path = file(name, text);
    const [own, remote] = [join(dataDir, `own-${name}`), join(dataDir, `remote-${name}`)];
    const first = await here(path, "--out", own, ...more);
    const second = await there(tokens.good, path, "--url", url, "--out", remote, ...more);
    const remarks = second.err.replace(/^about .*\n/m, "");
    expect([second.code, remarks, second.out]).toEqual([first.code, first.err, first.out]);
    expect(first.code).toBe(0);
    expect(readFileSync(remote).equals(readFileSync(own))).toBe(true);
    expect(readFileSync(own, "utf8")).toContain("GB");
    const summaries = [
      await here(path, "--summary", ...more),
      await there(tokens.good, path, "--url", url, "--summary", ...more),
    ];
    expect(summaries[1]!.out).toBe(summaries[0]!.out);
  });

  test("several columns of one file: each distinct value is one lookup, in one run of requests", async () => {
    const path = file(
      "flows.csv",
      `src,dst,mail\n${Array.from({ length: 300 }, (_, i) => `81.2.69.${i % 200},81.2.${69 + (i % 2)}.${i % 250},a${i % 9}@x.com\n`).join("")}`,
    );
    const addresses = new Set(
      readFileSync(path, "utf8")
        .split("\n")
        .slice(1, -1)
        .flatMap((row) => row.split(",").slice(0, 2)),
    );
    const bodies: [path: string, values: string[]][] = [];
    const proxy = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = await request.text();
        if (request.method === "POST")
          bodies.push([pathname.split("/").at(-1)! + search, body.trim().split("\n")]);
        return await fetch(`${url}${pathname}${search}`, {
          method: request.method,
          headers: { ...request.headers.toJSON(), "accept-encoding": "identity" },
          ...(body !== "" && { body }),
        });
      },
    });
    const columns = ["--ip-column", "src", "--ip-column", "dst", "--email-column", "mail", "--network"];
    const { code, out, err } = await there(
      tokens.good,
      path,
      "--url",
      `http://127.0.0.1:${proxy.port}`,
      ...columns,
      "--summary",
      "--json",
    );
    await proxy.stop(true);
    expect([code, err]).toEqual([0, expect.stringContaining("IP addresses in src and dst, email")]);
    expect(bodies.map(([path, values]) => [path, new Set(values).size, values.length]).sort()).toEqual([
      ["email", 9, 9],
      ["geolocate", addresses.size, addresses.size],
      ["reputation?include=network", addresses.size, addresses.size],
    ]);
    const { ip, email } = JSON.parse(out);
    expect([ip.src.found, ip.dst.found, email.found]).toEqual([300, 300, 300]);
    expect(Object.keys(ip.src.countries)).toEqual(["GB"]);
  });

  test("what a long run will take, before it begins", async () => {
    const path = file("long.csv", manyRows());
    const { err } = await there(
      tokens.fast,
      path,
      "--url",
      url,
      "--summary",
      "--add",
      "city_name,disposable",
    );
    const found =
      /^about (.+) rows, up to (.+) lookups in (\d+) requests, at most 1 s at the rate of the key$/m;
    const [rows, lookups, requests] = found
      .exec(err)!
      .slice(1)
      .map((text) => Number(text.replaceAll(",", "")));
    expect(Math.abs(rows! - 90_000)).toBeLessThan(9_000);
    expect(lookups!).toBeGreaterThan(18_000);
    expect(requests!).toBeGreaterThan(17);
    const few = await there(tokens.few, path, "--url", url, "--summary");
    expect(few.err).toContain("; the key has 3 lookups left today\n");
  });

  test("with a key that has a rate, only slower", async () => {
    const path = file("paced.csv", `ip\n${Array.from({ length: 20 }, (_, i) => `81.2.69.${i}\n`).join("")}`);
    const { code, out } = await there(tokens.paced, path, "--url", `${url}/`);
    expect([code, out]).toEqual([0, ""]);
  });
});

describe("errors when the server does not answer, without a partial file", () => {
  test.each<[what: string, key: () => string | undefined, at: () => string, exit: number, message: RegExp]>([
    [
      "an unknown key",
      () => nobodys,
      () => url,
      1,
      /\(KEY_INVALID\)[\s\S]*INKLING_API_KEY has to hold a key/,
    ],
    ["a sandbox key", () => tokens.sandbox, () => url, 1, /\(SANDBOX_VALUE_REQUIRED\)[\s\S]*ink_live_/],
    ["a revoked key", () => tokens.revoked, () => url, 1, /\(KEY_INVALID\)/],
    ["no key", () => undefined, () => url, 2, /--url needs a key[\s\S]*INKLING_API_KEY=ink_live_/],
    ["no scope", () => tokens.noPlaces, () => url, 1, /did not answer geolocate:[\s\S]*SCOPE_REQUIRED/],
    ["a quota used up", () => tokens.few, () => url, 1, /did not answer [a-z]+:[\s\S]*QUOTA_EXCEEDED/],
    ["no server", () => tokens.good, () => "http://127.0.0.1:1", 1, /cannot be reached/],
    [
      "another program",
      () => tokens.good,
      () => `http://127.0.0.1:${server.adminPort}`,
      1,
      /is not an Inkling/,
    ],
    ["a path after it", () => tokens.good, () => `${url}/v1`, 1, /PATH_NOT_FOUND/],
    ["no URL", () => tokens.good, () => "here", 2, /--url must be the server's address/],
  ])("%s", async (_, key, at, exit, message) => {
    const path = file("rows.csv", "ip\n81.2.69.142\n81.2.69.143\n8.8.8.8\n");
    const target = join(dataDir, "never.csv");
    const { code, err } = await there(key(), path, "--url", at(), "--out", target);
    expect(err).toMatch(message);
    expect(err).toMatch(/^hint: /m);
    expect(code).toBe(exit);
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(dataDir).filter((name) => name.includes("never"))).toEqual([]);
  });

  test("control codes of a server are not printed", async () => {
    const evil = "\x1b]0;pwned\x07\u202e";
    const country = { iso_code: evil };
    const place = { city: {}, continent: {}, country, location: {}, postal: {}, registered_country: {} };
    const flags = NO_FLAGS;
    const line = (answer: object) =>
      new Response(`${JSON.stringify(answer)}\n`, { headers: { "Content-Type": "application/x-ndjson" } });
    const feeds = [{ sets: "geolocation", state: "loaded", attribution: evil }];
    const odd = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url: requested }) => {
        if (requested.endsWith("/v1/status")) return Response.json({ missing: [evil], feeds });
        return line(requested.includes("geolocate") ? { ...place, subdivisions: [] } : flags);
      },
    });
    const path = file("rows.csv", "ip\n81.2.69.142\n");
    const args = ["--url", `http://127.0.0.1:${odd.port}`, "--add", "country_name", "--summary"];
    const { code, err, out } = await there(tokens.good, path, ...args);
    await odd.stop(true);
    expect(code).toBe(0);
    expect(out + err).toContain("\ufffd]0;pwned");
    for (const character of evil.replace("]0;pwned", "")) expect(out + err).not.toContain(character);
  });

  test("a server that ends in the middle", async () => {
    const half = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url: requested }) =>
        requested.endsWith("/v1/status")
          ? Response.json({ missing: [], feeds: [] })
          : new Response('{"city":', { headers: { "Content-Type": "application/x-ndjson" } }),
    });
    const path = file("rows.csv", "ip\n81.2.69.142\n");
    const target = join(dataDir, "never.csv");
    const { code, err } = await there(
      tokens.good,
      path,
      "--url",
      `http://127.0.0.1:${half.port}`,
      "--out",
      target,
    );
    await half.stop(true);
    expect(code).toBe(1);
    expect(err).toContain("never.csv was not written");
    expect(existsSync(target)).toBe(false);
  });
});
