// Tests which networks around VPN servers are claimed, for each reason to claim one or not.

import { describe, expect, test } from "bun:test";
import { formatPrefix } from "@inkling/engine";
import { networks } from "../../test/policy-lists.ts";
import type { NetworkClaims } from "../catalog/claims.ts";
import { readAsnCsv } from "../parse/asn.ts";
import { vpnNetworks } from "./vpn-networks.ts";

const ASNS = readAsnCsv(
  [
    [
      "45.66.0.0,45.66.255.255,200001,Example Hosting",
      "45.67.0.0,45.67.255.255,200002,Example Telecom",
      "45.68.0.0,45.68.255.255,200003,Example",
      "45.69.0.0,45.69.7.255,200004,Example Servers",
    ],
    ["2a0e:1::,2a0e:1:ffff:ffff:ffff:ffff:ffff:ffff,200001,Example Hosting"],
  ].map((rows) => Buffer.from(`${rows.join("\n")}\n`)),
);
const servers = (
  provider: string,
  addresses: readonly string[],
  feed = `${provider}-servers`,
): NetworkClaims => ({
  ...{ feed, subject: "is_proxy", label: "vpn", provider },
  networks: networks(addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`)),
});
const MAJORITY = "such networks are more than half of the networks of this autonomous system";
const near = (network: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${network}${network.endsWith(":") ? "" : "."}${9 + i * 60}`);

/** Returns the claimed networks, each with its VPN and reason. */
function claimed(...claims: readonly NetworkClaims[]): string[][] {
  const found = vpnNetworks(claims, ASNS, [], ({ bits }) => bits < 16);
  return found.flatMap(({ networks: of, provider, reasons, feed, label, lineage }) => {
    expect([feed, label]).toEqual(["inkling", "vpn_network"]);
    expect(lineage).toEqual([...new Set(claims.map((one) => one.feed))]);
    return of.map((network) => [formatPrefix(network), provider!, reasons!.get(network)!]);
  });
}

describe("a network around servers", () => {
  test.each([
    ["four servers in a data centre", servers("A", near("45.66.1", 4)), "45.66.1.0/24"],
    ["four servers in a network of unknown kind", servers("A", near("45.68.1", 4)), "45.68.1.0/24"],
    ["four servers in a /48", servers("A", near("2a0e:1:2::", 4)), "2a0e:1:2::/48"],
  ])("%s", (_what, list, network) =>
    expect(claimed(list)).toEqual([
      [
        network,
        "A",
        `at least 4 of its servers are or were in this /${network.split("/")[1]} within 120 days`,
      ],
    ]),
  );
  test("three servers in a /27, and not the rest of its /24", () =>
    expect(claimed(servers("A", ["45.66.1.33", "45.66.1.50", "45.66.1.62"]))).toEqual([
      ["45.66.1.32/27", "A", "at least 3 of its servers are or were in this /27 within 120 days"],
    ]));
  test.each([
    ["three servers", [servers("A", near("45.66.1", 3))]],
    [
      "three servers of one VPN, and three of another",
      ["A", "B"].map((of) => servers(of, near("45.66.1", 3))),
    ],
    ["one server that two lists have", ["x", "y"].map((feed) => servers("A", near("45.66.1", 3), feed))],
    ["four servers at homes", [servers("A", near("45.67.1", 4))]],
    ["four servers in networks that nobody announces", [servers("A", near("45.70.1", 4))]],
    ["servers in neighbouring networks", [servers("A", [...near("45.66.1", 3), ...near("45.66.2", 3)])]],
  ])("none: %s", (_what, lists) => expect(claimed(...lists)).toEqual([]));

  test("two lists of one VPN count together", () =>
    expect(claimed(servers("A", near("45.66.1", 3), "x"), servers("A", ["45.66.1.200"], "y"))).toEqual([
      ["45.66.1.0/24", "A", "at least 4 of its servers are or were in this /24 within 120 days"],
    ]));
  test("servers that left the list count, and are not claimed themselves", () => {
    const earlier = networks(["45.66.1.200/32", "45.66.9.1/32"]);
    expect(claimed({ ...servers("A", near("45.66.1", 3)), earlier })).toEqual([
      ["45.66.1.0/24", "A", "at least 4 of its servers are or were in this /24 within 120 days"],
    ]);
  });
  test("the servers' own addresses are unchanged", () => {
    const list = servers("A", near("45.66.1", 4));
    vpnNetworks([list], ASNS, [], () => false);
    expect(formatPrefix(list.networks[0]!)).toBe("45.66.1.9/32");
  });
});

describe("a system with eight /24s", () => {
  const lists = (count: number) => [
    servers("B", near("45.69.0", 4)),
    servers("A", Array.from({ length: count }, (_, i) => near(`45.69.${i}`, 4)).flat()),
  ];
  const ofSystem = (count: number) =>
    claimed(...lists(count)).filter(([network]) => network === "45.69.0.0/21");
  test("is claimed if more than half are VPN networks", () =>
    expect(ofSystem(5)).toEqual([["45.69.0.0/21", "A, B", MAJORITY]]));
  test("is not claimed if half are", () => expect(ofSystem(4)).toEqual([]));
  test("is not claimed if it is too wide", () => {
    const found = vpnNetworks(lists(8), ASNS, [], ({ bits }) => bits < 22);
    expect(found.flatMap(({ networks: of }) => of.map(formatPrefix))).not.toContain("45.69.0.0/21");
  });
});
