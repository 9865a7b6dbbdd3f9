import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callerAddress, isLoopback, readTrust, type TrustProxy } from "./caller-address.ts";

const VISITOR = "203.0.113.9";
const PROXY = "10.0.0.1";
const FORGED = "198.51.100.1";

describe("the caller's address", () => {
  const rows: [
    name: string,
    trust: TrustProxy,
    peer: string | undefined,
    header: string | undefined,
    address: string | undefined,
  ][] = [
    ["without a proxy", 0, VISITOR, undefined, VISITOR],
    ["a header without a trusted proxy", 0, VISITOR, FORGED, VISITOR],
    ["an empty list trusts no proxy", [], VISITOR, FORGED, VISITOR],
    ["one proxy", 1, PROXY, VISITOR, VISITOR],
    ["one proxy, and what the visitor sent himself", 1, PROXY, `${FORGED}, ${VISITOR}`, VISITOR],
    ["two proxies", 2, PROXY, `${FORGED},${VISITOR},10.0.0.2`, VISITOR],
    ["fewer entries than proxies", 3, PROXY, `${VISITOR},10.0.0.2`, VISITOR],
    ["a proxy that sends no header", 1, PROXY, undefined, PROXY],
    ["networks", ["10.0.0.0/8"], PROXY, VISITOR, VISITOR],
    ["networks, and what the visitor sent himself", ["10.0.0.0/8"], PROXY, `${FORGED}, ${VISITOR}`, VISITOR],
    ["a forged entry that looks like a proxy", ["10.0.0.0/8"], PROXY, `10.0.0.9, ${VISITOR}`, VISITOR],
    ["two trusted proxies", ["10.0.0.0/8"], PROXY, `${FORGED}, ${VISITOR}, 10.0.0.2`, VISITOR],
    ["a peer outside", ["10.0.0.0/8"], VISITOR, FORGED, VISITOR],
    ["every address is a proxy", ["10.0.0.0/8"], PROXY, "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["by name: loopback", ["loopback"], "::1", VISITOR, VISITOR],
    ["by name: private", ["private"], "172.31.255.255", VISITOR, VISITOR],
    ["by name: not a neighbour of private", ["private"], "172.32.0.0", FORGED, "172.32.0.0"],
    ["IPv4 in an IPv6 socket", ["10.0.0.0/8"], "::ffff:10.0.0.1", VISITOR, VISITOR],
    ["a mapped visitor", 0, "::ffff:203.0.113.9", undefined, VISITOR],
    ["a port", 1, PROXY, `${VISITOR}:4711`, VISITOR],
    ["IPv6 with a port", 1, PROXY, "[2001:db8::1]:4711", "2001:db8:0:0:0:0:0:1"],
    ["IPv6 without", 1, PROXY, "2001:db8::1", "2001:db8:0:0:0:0:0:1"],
    ["a zone", 0, "fe80::1%eth0", undefined, "fe80:0:0:0:0:0:0:1"],
    ["a proxy that hides the address", 1, PROXY, "unknown", undefined],
    ["an unreadable entry is not the proxy", ["10.0.0.0/8"], PROXY, `${FORGED}, _hidden`, undefined],
    ["an empty entry", 1, PROXY, `${VISITOR},`, undefined],
    ["a runtime that does not tell", 0, undefined, VISITOR, undefined],
    ["one proxy, unseen", 1, undefined, VISITOR, VISITOR],
  ];
  for (const [name, trust, peer, header, address] of rows)
    test(name, () => assert.equal(callerAddress(peer, header, readTrust(trust)), address));
});

describe("trustProxy", () => {
  const refused: unknown[] = [
    true,
    "loopback",
    -1,
    1.5,
    33,
    ["10.0.0.0/33"],
    ["10.0.0.1/8"],
    ["everybody"],
    [7],
    null,
  ];
  for (const value of refused)
    test(`refuses ${JSON.stringify(value)}`, () =>
      assert.throws(() => readTrust(value as TrustProxy), /trustProxy/));
});

describe("loopback", () => {
  for (const [address, expected] of [
    ["127.0.0.1", true],
    ["127.255.255.255", true],
    ["128.0.0.0", false],
    ["::1", true],
    ["::2", false],
    ["nonsense", false],
  ] as const)
    test(address, () => assert.equal(isLoopback(address), expected));
});
