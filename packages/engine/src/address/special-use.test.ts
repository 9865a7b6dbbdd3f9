import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatPrefix, parseIp, SPECIAL_USE, specialUse, unwrapIpv4 } from "./ip.ts";

const USES: readonly (readonly [text: string, use: string | undefined])[] = [
  ["0.1.2.3", "this-network"],
  ["10.255.255.255", "private"],
  ["11.0.0.0", undefined],
  ["100.63.255.255", undefined],
  ["100.64.0.1", "carrier-grade NAT"],
  ["127.0.0.1", "loopback"],
  ["169.254.169.254", "link-local"],
  ["172.15.255.255", undefined],
  ["172.31.255.255", "private"],
  ["172.32.0.0", undefined],
  ["192.0.2.1", "documentation"],
  ["192.168.1.1", "private"],
  ["198.17.255.255", undefined],
  ["198.19.0.1", "benchmarking"],
  ["198.51.100.1", "documentation"],
  ["203.0.113.1", "documentation"],
  ["223.255.255.255", undefined],
  ["224.0.0.1", "multicast"],
  ["255.255.255.255", "reserved"],
  ["8.8.8.8", undefined],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["::1.2.3.4", "reserved"],
  ["64:ff9b:1::1", "local-use NAT64"],
  ["100::1", "discard-only"],
  ["2001:2::1", "IETF protocol"],
  ["2001:200::1", undefined],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["3fff:1000::", undefined],
  ["fd00::1", "private"],
  ["fe80::1", "link-local"],
  ["ff02::1", "multicast"],
  ["2606:4700:4700::1111", undefined],
  ["::ffff:10.0.0.1", "private"],
  ["::ffff:8.8.8.8", undefined],
  ["2002:a00:1::", "private"],
  ["64:ff9b::192.168.0.1", "private"],
];

describe("specialUse", () => {
  for (const [text, use] of USES) {
    test(`${text} is ${use ?? "public"}`, () => {
      const address = parseIp(text)!;
      unwrapIpv4(address);
      assert.equal(specialUse(address)?.use, use);
    });
  }

  test("each network's own first address is found, so no row is hidden by the octet table", () => {
    for (const row of SPECIAL_USE) assert.ok(specialUse(row.prefix.address), formatPrefix(row.prefix));
  });
});
