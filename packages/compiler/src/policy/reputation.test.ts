// Compares the policy with a deliberately simple implementation, on small lists and on random lists.

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { formatIp, parsePrefix } from "@inkling/engine";
import fc from "fast-check";
import { share } from "../../../../test/harness/share.ts";
import { expectPoint, GUARDS, labelOf, networks, PACKAGE } from "../../test/policy-lists.ts";
import type { GuardKind, NetworkClaims, NetworkSubject } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { GUARD_FEEDS } from "../catalog/guard-feeds.ts";
import { IS_ABUSER, IS_PROXY, IS_TOR_EXIT } from "./labels.ts";
import {
  evidenceAt,
  evidenceOracle,
  expectCovering,
  oracle,
  pointOf,
  show,
  valueAt,
  widthOf,
} from "./oracle.testing.ts";
import { judgeNetworks } from "./reputation.ts";

/** The flags that the lists of these tests claim. */
const CLAIMED = IS_ABUSER | IS_PROXY | IS_TOR_EXIT;

const YIELDS = "is_tor_exit is kept: a Tor list has this exact address, and this network is wide";

function claim(feed: string, subject: NetworkSubject, ...texts: string[]): NetworkClaims {
  const lineage = FEEDS.find(({ id }) => id === feed)?.lineage ?? [];
  return { feed, subject, label: labelOf(feed, subject), networks: networks(texts), lineage };
}

function guard(kind: GuardKind, ...texts: string[]): NetworkClaims {
  return { feed: `of-${kind}`, subject: "guard", label: kind, networks: networks(texts) };
}

describe("judgeNetworks", () => {
  const rows: {
    name: string;
    claims: NetworkClaims[];
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
      name: "a listed resolver: no traffic counts, and no network around it; of proxies two lists, one for itself",
      claims: [
        claim("x4bnet-vpn-v4", "is_proxy", "20.0.0.0/24", "20.0.0.2"),
        claim("monosans-proxies", "is_proxy", "20.0.0.3", "20.0.1.0"),
        claim("thespeedx-proxies", "is_proxy", "20.0.1.0"),
        { ...claim("copy", "is_proxy", "20.0.1.0"), lineage: ["monosans-proxies"] },
        claim("spamhaus-drop-v4", "is_abuser", "20.0.0.0/24"),
        claim("feodo-recommended", "is_abuser", "20.0.0.4"),
        claim("ipsum-3", "is_abuser", "20.0.1.0"),
        claim("t", "is_tor_exit", "20.0.0.4/30"),
        guard("listed_resolver", "20.0.0.0/30", "20.0.0.4/31", "20.0.1.0"),
      ],
      expected: {
        "20.0.0.0": 0,
        "20.0.0.1": 0,
        "20.0.0.2": 0,
        "20.0.0.3": IS_PROXY,
        "20.0.0.4": IS_ABUSER | IS_TOR_EXIT,
        "20.0.0.5": IS_TOR_EXIT,
        "20.0.0.6": CLAIMED,
        "20.0.1.0": 0,
      },
    },
    {
      name: "IPv6 abuse on less than a /64 counts for its /64, and for no more; other flags stay exact",
      claims: [
        claim("a", "is_abuser", "2a00:0:0:5::99", "2a00:0:0:9::/65", "2a00:0:1::/63", "20.0.0.1"),
        claim("b", "is_proxy", "2a00:0:0:5::77"),
        guard("public_resolver", "2a00:0:0:5::53"),
      ],
      expected: {
        "2a00:0:0:4:ffff:ffff:ffff:ffff": 0,
        "2a00:0:0:5::": IS_ABUSER,
        "2a00:0:0:5::53": 0,
        "2a00:0:0:5::76": IS_ABUSER,
        "2a00:0:0:5::77": IS_ABUSER | IS_PROXY,
        "2a00:0:0:5::99": IS_ABUSER,
        "2a00:0:0:5:ffff:ffff:ffff:ffff": IS_ABUSER,
        "2a00:0:0:6::": 0,
        "2a00:0:0:9:8000::": IS_ABUSER,
        "2a00:0:0:a::": 0,
        "2a00:0:1:1:ffff:ffff:ffff:ffff": IS_ABUSER,
        "2a00:0:1:2::": 0,
        "20.0.0.0": 0,
        "20.0.0.2": 0,
      },
    },
    {
      name: "special use wins in a /64, too",
      claims: [claim("a", "is_abuser", "2001:db8::1", "::2")],
      expected: { "2001:db8::1": 0, "2001:db8::2": 0, "::1": 0, "::2": 0 },
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
        ["public_resolver", 0],
        ["crawler", 0],
        ["cdn", IS_PROXY | IS_TOR_EXIT],
        ["cdn_operator", 0],
        ["mail_sender", IS_TOR_EXIT],
        ["monitor", IS_TOR_EXIT],
        ["webhook_sender", IS_TOR_EXIT],
      ] as const
    ).map(([kind, left]) => ({
      name: `guard ${kind}`,
      claims: [
        claim("spamhaus-drop-v4", "is_abuser", "20.0.0.0/24"),
        claim("b", "is_proxy", "20.0.0.0/24"),
        claim("c", "is_tor_exit", "20.0.0.0/24"),
        guard(kind, "20.0.0.9"),
      ],
      expected: { "20.0.0.8": CLAIMED, "20.0.0.9": left, "20.0.0.10": CLAIMED },
    })),
    {
      name: "all lists name all addresses: resolvers, crawlers keep nothing; Gmail and Cloudflare are no abusers",
      claims: [
        claim("spamhaus-drop-v4", "is_abuser", "0.0.0.0/0", "::/0"),
        claim("b", "is_proxy", "0.0.0.0/0", "::/0"),
        claim("c", "is_tor_exit", "0.0.0.0/0", "::/0"),
        ...GUARDS,
      ],
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
        "8.8.8.9": CLAIMED,
      },
    },
  ];
  for (const { name, claims, expected } of rows)
    test(name, () => {
      const judgement = judgeNetworks(claims);
      for (const { v4, v6 } of [judgement.flags, judgement.evidence]) {
        expectCovering(v4);
        expectCovering(v6);
      }
      const flags = oracle(claims);
      const named = evidenceOracle(claims);
      const got = Object.keys(expected).map((text) => {
        const point = pointOf(parsePrefix(text)!.address);
        return [text, expectPoint(judgement, point, { flags: flags(point), named: named(point) })];
      });
      expect(Object.fromEntries(got)).toEqual(expected);
    });

  // Small universes in which everything overlaps. Special-use networks begin or end inside three of them.
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
      const around = (point: bigint, shift: bigint) =>
        parsePrefix(`${show({ family, at: (point >> shift) << shift })}/${width - shift}`)!;
      const network = fc
        .tuple(fc.nat(size - 1), fc.nat(6))
        .map(([offset, shift]) => around(at + BigInt(offset), BigInt(shift)));
      // A network so much wider than the universe that exact entries of Tor lists override it.
      const wide = fc.constant(around(at, family === 4 ? 12n : 84n));
      const guarded = fc.oneof({ weight: 7, arbitrary: network }, { weight: 1, arbitrary: wide });
      const some = fc.array(network, { maxLength: 5 });
      const feeds: [string, NetworkSubject][] = [
        ["ipsum-3", "is_abuser"],
        ["spamhaus-drop-v4", "is_abuser"],
        ["unknown", "is_abuser"],
        ["thespeedx-proxies", "is_proxy"],
        ["socks-proxy-1d", "is_proxy"],
        ["x4bnet-vpn-v4", "is_proxy"],
        ["monosans-proxies", "is_proxy"],
        ["tor-bulk-exits", "is_tor_exit"],
        ["icloud-private-relay", "relay"],
      ];
      const claims = fc.tuple(
        ...feeds.map(([feed, subject]) => some.map((networks) => ({ ...claim(feed, subject), networks }))),
      );
      const kinds: GuardKind[] = [
        "public_resolver",
        "listed_resolver",
        "crawler",
        "cdn",
        "cdn_operator",
        "mail_sender",
        "monitor",
        "webhook_sender",
      ];
      const guards = fc.tuple(
        ...kinds.map((kind) =>
          fc.array(guarded, { maxLength: 1 }).map((networks) => ({ ...guard(kind), networks })),
        ),
      );
      const seen = new Set<number>();
      fc.assert(
        fc.property(claims, guards, (lists, guards) => {
          const claims = [...lists, ...guards];
          const judgement = judgeNetworks(claims);
          expect(judgeNetworks(claims.toReversed())).toEqual(judgement);
          const flags = oracle(claims);
          const named = evidenceOracle(claims);
          for (let offset = -1; offset <= size; offset++) {
            const point = { family, at: at + BigInt(offset) };
            seen.add(expectPoint(judgement, point, { flags: flags(point), named: named(point) }));
          }
        }),
        { numRuns: share(250, 100), seed: 1 }, // other seeds may miss one of the sets of flags below
      );
      expect(seen.size).toBe(8); // every set of flags occurred
    });
});

describe("a Tor list against a guard", () => {
  const flagsAt = (text: string, ...claims: NetworkClaims[]) =>
    valueAt(judgeNetworks(claims).flags, pointOf(parsePrefix(text)!.address));
  const kinds: GuardKind[] = ["cdn_operator", "crawler", "public_resolver"];
  test.each([
    ["an exact entry against a /23", "20.0.0.1", ["20.0.0.1"], ["20.0.0.0/23"], IS_TOR_EXIT],
    ["an exact entry against a /24", "20.0.0.1", ["20.0.0.1"], ["20.0.0.0/24"], 0],
    [
      "an exact entry against a /23 and a /24 in it",
      "20.0.0.1",
      ["20.0.0.1"],
      ["20.0.0.0/23", "20.0.0.0/24"],
      0,
    ],
    ["a network of exits against a /12", "20.0.0.1", ["20.0.0.0/31"], ["20.0.0.0/12"], 0],
    ["IPv6: an exact entry against a /47", "2a00::1", ["2a00::1"], ["2a00::/47"], IS_TOR_EXIT],
    ["IPv6: an exact entry against a /48", "2a00::1", ["2a00::1"], ["2a00::/48"], 0],
    ["IPv6: a /127 of exits against a /32", "2a00::1", ["2a00::/127"], ["2a00::/32"], 0],
  ])("%s", (_, address, exits, guarded, want) => {
    for (const kind of kinds)
      expect(flagsAt(address, claim("tor", "is_tor_exit", ...exits), guard(kind, ...guarded))).toBe(want);
  });
  test("the other flags stay removed, and nobody else's entry counts", () => {
    const wide = guard("cdn_operator", "20.0.0.0/12");
    const others = [claim("vpns", "is_proxy", "20.0.0.1"), claim("criminals", "is_abuser", "20.0.0.1")];
    expect(flagsAt("20.0.0.1", ...others, wide)).toBe(0);
    expect(flagsAt("20.0.0.1", ...others, wide, claim("tor", "is_tor_exit", "20.0.0.1"))).toBe(IS_TOR_EXIT);
    const two = guard("public_resolver", "20.0.0.0/24");
    expect(flagsAt("20.0.0.1", wide, two, claim("tor", "is_tor_exit", "20.0.0.1"))).toBe(0);
  });
});

describe("evidence", () => {
  type Entry = [feed: string, label: string, network: string, effect: string, flags: string, why?: string];
  const light = (feed: string, ...lineage: string[]): NetworkClaims => ({
    ...claim(feed, "is_proxy", "20.0.0.1"),
    lineage,
  });
  const rows: { name: string; claims: NetworkClaims[]; at?: string; want: Entry[] }[] = [
    { name: "nothing known", claims: [claim("a", "is_proxy", "20.0.1.0/24")], want: [] },
    {
      name: "of each list the smallest network; lists in order of names",
      claims: [
        claim("b", "is_proxy", "20.0.0.0/8", "20.0.0.0/30", "20.0.0.0/16"),
        claim("a", "is_proxy", "20.0.0.1"),
      ],
      want: [
        ["a", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
        ["b", "vpn", "20.0.0.0/30", "sets", "is_proxy"],
      ],
    },
    {
      name: "entries that remove flags follow those that set them, with the flags",
      claims: [
        guard("mail_sender", "20.0.0.0/24"),
        claim("vpns", "is_proxy", "20.0.0.0/16"),
        claim("z", "relay", "20.0.0.0/31"),
        claim("tor", "is_tor_exit", "20.0.0.1"),
      ],
      want: [
        ["tor", "tor_exit", "20.0.0.1/32", "sets", "is_tor_exit"],
        ["vpns", "vpn", "20.0.0.0/16", "sets", "is_proxy"],
        ["of-mail_sender", "mail_sender", "20.0.0.0/24", "removes", "is_proxy"],
        ["z", "relay", "20.0.0.0/31", "removes", "is_proxy"],
      ],
    },
    {
      name: "a wide guard that leaves an exit to the list that names it, and one that also removes another flag",
      claims: [
        { ...guard("cdn_operator", "20.0.0.0/12"), feed: "a" },
        { ...guard("crawler", "20.0.0.0/20"), feed: "b" },
        claim("vpns", "is_proxy", "20.0.0.0/16"),
        claim("tor", "is_tor_exit", "20.0.0.1"),
      ],
      want: [
        ["tor", "tor_exit", "20.0.0.1/32", "sets", "is_tor_exit"],
        ["vpns", "vpn", "20.0.0.0/16", "sets", "is_proxy"],
        ["a", "cdn_operator", "20.0.0.0/12", "removes", "is_proxy", YIELDS],
        ["b", "crawler", "20.0.0.0/20", "removes", "is_proxy", YIELDS],
      ],
    },
    {
      name: "of a wide guard that only leaves the exit a label is left, with the rule",
      claims: [guard("cdn_operator", "20.0.0.0/12"), claim("tor", "is_tor_exit", "20.0.0.1")],
      want: [
        ["tor", "tor_exit", "20.0.0.1/32", "sets", "is_tor_exit"],
        ["of-cdn_operator", "cdn_operator", "20.0.0.0/12", "label", "", YIELDS],
      ],
    },
    {
      name: "a listed resolver, where it matters",
      claims: [claim("vpns", "is_proxy", "20.0.0.0/16"), guard("listed_resolver", "20.0.0.1")],
      want: [
        ["vpns", "vpn", "20.0.0.0/16", "sets", "is_proxy"],
        ["of-listed_resolver", "listed_resolver", "20.0.0.1/32", "removes", "is_proxy"],
      ],
    },
    {
      name: "a listed resolver, where it does not; an address's own entry hides its list's entry for the network",
      claims: [
        claim("vpns", "is_proxy", "20.0.0.0/16", "20.0.0.1"),
        claim("proxies", "is_proxy", "20.0.0.1"),
        guard("listed_resolver", "20.0.0.1"),
      ],
      want: [
        ["proxies", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
        ["vpns", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
      ],
    },
    {
      name: "a listed resolver on the word of one list of proxies",
      claims: [claim("proxies", "is_proxy", "20.0.0.1"), guard("listed_resolver", "20.0.0.1")],
      want: [
        ["proxies", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
        ["of-listed_resolver", "listed_resolver", "20.0.0.1/32", "removes", "is_proxy"],
      ],
    },
    {
      name: "labels that are no verdict, guards and relays with nothing to take away",
      claims: [
        { ...claim("h", "relay", "20.0.0.0/24"), subject: "hosting", label: "hosting" },
        claim("r", "relay", "20.0.0.0/24"),
        guard("cdn", "20.0.0.0/24"),
      ],
      want: [
        ["h", "hosting", "20.0.0.0/24", "label", ""],
        ["of-cdn", "cdn", "20.0.0.0/24", "label", ""],
        ["r", "relay", "20.0.0.0/24", "label", ""],
      ],
    },
    {
      name: "traffic of a Tor exit",
      claims: [claim("ipsum-3", "is_abuser", "20.0.0.1"), claim("tor", "is_tor_exit", "20.0.0.1")],
      want: [
        ["tor", "tor_exit", "20.0.0.1/32", "sets", "is_tor_exit"],
        ["ipsum-3", "attacker", "20.0.0.1/32", "label", "", "traffic from a Tor exit comes from its users"],
      ],
    },
    {
      name: "IPv6 abuse beside the listed address",
      claims: [claim("a", "is_abuser", "2a00::1", "2a00::2")],
      at: "2a00::3",
      want: [
        [
          "a",
          "attacker",
          "2a00::/64",
          "sets",
          "is_abuser",
          "an address in it is listed: IPv6 abuse counts for its /64",
        ],
      ],
    },
    {
      name: "IPv6 abuse at the listed address",
      claims: [claim("a", "is_abuser", "2a00::1", "2a00::2")],
      at: "2a00::2",
      want: [["a", "attacker", "2a00::2/128", "sets", "is_abuser"]],
    },
    {
      name: "special use, where a list names it",
      claims: [claim("a", "is_abuser", "10.0.0.0/8")],
      at: "10.0.0.1",
      want: [
        ["a", "attacker", "10.0.0.0/8", "sets", "is_abuser"],
        ["special-use", "special_use", "10.0.0.0/8", "removes", "is_abuser"],
      ],
    },
    { name: "special use that no list names", claims: [], at: "10.0.0.1", want: [] },
    {
      name: "a light list alone, and its echo",
      claims: [light("socks-proxy-1d"), light("thespeedx-proxies", "socks-proxy-1d")],
      want: [
        ["socks-proxy-1d", "vpn", "20.0.0.1/32", "label", "", "1 of the 2 that it takes"],
        ["thespeedx-proxies", "vpn", "20.0.0.1/32", "label", "", "1 of the 2 that it takes"],
      ],
    },
    {
      name: "two light lists",
      claims: [light("socks-proxy-1d"), light("thespeedx-proxies")],
      want: [
        ["socks-proxy-1d", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
        ["thespeedx-proxies", "vpn", "20.0.0.1/32", "sets", "is_proxy"],
      ],
    },
  ];
  for (const { name, claims, at = "20.0.0.1", want } of rows)
    test(name, () => {
      const { evidence } = judgeNetworks(claims);
      const got = evidenceAt(evidence, pointOf(parsePrefix(at)!.address)).map(
        ({ feed, label, network, effect, flags, why }) => [
          ...[feed, label, `${formatIp(network.address)}/${network.bits}`, effect, flags.join(" ")],
          ...(why === undefined ? [] : [why]),
        ],
      );
      expect<unknown>(got).toEqual(want);
    });
});

test("guards: every file of ours has a row, and no network is guarded twice for the same reason", () => {
  const files = GUARD_FEEDS.flatMap(({ own }) => (own === undefined ? [] : [own]));
  expect(
    readdirSync(join(PACKAGE, "data/guards"))
      .map((file) => `data/guards/${file}`)
      .sort(),
  ).toEqual(files.sort());
  const texts = GUARDS.flatMap(({ label, networks }) =>
    networks.map(({ address, bits }) => `${label} ${formatIp(address)}/${bits}`),
  );
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts.length).toBeGreaterThan(350);
});
