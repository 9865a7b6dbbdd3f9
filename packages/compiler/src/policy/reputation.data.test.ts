// Compares the policy with a deliberately simple implementation, on the mirror's lists and the vectors' never-flag
// lists.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Prefix, parsePrefix, type RangeColumns, SPECIAL_USE } from "@inkling/engine";
import { MIRROR, VECTORS } from "../../../../test/harness/data-folders.ts";
import { share } from "../../../../test/harness/share.ts";
import { expectPoint, GUARDS, labelOf, networks, PACKAGE } from "../../test/policy-lists.ts";
import type { NetworkClaims, NetworkSubject } from "../catalog/claims.ts";
import { GUARD_FEEDS } from "../catalog/guard-feeds.ts";
import { parseNetworks } from "../parse/index.ts";
import { ALL_FLAGS, EXACT_GUARD_BITS, IS_ABUSER, IS_PROXY, IS_TOR_EXIT } from "./labels.ts";
import {
  boundaries,
  evidenceOracle,
  expectCovering,
  flagsByEvidence,
  Members,
  oracle,
  pointOf,
  show,
  valueAt,
  widthOf,
} from "./oracle.testing.ts";
import { type Judgement, judgeNetworks } from "./reputation.ts";

/** Addresses on Tor's lists that lie in 172.224.0.0/12, which is in Akamai's warning list. */
const EXITS_IN_WIDE = ["172.232.209.254", "172.232.219.78", "172.234.228.174", "172.234.92.148"];

// Reads the mirror's lists in the simplest way. The compiler's own parsers have their own tests.
const lines = (file: string) =>
  readFileSync(join(MIRROR, file), "utf8")
    .split("\n")
    .map((line) => line.replace(/[#,].*/, "").trim())
    .filter((line) => line !== "");
const FILES: [file: string, subject: NetworkSubject, read: (file: string) => string[]][] = [
  ["tor-bulk-exits.txt", "is_tor_exit", lines],
  [
    "tor-onionoo.json",
    "is_tor_exit",
    (file) =>
      JSON.parse(readFileSync(join(MIRROR, file), "utf8")).relays.flatMap(
        (relay: { or_addresses: string[]; exit_addresses?: string[] }) => [
          ...relay.or_addresses.map((address) => address.replace(/:\d+$/, "").replace(/[[\]]/g, "")),
          ...(relay.exit_addresses ?? []),
        ],
      ),
  ],
  ["x4bnet-vpn-v4.txt", "is_proxy", lines],
  ["x4bnet-vpn-v6.txt", "is_proxy", lines],
  [
    "monosans-proxies.json",
    "is_proxy",
    (file) =>
      JSON.parse(readFileSync(join(MIRROR, file), "utf8")).flatMap(
        (proxy: { host: string; exit_ip: string }) => [proxy.host, proxy.exit_ip],
      ),
  ],
  ["icloud-private-relay.csv", "relay", lines],
  ["ipsum-3.txt", "is_abuser", lines],
  [
    "spamhaus-drop-v4.json",
    "is_abuser",
    (file) =>
      [...readFileSync(join(MIRROR, file), "utf8").matchAll(/"cidr":"([^"]+)"/g)].map((match) => match[1]!),
  ],
  ["feodo-recommended.txt", "is_abuser", lines],
];

describe("judgeNetworks on the lists of the mirror", () => {
  const claims: NetworkClaims[] = FILES.map(([file, subject, read]) => ({
    feed: file.replace(/\..*/, ""),
    subject,
    label: labelOf(file.replace(/\..*/, ""), subject),
    networks: networks(read(file).filter((text) => parsePrefix(text) !== undefined)),
  }));
  const all = [...claims, ...GUARDS];
  const judgement = judgeNetworks(all);
  const { flags: ranges } = judgement;

  test("covers both spaces, in order, merged", () => {
    expectCovering(ranges.v4);
    expectCovering(ranges.v6);
    expect(ranges.v4.length).toBeGreaterThan(30_000);
    expect(ranges.v6.length).toBeGreaterThan(1_000);
  });

  // By default, this test checks only every fourth network of a long list. Even so, it takes 4 of the file's 8 s of CPU
  // time.
  const every = share(1, 4);
  test("flags and evidence are exact before, at and after the ends of every network of every list", () => {
    const flags = oracle(all);
    const named = evidenceOracle(all);
    const seen = new Map<number, number>();
    for (const { networks } of all)
      for (const point of networks
        .filter((_, i) => i % every === 0 || networks.length < 1_000)
        .flatMap(boundaries)) {
        const got = expectPoint(judgement, point, { flags: flags(point), named: named(point) });
        seen.set(got, (seen.get(got) ?? 0) + 1);
      }
    for (const flags of [0, IS_ABUSER, IS_PROXY, IS_TOR_EXIT, IS_PROXY | IS_ABUSER, IS_PROXY | IS_TOR_EXIT])
      expect(seen.get(flags) ?? 0).toBeGreaterThan(5);
  });

  test("membership of a list is the flag, guards, relays and Tor exits apart", () => {
    const guarded = new Members([
      ...SPECIAL_USE.map((row) => row.prefix),
      ...GUARDS.flatMap((claim) => claim.networks),
      ...claims.filter((c) => c.subject === "relay").flatMap((c) => c.networks),
    ]);
    const tor = new Members(claims.filter((c) => c.subject === "is_tor_exit").flatMap((c) => c.networks));
    let compared = 0;
    for (const [subject, bit] of [
      ["is_abuser", IS_ABUSER],
      ["is_proxy", IS_PROXY],
      ["is_tor_exit", IS_TOR_EXIT],
    ] as const) {
      const listed = claims.filter((c) => c.subject === subject).flatMap((c) => c.networks);
      const members = new Members(listed);
      for (const point of listed.flatMap(boundaries)) {
        if (guarded.has(point) || (bit === IS_ABUSER && tor.has(point))) continue;
        if (members.has(point) !== ((valueAt(ranges, point) & bit) !== 0))
          throw new Error(`${subject} ${show(point)}`);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(100_000);
  });

  const listed = (file: string) =>
    (JSON.parse(readFileSync(join(VECTORS, "guards", file), "utf8")) as { list: string[] }).list;
  /** Returns the networks of a never-flag list in which any address is flagged. */
  const flaggedOf = (file: string, { flags }: Judgement) =>
    listed(file).filter((text) => {
      const prefix = parsePrefix(text);
      if (prefix === undefined) throw new Error(`${file}: ${text}`);
      const isWide = prefix.bits < EXACT_GUARD_BITS[prefix.address.family];
      return (anyFlag(flags, prefix) & (isWide ? ~IS_TOR_EXIT : ALL_FLAGS)) !== 0;
    });
  test("Tor exits in wide networks of never-flag lists: four, each named by Tor's own lists", () => {
    const wide = files.flatMap((file) =>
      listed(file)
        .map((text) => parsePrefix(text)!)
        .filter(({ address, bits }) => bits < EXACT_GUARD_BITS[address.family]),
    );
    const members = new Members(wide);
    const exits = claims
      .filter(({ subject }) => subject === "is_tor_exit")
      .flatMap((claim) => claim.networks.map((network) => pointOf(network.address)))
      .filter((point) => members.has(point) && (valueAt(withLists.flags, point) & IS_TOR_EXIT) !== 0);
    expect([...new Set(exits.map(show))].sort()).toEqual(EXITS_IN_WIDE);
  });

  // docs/policy.md gives the reasons under Limits. Without the feeds public-dns-*, 81 resolvers lie in networks of VPN
  // providers and criminals.
  const withLists = judgeNetworks([
    ...all,
    ...GUARD_FEEDS.filter(({ format }) => format === "misp-json").map(({ id, label, format }) => {
      const { networks } = parseNetworks(format, readFileSync(join(VECTORS, "guards", `${id}.json`)));
      return { feed: id, subject: "guard", label: label!, networks } as const;
    }),
  ]);
  const left: Record<string, number> = { "public-dns-v4.json": 81, "public-dns-v6.json": 2 };
  const files = readdirSync(join(VECTORS, "guards")).filter(
    (file) => file.endsWith(".json") && !file.startsWith("university"),
  );
  for (const file of files) {
    const few = left[file] ?? 0;
    test(`never flagged with the mirror: ${file}${few === 0 ? "" : `, but for ${few}`}`, () => {
      expect(flaggedOf(file, judgement).length).toBe(few);
    });
    test(`never flagged with the warning lists: ${file}`, () => {
      expect(flaggedOf(file, withLists)).toEqual([]);
    });
  }

  test("docs/policy.md states the number of flagged resolvers", () => {
    const docs = readFileSync(join(PACKAGE, "../../docs/policy.md"), "utf8").replaceAll(/\s+/g, " ");
    const [v4, v6] = [left["public-dns-v4.json"]!, left["public-dns-v6.json"]!];
    expect(docs).toContain(`Without these two feeds, ${v4} IPv4 and ${v6} IPv6 resolvers are flagged`);
  });

  test("every flagged range has evidence, and removals are recorded", () => {
    const removed = new Map<string, number>();
    for (const { flags, evidence } of [judgement, withLists])
      for (const [columns, reasons] of [
        [flags.v4, evidence.v4],
        [flags.v6, evidence.v6],
      ] as const) {
        let row = 0; // flags change only where evidence changes
        for (let i = 0; i < reasons.length; i++) {
          if (row + 1 < columns.length && isSameStart(columns, row + 1, reasons, i)) row++;
          const entries = evidence.lists[reasons.values[i]! - 1] ?? [];
          if (flagsByEvidence(entries) !== columns.values[row]) throw new Error(`range ${i}`);
          for (const { effect, label } of entries)
            if (effect === "removes") removed.set(label, (removed.get(label) ?? 0) + 1);
        }
        expect(row).toBe(columns.length - 1);
      }
    for (const label of ["relay", "listed_resolver"]) expect(removed.get(label) ?? 0).toBeGreaterThan(20);
  });
});

function isSameStart(a: RangeColumns, i: number, b: RangeColumns, j: number): boolean {
  for (let k = 0; k < a.width; k++) if (a.starts[i * a.width + k] !== b.starts[j * b.width + k]) return false;
  return true;
}

/** Returns the flags of all ranges that a network touches. */
function anyFlag(ranges: Judgement["flags"], prefix: Prefix): number {
  const { family, at: first } = pointOf(prefix.address);
  const last = first + (1n << (widthOf(family) - BigInt(prefix.bits))) - 1n;
  const columns = family === 4 ? ranges.v4 : ranges.v6;
  const start = (i: number) =>
    [...columns.starts.subarray(i * columns.width, (i + 1) * columns.width)].reduce(
      (sum, word) => sum * 4294967296n + BigInt(word),
      0n,
    );
  let flags = valueAt(ranges, { family, at: first });
  // A linear walk is too slow for 60,000 networks, so begin at the range that holds the first address.
  let low = 0;
  let high = columns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start(middle) <= first) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < columns.length && start(i) <= last; i++) flags |= columns.values[i]!;
  return flags;
}
