// Which flags of lists guards removed, as a build reports it.

import { expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import { type EvidenceEntry, overruledLines } from "./evidence.ts";

const entry = (feed: string, effect: EvidenceEntry["effect"], network: string): EvidenceEntry => ({
  feed,
  label: effect === "sets" ? "attacker" : "special_use",
  network: parsePrefix(network)!,
  effect,
  flags: ["is_abuser"],
});
const guarded = (network: string, guard = network) => [
  entry("list", "sets", network),
  entry("special-use", "removes", guard),
];

test("a network of the list counts once, however many ranges it was split into", () => {
  const lists = ["10.0.0.0/8", "192.168.0.0/16", "10.0.0.0/8", "192.168.0.0/16"].map((network) =>
    guarded(network),
  );
  expect(overruledLines({ lists })).toEqual(["list is overruled by special-use: 10.0.0.0/8 and 1 more"]);
  expect(overruledLines({ lists: lists.slice(0, 1) })).toEqual([
    "list is overruled by special-use: 10.0.0.0/8",
  ]);
});

test("a guard that contains only part of the network", () => {
  const first = guarded("45.66.0.0/24", "45.66.0.8/32");
  expect(overruledLines({ lists: [first, guarded("45.66.1.0/24")] })).toEqual([
    "list is overruled by special-use: part of 45.66.0.0/24 and 1 more",
  ]);
  const wider = guarded("45.66.0.0/24", "45.66.0.0/16");
  expect(overruledLines({ lists: [first, wider] })).toEqual([
    "list is overruled by special-use: 45.66.0.0/24",
  ]);
});
