import { describe, expect, test } from "bun:test";
import { MAX_PREFIXES } from "@inkling/contract";
import { openRelease, requireCurrentName } from "@inkling/data";
import {
  ADDRESS_FLAGS,
  Answerer,
  type AnswerSource,
  bitsOfAnswer,
  bodyOf,
  formatPrefix,
  IpAddress,
  type Override,
  Overrides,
  type UnwrappedAddress,
} from "@inkling/engine";
import { SMALL_NETWORK, smallCity, smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { finish } from "../sharing/turns.ts";
import { explainNetworks, reportOfNetworks } from "./network-sources.ts";
import { networkUse, summarizeNetworks } from "./network-summary.ts";
import { readNetwork } from "./subject.ts";

const dataDir = temporaryFolder();
smallRelease(dataDir, 3); // 81.2.69.0/24 is flagged as an abuser
const release = openRelease(dataDir, requireCurrentName(dataDir));

const override = (value: string, flag: (typeof ADDRESS_FLAGS)[number], verdict: boolean) =>
  ({
    kind: value.includes("/") ? "network" : "address",
    value,
    flag,
    verdict,
  }) as Override;
const OVERRIDES = [
  override("81.2.69.64/26", "is_abuser", false),
  override("81.2.69.77", "is_abuser", true),
  override("81.2.68.0/30", "is_proxy", true),
  override("81.2.68.0/31", "is_proxy", false),
  override("81.2.68.0", "is_tor_exit", true),
  override("81.2.71.255", "is_proxy", true),
  override("81.2.0.0/16", "is_tor_exit", false),
];
const sourceOf = (overrides: readonly Override[]): AnswerSource => ({
  release,
  overrides: new Overrides(overrides, () => ""),
  now: 0,
  allowMissing: true,
});
const summaryOf = (text: string, overrides: readonly Override[] = [], most = 1e6) =>
  finish(summarizeNetworks([readNetwork(text)!], sourceOf(overrides), most));

/** Counts the shares one address at a time. */
function slowShares(text: string, overrides: readonly Override[]) {
  const { address: first, bits } = readNetwork(text)!;
  const answerer = new Answerer();
  const address = new IpAddress() as UnwrappedAddress;
  const size = 2 ** (32 - bits);
  const counts = ADDRESS_FLAGS.map(() => 0);
  let flagged = 0;
  for (let i = 0; i < size; i++) {
    address.words[0] = first.words[0]! + i;
    const answer = answerer.answerAddress("reputation", address, sourceOf(overrides));
    const set = "reason" in answer ? 0 : bitsOfAnswer(bodyOf(answer));
    if (set !== 0) flagged++;
    for (const k of counts.keys()) counts[k]! += (set >> k) & 1;
  }
  return {
    flagged: flagged / size,
    flags: Object.fromEntries(ADDRESS_FLAGS.map((f, k) => [f, counts[k]! / size])),
  };
}

describe("a network", () => {
  test.each([
    "81.2.68.0/22",
    "81.2.69.0/24",
    "81.2.69.64/26",
    "81.2.69.76/30",
    "81.2.68.0/31",
    "81.2.64.0/20",
  ])("%s has the shares that its addresses have, overrides included", (text) => {
    for (const overrides of [[], OVERRIDES]) {
      const { flagged, flags, examined, prefixes, prefix_count } = summaryOf(text, overrides);
      const shares: object = { flagged, flags };
      expect(shares).toEqual(slowShares(text, overrides));
      expect(examined).toBe(1);
      expect(prefixes).toHaveLength(prefix_count);
    }
  });

  test("its parts cover it, each with its own answer, flagged ones first", () => {
    const { prefixes, countries } = summaryOf("81.2.68.0/22", OVERRIDES);
    const sizes = prefixes.map(({ network }) => 2 ** (32 - Number(network.split("/")[1])));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1024);
    expect(prefixes.find(({ network }) => network === "81.2.69.77/32")?.flags).toEqual(["is_abuser"]);
    expect(prefixes.find(({ network }) => network === "81.2.69.128/25")).toEqual({
      network: "81.2.69.128/25",
      flags: ["is_abuser"],
      country: "GB",
      city: smallCity(3),
    });
    const firstOther = prefixes.findIndex(({ flags }) => flags.length === 0);
    expect(prefixes.slice(firstOther).every(({ flags }) => flags.length === 0)).toBe(true);
    expect(countries).toEqual([{ iso_code: "GB", share: 0.25 }]);
  });

  test("all of IPv4: what is reserved is no part of the flagged", () => {
    const { reserved, flagged, examined } = summaryOf("0.0.0.0/0");
    expect(flagged).toBe(2 ** -24);
    expect(reserved).toBeGreaterThan(0.13); // about a seventh: private, multicast, 240.0.0.0/4 and others
    expect(reserved).toBeLessThan(0.15);
    expect(examined).toBe(1);
    expect(summaryOf("2000::/3")).toMatchObject({ flagged: 0, examined: 1 });
  });

  test("with too many parts is examined from its start, in part", () => {
    const many = Array.from({ length: 200 }, (_, i) => override(`81.2.69.${i}`, "is_proxy", i % 2 === 0));
    const all = summaryOf(SMALL_NETWORK, many);
    expect(all.prefixes).toHaveLength(MAX_PREFIXES);
    expect(all.prefix_count).toBeGreaterThan(200);
    const some = summaryOf(SMALL_NETWORK, many, 64);
    expect(some).toMatchObject({ examined: 0.25, prefix_count: 64, flagged: 1 });
    expect(some.flags.is_proxy).toBe(0.5);
    expect(summaryOf(SMALL_NETWORK, [], 0)).toMatchObject({ examined: 0, flagged: 0, prefixes: [] });
  });

  test("feeds have their shares of the part that the summary is about", () => {
    const sharesOf = (examined: number) =>
      finish(explainNetworks([readNetwork("81.0.0.0/8")!], sourceOf([]), 1e6, examined)).sources.map(
        ({ share }) => share,
      );
    expect(sharesOf(1)).toEqual([2 ** -16]);
    expect(sharesOf(3 / 256)).toEqual([2 ** -16 / (3 / 256)]);
    expect(sharesOf((2 + 69 / 256) / 256)).toEqual([]);
    const { examined, flagged, sources } = finish(
      reportOfNetworks([readNetwork("81.0.0.0/8")!], sourceOf([]), 8),
    );
    expect(examined).toBeLessThan(1);
    expect(sources[0]!.share).toBeCloseTo(flagged, 10);
  });

  test("is read from any address in it", () => {
    const read = (text: string) => {
      const network = readNetwork(text);
      return network && formatPrefix(network);
    };
    expect(
      ["81.2.69.9/24", "2001:db8:1::1/32", "::ffff:1.2.3.4/120", "8.8.8.8/32", "9.9.9.9/0"].map(read),
    ).toEqual(["81.2.69.0/24", "2001:db8::/32", "1.2.3.0/24", "8.8.8.8/32", "0.0.0.0/0"]);
    for (const text of ["8.8.8.8", "8.8.8.8/33", "8.8.8.8/", "x/8", "8.8.8.8/8/8", "1::/129", "8.8.8.8/-1"]) {
      expect([text, readNetwork(text)]).toEqual([text, undefined]);
    }
    expect(
      ["10.1.0.0/16", "10.0.0.0/7", "81.2.69.0/24"].map((text) => networkUse(readNetwork(text)!)),
    ).toEqual(["private", undefined, undefined]);
  });
});
