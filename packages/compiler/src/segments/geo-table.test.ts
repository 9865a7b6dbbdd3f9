// Tests the order of the geo segment's records: first the record for "nothing known", then the records that most
// addresses have.

import { describe, expect, test } from "bun:test";
import { NETWORK_KINDS } from "@inkling/contract";
import { IpSegment, type Prefix, parseIp, parsePrefix } from "@inkling/engine";
import type { NetworkKind } from "../catalog/claims.ts";
import { completePlace } from "../place/complete-place.ts";
import { geoTable } from "./geo-table.ts";
import { writeSegment } from "./segment-writer.ts";

/** Builds an IPv4 segment in which the answer for each place is the place's name. The places are in address order. */
function segmentOf(rows: readonly (readonly [network: string, city: string])[]): IpSegment {
  const networks = rows.map(([network]): Prefix => parsePrefix(network)!);
  const { sections } = geoTable(
    {
      places: rows.map(([, cityName]) => ({ cityName, subdivisions: [] })),
      walk: (family, visit) => {
        if (family === 6) return;
        networks.forEach(({ address, bits }, id) => {
          visit(address.words[0]!, 0, 0, 0, bits, id);
        });
      },
    },
    undefined,
    {
      feeds: { places: ["test"] },
      progress: () => {},
      collectGarbage: () => {},
    },
  );
  const segment = IpSegment.open(Uint8Array.from(writeSegment("geo", sections, {})), "geo");
  segment.verify();
  return segment;
}

describe("records of places", () => {
  const segment = segmentOf([
    ["1.0.0.0/24", "small"],
    ["2.0.0.0/8", "middle"],
    ["4.0.0.0/32", "single"],
    ["64.0.0.0/2", "large"],
    ["128.0.0.0/1", "large"],
  ]);

  test.each([
    ["9.9.9.9", 0, undefined],
    ["200.1.1.1", 1, "large"],
    ["2.1.1.1", 2, "middle"],
    ["1.0.0.9", 3, "small"],
    ["4.0.0.0", 4, "single"],
  ])("%s has number %d, by how many addresses share it", (text, number, city) => {
    const address = parseIp(text)!;
    expect(segment.record(address)).toBe(number);
    const answer = segment.lookup(address);
    expect(answer && JSON.parse(new TextDecoder().decode(answer)).city.name).toBe(city);
  });
});

/** Builds a segment with one German city of 16 million addresses, whose networks are of these kinds. */
function segmentOfKinds(
  rows: readonly (readonly [network: string, kind: NetworkKind, size?: "small"])[],
  feed = "test",
): IpSegment {
  const networks = rows.map(([network, kind, size]) => ({
    ...parsePrefix(network)!,
    id: NETWORK_KINDS.indexOf(kind) + (size === "small" ? NETWORK_KINDS.length : 0),
  }));
  const city = {
    cityName: "A",
    countryCode: "DE",
    latitude: 50.1,
    longitude: 8,
    subdivisions: [{ name: "Hesse" }],
  };
  const { sections } = geoTable(
    { places: [city], walk: (family, visit) => family === 4 && visit(2 << 24, 0, 0, 0, 8, 0) },
    undefined,
    {
      feeds: { places: [feed] },
      progress: () => {},
      collectGarbage: () => {},
    },
    [],
    {
      walk: (family, visit) => {
        if (family === 6) return;
        for (const { address, bits, id } of networks) visit(address.words[0]!, 0, 0, 0, bits, id);
      },
    },
  );
  return IpSegment.open(Uint8Array.from(writeSegment("geo", sections, {})), "geo");
}

test("a place has a radius for each kind of network, kinds of one radius one answer", () => {
  const segment = segmentOfKinds([
    ["2.1.0.0/16", "hosting"],
    ["2.2.0.0/16", "isp"],
    ["2.3.0.0/16", "unknown"],
    ["2.4.0.0/16", "business"],
  ]);
  const answer = (text: string): number =>
    JSON.parse(new TextDecoder().decode(segment.lookup(parseIp(text)!))).location.accuracy_radius;
  const record = (text: string) => segment.record(parseIp(text)!);
  const radius = (networkKind?: NetworkKind) =>
    completePlace({
      cityName: "A",
      countryCode: "DE",
      latitude: 50,
      longitude: 8,
      subdivisions: [],
      density: "10000000",
      networkKind,
    }).accuracyRadius;
  expect(radius("hosting")).not.toBe(radius("isp"));
  expect(radius("unknown")).toBe(radius("isp")); // so both share the answer that is created first
  expect(answer("2.1.1.1")).toBe(radius("hosting")!);
  expect(record("2.2.1.1")).toBe(record("2.3.1.1"));
  expect(answer("2.2.1.1")).toBe(radius("isp")!);
  expect(answer("2.4.1.1")).toBe(radius("business")!);
  expect(answer("2.0.1.1")).toBe(radius()!);
});

test.each([
  ["dbip-city-lite", "2.1.1.1", "A", "HE", "Europe/Berlin", "sets"],
  ["dbip-city-lite", "2.2.1.1", undefined, undefined, "Europe/Berlin", "its city is left out"], // one zone in all of DE
  ["dbip-city-lite", "2.3.1.1", "A", "HE", "Europe/Berlin", "sets"],
  ["dbip-city-lite", "2.4.1.1", undefined, undefined, "Europe/Berlin", "its city is left out"],
  ["another", "2.2.1.1", "A", "HE", "Europe/Berlin", "sets"],
])(
  "%s, %s: a city is named only where such cities are more often right",
  (feed, address, city, region, zone, why) => {
    const rows = [
      ["2.1.0.0/16", "hosting"],
      ["2.2.0.0/16", "isp"],
      ["2.3.0.0/16", "unknown", "small"],
      ["2.4.0.0/16", "isp", "small"],
    ] as const;
    const segment = segmentOfKinds(rows, feed);
    const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
    const answer = JSON.parse(text(segment.lookup(parseIp(address)!)));
    expect([answer.city.name, answer.subdivisions[0]?.iso_code]).toEqual([city, region]);
    expect(answer.country).toEqual({ iso_code: "DE", name: "Germany" });
    expect(answer.location).toMatchObject({ latitude: 50.1, longitude: 8, time_zone: zone });
    expect(answer.location.accuracy_radius).toBeGreaterThan(0);
    expect(text(segment.evidence(parseIp(address)!))).toContain(why);
  },
);
