import { describe, expect, test } from "bun:test";
import { formatPrefix, type Prefix, parsePrefix } from "@inkling/engine";
import fc from "fast-check";
import { randomBelow } from "../../../../test/harness/random.ts";
import { networks } from "../../test/policy-lists.ts";
import { type Interval, sweep, withoutNetworks } from "./sweep.ts";

const LIMIT = 32;
const SOURCES = 3;

/** Returns what covers each position in a space of 32, by walking the pieces. */
function bySweep(intervals: readonly Interval[]): string[] {
  const starts: number[] = [];
  const pieces: string[] = [];
  sweep(0n, BigInt(LIMIT), intervals, SOURCES, (start, covers) => {
    starts.push(Number(start));
    pieces.push(covers.map((of) => of.length).join());
  });
  expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
  return Array.from({ length: LIMIT }, (_, at) => pieces[starts.findLastIndex((start) => start <= at)]!);
}

/** Returns the same by testing every interval at every position. */
function byCounting(intervals: readonly Interval[]): string[] {
  return Array.from({ length: LIMIT }, (_, at) => {
    const covers = Array.from({ length: SOURCES }, () => 0);
    for (const { start, end, source } of intervals) if (start <= at && at < end) covers[source]!++;
    return covers.join();
  });
}

describe("sweep", () => {
  const rows: { name: string; intervals: Interval[] }[] = [
    { name: "nothing at all", intervals: [] },
    { name: "the whole space", intervals: [{ start: 0n, end: BigInt(LIMIT), source: 1 }] },
    { name: "the last place", intervals: [{ start: BigInt(LIMIT - 1), end: BigInt(LIMIT), source: 0 }] },
    {
      name: "one inside the other",
      intervals: [
        { start: 0n, end: 8n, source: 0 },
        { start: 2n, end: 4n, source: 0 },
      ],
    },
    {
      name: "side by side",
      intervals: [
        { start: 4n, end: 8n, source: 0 },
        { start: 8n, end: 9n, source: 0 },
      ],
    },
    {
      name: "the same twice",
      intervals: [
        { start: 4n, end: 8n, source: 2 },
        { start: 4n, end: 8n, source: 2 },
      ],
    },
  ];
  for (const { name, intervals } of rows)
    test(name, () => expect(bySweep(intervals)).toEqual(byCounting(intervals)));

  test("random intervals, against counting at every place", () => {
    const interval = fc
      .tuple(fc.nat(LIMIT - 1), fc.integer({ min: 1, max: LIMIT }), fc.nat(SOURCES - 1))
      .map(([start, size, source]) => ({
        start: BigInt(start),
        end: BigInt(Math.min(LIMIT, start + size)),
        source,
      }));
    let overlapping = 0;
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 12 }), (intervals) => {
        const expected = byCounting(intervals);
        if (expected.some((covers) => /[2-9]/.test(covers))) overlapping++;
        expect(bySweep(intervals)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
    expect(overlapping).toBeGreaterThan(200);
  });
});

test.each([
  ["no hole", ["45.66.0.0/16"], ["45.67.0.0/16"], ["45.66.0.0/16"]],
  ["the whole network", ["45.66.0.0/16"], ["45.66.0.0/16"], []],
  ["a hole around the network", ["45.66.0.0/16"], ["45.0.0.0/8"], []],
  ["half of it", ["45.66.0.0/16"], ["45.66.128.0/17"], ["45.66.0.0/17"]],
  ["the middle", ["45.66.0.0/22"], ["45.66.1.0/24"], ["45.66.0.0/24", "45.66.2.0/23"]],
  ["IPv6, past the first word", ["2a0e:1::/47"], ["2a0e:1:1::/48"], ["2a0e:1::/48"]],
  ["the other family", ["45.66.0.0/16"], ["2a0e::/16"], ["45.66.0.0/16"]],
])("%s", (_what, from, holes, left) =>
  expect(withoutNetworks(networks(from), networks(holes)).map(formatPrefix)).toEqual(left),
);

test("random networks keep exactly the addresses that are in no hole", () => {
  const below = randomBelow(46);
  const any = (): Prefix => {
    const bits = 24 + below(9);
    const size = 2 ** (32 - bits);
    return parsePrefix(`45.66.1.${below(256 / size) * size}/${bits}`)!;
  };
  const addressesOf = (prefixes: readonly Prefix[]) =>
    new Set(
      prefixes.flatMap(({ address, bits }) =>
        Array.from({ length: 2 ** (32 - bits) }, (_, i) => address.words[0]! + i),
      ),
    );
  let cut = 0;
  for (let round = 0; round < 500; round++) {
    const from = any();
    const holes = Array.from({ length: 1 + below(5) }, any);
    const inHoles = addressesOf(holes);
    const wanted = [...addressesOf([from])].filter((address) => !inHoles.has(address));
    const left = withoutNetworks([from], holes);
    expect([...addressesOf(left)].sort()).toEqual(wanted.sort());
    if (left.length > 1) cut++;
  }
  expect(cut).toBeGreaterThan(50);
});
