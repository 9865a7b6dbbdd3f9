// Tests cutting networks out of networks, with examples, and with random networks against a set of addresses.

import { expect, test } from "bun:test";
import { formatPrefix, type Prefix, parsePrefix } from "@inkling/engine";
import { randomBelow } from "../../../../test/harness/random.ts";
import { networks } from "../../test/policy-lists.ts";
import { withoutNetworks } from "./without-networks.ts";

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
