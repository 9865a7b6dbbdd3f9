// Tests the network segment: reads the facts, prefixes and evidence of addresses back through the engine.

import { describe, expect, test } from "bun:test";
import { INCLUDE, IpSegment, OptIns, parseIp, parsePrefix } from "@inkling/engine";
import type { NetworkClaims } from "../catalog/claims.ts";
import { readAsnCsv } from "../parse/asn.ts";
import { networkTable } from "./network-table.ts";
import { writeSegment } from "./segment-writer.ts";

const ASNS = readAsnCsv([
  Buffer.from(
    [
      '1.1.0.0,1.1.255.255,13335,"Cloudflare, Inc."',
      "8.8.8.0,8.8.8.255,15169,Google LLC",
      "128.32.0.0,128.32.255.255,25,University of California at Berkeley",
      "2606:4700::,2606:4700:ffff:ffff:ffff:ffff:ffff:ffff,64000,Some Ltd",
      "",
    ].join("\n"),
  ),
]);
const claim = (feed: string, label: NetworkClaims["label"], ...networks: string[]): NetworkClaims => ({
  feed,
  subject: label === "relay" || label === "hosting" ? label : "guard",
  label,
  networks: networks.map((text) => parsePrefix(text)!),
});
const CLAIMS = [
  claim("resolvers", "public_resolver", "1.1.1.0/24", "9.9.9.9"),
  claim("relays", "relay", "2606:4700:100::/48"),
  claim("fronts", "cdn", "2606:4700::/32"),
  claim("open", "listed_resolver", "128.32.0.1"),
];

const segment = IpSegment.open(
  writeSegment("network", networkTable("asn", ASNS, CLAIMS).sections, {}),
  "network",
);
const at = (text: string) => {
  const address = parseIp(text)!;
  const facts = JSON.parse(new TextDecoder().decode(segment.lookup(address)));
  return { ...facts, bits: segment.networkBits(address) };
};
const NONE = { kind: "unknown", shared: false, services: [] };

test("it verifies", () => expect(() => segment.verify()).not.toThrow());

describe("facts", () => {
  test.each([
    [
      "128.32.0.1",
      { ...NONE, asn: 25, organization: "University of California at Berkeley", kind: "education", bits: 16 },
    ],
    ["8.8.8.8", { ...NONE, asn: 15169, organization: "Google LLC", kind: "hosting", bits: 24 }],
    [
      "1.1.1.1",
      {
        ...NONE,
        asn: 13335,
        organization: "Cloudflare, Inc.",
        kind: "hosting",
        services: ["resolver"],
        bits: 24,
      },
    ],
    ["1.1.2.1", { ...NONE, asn: 13335, organization: "Cloudflare, Inc.", kind: "hosting", bits: 23 }],
    ["9.9.9.9", { ...NONE, services: ["resolver"], bits: 32 }],
    ["203.1.1.1", { ...NONE, bits: 8 }],
    [
      "2606:4700:100::1",
      {
        ...NONE,
        asn: 64000,
        organization: "Some Ltd",
        kind: "hosting",
        shared: true,
        services: ["cdn", "relay"],
        bits: 48,
      },
    ],
    [
      "2606:4700:f000::1",
      { ...NONE, asn: 64000, organization: "Some Ltd", kind: "hosting", services: ["cdn"], bits: 33 },
    ],
  ])("%s", (text, facts) => expect(at(text)).toEqual(facts as never));
});

test("evidence: the feed of the number, of each service, and the rule of the kind", () => {
  const evidenceOf = (text: string) => {
    const address = parseIp(text)!;
    const release = { network: segment, evidence: { network: [], reputation: [] } };
    const answer = new TextEncoder().encode('{"is_proxy":false}');
    const include = INCLUDE.network | INCLUDE.evidence;
    const body = new OptIns().addToAddress(answer, "reputation", address, release as never, include);
    return JSON.parse(new TextDecoder().decode(body)).evidence;
  };
  const system = {
    feed: "asn",
    label: "autonomous_system",
    effect: "fills",
    fields: ["network.asn", "network.organization"],
  };
  expect(evidenceOf("128.32.0.1")).toEqual([
    { ...system, network: "128.32.0.0/16" },
    {
      feed: "inkling",
      label: "education",
      effect: "fills",
      fields: ["network.kind"],
      why: 'the rule for names with "universit*"',
    },
  ]);
  expect(evidenceOf("2606:4700:100::1")).toEqual([
    { ...system, network: "2606:4700:100::/48" },
    {
      feed: "fronts",
      label: "cdn",
      effect: "fills",
      fields: ["network.kind", "network.services"],
      network: "2606:4700::/32",
    },
    {
      feed: "relays",
      label: "relay",
      effect: "fills",
      fields: ["network.shared", "network.services"],
      network: "2606:4700:100::/48",
    },
  ]);
  expect(evidenceOf("203.1.1.1")).toEqual([]);
});
