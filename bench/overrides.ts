// overrides.ts: what overrides cost a look-up, and what a change costs a process.
//
// run  npx bun bench/overrides.ts
// out  a table for docs/overrides.md; medians of 9 rounds

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  IpAddress,
  type Override,
  type OverrideKind,
  Overrides,
  type UnwrappedAddress,
} from "@inkling/engine";
import { openStore, overridesOf } from "@inkling/server";
import { OverrideBook } from "../packages/server/src/overrides/cache.ts";

const ROUNDS = 9;
const ASKS = 200_000;
const NOW = 1_000;

function override(kind: OverrideKind, value: string): Override {
  const flag = kind === "domain" ? ("disposable" as const) : ("is_proxy" as const);
  return {
    id: "ovr_0123456789abcdef",
    kind,
    value,
    effect: { type: "flag", flag, verdict: true },
    note: "x",
    author: "x",
    createdAt: 0,
    expiresAt: undefined,
    removedAt: undefined,
  };
}
const address = (i: number) => `${11 + (i % 80)}.${(i >> 8) & 255}.${i & 255}.${(i * 7) & 255}`;
const network6 = (i: number) => `2a0${i % 10}:${(i & 0xffff).toString(16)}::/48`;
const many = (count: number, make: (i: number) => Override) =>
  Array.from({ length: count }, (_, i) => make(i));

const ADDRESSES = many(10_000, (i) => override("address", address(i)));
const MIXED = [
  ...many(2_500, (i) => override("address", address(i))),
  ...[16, 20, 24].flatMap((bits) =>
    many(50, (i) => override("network", `${100 + i}.${16 * (i % 16)}.0.0/${bits}`)),
  ),
];
const NETWORKS6 = many(2_500, (i) => override("network", network6(i)));
const DOMAINS = many(2_500, (i) => override("domain", `shop-${i}.com`));

function median(work: () => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
  return times.toSorted((a, b) => a - b)[ROUNDS >> 1]!;
}

let sink = 0;
const words = crypto.getRandomValues(new Uint32Array(ASKS));
const v4 = new IpAddress();
const v6 = new IpAddress();
v6.family = 6;

/** Nanoseconds for a question; `guarded` asks as the server does. */
function perAsk(
  overrides: Overrides,
  ask: (i: number) => unknown,
  isGuarded: "hasAddresses" | "hasEmail",
): number {
  return (
    (median(() => {
      for (let i = 0; i < ASKS; i++) if (overrides[isGuarded] && ask(i) !== undefined) sink++;
    }) *
      1e6) /
    ASKS
  );
}
const ask4 = (overrides: Overrides) => (i: number) => {
  v4.words[0] = words[i]!;
  return overrides.matchAddress(v4 as UnwrappedAddress, NOW);
};
const ask6 = (overrides: Overrides) => (i: number) => {
  v6.words[0] = 0x2a000000 | (words[i]! & 0xffffff);
  return overrides.matchAddress(v6 as UnwrappedAddress, NOW);
};
const askHost = (overrides: Overrides) => () =>
  overrides.matchEmail("jane@mail.example-shop.co.uk", "mail.example-shop.co.uk", NOW);

const rows: [what: string, ns: number][] = [
  ["no overrides, an address", perAsk(Overrides.NONE, ask4(Overrides.NONE), "hasAddresses")],
];
const add = (
  what: string,
  all: Override[],
  ask: (overrides: Overrides) => (i: number) => unknown,
  has: "hasAddresses" | "hasEmail",
) => {
  const overrides = overridesOf(all);
  rows.push([what, perAsk(overrides, ask(overrides), has)]);
};
add("10,000 addresses, a random IPv4 address", ADDRESSES, ask4, "hasAddresses");
add("2,650 addresses and networks of 4 lengths, a random IPv4 address", MIXED, ask4, "hasAddresses");
add("2,500 IPv6 networks, a random IPv6 address", NETWORKS6, ask6, "hasAddresses");
add("2,500 domains, a host of four labels", DOMAINS, askHost, "hasEmail");

const built = median(() => {
  sink += overridesOf(ADDRESSES).all.length;
});
/** Longest that requests wait while a process takes in a change to 10,000 overrides in SQLite, and writes its copy. */
async function longestWait(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), "inkling-bench-overrides-"));
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  const bare = ADDRESSES.slice(0, 9_990).map(({ id: _, createdAt: __, removedAt: ___, ...rest }) => rest);
  await store.overrides.put([...new Map(bare.map((one) => [one.value, one])).values()], "bench");
  const book = new OverrideBook({ store: store.overrides, dataDir, refreshMs: 1e9 });
  await book.start();
  const waits: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await store.overrides.put([{ ...bare[0]!, value: `8.8.8.${i}` }], "bench");
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 1);
    await book.refresh();
    await Bun.sleep(5);
    clearInterval(timer);
    waits.push(longest);
  }
  await book.stop();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
  return waits.toSorted((a, b) => a - b)[ROUNDS >> 1]!;
}
const wait = await longestWait();

if (sink < 0) throw new Error("unreachable: keeps the work from being optimised away");
const lines = [
  "| what | cost |",
  "|---|---|",
  ...rows.map(([what, ns]) => `| ${what} | ${ns.toFixed(ns < 10 ? 1 : 0)} ns |`),
  `| a change, with 10,000 in force: the new snapshot | ${built.toFixed(1)} ms |`,
  `| the same, with reading SQLite and writing the copy: requests wait | ${wait.toFixed(0)} ms |`,
];
process.stdout.write(`${lines.join("\n")}\n`);
