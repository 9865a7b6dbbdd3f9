// Tests that looking up addresses in blocks gives the same outcomes as looking them up one at a time, for lists of
// several lengths.

import { expect, test } from "bun:test";
import { openRelease, requireCurrentName } from "@inkling/data";
import { AddressBlock, Answerer, type AnswerSource, Overrides } from "@inkling/engine";
import { randomWords } from "../../harness/random.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";

const data = temporaryFolder();
smallRelease(data, 2); // its network is a Tor exit
const release = openRelease(data, requireCurrentName(data));
const next = randomWords(7);

/** Addresses that are listed, unlisted, special, IPv6 or IPv4 in IPv6, and texts that are no address. */
const KINDS: readonly (() => string)[] = [
  () => SMALL_NETWORK.replace("0/24", String(next() & 255)),
  () => `${(next() % 223) + 1}.${next() & 255}.${next() & 255}.${next() & 255}`,
  () => `10.0.0.${next() & 255}`,
  () => `2a02:${(next() & 0xffff).toString(16)}::${(next() & 0xffff).toString(16)}`,
  () => `::ffff:${SMALL_NETWORK.replace("0/24", String(next() & 255))}`,
  () => `256.${next() & 255}.1.1`,
  () => "",
];
const textsOf = (count: number) => Array.from({ length: count }, () => KINDS[next() % KINDS.length]!());

const noData = { ...release, states: { ...release.states, geolocate: { ...release.states.geolocate } } };
const override = {
  id: "1",
  kind: "network",
  value: SMALL_NETWORK.replace("0/24", "0/25"),
  flag: "is_abuser",
  verdict: true,
} as never;
const SOURCES: readonly [name: string, source: AnswerSource][] = [
  ["plain", { release, overrides: Overrides.NONE, now: 0, allowMissing: false }],
  [
    "with overrides",
    { release, overrides: new Overrides([override], () => ""), now: 0, allowMissing: false },
  ],
  [
    "without a segment",
    { release: { ...noData, geo: undefined }, overrides: Overrides.NONE, now: 0, allowMissing: true },
  ],
  ["without a release", { release: undefined, overrides: Overrides.NONE, now: 0, allowMissing: false }],
];

test.each(SOURCES)("%s: the outcomes are those of one address at a time", (_, source) => {
  const single = new Answerer();
  const block = new AddressBlock();
  const kinds = new Set<string>();
  for (const lookup of ["geolocate", "reputation"] as const) {
    for (const count of [0, 1, 63, 64, 65, 127, 128, 129, 1_000]) {
      const texts = textsOf(count);
      const wanted = texts.map(
        (text) => single.readAddress(text) ?? single.answerAddress(lookup, single.address, source),
      );
      const found = block.answerAll(single, lookup, texts, source);
      expect(found).toEqual(wanted);
      for (const outcome of found)
        kinds.add(
          "reason" in outcome
            ? outcome.reason
            : Buffer.from("body" in outcome ? outcome.body : outcome).toString(),
        );
    }
  }
  expect(kinds.size).toBeGreaterThanOrEqual(source.release === undefined ? 3 : 5);
});
