// Tests that the reputation segment returns what the policy judged, address by address, and detects damage to its
// evidence.

import { describe, expect, test } from "bun:test";
import {
  crc32,
  IpSegment,
  openSegment,
  parseIp,
  parsePrefix,
  RangeColumns,
  type SectionName,
  SegmentError,
} from "@inkling/engine";
import type { NetworkClaims } from "../catalog/claims.ts";
import { judgeNetworks } from "../policy/reputation.ts";
import { reputationSections } from "./reputation-table.ts";
import { writeSegment } from "./segment-writer.ts";

const claim = (
  feed: string,
  subject: NetworkClaims["subject"],
  label: NetworkClaims["label"],
  ...networks: string[]
): NetworkClaims => ({ feed, subject, label, networks: networks.map((text) => parsePrefix(text)!) });

const CLAIMS: readonly NetworkClaims[] = [
  claim("tor", "is_tor_exit", "tor_exit", "185.220.101.1/32", "2a0b:f4c2::1/128"),
  claim("vpn", "is_proxy", "vpn", "185.220.101.0/24", "2a0b:f4c2::/40"),
  claim("relay", "relay", "relay", "104.28.28.0/26"),
  claim("other-vpn", "is_proxy", "vpn", "104.28.0.0/16"),
];

const bytesOf = (claims: readonly NetworkClaims[]) =>
  Uint8Array.from(writeSegment("reputation", reputationSections(judgeNetworks(claims)), {}));
const whole = bytesOf(CLAIMS);

/** Returns the evidence entries as feed, effect and span. */
function evidenceOf(segment: IpSegment, text: string): string[] {
  const record = segment.evidence(parseIp(text)!);
  if (record === undefined) return [];
  const out: string[] = [];
  for (let at = 4; at < record.length; ) {
    const size = record[at + 2]! + 256 * record[at + 3]!;
    const entry = JSON.parse(`${new TextDecoder().decode(record.subarray(at + 5, at + 5 + size))}}`);
    out.push(`${entry.feed} ${entry.effect} /${record[at + 4]}`);
    at += 5 + size;
  }
  return out;
}

describe("the reputation segment", () => {
  const segment = IpSegment.open(whole, "reputation");

  test("verifies", () => segment.verify());

  test.each([
    ["185.220.101.1", ["tor sets /32", "vpn sets /24"]],
    ["185.220.101.2", ["vpn sets /24"]],
    ["185.220.102.0", []],
    ["104.28.28.1", ["other-vpn sets /16", "relay removes /26"]],
    ["104.28.28.64", ["other-vpn sets /16"]],
    ["2a0b:f4c2::1", ["tor sets /128", "vpn sets /40"]],
    ["2a0b:f4c2::2", ["vpn sets /40"]],
    ["2a0b:f4c3::", []],
  ])("%s", (text, entries) => {
    expect(evidenceOf(segment, text)).toEqual(entries);
  });

  test("the order of the claims does not change a byte", () => {
    expect(Buffer.compare(bytesOf(CLAIMS.toReversed()), whole)).toBe(0);
  });

  test("networks of a kind share their record, however many", () => {
    const many = Array.from({ length: 200 }, (_, i) => `9.9.${i}.1/32`);
    const sizeOf = (claims: readonly NetworkClaims[]) =>
      openSegment(bytesOf(claims), "reputation").u8("evidence").length;
    expect(sizeOf([claim("vpn", "is_proxy", "vpn", ...many)])).toBe(
      sizeOf([claim("vpn", "is_proxy", "vpn", "9.9.0.1/32")]),
    );
  });

  test("evidence of a network that does not hold the range is refused", () => {
    const { flags, evidence } = judgeNetworks([claim("vpn", "is_proxy", "vpn", "9.9.9.0/24")]);
    const v4 = new RangeColumns(4);
    v4.append(0, 0, 0, 0, 1);
    expect(() => reputationSections({ flags, evidence: { ...evidence, v4 } })).toThrow(
      /vpn has no network there/,
    );
  });
});

describe("damage to evidence", () => {
  const file = openSegment(whole, "reputation");
  const at = (name: SectionName) => file.u32(name).byteOffset - whole.byteOffset;
  const lastCell = file.u32("evidenceV4Nodes").length - 1; // in the node of 185.220.101.0/24, which has three cells
  const relays = 104 * 256 + 28;
  const rows: readonly [section: SectionName, index: number, value: number, place: RegExp][] = [
    [
      "evidenceV4Directory",
      0,
      0x3fffffff,
      /^evidenceV4Directory\[0\]: does not point at a record: 1073741823/,
    ],
    ["evidenceV4Directory", 0, 0x40000000, /^evidenceV4Directory\[0\]: does not point at a record/],
    ["evidenceV4Directory", relays, 0xc0000001, /^evidenceV4Nodes\[0\]: is referenced as 1, out of order/],
    ["evidenceV4Directory", relays, 0xffffffff, /^evidenceV4Nodes\[0\]: is referenced as 1073741823, out of/],
    ["evidenceV4Directory", relays, 0, /^evidenceV4Nodes\[0\]: is referenced as 4, out of order/],
    ["evidenceV4Directory", relays, 0x80000000, /^evidenceV4Nodes\[0\]: counts/],
    ["evidenceV4Directory", 65535, 0xc0000000, /^evidenceV4Nodes\[8\]: is referenced as 0, out of order/],
    ["evidenceV4Nodes", 0, 0x001d1c08, /^evidenceV4Nodes\[0\]: has 9 runs, at most 8/],
    ["evidenceV4Nodes", 0, 0x001c1c02, /^evidenceV4Nodes\[0\]: run 2 does not start after the previous one/],
    ["evidenceV4Nodes", 0, 0x001d0002, /^evidenceV4Nodes\[0\]: its second run starts at key 0/],
    ["evidenceV4Nodes", 1, 0x3fffffff, /^evidenceV4Nodes\[1\]: does not point at a record/],
    [
      "evidenceV4Nodes",
      lastCell,
      0xc0000000,
      /^evidenceV4Nodes\[\d+\]: is referenced by a node on the last level/,
    ],
    ["evidenceV4Nodes", lastCell - 3, 0x00000101, /^evidenceV4Nodes\[\d+\]: is part of no node/],
    [
      "evidenceV4Nodes",
      lastCell - 3,
      0x04030203,
      /^evidenceV4Nodes\[\d+\]: has 4 runs and runs past the end/,
    ],
    ["evidenceV6Directory", 9, 0xc0000000, /^evidenceV6Nodes\[\d+\]: is referenced as 0, out of order/],
    ["evidenceV6Nodes", 1, 0x7fffffff, /^evidenceV6Nodes\[1\]: does not point at a record/],
  ];
  test.each(rows)("%s[%d] = %d", (section, index, value, place) => {
    const bytes = whole.slice();
    new DataView(bytes.buffer).setUint32(at(section) + 4 * index, value, true);
    mend(bytes);
    const damaged = IpSegment.open(bytes, "reputation");
    for (const text of ["0.0.0.0", "104.28.28.1", "185.220.101.1", "2a0b:f4c2::1", "::2", "ffff::1"]) {
      damaged.evidence(parseIp(text)!);
      damaged.reasonBits(parseIp(text)!);
    }
    expect(() => damaged.verify()).toThrow(SegmentError);
    expect(() => damaged.verify()).toThrow(place);
  });

  test.each([
    ["evidence", "evidence"],
    ["records", "evidenceStarts"],
    ["feeds", "evidenceFeeds"],
    ["directory", "evidenceV4Directory"],
    ["nodes", "evidenceV6Nodes"],
  ] as const)("without its %s it is not opened", (_, missing) => {
    const sections = reputationSections(judgeNetworks(CLAIMS)).filter(({ name }) => name !== missing);
    const bytes = Uint8Array.from(writeSegment("reputation", sections, {}));
    expect(() => IpSegment.open(bytes, "reputation")).toThrow(`section ${missing}: is missing`);
  });
});

/** Corrects the checksums, so that the checks behind them report the damage. */
function mend(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer);
  const tableEnd = 64 + 24 * view.getUint32(24, true);
  view.setUint32(28, crc32(bytes.subarray(tableEnd)), true);
  view.setUint32(32, crc32(bytes.subarray(64, tableEnd), crc32(bytes.subarray(0, 32))), true);
}
