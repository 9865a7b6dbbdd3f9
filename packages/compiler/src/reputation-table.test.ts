// The reputation segment: what the policy judged comes back from it, address by address; damage to its evidence.

import { describe, expect, test } from "bun:test";
import {
  crc32,
  IpSegment,
  openSegment,
  parseIp,
  parsePrefix,
  type SectionName,
  SegmentError,
} from "@inkling/engine";
import type { NetworkClaims } from "./claims.ts";
import { judgeNetworks } from "./policy/reputation.ts";
import { RangeColumns } from "./range-columns.ts";
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

/** The feeds that speak, each with its effect and span. */
function told(segment: IpSegment, text: string): string[] {
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
    expect(told(segment, text)).toEqual(entries);
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
      /vpn where it has no network/,
    );
  });
});

describe("damage to evidence", () => {
  const file = openSegment(whole, "reputation");
  const at = (name: SectionName, width: 2 | 4) =>
    (width === 2 ? file.u16(name) : file.u32(name)).byteOffset - whole.byteOffset;
  const last = (name: SectionName) => file.u32(name).length - 1;
  const rows: readonly [section: SectionName, width: 2 | 4, index: number, value: number, place: RegExp][] = [
    ["evidenceV4Values", 4, 0, 0x7fffffff, /^evidenceV4Values\[0\]: points at no record/],
    ["evidenceV4Values", 4, 0, 2, /^evidenceV4Values\[0\]: points at no record/],
    ["evidenceV4Keys", 2, 0, 7, /^evidenceV4Directory\[0\]: begins at key 7/],
    ["evidenceV4Directory", 4, 0, 1, /^evidenceV4Directory\[0\]: got 1, want 0/],
    ["evidenceV4Directory", 4, 5, 0xffffffff, /^evidenceV4Directory\[4\]: spans/],
    ["evidenceV6Directory", 4, 9, 0, /^evidenceV6Directory\[8\]: spans/],
    ["evidenceV6Keys", 4, 0, 7, /^evidenceV6Directory\[0\]: begins at key 7/],
    ["evidenceV6Values", 4, 0, 0x7fffffff, /^evidenceV6Values\[0\]: points at no record/],
    ["evidenceV6Values", 4, 0, 0x80000000, /^evidenceV6Values/],
    ["evidenceV6Values", 4, 0, 0xffffffff, /^evidenceV6Values\[0\]: names node/],
    ["evidenceV6Values", 4, last("evidenceV6Values"), 0x80000000, /^evidenceV6Values/],
  ];
  test.each(rows)("%s", (section, width, index, value, place) => {
    const bytes = whole.slice();
    const view = new DataView(bytes.buffer);
    if (width === 2) view.setUint16(at(section, 2) + 2 * index, value, true);
    else view.setUint32(at(section, 4) + 4 * index, value, true);
    mend(bytes);
    const damaged = IpSegment.open(bytes, "reputation");
    for (const text of ["0.0.0.0", "4.4.4.4", "185.220.101.1", "2a0b:f4c2::1", "::2", "ffff::1"]) {
      damaged.evidence(parseIp(text)!);
    }
    expect(() => damaged.verify()).toThrow(SegmentError);
    expect(() => damaged.verify()).toThrow(place);
  });

  test.each([
    ["evidence", "evidence"],
    ["feeds", "evidenceFeeds"],
    ["directory", "evidenceV4Directory"],
    ["nodes", "evidenceV6Nodes"],
  ] as const)("without its %s it is not opened", (_, missing) => {
    const sections = reputationSections(judgeNetworks(CLAIMS)).filter(({ name }) => name !== missing);
    const bytes = Uint8Array.from(writeSegment("reputation", sections, {}));
    expect(() => IpSegment.open(bytes, "reputation")).toThrow(`section ${missing}: is missing`);
  });
});

/** Puts the checksums right again, so that the checks behind them are the ones that answer. */
function mend(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer);
  const tableEnd = 64 + 24 * view.getUint32(24, true);
  view.setUint32(28, crc32(bytes.subarray(tableEnd)), true);
  view.setUint32(32, crc32(bytes.subarray(64, tableEnd), crc32(bytes.subarray(0, 32))), true);
}
