import assert from "node:assert/strict";
import { describe, test } from "node:test";
import table from "../../test/caller-addresses.json" with { type: "json" };
import { formatIp, parseIp } from "../ip.ts";
import { callerAddress, isLoopback, readTrust, type TrustProxy } from "./caller-address.ts";

/** The Python client and the server run the same table. */
const rows = table as readonly {
  readonly name: string;
  readonly trust: TrustProxy;
  readonly peer: string | null;
  readonly header: string | null;
  readonly address: string | null;
}[];

describe("the caller's address", () => {
  for (const { name, trust, peer, header, address } of rows)
    test(name, () => {
      const found = callerAddress(peer ?? undefined, header ?? undefined, readTrust(trust));
      assert.equal(found, address === null ? undefined : formatIp(parseIp(address)!));
    });
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
    ["10.0.0.0/08"],
    ["10.0.0.0/255.0.0.0"],
    ["::ffff:0:0/95"],
    ["::ffff:10.0.0.1/104"],
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
