// Tests that the rows in Inkling's own list of Tor exit networks are public, unique and documented.
// tor-exit-networks.data.test.ts compares the list with the exits of the mirror.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix, type Prefix, prefixContains, SPECIAL_USE } from "@inkling/engine";
import { FEEDS } from "../catalog/feeds.ts";
import { requireEntries } from "../validate/copy-gates.ts";
import { parseNetworks } from "./index.ts";

const read = (path: string) => readFileSync(path);
const listed = parseNetworks(
  "exit-networks",
  read(join(import.meta.dir, "../../data/tor-exit-networks.csv")),
).networks;
const rows = listed.map((network) => [formatPrefix(network), network] as const);
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
    const docs = read(join(import.meta.dir, "../../own-lists.md")).toString();
    expect(docs).toContain(`\`${name}\``);
  });
});
