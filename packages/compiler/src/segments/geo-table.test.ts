// The order of the geo segment's records: nothing known first, then what most addresses ask for.

import { describe, expect, test } from "bun:test";
import { IpSegment, type Prefix, parsePrefix, parseUnwrapped } from "@inkling/engine";
import { geoTable } from "./geo-table.ts";
import { writeSegment } from "./segment-writer.ts";

/** A segment of places that are their own names, in address order; IPv4 alone. */
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
      complete: (place) => place,
      encode: ({ cityName }) => cityName ?? "",
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
    const address = parseUnwrapped(text)!;
    expect(segment.record(address)).toBe(number);
    const answer = segment.lookup(address);
    expect(answer && new TextDecoder().decode(answer)).toBe(city);
  });
});
