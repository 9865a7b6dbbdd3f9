// The policy against a second, deliberately simple implementation, on real lists and on random small ones.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { formatIp, IpAddress, type Prefix, parsePrefix, SPECIAL_USE } from "@inkling/engine";
import fc from "fast-check";
import { describeWith, MIRROR, VECTORS } from "../../../../test/shared.ts";
import type { Flag, GuardKind, Label, NetworkClaims, NetworkSubject } from "../claims.ts";
import type { RangeColumns } from "../range-columns.ts";
import { ALL_FLAGS, IS_ABUSER, IS_PROXY, IS_TOR_EXIT } from "./flags.ts";
import { GUARD_FILES, type Guard, guardClaims, parseGuards } from "./guards.ts";
import { type FlagRanges, judgeNetworks } from "./reputation.ts";

const GUARD_DIR = join(import.meta.dir, "../../data/guards");
const GUARDS = GUARD_FILES.flatMap((file) => parseGuards(readFileSync(join(GUARD_DIR, file), "utf8")));

function networks(texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePrefix(text);
    if (prefix === undefined) throw new Error(`${text} is not a network`);
    return prefix;
  });
}

function claim(feed: string, subject: NetworkSubject, ...texts: string[]): NetworkClaims {
  return { feed, subject, label: labelOf(feed, subject), networks: networks(texts) };
}

/** What each list of these tests knows. */
function labelOf(feed: string, subject: NetworkSubject): Label {
  if (feed.startsWith("spamhaus-drop")) return "criminal_network";
  if (feed === "feodo-recommended") return "botnet_c2";
  return ({ is_tor_exit: "tor_exit", is_proxy: "vpn", is_abuser: "attacker", relay: "relay" } as const)[
    subject as Flag | "relay"
  ];
}

function guard(kind: GuardKind, ...texts: string[]): Guard[] {
  return networks(texts).map((network) => ({ network, operator: "x", kind, source: "https://example.org/" }));
}

// Addresses as one bigint and a family: nothing here is shared with the code under test.
interface Point {
  readonly family: 4 | 6;
  readonly at: bigint;
}

function pointOf({ family, words }: IpAddress): Point {
  if (family === 4) return { family, at: BigInt(words[0]!) };
  return { family, at: words.reduce((sum, word) => sum * 4294967296n + BigInt(word), 0n) };
}

function show({ family, at }: Point): string {
  const address = new IpAddress();
  address.family = family;
  for (let k = 0; k < 4; k++) address.words[k] = Number((at >> BigInt(96 - 32 * k)) & 0xffffffffn);
  if (family === 4) address.words[0] = Number(at);
  return formatIp(address);
}

/** Milliseconds. The walks over all real networks take less than one second on a machine that has nothing else to do. */
const SLOW = 60_000;

const widthOf = (family: 4 | 6) => (family === 4 ? 32n : 128n);

/** The last range that starts at or before the point. */
function flagsAt(ranges: FlagRanges, { family, at }: Point): number {
  const columns: RangeColumns = family === 4 ? ranges.v4 : ranges.v6;
  const start = (i: number) => {
    let value = 0n;
    for (let k = 0; k < columns.width; k++)
      value = value * 4294967296n + BigInt(columns.starts[i * columns.width + k]!);
    return value;
  };
  let low = 0;
  let high = columns.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (start(middle) <= at) low = middle;
    else high = middle - 1;
  }
  return columns.values[low]!;
}

/** Membership by one set of leading bits for each prefix length: exact, and too simple to be wrong. */
class Members {
  private readonly lengths: { family: 4 | 6; shift: bigint; heads: Set<bigint> }[] = [];

  constructor(prefixes: readonly Prefix[]) {
    for (const { address, bits } of prefixes) {
      const { family, at } = pointOf(address);
      const shift = widthOf(family) - BigInt(bits);
      let length = this.lengths.find((row) => row.family === family && row.shift === shift);
      if (length === undefined) {
        length = { family, shift, heads: new Set() };
        this.lengths.push(length);
      }
      length.heads.add(at >> shift);
    }
  }

  has({ family, at }: Point): boolean {
    return this.lengths.some((row) => row.family === family && row.heads.has(at >> row.shift));
  }
}

/** docs/policy.md, once more, as plainly as it reads. */
function oracle(claims: readonly NetworkClaims[], guards: readonly Guard[]): (point: Point) => number {
  const special = new Members(SPECIAL_USE.map((row) => row.prefix));
  const strong = ["spamhaus-drop-v4", "spamhaus-drop-v6", "feodo-recommended"];
  const of = (wanted: (c: NetworkClaims) => boolean) =>
    new Members(claims.filter(wanted).flatMap((c) => c.networks));
  const tor = of((c) => c.subject === "is_tor_exit");
  const proxy = of((c) => c.subject === "is_proxy");
  const relay = of((c) => c.subject === "relay");
  const crime = of((c) => c.subject === "is_abuser" && strong.includes(c.feed));
  const traffic = of((c) => c.subject === "is_abuser" && !strong.includes(c.feed));
  const guarded = (...kinds: GuardKind[]) =>
    new Members(guards.filter((g) => kinds.includes(g.kind)).map((g) => g.network));
  const never = guarded("public-resolver", "crawler");
  const neverAbuser = guarded("cdn", "mail-sender");
  const neverProxy = guarded("mail-sender");
  return (point) => {
    if (special.has(point) || never.has(point)) return 0;
    const isTorExit = tor.has(point);
    const ordinary = !relay.has(point);
    const isProxy = ordinary && proxy.has(point) && !neverProxy.has(point);
    const abuse = crime.has(point) || (!isTorExit && traffic.has(point));
    const isAbuser = ordinary && abuse && !neverAbuser.has(point);
    return (isAbuser ? IS_ABUSER : 0) + (isProxy ? IS_PROXY : 0) + (isTorExit ? IS_TOR_EXIT : 0);
  };
}

/** Just before, at the start of, at the end of and just after a network. */
function boundaries({ address, bits }: Prefix): Point[] {
  const { family, at } = pointOf(address);
  const size = 1n << (widthOf(family) - BigInt(bits));
  const limit = 1n << widthOf(family);
  return [at - 1n, at, at + size - 1n, at + size]
    .filter((point) => point >= 0n && point < limit)
    .map((point) => ({ family, at: point }));
}

/** Fails when two neighbours are equal, out of order, or the space is not covered from zero. */
function expectCovering({ starts, values, length, width }: RangeColumns): void {
  expect([...starts.subarray(0, width)].every((word) => word === 0)).toBe(true);
  for (let i = 1; i < length; i++) {
    if (values[i] === values[i - 1]) throw new Error(`ranges ${i - 1} and ${i} have the same flags`);
    let k = 0;
    while (k < width - 1 && starts[i * width + k] === starts[(i - 1) * width + k]) k++;
    if (starts[i * width + k]! <= starts[(i - 1) * width + k]!) throw new Error(`range ${i} is out of order`);
  }
}

describe("judgeNetworks", () => {
  const rows: {
    name: string;
    claims: NetworkClaims[];
    guards?: Guard[];
    expected: Record<string, number>;
  }[] = [
    {
      name: "no claims: nothing is flagged",
      claims: [],
      expected: { "8.8.8.8": 0, "2a00::1": 0, "0.0.0.0": 0 },
    },
    {
      name: "exact at the boundaries of a network",
      claims: [claim("a", "is_proxy", "20.0.1.0/24", "2a00:1::/32")],
      expected: {
        "20.0.0.255": 0,
        "20.0.1.0": IS_PROXY,
        "20.0.1.255": IS_PROXY,
        "20.0.2.0": 0,
        "2a00:0:ffff:ffff:ffff:ffff:ffff:ffff": 0,
        "2a00:1::": IS_PROXY,
        "2a00:1:ffff:ffff:ffff:ffff:ffff:ffff": IS_PROXY,
        "2a00:2::": 0,
      },
    },
    {
      name: "flags of several lists add up",
      claims: [claim("a", "is_proxy", "20.0.0.0/24"), claim("b", "is_abuser", "20.0.0.7")],
      expected: { "20.0.0.6": IS_PROXY, "20.0.0.7": IS_PROXY | IS_ABUSER, "20.0.0.8": IS_PROXY },
    },
    {
      name: "special-use networks are stripped from every list",
      claims: [
        claim("a", "is_abuser", "0.0.0.0/0", "::/0"),
        claim("b", "is_proxy", "10.0.0.0/8"),
        claim("c", "is_tor_exit", "127.0.0.1"),
      ],
      expected: {
        "0.0.0.0": 0,
        "1.0.0.0": IS_ABUSER,
        "9.255.255.255": IS_ABUSER,
        "10.0.0.0": 0,
        "127.0.0.1": 0,
        "192.168.1.1": 0,
        "223.255.255.255": IS_ABUSER,
        "255.255.255.255": 0,
        "::1": 0,
        "2001:db8::1": 0,
        "2a00::1": IS_ABUSER,
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": 0,
      },
    },
    {
      name: "a Tor exit is no abuser because traffic lists saw it, however many",
      claims: [
        claim("t", "is_tor_exit", "20.0.0.1"),
        claim("ipsum-3", "is_abuser", "20.0.0.0/30"),
        claim("blocklist-de", "is_abuser", "20.0.0.1"),
      ],
      expected: { "20.0.0.0": IS_ABUSER, "20.0.0.1": IS_TOR_EXIT, "20.0.0.2": IS_ABUSER },
    },
    {
      name: "a Tor exit in a criminal network, or that commands a botnet, is an abuser",
      claims: [
        claim("t", "is_tor_exit", "20.0.0.1", "20.0.0.2", "2a00::1"),
        claim("spamhaus-drop-v4", "is_abuser", "20.0.0.1"),
        claim("spamhaus-drop-v6", "is_abuser", "2a00::/48"),
        claim("feodo-recommended", "is_abuser", "20.0.0.2"),
      ],
      expected: {
        "20.0.0.1": IS_TOR_EXIT | IS_ABUSER,
        "20.0.0.2": IS_TOR_EXIT | IS_ABUSER,
        "2a00::1": IS_TOR_EXIT | IS_ABUSER,
      },
    },
    {
      name: "relay: no proxy, no abuser, but still a Tor exit",
      claims: [
        claim("x4bnet-vpn-v4", "is_proxy", "20.0.0.0/24"),
        claim("spamhaus-drop-v4", "is_abuser", "20.0.0.0/24"),
        claim("t", "is_tor_exit", "20.0.0.9"),
        claim("icloud-private-relay", "relay", "20.0.0.8/30"),
      ],
      expected: {
        "20.0.0.7": IS_PROXY | IS_ABUSER,
        "20.0.0.8": 0,
        "20.0.0.9": IS_TOR_EXIT,
        "20.0.0.12": IS_PROXY | IS_ABUSER,
      },
    },
    ...(
      [
        ["public-resolver", 0],
        ["crawler", 0],
        ["cdn", IS_PROXY | IS_TOR_EXIT],
        ["mail-sender", IS_TOR_EXIT],
      ] as const
    ).map(([kind, left]) => ({
      name: `guard ${kind}`,
      claims: [
        claim("spamhaus-drop-v4", "is_abuser", "20.0.0.0/24"),
        claim("b", "is_proxy", "20.0.0.0/24"),
        claim("c", "is_tor_exit", "20.0.0.0/24"),
      ],
      guards: guard(kind, "20.0.0.9"),
      expected: { "20.0.0.8": ALL_FLAGS, "20.0.0.9": left, "20.0.0.10": ALL_FLAGS },
    })),
    {
      name: "all lists name all addresses: resolvers, crawlers keep nothing; Gmail and Cloudflare are no abusers",
      claims: [
        claim("spamhaus-drop-v4", "is_abuser", "0.0.0.0/0", "::/0"),
        claim("b", "is_proxy", "0.0.0.0/0", "::/0"),
        claim("c", "is_tor_exit", "0.0.0.0/0", "::/0"),
      ],
      guards: GUARDS,
      expected: {
        "8.8.8.8": 0,
        "8.8.4.4": 0,
        "1.1.1.1": 0,
        "1.0.0.1": 0,
        "9.9.9.9": 0,
        "4.2.2.1": 0,
        "2606:4700:4700::1111": 0,
        "2001:4860:4860::8888": 0,
        "66.249.66.1": 0,
        "2001:4860:4801:10::1": 0,
        "157.55.39.1": 0,
        "104.16.0.1": IS_PROXY | IS_TOR_EXIT,
        "209.85.128.1": IS_TOR_EXIT,
        "8.8.8.9": ALL_FLAGS,
      },
    },
  ];
  for (const { name, claims, guards = [], expected } of rows)
    test(name, () => {
      const { flags: ranges } = judgeNetworks([...claims, ...guardClaims(guards)]);
      expectCovering(ranges.v4);
      expectCovering(ranges.v6);
      const got = Object.keys(expected).map((text) => [
        text,
        flagsAt(ranges, pointOf(parsePrefix(text)!.address)),
      ]);
      expect(Object.fromEntries(got)).toEqual(expected);
      const byOracle = oracle(claims, guards);
      for (const [text, flags] of Object.entries(expected))
        expect(byOracle(pointOf(parsePrefix(text)!.address))).toBe(flags);
    });

  // Small universes where everything overlaps; special use begins or ends inside of three of them.
  const universes = [
    "20.0.0.0/27",
    "9.255.255.192/25",
    "223.255.255.224/26",
    "2a00::/123",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffe0/122",
  ];
  for (const universe of universes)
    test(`random claims and guards around ${universe}, against the oracle`, () => {
      const { family, at } = pointOf(parsePrefix(universe.split("/")[0]!)!.address);
      const width = widthOf(family);
      const size = 1 << Number(width - BigInt(universe.split("/")[1]!));
      const network = fc.tuple(fc.nat(size - 1), fc.nat(6)).map(([offset, shift]) => {
        const start = ((at + BigInt(offset)) >> BigInt(shift)) << BigInt(shift);
        return parsePrefix(`${show({ family, at: start })}/${width - BigInt(shift)}`)!;
      });
      const some = fc.array(network, { maxLength: 5 });
      const feeds: [string, NetworkSubject][] = [
        ["ipsum-3", "is_abuser"],
        ["spamhaus-drop-v4", "is_abuser"],
        ["unknown", "is_abuser"],
        ["x4bnet-vpn-v4", "is_proxy"],
        ["tor-bulk-exits", "is_tor_exit"],
        ["icloud-private-relay", "relay"],
      ];
      const claims = fc.tuple(
        ...feeds.map(([feed, subject]) =>
          some.map((networks) => ({ feed, subject, label: labelOf(feed, subject), networks })),
        ),
      );
      const kinds: GuardKind[] = ["public-resolver", "crawler", "cdn", "mail-sender"];
      const guards = fc.array(fc.tuple(network, fc.constantFrom(...kinds)), { maxLength: 4 });
      const seen = new Set<number>();
      fc.assert(
        fc.property(claims, guards, (claims, pairs) => {
          const guards = pairs.map(([network, kind]) => ({
            network,
            operator: "x",
            kind,
            source: "https://x",
          }));
          const { flags: ranges } = judgeNetworks([...claims, ...guardClaims(guards)]);
          const expected = oracle(claims, guards);
          for (let offset = -1; offset <= size; offset++) {
            const point = { family, at: at + BigInt(offset) };
            const flags = flagsAt(ranges, point);
            seen.add(flags);
            if (flags !== expected(point))
              throw new Error(`${show(point)}: ${flags}, not ${expected(point)}`);
          }
        }),
        { numRuns: 60 },
      );
      expect(seen.size).toBe(8); // every set of flags was met
    });
});

describe("parseGuards", () => {
  test("reads rows, passes over the header, comments and empty lines", () => {
    const [first, ...others] = parseGuards(
      "network,operator,kind,source\n# x\n\n8.8.8.8/32,Google,public-resolver,https://g/\n",
    );
    expect(others).toEqual([]);
    expect(first).toMatchObject({ operator: "Google", kind: "public-resolver", source: "https://g/" });
  });
  for (const line of [
    "8.8.8.9/31,host bits,cdn,https://x/",
    "example.org,name,cdn,https://x/",
    "8.8.8.8,,cdn,https://x/",
    "8.8.8.8,unknown kind,toString,https://x/",
    "8.8.8.8,no source,cdn",
    "8.8.8.8,not a link,cdn,somewhere",
    "8.8.8.8,a comma, too many,cdn,https://x/",
  ])
    test(`refuses ${line}`, () => expect(() => parseGuards(`header\n${line}`)).toThrow("line 2"));

  test("every guard file is in the table, and no network is in it twice", () => {
    expect(readdirSync(GUARD_DIR).sort()).toEqual([...GUARD_FILES].sort());
    const texts = GUARDS.map((g) => `${formatIp(g.network.address)}/${g.network.bits}`);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.length).toBeGreaterThan(300);
  });
});

// The lists of the mirror, read in the plainest way; the compiler's own parsers have their own tests.
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

describeWith(
  [...FILES.map(([file]) => join(MIRROR, file)), join(VECTORS, "guards")],
  "judgeNetworks on the lists of the mirror",
  () => {
    const claims: NetworkClaims[] = FILES.map(([file, subject, read]) => ({
      feed: file.replace(/\..*/, ""),
      subject,
      label: labelOf(file.replace(/\..*/, ""), subject),
      networks: networks(read(file).filter((text) => parsePrefix(text) !== undefined)),
    }));
    const { flags: ranges } = judgeNetworks([...claims, ...guardClaims(GUARDS)]);

    test("covers both spaces, in order, merged", () => {
      expectCovering(ranges.v4);
      expectCovering(ranges.v6);
      expect(ranges.v4.length).toBeGreaterThan(30_000);
      expect(ranges.v6.length).toBeGreaterThan(1_000);
    });

    test(
      "is exact before, at and after the ends of every network of every list",
      () => {
        const expected = oracle(claims, GUARDS);
        const seen = new Map<number, number>();
        for (const { networks } of claims)
          for (const point of networks.flatMap(boundaries)) {
            const flags = flagsAt(ranges, point);
            if (flags !== expected(point))
              throw new Error(`${show(point)}: ${flags}, not ${expected(point)}`);
            seen.set(flags, (seen.get(flags) ?? 0) + 1);
          }
        for (const flags of [
          0,
          IS_ABUSER,
          IS_PROXY,
          IS_TOR_EXIT,
          IS_PROXY | IS_ABUSER,
          IS_PROXY | IS_TOR_EXIT,
        ])
          expect(seen.get(flags) ?? 0).toBeGreaterThan(5);
      },
      SLOW,
    );

    test(
      "membership of a list is the flag, guards, relays and Tor exits apart",
      () => {
        const guarded = new Members([
          ...SPECIAL_USE.map((row) => row.prefix),
          ...GUARDS.map((row) => row.network),
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
            if (members.has(point) !== ((flagsAt(ranges, point) & bit) !== 0))
              throw new Error(`${subject} ${show(point)}`);
            compared++;
          }
        }
        expect(compared).toBeGreaterThan(100_000);
      },
      SLOW,
    );

    /** Networks of a never-flag list of which any address is flagged. */
    function flaggedOf(list: string): { flagged: string[]; flags: number } {
      const { list: texts } = JSON.parse(readFileSync(join(VECTORS, "guards", list), "utf8")) as {
        list: string[];
      };
      let flags = 0;
      const flagged = texts.filter((text) => {
        const prefix = parsePrefix(text);
        if (prefix === undefined) throw new Error(`${list}: ${text}`);
        const found = anyFlag(ranges, prefix);
        flags |= found;
        return found !== 0;
      });
      return { flagged, flags };
    }

    // What is left flagged is rightly so (docs/policy.md, Limits): resolvers that VPN servers run for their own users,
    // or that stand in criminal networks; and customers' machines in a network that Akamai rents out.
    const left: Record<string, number> = {
      "public-dns-v4.json": 99,
      "public-dns-v6.json": 2,
      "akamai.json": 1,
    };
    for (const list of readdirSync(join(VECTORS, "guards")).filter(
      (file) => file.endsWith(".json") && !file.startsWith("university"),
    ))
      test(`never flagged: ${list}${left[list] === undefined ? "" : `, but for ${left[list]}`}`, () => {
        const { flagged } = flaggedOf(list);
        expect(flagged.length).toBeLessThanOrEqual(left[list] ?? 0);
      });
  },
);

/** Flags of all ranges that a network touches. */
function anyFlag(ranges: FlagRanges, prefix: Prefix): number {
  const { family, at: first } = pointOf(prefix.address);
  const last = first + (1n << (widthOf(family) - BigInt(prefix.bits))) - 1n;
  const columns = family === 4 ? ranges.v4 : ranges.v6;
  const start = (i: number) =>
    [...columns.starts.subarray(i * columns.width, (i + 1) * columns.width)].reduce(
      (sum, word) => sum * 4294967296n + BigInt(word),
      0n,
    );
  let flags = flagsAt(ranges, { family, at: first });
  // A linear walk would do, were it not for 60,000 networks: begin at the range that holds the first address.
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
