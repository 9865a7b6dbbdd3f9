// Our own list of Tor exit networks: held against the exits of the mirror, and against being wider than they are.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix, type Prefix, prefixContains, SPECIAL_USE } from "@inkling/engine";
import { describeWith, MIRROR } from "../../../../test/shared.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { requireEntries } from "../validate/gates.ts";
import { parseNetworks } from "./index.ts";

const read = (path: string) => readFileSync(path);
const listed = parseNetworks(
  "exit-networks",
  read(join(import.meta.dir, "../../data/tor-exit-networks.csv")),
).networks;
const rows = listed.map((network) => [formatPrefix(network), network] as const);
/** Declared as a whole by its operator, and sparsely used: see docs/feeds.md. */
const DECLARED_WHOLE = new Set(["109.70.100.0/25"]);
const isInside = (inner: Prefix, outer: Prefix) =>
  inner.bits >= outer.bits && prefixContains(outer, inner.address);

describe("the list", () => {
  test("has as many rows as the feed table expects, each once", () => {
    const feed = FEEDS.find(({ id }) => id === "tor-exit-networks")!;
    requireEntries(feed, listed.length);
    const lines = read(join(import.meta.dir, "../../data/tor-exit-networks.csv"))
      .toString()
      .trim()
      .split("\n");
    expect(lines.filter((line) => !line.startsWith("#")).length - 1).toBe(listed.length);
  });
  test.each(rows)("%s overlaps no other and is public", (name, network) => {
    const others = listed.filter((other) => other !== network);
    expect(others.filter((other) => isInside(network, other)).map(formatPrefix)).toEqual([]);
    for (const { prefix } of SPECIAL_USE) {
      expect(isInside(network, prefix) || isInside(prefix, network)).toBe(false);
    }
    const docs = read(join(import.meta.dir, "../../../../docs/feeds.md")).toString();
    expect(docs).toContain(`\`${name}\``);
  });
});

describeWith(
  [join(MIRROR, "tor-bulk-exits.txt"), join(MIRROR, "tor-onionoo.json")],
  "against the mirror",
  () => {
    const bulk = parseNetworks("ip-lines", read(join(MIRROR, "tor-bulk-exits.txt"))).networks;
    const onionoo = parseNetworks("onionoo-json", read(join(MIRROR, "tor-onionoo.json"))).networks;
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
  },
);
