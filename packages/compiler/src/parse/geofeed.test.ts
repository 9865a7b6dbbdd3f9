// Tests what a geofeed states, in every form that operators write.

import { describe, expect, test } from "bun:test";
import { formatPrefix } from "@inkling/engine";
import { parseGeofeed } from "./geofeed.ts";

const parse = (text: string) => parseGeofeed(new TextEncoder().encode(text));

/** Formats each network as "192.0.2.0/24 US OH Columbus", with "-" for parts that are not stated. */
function shown(text: string): string[] {
  const { stated } = parse(text);
  return stated.networks.map((network, i) => {
    const {
      country = "-",
      foreignRegion,
      region = foreignRegion ? `(${foreignRegion})` : "-",
      city = "-",
      postal = "",
    } = stated.places[stated.placeOf[i]!]!;
    return `${formatPrefix(network)} ${country} ${region} ${city} ${postal}`.trim();
  });
}

describe("places of a geofeed", () => {
  test.each([
    ["everything stated", "192.0.2.0/24,US,US-OH,Columbus,", ["192.0.2.0/24 US OH Columbus"]],
    ["IPv6, one address", "2001:db8::7,DE,,Bonn,", ["2001:db8::7/128 DE - Bonn"]],
    ["no comma after the city", "192.0.2.0/24,FR,FR-IDF,Paris", ["192.0.2.0/24 FR IDF Paris"]],
    ["a postal code", "192.0.2.0/24,US,,Dayton,45402", ["192.0.2.0/24 US - Dayton 45402"]],
    ["a postal code with letters", "192.0.2.0/24,GB,,London,ec1a 1bb", ["192.0.2.0/24 GB - London EC1A 1BB"]],
    ["no postal code", "192.0.2.0/24,US,,Dayton,Ohio", ["192.0.2.0/24 US - Dayton"]],
    ["too long for a postal code", "192.0.2.0/24,US,,Dayton,45402-12345", ["192.0.2.0/24 US - Dayton"]],
    ["quotes", '"192.0.2.0/24","US","US-DC","Washington, D.C.",""', ["192.0.2.0/24 US DC Washington, D.C."]],
    [
      "CRLF, a byte-order mark, spaces",
      "\ufeff192.0.2.0/24, BE , , Brussels ,\r\n",
      ["192.0.2.0/24 BE - Brussels"],
    ],
    ["CR", "192.0.2.0/25,BE,,A,\r192.0.2.128/25,BE,,B,\r", ["192.0.2.0/25 BE - A", "192.0.2.128/25 BE - B"]],
    [
      "a header and one line",
      "prefix,country,region,city,postal\n192.0.2.0/24,BE,,A,",
      ["192.0.2.0/24 BE - A"],
    ],
    [
      "a quoted header after comments",
      '# ours\n\n"IP Prefix","Alpha2 code","Region","City"\n192.0.2.0/24,BE,,A,',
      ["192.0.2.0/24 BE - A"],
    ],
    ["a range", "192.0.2.0 - 192.0.2.2,BE,,A,", ["192.0.2.0/31 BE - A", "192.0.2.2/32 BE - A"]],
    ["6to4", "2002:5ee4:d400::/40,DE,DE-BE,Berlin,", ["94.228.212.0/24 DE BE Berlin"]],
    [
      "NAT64 and mapped",
      "64:ff9b::500:203,DE,,A,\n::ffff:5.0.3.0/120,DE,,A,",
      ["5.0.2.3/32 DE - A", "5.0.3.0/24 DE - A"],
    ],
    ["Teredo", "2001:0:4136:e378:8000:63bf:34ff:8e00/120,DE,,A,", ["203.0.113.0/24 DE - A"]],
    ["lower case", "192.0.2.0/24,au,au-nsw,Sydney,", ["192.0.2.0/24 AU NSW Sydney"]],
    ["UK for GB", "192.0.2.0/24,UK,UK-ENG,London,", ["192.0.2.0/24 GB ENG London"]],
    ["UK with a region of GB", "192.0.2.0/24,uk,GB-ENG,London,", ["192.0.2.0/24 GB ENG London"]],
    ["not to be located", "192.0.2.0/24,,,,", ["192.0.2.0/24 - - -"]],
    ["a city without a country is no place", "192.0.2.0/24,,,Paris,", ["192.0.2.0/24 - - -"]],
    ["a region of another country", "192.0.2.0/24,PR,US-PR,San Juan,", ["192.0.2.0/24 PR (US-PR) San Juan"]],
    ["a region without its country", "192.0.2.0/24,US,OH,Columbus,", ["192.0.2.0/24 US - Columbus"]],
    ["a region by name", "192.0.2.0/24,US,US-Ohio,Columbus,", ["192.0.2.0/24 US - Columbus"]],
    ["a city that is damage", `192.0.2.0/24,US,,${"x".repeat(201)},`, ["192.0.2.0/24 US - -"]],
    ["the first of two lines counts", "192.0.2.0/24,US,,A,\n192.0.2.0/24,GB,,B,", ["192.0.2.0/24 US - A"]],
    [
      "sorted, the wider network first",
      "198.51.100.0/24,US,,A,\n192.0.2.64/26,GB,,B,\n192.0.2.0/24,US,,A,",
      ["192.0.2.0/24 US - A", "192.0.2.64/26 GB - B", "198.51.100.0/24 US - A"],
    ],
  ])("%s", (_name, text, want) => expect(shown(text)).toEqual(want));

  test("each place is held once", () => {
    const { stated } = parse("192.0.2.0/25,US,,A,\n192.0.2.128/25,US,,A,\n198.51.100.0/24,US,,B,\n");
    expect(stated.places).toEqual([
      { country: "US", city: "A" },
      { country: "US", city: "B" },
    ]);
    expect([...stated.placeOf]).toEqual([0, 0, 1]);
  });

  test("more places than the segment has room for are refused", () => {
    const cities = (count: number) =>
      Array.from({ length: count }, (_, i) => `192.0.2.1,US,,${i},\n`).join("");
    expect(parse(cities(200_000)).stated.places).toHaveLength(200_000);
    expect(() => parse(cities(200_001))).toThrow("states more than 200000 different places");
  });

  test("a range of any size", () => {
    const { networks } = parse("2600:380:F510::1 - 2600:380:F51F:FFFF:FFFF:FFFF:FFFF:FFFE,US,,A,\n");
    const total = networks.reduce((sum, { bits }) => sum + (1n << BigInt(128 - bits)), 0n);
    expect(networks.length).toBe(166);
    expect(total).toBe((1n << 84n) - 2n);
  });

  const GOOD = Array.from({ length: 20 }, (_, i) => `198.51.100.${i}/32,US,,A,`).join("\n");
  test.each([
    ["a second header", `${GOOD}\nprefix,country,region,city,postal`, /^has a country that is not/],
    ["a word for a network", "anywhere,US,,Dayton,", /^is not an address or a network$/],
    ["host bits", "192.0.2.1/24,US,,Dayton,", /^has host bits set: use 192\.0\.2\.0\/24$/],
    ["a range that goes down", "192.0.2.9-192.0.2.1,US,,Dayton,", /^is not an address range/],
    ["all of 6to4", "2002::/16,US,,Dayton,", /^2002::\/16 contains IPv4 addresses in IPv6/],
    ["a country by name", "192.0.2.0/24,United States,,Dayton,", /^has a country that is not/],
    ["a quote that is not closed", '192.0.2.0/24,US,,"Dayton,', /^is not a geofeed line/],
    ["too few fields", "192.0.2.0/24,US", /^is not a geofeed line/],
  ])("%s is skipped, counted and never quoted", (_name, line, reason) => {
    const parsed = parse(`${line}\n${GOOD}\n`);
    expect(parsed.networks).toHaveLength(20);
    expect(parsed.skippedCount).toBe(1);
    const at = line.split("\n").length;
    expect(parsed.skipped[0]).toEqual({ line: at, reason: expect.stringMatching(reason) });
    expect(JSON.stringify(parsed.skipped)).not.toContain("Dayton");
  });

  test.each([
    "# AWS (AS16509) Geofeed, lastupdated (rfc3339): 2026-08-22T16:53:12+00:00",
    "# last updated: 2026-08-22T16:53:12Z",
  ])("its date: %s", (comment) =>
    expect(parse(`${comment}\n${GOOD}\n`).publishedAt).toEqual(new Date("2026-08-22T16:53:12Z")),
  );
});
