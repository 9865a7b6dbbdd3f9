// Compares Inkling's own list of Tor exit networks with the exits of the mirror.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix, type Prefix, prefixContains } from "@inkling/engine";
import { MIRROR } from "../../../../test/harness/data-folders.ts";
import { parseNetworks } from "./index.ts";

const OWN_LIST = join(import.meta.dir, "../../data/tor-exit-networks.csv");
const listed = parseNetworks("exit-networks", readFileSync(OWN_LIST)).networks;
const rows = listed.map((network) => [formatPrefix(network), network] as const);
/** Networks whose operator declares all of them as exits but uses them sparsely. See packages/compiler/own-lists.md. */
const DECLARED_WHOLE = new Set(["109.70.100.0/25"]);
const isInside = (inner: Prefix, outer: Prefix) =>
  inner.bits >= outer.bits && prefixContains(outer, inner.address);

describe("against the mirror", () => {
  const bulk = parseNetworks("ip-lines", readFileSync(join(MIRROR, "tor-bulk-exits.txt"))).networks;
  const onionoo = parseNetworks("onionoo-json", readFileSync(join(MIRROR, "tor-onionoo.json"))).networks;
  const v6 = onionoo.filter(({ address }) => address.family === 6);
  const covered = (exits: readonly Prefix[], networks: readonly Prefix[]) =>
    exits.filter((exit) => networks.some((network) => isInside(exit, network))).length;

  test("covers two exits in five without any other feed", () => {
    expect(covered(bulk, listed) / bulk.length).toBeGreaterThan(0.4);
    expect(covered(v6, listed) / v6.length).toBeGreaterThan(0.4);
  });
  test.each(rows)("%s contains exits, and in IPv4 hardly anything else", (name, network) => {
    const exits = covered([...bulk, ...v6], [network]);
    expect(exits).toBeGreaterThan(0);
    if (network.address.family === 4 && !DECLARED_WHOLE.has(name)) {
      expect(exits / 2 ** (32 - network.bits)).toBeGreaterThanOrEqual(0.5);
    }
  });
});
