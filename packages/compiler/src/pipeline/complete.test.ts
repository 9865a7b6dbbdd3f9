// Tests what a release lacks: answers without data, answers with a missing feed, and feeds that brought no copy.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isReputationFlag } from "@inkling/contract";
import { stateHeaders } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { type Build, build } from "./build.ts";

const ANY = { least: 0, most: 1_000_000 };
const feed = (id: string): Feed => {
  const { optIn: _, ...row } = FEEDS.find((one) => one.id === id)!;
  return { ...row, entries: ANY };
};
const withoutSeed = (id: string): Feed => {
  const { seed: _, ...row } = feed(id);
  return row;
};
/** A list in the mirror for each of these feeds. */
const LISTS: Readonly<Record<string, string>> = {
  "tor-bulk-exits": "5.2.67.226\n",
  "x4bnet-vpn-v4": "45.66.100.0/24\n",
  "monosans-proxies": '[{"host":"45.66.101.7"}]',
  "mullvad-servers": '{"timestamp":1790000000,"servers":[{"ips":["45.66.102.7"]}]}',
  "ipsum-3": "45.66.103.7\n",
};
const VPN = ["x4bnet-vpn-v4", "monosans-proxies", "mullvad-servers", "surfshark-servers"];
const NOW = new Date(1_790_000_000_000);

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  mkdirSync(join(root, "mirror"));
});

const buildWith = (feeds: readonly Feed[], lists: readonly string[]): Promise<Build> => {
  for (const id of lists) writeFileSync(join(root, "mirror", `${id}.txt`), LISTS[id]!);
  const request = { dataDir: join(root, "data"), mirror: join(root, "mirror"), fetch: false };
  return build(
    { ...request, onlyDue: false, accept: [], credentials: {} },
    { now: () => NOW, emit: () => {}, chance: () => 0.5, feeds },
  );
};
/** Leaves out flags that no feed of these tests sets, because they are missing in every test. */
const isOfTests = (answer: string) =>
  FEEDS.some(({ id, sets }) => sets === answer && Object.hasOwn(LISTS, id)) || !isReputationFlag(answer);
const headerOf = ({ release }: Build) =>
  stateHeaders(
    { ...release, missing: release.missing.filter(isOfTests) },
    release.feeds,
    NOW.getTime(),
  ).reputation.plain?.replace(/; age=.*/, "");

test("all there", async () => {
  const all = ["tor-bulk-exits", "x4bnet-vpn-v4", "monosans-proxies", "mullvad-servers", "ipsum-3"];
  const made = await buildWith(all.map(feed), all);
  expect(made).toMatchObject({ held: [], failed: [], unreached: [], missing: [] });
  expect([made.release.missing.filter(isOfTests), made.release.partial]).toEqual([
    ["geolocation", "disposable"],
    [],
  ]);
  expect(headerOf(made)).toBe("complete");
});

test("a flag is incomplete without any feed that could set it, also one that only adds to others", async () => {
  const lists = ["x4bnet-vpn-v4", "monosans-proxies", "tor-bulk-exits", "ipsum-3"];
  const made = await buildWith([...VPN, "tor-bulk-exits", "ipsum-3"].map(feed), lists);
  expect(made.release.partial).toEqual([
    { answer: "is_proxy", why: "without mullvad-servers, surfshark-servers" },
  ]);
  expect(headerOf(made)).toBe('partial; incomplete="is_proxy"');
  expect(made.missing).toEqual(["mullvad-servers", "surfshark-servers"]);
});

test("a database of several labels is a source of Tor exits, too", async () => {
  const made = await buildWith(
    ["x4bnet-vpn-v4", "tor-bulk-exits", "ipsum-3", "geoip2-anonymous-ip"].map(feed),
    ["x4bnet-vpn-v4", "tor-bulk-exits", "ipsum-3"],
  );
  expect(made.release.partial.map(({ answer }) => answer)).toEqual(["is_proxy", "is_tor_exit"]);
});

test("without its main feeds a flag is missing for those who rely on it, and incomplete where a list sets it", async () => {
  const made = await buildWith([...VPN, "tor-bulk-exits", "ipsum-3"].map(feed), [
    "mullvad-servers",
    "tor-bulk-exits",
  ]);
  expect(made.release.missing.filter(isOfTests)).toEqual([
    "geolocation",
    "is_abuser",
    "is_proxy",
    "disposable",
  ]);
  expect(made.release.partial).toEqual([]);
  expect(headerOf(made)).toBe('partial; missing="is_abuser"; incomplete="is_proxy"');
});

test("a feed that only a mirror can have is not missing, nor is an expired one", async () => {
  const places = ["microsoft-geofeed", "starlink-geofeed"].map(withoutSeed);
  writeFileSync(
    join(root, "mirror", "tor-onionoo.json"),
    '{"relays_published":"2026-01-01 00:00:00","relays":[]}',
  );
  const made = await buildWith([feed("tor-bulk-exits"), feed("tor-onionoo"), ...places], ["tor-bulk-exits"]);
  expect(made).toMatchObject({ missing: ["starlink-geofeed"], expired: ["tor-onionoo"] });
  expect(made.release.partial).toEqual([{ answer: "is_tor_exit", why: "without tor-onionoo" }]);
});

describe("a build that keeps the geo segment", () => {
  const ROWS = "2|nro|20260901|1|19830613|20260901|+0000\n";
  const exits = (count: number) => Array.from({ length: count }, (_, i) => `5.2.67.${i}\n`).join("");
  const country = (code: string) => `${ROWS}arin|${code}|ipv4|5.2.64.0|4096|20100101|assigned\n`;
  const feeds = ["nro-delegated-stats", "tor-bulk-exits"].map(withoutSeed);
  const files = new Map<string, string>();
  let requested: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const name = new URL(url).pathname.slice(1);
      requested.push(name.split(".")[0]!);
      const body = files.get(name.split(".")[0]!);
      return body === undefined ? new Response("not here", { status: 404 }) : new Response(body);
    },
  });
  afterAll(() => server.stop(true));
  const buildFrom = (keepGeo: boolean) =>
    build(
      {
        dataDir: join(root, "data"),
        mirror: `http://127.0.0.1:${server.port}`,
        ...{ fetch: false, onlyDue: false, keepGeo, accept: [], credentials: {} },
      },
      { now: () => NOW, emit: () => {}, chance: () => 0.5, feeds },
    );
  const shaOf = ({ release }: Build, kind: "geo" | "reputation") => release.segments[kind]?.sha256;

  test("takes new lists, requests no feed of places, and the next build takes these", async () => {
    files.set("nro-delegated-stats", country("US")).set("tor-bulk-exits", exits(10));
    const first = await buildFrom(false);
    files.set("nro-delegated-stats", country("CA")).set("tor-bulk-exits", exits(11));
    requested = [];
    const lists = await buildFrom(true);
    expect(requested).toContain("tor-bulk-exits");
    expect(requested).not.toContain("nro-delegated-stats");
    expect(shaOf(lists, "geo")).toBe(shaOf(first, "geo")!);
    expect(shaOf(lists, "reputation")).not.toBe(shaOf(first, "reputation"));
    const all = await buildFrom(false);
    expect(shaOf(all, "geo")).not.toBe(shaOf(first, "geo"));
    expect(shaOf(all, "reputation")).toBe(shaOf(lists, "reputation")!);
  });

  test("builds the segment if there is none yet", async () => {
    files.set("nro-delegated-stats", country("US")).set("tor-bulk-exits", exits(10));
    writeFileSync(join(root, "mirror", "nro-delegated-stats.txt"), country("US"));
    const mirror = join(root, "mirror");
    const made = await build(
      {
        dataDir: join(root, "data"),
        mirror,
        fetch: false,
        onlyDue: false,
        keepGeo: true,
        accept: [],
        credentials: {},
      },
      { now: () => NOW, emit: () => {}, chance: () => 0.5, feeds },
    );
    expect(shaOf(made, "geo")).toBeString();
  });
});
