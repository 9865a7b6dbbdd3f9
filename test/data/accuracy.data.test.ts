// Compares the accuracy radius with independent locations of 492 proxies whose exits GeoLite2 has located.
// packages/compiler/accuracy-radius.md quotes the result.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IpSegment, parseIp } from "@inkling/engine";
import { publicIpv4 } from "../../bench/lib/random.ts";
import { distanceKm } from "../../packages/compiler/src/place/place.ts";
import { MIRROR, mirrorRelease } from "../harness/data-folders.ts";

interface Proxy {
  readonly exit_ip: string;
  readonly geolocation: {
    readonly city?: object;
    readonly location: { readonly latitude: number; readonly longitude: number };
  };
}

interface Compared {
  /** Does the other database name a city? If not, its coordinates are the centre of a region or country. */
  readonly isCity: boolean;
  readonly isEstimate: boolean;
  readonly radius: number | undefined;
  readonly km: number;
}

const PROXIES = join(MIRROR, "monosans-proxies.json");

async function geoSegment(): Promise<IpSegment> {
  const dataDir = await mirrorRelease();
  const name = readFileSync(join(dataDir, "current"), "utf8").trim();
  const release = JSON.parse(readFileSync(join(dataDir, "releases", `${name}.json`), "utf8"));
  const file = join(dataDir, "segments", `${release.segments.geo.sha256}.seg`);
  return IpSegment.open(Bun.mmap(file, { shared: false }), "geo");
}

function compare(segment: IpSegment, { exit_ip, geolocation }: Proxy): Compared {
  const address = parseIp(exit_ip)!;
  const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
  const { location } = JSON.parse(text(segment.lookup(address)));
  return {
    isCity: geolocation.city !== undefined,
    isEstimate: text(segment.evidence(address)).includes("location.accuracy_radius"),
    radius: location.accuracy_radius,
    km: distanceKm(location, geolocation.location),
  };
}

const within = (list: readonly Compared[]) =>
  list.filter(({ radius, km }) => radius !== undefined && km <= radius).length / list.length;
const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]!;

describe("addresses that GeoLite2 has located", () => {
  const proxies: Proxy[] = JSON.parse(readFileSync(PROXIES, "utf8"));

  test("60 to 75% lie within their radius where the other has the city; packages/compiler/accuracy-radius.md has the numbers", async () => {
    const segment = await geoSegment();
    const all = proxies.map((proxy) => compare(segment, proxy));
    const stated = all.filter(({ radius }) => radius !== undefined);
    const groups = {
      stated,
      estimates: stated.filter(({ isEstimate }) => isEstimate),
      "in a city": stated.filter(({ isCity }) => isCity),
      "not in a city": stated.filter(({ isCity }) => !isCity),
    };
    expect(stated.length / all.length).toBeGreaterThan(0.95);
    expect(groups.estimates.length).toBe(stated.length); // neither DB-IP nor the mirror states a radius
    expect(groups["in a city"].length).toBeGreaterThan(250);
    expect(within(groups["in a city"])).toBeGreaterThan(0.6);
    expect(within(groups["in a city"])).toBeLessThanOrEqual(0.75);
    // For the other addresses, the other database's coordinates are the centre of a region or country, not
    // anybody's location.
    expect(within(groups.stated)).toBeGreaterThan(0.5);

    const docs = readFileSync(join(import.meta.dir, "../../packages/compiler/accuracy-radius.md"), "utf8");
    for (const list of Object.values(groups)) {
      const [distance, radius] = [list.map(({ km }) => km), list.map((one) => one.radius!)].map(median);
      const row = `| ${list.length} | ${(100 * within(list)).toFixed(1)}% | ${radius} km | ${distance!.toFixed(0)} km |`;
      expect(docs).toContain(row);
    }
    expect(docs).toContain(`${stated.length} of the ${all.length}`);
  });
});

describe("the city", () => {
  const cityOf = (segment: IpSegment, address: string) => {
    const bytes = segment.lookup(parseIp(address)!);
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  };

  test.each([
    ["98.0.0.1", undefined], // in DB-IP, "New York" stands for ten million addresses of American ISPs
    ["107.77.1.1", undefined],
    ["73.4.5.6", "Canton"],
    ["108.6.5.4", "New York"], // Verizon's geofeed
    ["208.54.137.250", "Seattle"], // T-Mobile's
    ["8.8.8.8", undefined],
  ])("%s: %p", async (address, city) => {
    expect(cityOf(await geoSegment(), address)?.city.name).toBe(city);
  });

  test("is named for more than half of all addresses, and hardly ever with a large radius", async () => {
    const segment = await geoSegment();
    const counts = { all: 0, named: 0, vague: 0 };
    for (const text of publicIpv4(20_000)) {
      const answer = cityOf(segment, text);
      counts.all++;
      if (answer?.city.name === undefined) continue;
      counts.named++;
      if (answer.location.accuracy_radius >= 300) counts.vague++;
    }
    expect(counts.named / counts.all).toBeGreaterThan(0.5);
    expect(counts.named / counts.all).toBeLessThan(0.75);
    expect(counts.vague / counts.all).toBeLessThan(0.06);
  });
});
