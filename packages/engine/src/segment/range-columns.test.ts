import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { formatIp, IpAddress, parseIp } from "../address/ip.ts";
import { networksOf, RangeColumns } from "./range-columns.ts";

function columns(family: 4 | 6, rows: readonly (readonly [start: string, value: number])[]): RangeColumns {
  const ranges = new RangeColumns(family, 1);
  for (const [start, value] of rows) {
    const [w0, w1, w2, w3] = parseIp(start)!.words;
    ranges.append(w0!, w1!, w2!, w3!, value);
  }
  return ranges;
}

function networks(ranges: RangeColumns): string[] {
  return Array.from(networksOf(ranges), ({ words, bits, value }) => {
    const address = new IpAddress();
    address.family = ranges.family;
    address.words.set(words);
    return `${formatIp(address)}/${bits} ${value}`;
  });
}

describe("the networks of ranges", () => {
  const rows: [what: string, family: 4 | 6, rows: [string, number][], want: string[]][] = [
    ["nothing known", 4, [["0.0.0.0", 0]], []],
    ["the whole space", 4, [["0.0.0.0", 7]], ["0.0.0.0/0 7"]],
    ["the whole space of IPv6", 6, [["::", 7]], ["::/0 7"]],
    [
      "one address",
      4,
      [
        ["0.0.0.0", 0],
        ["192.0.2.7", 1],
        ["192.0.2.8", 0],
      ],
      ["192.0.2.7/32 1"],
    ],
    [
      "an odd range",
      4,
      [
        ["0.0.0.0", 0],
        ["10.0.0.1", 1],
        ["10.0.0.8", 2],
        ["10.0.1.0", 0],
      ],
      [
        "10.0.0.1/32 1",
        "10.0.0.2/31 1",
        "10.0.0.4/30 1",
        "10.0.0.8/29 2",
        "10.0.0.16/28 2",
        "10.0.0.32/27 2",
        "10.0.0.64/26 2",
        "10.0.0.128/25 2",
      ],
    ],
    [
      "up to the last address",
      4,
      [
        ["0.0.0.0", 0],
        ["255.255.255.254", 3],
      ],
      ["255.255.255.254/31 3"],
    ],
    [
      "across the words of IPv6",
      6,
      [
        ["::", 0],
        ["2001:db8:0:ffff:ffff:ffff:ffff:ffff", 1],
        ["2001:db8:1::1", 0],
      ],
      ["2001:db8:0:ffff:ffff:ffff:ffff:ffff/128 1", "2001:db8:1::/128 1"],
    ],
    [
      "half of IPv6",
      6,
      [
        ["::", 0],
        ["8000::", 1],
      ],
      ["8000::/1 1"],
    ],
  ];
  for (const [what, family, ranges, want] of rows) {
    test(what, () => assert.deepEqual(networks(columns(family, ranges)), want));
  }

  test("any ranges: in order, without gaps, none of two could be one", () => {
    let seen = 0;
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(0xffff), { minLength: 1, maxLength: 40 }), (starts) => {
        const ranges = new RangeColumns(4, 1);
        ranges.append(0, 0, 0, 0, 0);
        starts.sort((a, b) => a - b);
        const valueAt = new Uint8Array(0x10000);
        for (const [i, start] of starts.entries()) {
          ranges.append(start, 0, 0, 0, 1 + (i % 3));
          valueAt.fill(1 + (i % 3), start);
        }
        const covered = new Uint8Array(0x10000);
        let before: { first: number; bits: number; value: number } | undefined;
        for (const { words, bits, value } of networksOf(ranges)) {
          const first = words[0]!;
          const size = 2 ** (32 - bits);
          assert.equal(first % size, 0);
          if (before && before.bits === bits && before.value === value && before.first + size === first)
            assert.notEqual(before.first % (2 * size), 0);
          covered.fill(value, first, Math.min(first + size, 0x10000));
          before = { first, bits, value };
          seen++;
        }
        assert.deepEqual(covered, valueAt);
      }),
    );
    assert.ok(seen > 1000);
  });
});
