// Compares MaxMind's own test database of anonymous addresses with the JSON that it was built from.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix } from "@inkling/engine";
import { VECTORS } from "../../../../test/harness/data-folders.ts";
import { readAnonymous } from "./anonymous-ip.ts";

const TEST_DATABASE = join(VECTORS, "maxmind-db/test-data/GeoIP2-Anonymous-IP-Test.mmdb");
const TEST_SOURCE = join(VECTORS, "maxmind-db/source-data/GeoIP2-Anonymous-IP-Test.json");

describe("MaxMind's own test database", () => {
  test("has the networks of its source, by label", () => {
    const rows: Record<string, Record<string, boolean>>[] = JSON.parse(readFileSync(TEST_SOURCE, "utf8"));
    const vpn = rows.flatMap((row) => Object.entries(row)).filter(([, record]) => record.is_anonymous_vpn);
    const { byLabel } = readAnonymous([readFileSync(TEST_DATABASE)]);
    const networksOf = (label: string) => (byLabel.get(label as never) ?? []).map(formatPrefix);
    expect(vpn.length).toBeGreaterThan(3);
    for (const [network] of vpn.filter(([text]) => /^::[0-9.]+\/1[0-9]{2}$/.test(text))) {
      const [address, bits] = network.slice(2).split("/");
      expect(networksOf("vpn")).toContain(`${address}/${Number(bits) - 96}`);
    }
    expect(networksOf("public_proxy")).toContain("2001:480:3a::/64");
  });
});
