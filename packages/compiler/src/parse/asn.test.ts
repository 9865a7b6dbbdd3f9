// Tests autonomous systems from tables of ranges and from an MMDB.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatIp, formatPrefix, IpAddress } from "@inkling/engine";
import { writeMmdb } from "../../test/mmdb-writer.ts";
import { type AsnNetworks, networksOfSystems, readAsnCsv, readAsnMmdb } from "./asn.ts";
import { parseOperatorSystems } from "./own-lists.ts";

const SAMPLE = readFileSync(join(import.meta.dir, "../../fixtures/feeds/asn.csv"));
const csv = (...lines: string[]) => readAsnCsv([Buffer.from(lines.map((line) => `${line}\n`).join(""))]);

function rows(source: AsnNetworks): string[] {
  const found: string[] = [];
  for (const family of [4, 6] as const) {
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      const address = new IpAddress();
      address.family = family;
      address.words.set(family === 4 ? [w0] : [w0, w1, w2, w3]);
      const { asn, organization } = source.systems[id]!;
      found.push(`${formatIp(address)}/${bits} ${asn} ${organization}`);
    });
  }
  return found;
}

describe("ranges", () => {
  test("the sample: networks in address order, without numbers that no one announces", () => {
    const source = readAsnCsv([SAMPLE]);
    expect(source.networks).toEqual({ 4: 7, 6: 2 });
    expect(rows(source)).toEqual([
      "1.1.1.0/24 13335 Cloudflare, Inc.",
      "8.8.8.0/24 15169 Google LLC",
      "18.32.0.0/11 16509 Amazon.com, Inc.",
      "66.249.64.0/19 15169 Google LLC",
      "81.2.64.0/18 20712 Andrews & Arnold Ltd",
      "128.32.0.0/16 25 University of California at Berkeley",
      "217.160.0.0/16 8560 IONOS SE",
      "2001:4860::/32 15169 Google LLC",
      "2606:4700::/32 13335 Cloudflare, Inc.",
    ]);
  });
  test("a range that is no network, the ends of the space, neighbours", () => {
    const source = csv(
      "0.0.0.0,0.0.0.2,1,A",
      "0.0.0.3,0.0.0.3,2,B",
      "255.255.255.255,255.255.255.255,3,C",
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,4,D",
    );
    expect(rows(source)).toEqual([
      "0.0.0.0/31 1 A",
      "0.0.0.2/32 1 A",
      "0.0.0.3/32 2 B",
      "255.255.255.255/32 3 C",
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127 4 D",
    ]);
  });
  test("of two that overlap the first has what both hold", () => {
    const many = Array.from({ length: 20 }, (_, i) => `10.${i}.0.0,10.${i}.255.255,9,X`);
    const source = csv("1.0.0.0,1.0.1.255,1,A", "1.0.1.0,1.0.2.255,2,B", "1.0.0.0,1.0.0.255,3,C", ...many);
    expect(rows(source).slice(0, 2)).toEqual(["1.0.0.0/23 1 A", "1.0.2.0/24 2 B"]);
  });
  test("a number with two names is two systems, however they alternate", () => {
    const source = csv("1.0.0.0,1.0.0.255,1,A", "2.0.0.0,2.0.0.255,1,B", "3.0.0.0,3.0.0.255,1,A");
    expect(rows(source)).toEqual(["1.0.0.0/24 1 A", "2.0.0.0/24 1 B", "3.0.0.0/24 1 A"]);
    expect(source.systems).toHaveLength(2);
  });
  test.each([
    ["out of order", ["2.0.0.0,2.0.0.255,1,A", "1.0.0.0,1.0.0.255,1,A"]],
    ["another form", ["network,asn", "1.0.0.0/24,13335"]],
    ["two families in a range", ["1.0.0.0,2001:db8::1,1,A"]],
    ["an end before its start", ["1.0.0.9,1.0.0.1,1,A"]],
  ])("a file that is %s is refused", (_, lines) => expect(() => csv(...lines)).toThrow(/unusable entries/));
  test("every truncated sample is refused or gives part of its networks", () => {
    const all = new Set(rows(readAsnCsv([SAMPLE])));
    let refused = 0;
    for (let length = 0; length < SAMPLE.length; length++) {
      try {
        const part = rows(readAsnCsv([SAMPLE.subarray(0, length)]));
        expect(part.filter((row) => !all.has(row)).length).toBeLessThanOrEqual(1);
      } catch (error) {
        expect(error).toHaveProperty("name", "FeedError");
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(100);
  });
});

test("an MMDB: records of other systems' numbers are left out, names are cleaned", () => {
  const record = (asn: unknown, name?: unknown) => ({
    autonomous_system_number: asn,
    autonomous_system_organization: name,
  });
  const file = writeMmdb({
    ipVersion: 6,
    recordSize: 24,
    networks: [
      ["::8.8.8.0/120", record(15169, " Google\u0000  LLC ")],
      ["::9.0.0.0/104", record(64512, "private")],
      ["::11.0.0.0/104", record({ toString: 1 }, "no number")],
      ["2001:4860::/32", record(15169, "-")],
    ],
  });
  const source = readAsnMmdb([file]);
  expect(rows(source)).toEqual(["8.8.8.0/24 15169 Google LLC", "2001:4860::/32 15169 undefined"]);
});

describe("systems of VPN operators", () => {
  test("the networks of the listed systems, and no other", () => {
    const networks = networksOfSystems(readAsnCsv([SAMPLE]), new Set([13335, 25, 7]));
    expect(Array.from(networks, ([asn, of]) => [asn, of.map(formatPrefix)])).toEqual([
      [13335, ["1.1.1.0/24", "2606:4700::/32"]],
      [25, ["128.32.0.0/16"]],
    ]);
  });
  test("the list of ours can be read, and a wrong row is named", () => {
    const own = readFileSync(join(import.meta.dir, "../../data/vpn-systems.csv"));
    expect(parseOperatorSystems(own).size).toBeGreaterThan(10);
    const read = (...rows: string[]) =>
      parseOperatorSystems(Buffer.from(["asn,operator,source", ...rows].join("\n")));
    expect([...read("136787,A B (A Holding),https://x.org")]).toEqual([[136787, "A B"]]);
    expect(() => read("136787,A,https://x.org", "136787,B,https://x.org")).toThrow("line 3");
    expect(() => read("AS1,A,https://x.org")).toThrow("line 2");
    expect(() => read("1,A,http://x.org")).toThrow("https://");
  });
});
