// Takes MaxMind's test databases through all steps of geolocation: file -> places -> segment -> answer for an address.
// The expected answers come from MaxMind's own source data. The mapping to our format has its own test
// (maxmind-places.data.test.ts).

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  formatIp,
  formatPrefix,
  IpAddress,
  IpSegment,
  type Prefix,
  parseIp,
  prefixContains,
  specialUse,
} from "@inkling/engine";
import { openPlaces } from "../../packages/compiler/src/geo/place-source.ts";
import { readPlace } from "../../packages/compiler/src/geo/read-place.ts";
import { completePlace } from "../../packages/compiler/src/place/complete-place.ts";
import { encodePlace } from "../../packages/compiler/src/place/encode-place.ts";
import { geoTable } from "../../packages/compiler/src/segments/geo-table.ts";
import { writeSegment } from "../../packages/compiler/src/segments/segment-writer.ts";
import { VECTORS } from "../harness/data-folders.ts";

interface Row {
  readonly network: Prefix;
  readonly answer: string;
}

/** Parses a network. MaxMind writes IPv4 networks in its IPv6 trees as "::1.2.3.0/120". */
function readNetwork(text: string): Prefix {
  const [address = "", bits = ""] = text.split("/");
  const parsed = parseIp(address)!;
  const w = parsed.words;
  if (parsed.family === 6 && Number(bits) >= 96 && w[0] === 0 && w[1] === 0 && w[2] === 0) {
    const ipv4 = new IpAddress();
    ipv4.words[0] = w[3]!;
    return { address: ipv4, bits: Number(bits) - 96 };
  }
  return { address: parsed, bits: Number(bits) };
}

/** Returns the first and last address of a network. */
function edges({ address, bits }: Prefix): IpAddress[] {
  const last = new IpAddress();
  last.family = address.family;
  for (let k = 0; k < (address.family === 4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    last.words[k] = kept === 32 ? address.words[k]! : address.words[k]! | (0xffffffff >>> kept);
  }
  return [address, last];
}

function answerOf(segment: IpSegment, address: IpAddress): string {
  const bytes = segment.answer(segment.record(address));
  return bytes === undefined ? "" : new TextDecoder().decode(bytes);
}

for (const name of ["GeoLite2-City-Test", "GeoIP2-City-Test"]) {
  const database = join(VECTORS, `maxmind-db/test-data/${name}.mmdb`);
  const sourceData = join(VECTORS, `maxmind-db/source-data/${name}.json`);
  describe(`${name} as a segment`, () => {
    const source: Record<string, unknown>[] = JSON.parse(readFileSync(sourceData, "utf8"));
    const rows = source
      .flatMap((entry) => Object.entries(entry))
      .map(
        ([network, record]): Row => ({
          network: readNetwork(network),
          answer: encodePlace(completePlace(readPlace(record))),
        }),
      );
    const table = geoTable(openPlaces([readFileSync(database)]), undefined, {
      feeds: { places: [name] },
      progress: () => {},
      collectGarbage: () => {},
    });
    const segment = IpSegment.open(writeSegment("geo", table.sections, {}), "geo");

    test("verifies", () => segment.verify());

    test("has the answer of MaxMind's source data at both ends of every network", () => {
      let checked = 0;
      for (const row of rows) {
        for (const address of edges(row.network)) {
          // If networks contain each other, the longest prefix answers.
          const holders = rows.filter((other) => prefixContains(other.network, address));
          const closest = holders.reduce((a, b) => (b.network.bits >= a.network.bits ? b : a));
          const got = answerOf(segment, address);
          expect(`${formatIp(address)} of ${formatPrefix(row.network)}: ${got}`).toBe(
            `${formatIp(address)} of ${formatPrefix(row.network)}: ${closest.answer}`,
          );
          checked++;
        }
      }
      expect(checked).toBeGreaterThan(400);
    });

    test("an IPv6 address that contains an IPv4 address has that one's answer", () => {
      let checked = 0;
      for (const { network, answer } of rows.filter((row) => row.network.address.family === 4)) {
        const mapped = parseIp(`::ffff:${formatIp(network.address)}`)!;
        expect(mapped.family).toBe(4);
        if (specialUse(mapped) !== undefined) continue;
        expect(answerOf(segment, mapped)).toBe(answer);
        checked++;
      }
      expect(checked).toBeGreaterThan(10);
    });
  });
}
