// Compares the order of sources with an oracle that looks up every address in every source.

import { describe, expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import type { Place } from "../place/place.ts";
import { preferPlaces } from "./place-preference.ts";
import type { PlaceSource } from "./place-source.ts";

type Row = readonly [network: string, city: string | undefined];

/** Builds a source of networks in address order. A row without a city only has the registered country. */
function source(...rows: readonly Row[]): PlaceSource {
  const places: Place[] = rows.map(([, cityName]) =>
    cityName === undefined
      ? { subdivisions: [], registeredCountryCode: "DE" }
      : { subdivisions: [], cityName },
  );
  return {
    places,
    walk(family, visit) {
      rows.forEach(([network], id) => {
        const { address, bits } = parsePrefix(network)!;
        const [w0, w1, w2, w3] = address.words as unknown as [number, number, number, number];
        if (address.family === family) visit(w0, w1, w2, w3, bits, id);
      });
    },
  };
}

/** Lists the addresses where the answer changes: "192.0.2.0 Oxford (0)", … */
function shown(merged: PlaceSource, family: 4 | 6): string[] {
  const { starts, values, length } = merged.cover!(family);
  return Array.from({ length }, (_, i) => {
    const words = [...starts.subarray(i * (family === 4 ? 1 : 4), (i + 1) * (family === 4 ? 1 : 4))];
    const start =
      family === 4
        ? [24, 16, 8, 0].map((bits) => (words[0]! >>> bits) & 255).join(".")
        : words.map((w) => w.toString(16)).join(":");
    const id = values[i]! - 1;
    return id < 0 ? `${start} -` : `${start} ${merged.places.at(id)!.cityName} (${merged.feedOf!(id)})`;
  });
}

describe("each network has the place of the first source that has one", () => {
  const first = source(
    ["192.0.2.64/26", "Oxford"],
    ["198.51.100.0/24", undefined],
    ["2001:db8:8000::/33", "Paris"],
  );
  const second = source(["192.0.2.0/24", "Berlin"], ["198.51.100.0/25", "Rome"], ["2001:db8::/32", "Kyoto"]);
  const third = source(["192.0.0.0/16", "Bonn"]);
  test("IPv4: inside a wider one, beside it, and where the first knows only the registry", () => {
    expect(shown(preferPlaces([first, second, third]), 4)).toEqual([
      "0.0.0.0 -",
      "192.0.0.0 Bonn (2)",
      "192.0.2.0 Berlin (1)",
      "192.0.2.64 Oxford (0)",
      "192.0.2.128 Berlin (1)",
      "192.0.3.0 Bonn (2)",
      "192.1.0.0 -",
      "198.51.100.0 Rome (1)",
      "198.51.100.128 -",
    ]);
  });
  test("IPv6", () => {
    expect(shown(preferPlaces([first, second]), 6)).toEqual([
      "0:0:0:0 -",
      "20010db8:0:0:0 Kyoto (1)".replace("20010db8", (0x20010db8).toString(16)),
      `${(0x20010db8).toString(16)}:80000000:0:0 Paris (0)`,
      `${(0x20010db9).toString(16)}:0:0:0 -`,
    ]);
  });
  test("preferred only in some networks: elsewhere after the next source, but before none", () => {
    const [one, two] = [
      source(["192.0.2.0/24", "Oxford"], ["192.0.4.0/24", "Leeds"]),
      source(["192.0.2.0/25", "Berlin"], ["192.0.2.128/25", "Bonn"]),
    ];
    const areas = source(["192.0.2.64/26", "any"]);
    expect(shown(preferPlaces([one, two, third], new Map([[one, areas]])), 4)).toEqual([
      "0.0.0.0 -",
      "192.0.0.0 Bonn (2)",
      "192.0.2.0 Berlin (1)",
      "192.0.2.64 Oxford (0)",
      "192.0.2.128 Bonn (1)",
      "192.0.3.0 Bonn (2)",
      "192.1.0.0 -",
    ]);
    expect(shown(preferPlaces([one, two], new Map([[one, areas]])), 4)).toContain("192.0.4.0 Leeds (0)");
  });
  test("the order decides", () => {
    expect(shown(preferPlaces([second, first]), 4)).toContain("192.0.2.0 Berlin (0)");
    expect(shown(preferPlaces([second, first]), 4).join()).not.toContain("Oxford");
  });
});

test("one source is returned as it is; no sources, no places", () => {
  const one = source(["192.0.2.0/24", "Berlin"]);
  expect(preferPlaces([one])).toBe(one);
  expect(preferPlaces([]).places).toHaveLength(0);
});

test("random networks: every address has the place of the first source that has one", () => {
  let compared = 0;
  let fromSecond = 0;
  let random = 7;
  const next = (below: number) => {
    random = (random * 48271) % 2147483647;
    return random % below;
  };
  for (let round = 0; round < 40; round++) {
    const make = (name: string) => {
      const rows: Row[] = [];
      for (let at = 0; at < 256; ) {
        const bits = Math.min(at === 0 ? 8 : 31 - Math.clz32(at & -at), next(6));
        if (next(3) > 0)
          rows.push([`192.0.2.${at}/${32 - bits}`, next(5) === 0 ? undefined : `${name}${at}`]);
        at += 1 << bits;
      }
      return { rows, source: source(...rows) };
    };
    const [a, b] = [make("a"), make("b")];
    const merged = preferPlaces([a.source, b.source]);
    const { starts, values, length } = merged.cover!(4);
    for (let octet = 0; octet < 256; octet++) {
      const address = 0xc0000200 + octet;
      const rowAt = ({ rows }: typeof a) =>
        rows.find(([network]) => {
          const { address: start, bits } = parsePrefix(network)!;
          const from = start.words[0]!;
          return address >= from && address < from + 2 ** (32 - bits);
        })?.[1];
      let row = length - 1;
      while (starts[row]! > address) row--;
      const got = values[row] === 0 ? undefined : merged.places.at(values[row]! - 1)!.cityName;
      expect(got).toBe(rowAt(a) ?? rowAt(b));
      compared++;
      if (got?.startsWith("b")) fromSecond++;
    }
  }
  expect(compared).toBe(40 * 256);
  expect(fromSecond).toBeGreaterThan(1_000);
});
