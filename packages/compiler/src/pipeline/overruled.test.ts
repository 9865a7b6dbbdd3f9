// Which flags of lists guards removed, as a build reports it.

import { expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import type { EvidenceEntry } from "../policy/evidence.ts";
import { overruledLines } from "./overruled.ts";

const entry = (feed: string, effect: EvidenceEntry["effect"], network: string): EvidenceEntry => ({
  feed,
  label: effect === "sets" ? "attacker" : "special_use",
  network: parsePrefix(network)!,
  effect,
  flags: ["is_abuser"],
});
const guarded = (network: string) => [
  entry("list", "sets", network),
  entry("special-use", "removes", network),
];

test("a network of the list counts once, however many ranges it was split into", () => {
  const lists = ["10.0.0.0/8", "192.168.0.0/16", "10.0.0.0/8", "192.168.0.0/16"].map(guarded);
  expect(overruledLines({ lists })).toEqual(["list is overruled by special-use: 10.0.0.0/8 and 1 more"]);
  expect(overruledLines({ lists: lists.slice(0, 1) })).toEqual([
    "list is overruled by special-use: 10.0.0.0/8",
  ]);
});
