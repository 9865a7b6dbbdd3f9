// Tests every format with the samples in fixtures/feeds, the seeds, and files that must be refused.

import { describe, expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { formatPrefix } from "@inkling/engine";
import { randomBelow } from "../../../../test/harness/random.ts";
import { EXTENSIONS, FeedError, type Format } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { parseGeofeed } from "./geofeed.ts";
import {
  isDomainFormat,
  isNetworkFormat,
  type ParsedDomains,
  type ParsedNetworks,
  parseDomains,
  parseFile,
  parseNetworks,
  requireParsable,
} from "./index.ts";
import { parseNroDelegated } from "./nro-delegated.ts";
import { isSystemFormat, parseSystemKinds } from "./system-kinds.ts";
import { Tally } from "./tally.ts";
import { findDate } from "./text.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures/feeds");
const bytes = (text: string) => new TextEncoder().encode(text);
const networks = (parsed: ParsedNetworks) => parsed.networks.map(formatPrefix);
const domains = (parsed: ParsedDomains) => Object.fromEntries(parsed.domains);
const ipLines = (text: string) => networks(parseNetworks("ip-lines", bytes(text)));
const domainLines = (text: string) => domains(parseDomains("domain-lines", bytes(text)));

describe("samples of each network feed", () => {
  const rows: readonly [file: string, format: Format, want: string[], publishedAt?: string][] = [
    ["tor-bulk-exits.txt", "ip-lines", ["192.0.2.7/32", "198.51.100.23/32", "203.0.113.9/32"]],
    [
      "tor-onionoo.json",
      "onionoo-json",
      ["192.0.2.7/32", "198.51.100.23/32", "203.0.113.9/32", "2001:db8:1::7/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    ["tor-exit-networks.csv", "exit-networks", ["192.0.2.0/27", "2001:db8:1::/112"]],
    ["x4bnet-vpn-v4.txt", "ip-lines", ["192.0.2.0/25", "198.51.100.64/31", "203.0.113.9/32"]],
    ["x4bnet-vpn-v6.txt", "ip-lines", ["2001:db8:100::/48", "2001:db8:8000::/33"]],
    [
      "monosans-proxies.json",
      "monosans-json",
      ["192.0.2.80/32", "198.51.100.80/32", "203.0.113.80/32", "203.0.113.81/32"],
    ],
    ["icloud-private-relay.csv", "geofeed-csv", ["192.0.2.0/27", "198.51.100.76/32", "2001:db8:2::/64"]],
    [
      "aws-geofeed.csv",
      "geofeed-csv",
      ["192.0.2.0/25", "198.51.100.0/25", "2001:db8:a::/48"],
      "2026-08-01T12:00:00.000Z",
    ],
    ["google-cloud-geofeed.csv", "geofeed-csv", ["192.0.2.128/26", "2001:db8:60::/44"]],
    ["microsoft-geofeed.csv", "geofeed-csv", ["203.0.113.0/26", "203.0.113.64/26", "2001:db8:e::/48"]],
    ["starlink-geofeed.csv", "geofeed-csv", ["198.51.100.128/26", "2001:db8:f000::/38"]],
    ["verizon-geofeed.csv", "geofeed-csv", ["192.0.2.0/25", "198.51.100.64/26", "2001:db8:a000::/44"]],
    [
      "tmobile-geofeed.csv",
      "geofeed-csv",
      ["192.0.2.77/32", "198.51.100.0/25", "2001:db8:b000::/40"],
      "2026-08-01T12:00:00.000Z",
    ],
    ["geofeed-harvester.csv", "geofeed-csv", ["192.0.2.0/24", "198.51.100.0/24"]],
    ["netflix-geofeed.csv", "geofeed-csv", ["203.0.113.0/25", "2001:db8:c::/48"]],
    ["ipsum-3.txt", "ip-lines", ["192.0.2.200/32", "198.51.100.200/32", "203.0.113.200/32"]],
    [
      "spamhaus-drop-v4.json",
      "spamhaus-json-lines",
      ["192.0.2.0/24", "198.51.100.0/25"],
      "2026-08-01T12:00:00.000Z",
    ],
    ["spamhaus-drop-v6.json", "spamhaus-json-lines", ["2001:db8:bad::/48"], "2026-08-01T12:00:00.000Z"],
    ["feodo-recommended.txt", "ip-lines", [], "2026-08-01T12:00:00.000Z"],
    [
      "cyberghost-servers.json",
      "gluetun-json",
      ["192.0.2.10/32", "198.51.100.10/32", "2001:db8:1::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "expressvpn-servers.json",
      "gluetun-json",
      ["192.0.2.11/32", "198.51.100.11/32", "2001:db8:2::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "mullvad-servers.json",
      "gluetun-json",
      ["192.0.2.12/32", "198.51.100.12/32", "2001:db8:3::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "nordvpn-servers.json",
      "gluetun-json",
      ["192.0.2.13/32", "198.51.100.13/32", "2001:db8:4::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "pia-servers.json",
      "gluetun-json",
      ["192.0.2.14/32", "198.51.100.14/32", "2001:db8:5::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "protonvpn-servers.json",
      "gluetun-json",
      ["192.0.2.15/32", "198.51.100.15/32", "2001:db8:6::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    [
      "surfshark-servers.json",
      "gluetun-json",
      ["192.0.2.16/32", "198.51.100.16/32", "2001:db8:7::1/128"],
      "2026-08-01T12:00:00.000Z",
    ],
    ["abuseipdb.json", "abuseipdb-json", ["192.0.2.7/32", "2001:db8::7/128"], "2026-08-01T12:00:00.000Z"],
    ["ip2proxy-lite.csv", "ip-range-csv", ["192.0.2.0/31", "198.51.100.0/29", "203.0.113.9/32"]],
    ["blocklist-de.txt", "ip-lines", ["192.0.2.11/32", "198.51.100.11/32", "2001:db8::11/128"]],
    ["cins-army.txt", "ip-lines", ["192.0.2.12/32", "198.51.100.12/32"]],
    ["greensnow.txt", "ip-lines", ["192.0.2.13/32", "198.51.100.13/32"]],
    ["et-compromised.txt", "ip-lines", ["192.0.2.14/32", "203.0.113.14/32"]],
    ["firehol-level2.netset", "ip-lines", ["192.0.2.11/32", "192.0.2.64/29", "198.51.100.0/24"]],
    ["dshield.txt", "dshield-block", ["192.0.2.0/24", "203.0.113.0/24"], "2026-08-01T12:00:00.000Z"],
    ["stopforumspam-1d.txt", "ip-lines", ["192.0.2.21/32", "203.0.113.21/32"]],
    ["thespeedx-proxies.txt", "proxy-lines", ["192.0.2.31/32", "198.51.100.31/32"]],
    ["socks-proxy-1d.ipset", "ip-lines", ["192.0.2.41/32", "198.51.100.41/32"]],
    ["public-resolvers.csv", "exit-networks", ["192.0.2.53/32", "2001:db8::53/128"]],
    ["listed-resolvers.csv", "exit-networks", ["198.51.100.53/32"]],
    ["mail-senders.csv", "exit-networks", ["203.0.113.0/26"]],
    ["akamai.json", "misp-json", ["192.0.2.0/26", "2001:db8:ca::/48"], "2026-08-01T00:00:00.000Z"],
    ["public-dns-v4.json", "misp-json", ["192.0.2.54/32", "198.51.100.54/32"], "2026-08-01T00:00:00.000Z"],
    ["public-dns-v6.json", "misp-json", ["2001:db8::54/128"], "2026-08-01T00:00:00.000Z"],
    ["cloudflare-v4.txt", "ip-lines", ["192.0.2.0/25", "198.51.100.0/24"]],
    ["cloudflare-v6.txt", "ip-lines", ["2001:db8:cc::/47", "2001:db8:cd::/48"]],
    ["fastly.json", "fastly-json", ["192.0.2.128/25", "198.51.100.128/25", "2001:db8:fa::/48"]],
    ["github-hooks.json", "github-meta", ["192.0.2.0/28", "2001:db8:90::/48"]],
    ["stripe-webhooks.txt", "ip-lines", ["192.0.2.91/32", "198.51.100.91/32"]],
    ["betterstack-monitors.txt", "ip-lines", ["192.0.2.92/32", "2001:db8:92::1/128"]],
    ["pingdom-monitors-v4.txt", "ip-lines", ["192.0.2.93/32", "198.51.100.93/32"]],
    ["pingdom-monitors-v6.txt", "ip-lines", ["2001:db8:93::1/128"]],
    ["uptimerobot-monitors.txt", "ip-lines", ["192.0.2.94/32", "198.51.100.96/29", "2001:db8:94::1/128"]],
    ["googlebot.json", "prefix-json", ["192.0.2.66/31", "2001:db8:66::/64"]],
    ["bingbot.json", "prefix-json", ["203.0.113.64/28"]],
  ];
  test.each(rows.map((row) => [row[0], row] as const))("%s", (_name, [file, format, want, publishedAt]) => {
    const parsed = parseNetworks(format, readFileSync(join(FIXTURES, file)));
    expect(networks(parsed)).toEqual(want);
    expect(parsed.skipped).toEqual([]);
    expect(parsed.publishedAt?.toISOString()).toBe(publishedAt);
  });
  test("firehol-level1.netset: wide networks that are all special-use are skipped", () => {
    const parsed = parseNetworks("ip-lines", readFileSync(join(FIXTURES, "firehol-level1.netset")));
    expect(networks(parsed)).toEqual(["10.0.0.0/8", "192.0.2.0/24", "198.51.100.0/25"]);
    expect(parsed.skipped).toEqual([{ line: 12, reason: "is special-use" }]);
  });
  test.each<[string, Format, string, string]>([
    [
      "a prefix of neither family",
      "prefix-json",
      '{"prefixes":[{"ipv4Prefix":"192.0.2.0/24"},{"prefix":"2001:db8::/32"}]}',
      "expected format at prefixes.1",
    ],
    ["no prefixes", "prefix-json", '{"creationTime":"2026-08-01"}', "expected format at prefixes"],
    [
      "Fastly's without IPv6",
      "fastly-json",
      '{"addresses":["192.0.2.0/24"]}',
      "expected format at ipv6_addresses",
    ],
    [
      "a warning list of names",
      "misp-json",
      '{"list":["example.org","example.net"]}',
      "has unusable entries, 2 of 2",
    ],
    ["a warning list cut short", "misp-json", '{"list":["192.0.2.1",', "is not JSON, or is truncated"],
  ])("what operators publish of themselves, refused: %s", (_name, format, text, why) => {
    expect(() => parseNetworks(format, bytes(text))).toThrow(why);
  });
  test.each(['"yesterday"', "1", "null", '{"toString":1}'])(
    "a warning list of version %s has no date",
    (version) => {
      const text = `{"list":["192.0.2.1"],"version":${version}}`;
      const parsed = parseNetworks("misp-json", bytes(text));
      expect([parsed.networks.length, parsed.publishedAt]).toEqual([1, undefined]);
    },
  );
  test("Spamhaus' copyright line is kept", () => {
    const body = readFileSync(join(FIXTURES, "spamhaus-drop-v4.json"));
    expect(parseNetworks("spamhaus-json-lines", body).copyright).toBe("(c) 2026 The Spamhaus Project SLU");
  });
});

describe("lists of ranges, of reports and of proxies", () => {
  const ranges = (text: string) => networks(parseNetworks("ip-range-csv", bytes(text)));
  const [mapped, six] = ["281473902969344", "42540766411282592856903984951653826560"];
  test.each([
    [
      "quotes or none",
      '"3221225984","3221225984","-","-"\n3221225985,3221225985,-\n',
      ["192.0.2.0/32", "192.0.2.1/32"],
    ],
    [
      "not aligned",
      '"3221225985","3221225990","-","-"\n',
      ["192.0.2.1/32", "192.0.2.2/31", "192.0.2.4/31", "192.0.2.6/32"],
    ],
    ["the last address of all", '"4294967295","4294967295","-","-"\n', ["255.255.255.255/32"]],
    ["IPv4 mapped into IPv6", `"${mapped}","${mapped}","-","-"\n`, ["192.0.2.0/32"]],
    ["IPv6", `"${six}","${six.slice(0, -1)}1","-","-"\n`, ["2001:db8::/127"]],
  ])("ranges: %s", (_name, text, want) => expect(ranges(text)).toEqual(want));
  test.each([
    ["backwards", '"3221225985","3221225984","-","-"\n'],
    ["past the end", `"0","${2n ** 128n}","-","-"\n`],
    ["addresses in words", '"192.0.2.1","192.0.2.2","-","-"\n'],
    ["one number", '"3221225985"\n'],
    ["nothing behind the second, which may have gone on", '"16777216","167772160\n'],
  ])("ranges, refused: %s", (_name, text) => {
    expect(() => ranges(text)).toThrow(/^has unusable entries, 1 of 1.*is not an address range/);
  });
  test.each([
    ["CR", "\r"],
    ["CRLF", "\r\n"],
    ["LF", "\n"],
  ])("lines end with %s, and keep their numbers", (_name, end) => {
    const text = ["9.9.9.9 # a", "", "no address", ...Array(20).fill("1.1.1.1 # b")].join(end);
    const parsed = parseNetworks("network-lines", bytes(text));
    expect(networks(parsed)).toEqual(["1.1.1.1/32", "9.9.9.9/32"]);
    expect(parsed.skipped).toEqual([{ line: 3, reason: "is not an address or a network" }]);
    const { domains } = parseDomains("domain-lines", bytes(`a.example # a${end}b.example${end}`));
    expect([...domains.keys()]).toEqual(["a.example", "b.example"]);
  });
  test("line ends of all kinds in one text, in linear time", () => {
    const parsed = parseNetworks(
      "network-lines",
      bytes("1.1.1.1\r1.1.1.2\r\n1.1.1.3\n\r1.1.1.4\r\r\n1.1.1.5"),
    );
    expect(networks(parsed)).toHaveLength(5);
    expect(networks(parseNetworks("ip-lines", bytes("1.1.1.1\r".repeat(200_000))))).toHaveLength(1);
  });
  test("a file that was cut short in its last line, whatever ends the lines", () => {
    for (const end of ["\r", "\n"])
      expect(() => parseNetworks("ip-lines", bytes(`${`1.1.1.1${end}`.repeat(20)}1.1.1`))).toThrow(
        "is truncated",
      );
    expect(() => parseNetworks("ip-lines", bytes(`${"1.1.1.1\r".repeat(20)}1.1.1\r`))).not.toThrow();
  });
  test("IPv4 addresses and networks inside IPv6 become IPv4", () => {
    const rows =
      "::ffff:5.0.0.1\n2002:0500:0002::/48\n64:ff9b::500:203\n2001:0:4136:e378:8000:63bf:34ff:8ef6\n";
    const want = ["5.0.0.1/32", "5.0.0.2/32", "5.0.2.3/32", "203.0.113.9/32"];
    expect(networks(parseNetworks("network-lines", bytes(rows)))).toEqual(want);
    expect(networks(parseNetworks("network-lines", bytes("::ffff:5.0.0.0-::ffff:5.0.0.2\n")))).toEqual([
      "5.0.0.0/31",
      "5.0.0.2/32",
    ]);
    const { networks: none, skipped } = parseNetworks("network-lines", bytes("2002::/16\n1.1.1.1\n"));
    expect(none).toHaveLength(1);
    expect(skipped[0]!.reason).toStartWith("2002::/16 contains IPv4 addresses in IPv6");
  });
  test("DShield: families that differ, and a network twice", () => {
    const read = (text: string) => networks(parseNetworks("dshield-block", bytes(text)));
    expect(read("192.0.2.0\t192.0.2.255\t24\n192.0.2.0\t192.0.2.255\t24\n")).toEqual(["192.0.2.0/24"]);
    expect(() => read("192.0.2.0\t2001:db8::\t24\n")).toThrow("is not an address range");
  });
  test("AbuseIPDB: entries below 100% confidence are skipped", () => {
    const body = { data: [{ ipAddress: "192.0.2.7", abuseConfidenceScore: 99 }] };
    const parsed = parseNetworks("abuseipdb-json", bytes(JSON.stringify(body)));
    expect(networks(parsed)).toEqual([]);
    expect(parsed.skipped).toEqual([{ line: 1, reason: "confidence is 99, but at least 100 is required" }]);
    expect(() => parseNetworks("abuseipdb-json", bytes('{"errors":[{"detail":"no"}]}'))).toThrow(
      "does not have the expected format at data",
    );
  });
  test("proxies: a scheme before, brackets around IPv6", () => {
    const text = "# tested\nsocks5://192.0.2.31:1080\n[2001:db8::31]:8080\n";
    expect(networks(parseNetworks("proxy-lines", bytes(text)))).toEqual([
      "192.0.2.31/32",
      "2001:db8::31/128",
    ]);
    expect(() => parseNetworks("proxy-lines", bytes("192.0.2.1\n"))).toThrow("is not an address with a port");
  });
});

describe("samples of each domain feed", () => {
  const fakefilter = {
    "byhand.example": "",
    "drop.example": "service-one.example",
    "shared.example": "service-one.example",
  };
  const bucher = { "another.example": "", "throwaway.example": "", "xn--bcher-kva.example": "" };
  const rows: readonly [file: string, format: Format, want: Record<string, string>, publishedAt?: string][] =
    [
      [
        "disposable-email-domains.txt",
        "domain-lines",
        { "mail.throwaway.example": "", "throw-away.invalid": "", "throwaway.example": "" },
      ],
      ["fakefilter.txt", "fakefilter-text", fakefilter, "2026-08-01T12:00:00.000Z"],
      ["fakefilter.json", "fakefilter-json", fakefilter, "2026-08-01T12:00:00.000Z"],
      ["disposable-domains.txt", "domain-lines", bucher],
      ["disposable-domains.json", "domain-json", bucher],
      ["tompec-domains.json", "domain-json", { "another.example": "", "throwaway.example": "" }],
      ["ivolo-domains.json", "domain-json", { "another.example": "", "old.example": "" }],
      ["mailchecker-domains.txt", "domain-lines", { "burner.example": "", "old.example": "" }],
      ["wesbos-burner.txt", "domain-lines", { "burner.example": "", "throwaway.example": "" }],
      ["relay-mail.txt", "domain-lines", { "alias.example": "", "relay.example": "" }],
      [
        "cloudflare-top-100k.json",
        "misp-domains",
        { "popular.example": "", "xn--bcher-kva.example": "" },
        "2026-08-01T00:00:00.000Z",
      ],
      [
        "tranco-10k.json",
        "misp-domains",
        { "popular.example": "", "xn--bcher-kva.example": "" },
        "2026-08-01T00:00:00.000Z",
      ],
      ["organisations.json", "organisation-websites", { "popular.example": "", "xn--bcher-kva.example": "" }],
      ["tranco-1m.csv", "ranked-domains", { "popular.example": "1", "xn--bcher-kva.example": "200000" }],
      ["shared-domains.csv", "relay-domains", { "shared.example": "Example Dynamic DNS" }],
      [
        "relay-domains.csv",
        "relay-domains",
        { "alias.example": "Alias, by Example", "relay.example": "Example Relay" },
      ],
    ];
  test.each(rows.map((row) => [row[0], row] as const))("%s", (_name, [file, format, want, publishedAt]) => {
    const parsed = parseDomains(format, readFileSync(join(FIXTURES, file)));
    expect(domains(parsed)).toEqual(want);
    expect([...parsed.domains.keys()]).toEqual([...parsed.domains.keys()].sort());
    expect(parsed.skipped).toEqual([]);
    expect(parsed.publishedAt?.toISOString()).toBe(publishedAt);
  });
  test("free-mail.txt, with one broken line as the real one", () => {
    const parsed = parseDomains("domain-lines", readFileSync(join(FIXTURES, "free-mail.txt")));
    expect(parsed.domains.size).toBe(10);
    expect(parsed.skipped).toEqual([{ line: 3, reason: "is not a domain" }]);
  });
});

describe("forms that lists come in", () => {
  test("comments, byte-order mark, CRLF, blank lines, white space, duplicates, no last line end", () => {
    const text =
      "\ufeff; DROP list\r\n\r\n 192.0.2.1 ; SBL1\r\n192.0.2.0/24\t# net\r\n192.0.2.1\r\n2001:DB8::1\n192.0.2.1/32";
    expect(ipLines(text)).toEqual(["192.0.2.0/24", "192.0.2.1/32", "2001:db8::1/128"]);
  });
  test("IPv4 before IPv6, by address, wider first, not merged", () => {
    expect(ipLines("2001:db8::/32\n203.0.113.0/25\n192.0.2.0/25\n192.0.2.0/24\n192.0.2.128/25\n")).toEqual([
      "192.0.2.0/24",
      "192.0.2.0/25",
      "192.0.2.128/25",
      "203.0.113.0/25",
      "2001:db8::/32",
    ]);
  });
  test("IPv4-mapped IPv6 is read as IPv4", () => {
    expect(ipLines("::ffff:192.0.2.1\n")).toEqual(["192.0.2.1/32"]);
  });
  test("absurdly wide networks are skipped and reported, however many", () => {
    const parsed = parseNetworks(
      "ip-lines",
      bytes("0.0.0.0/0\n224.0.0.0/7\n2000::/3\n10.0.0.0/8\n2001::/16\n"),
    );
    expect(networks(parsed)).toEqual(["10.0.0.0/8", "2001::/16"]);
    expect(parsed.skipped).toEqual([
      { line: 1, reason: "is too wide: a /0; the widest allowed is /8" },
      { line: 2, reason: "is special-use" },
      { line: 3, reason: "is too wide: a /3; the widest allowed is /16" },
    ]);
  });
  test("all skipped lines are counted and the first is reported", () => {
    const parsed = parseNetworks("ip-lines", bytes("192.0.2.1\n0.0.0.0/1\n".repeat(20_000)));
    expect(parsed.networks).toHaveLength(1);
    expect(parsed.skippedCount).toBe(20_000);
    expect(parsed.skipped).toHaveLength(1_000);
  });
  test("comments alone are a list, an empty one", () => {
    expect(ipLines("# nothing today\n")).toEqual([]);
    expect(domainLines("# nothing today")).toEqual({});
  });
  test("domains: case, Unicode, comments", () => {
    expect(
      domainLines("A.Example\nB\u00dcCHER.example # fine\nxn--bcher-kva.example\nfa\u00df.example\n"),
    ).toEqual({
      "a.example": "",
      "xn--bcher-kva.example": "",
      "xn--fa-hia.example": "",
    });
  });
  const good = Array.from({ length: 20 }, (_, i) => `good${i}.example\n`).join("");
  test.each([
    ["one label", "localhost"],
    ["an address", "192.0.2.1"],
    ["an empty label", "a..example"],
    ["a leading dot", ".a.example"],
    ["a trailing dot", "a.example."],
    ["a wildcard", "*.a.example"],
    ["a mailbox", "me@a.example"],
    ["a URL", "https://a.example/x"],
    ["a port", "b\u00fccher.example:80"],
    ["a path behind Unicode", "b\u00fccher.example/x"],
    ["an underscore", "a_b.example"],
    ["an edge hyphen", "-a.example"],
    ["a broken A-label", "xn--zzzzzzz99999.example"],
    ["a long label", `${"a".repeat(64)}.example`],
    ["a long name", `${"abcdefg.".repeat(32)}example`],
    ["an A-label with a hyphen first, as the engine decodes it", "xn----pfa.com"],
    ["a Unicode label with a hyphen first", "-\u00e9\u00e9.com"],
  ])("not a domain: %s", (_name, line) => {
    const parsed = parseDomains("domain-lines", bytes(`${line}\n${good}`));
    expect(parsed.domains.size).toBe(20);
    expect(parsed.skipped).toHaveLength(1);
    expect(parsed.skipped[0]!.reason).toBe("is not a domain");
  });
  const addresses = Array.from({ length: 20 }, (_, i) => `192.0.2.${i}\n`).join("");
  test.each([
    ["leading zeros", "198.051.100.001"],
    ["a range", "198.51.100.1-198.51.100.9"],
    ["a port", "198.51.100.1:80"],
    ["a zone", "fe80::1%eth0"],
    ["too long a prefix", "198.51.100.1/33"],
    ["a number", "3325256705"],
    ["a name", "host.example"],
  ])("not a network: %s", (_name, line) => {
    const parsed = parseNetworks("ip-lines", bytes(`${line}\n${addresses}`));
    expect(parsed.networks).toHaveLength(20);
    expect(parsed.skipped).toEqual([{ line: 1, reason: "is not an address or a network" }]);
  });
  test("host bits: the reason has the network", () => {
    const { skipped } = parseNetworks("ip-lines", bytes(`198.51.100.1/24\n${addresses}`));
    expect(skipped).toEqual([{ line: 1, reason: "has host bits set: use 198.51.100.0/24" }]);
  });
  test.each(["45.67.12.0/24,seen 2026-11-20", "network,seen", "network;seen"])("CSV: %s", (row) => {
    expect(() => parseNetworks("network-lines", bytes(`${row}\n${row}\n`))).toThrow(
      "the first is line 1: looks like CSV, but this format takes one network per line",
    );
  });
  test.each(["host.example ; a, b", "host.example # a, b", "host.example"])("not CSV: %s", (line) => {
    expect(() => parseNetworks("network-lines", bytes(`${line}\n`))).toThrow(
      "line 1: is not an address or a network",
    );
  });
  test("no message quotes what was there", () => {
    const secret = "internal-metadata-7f3a";
    const bodies = [
      `${secret}\n`,
      `<html><title>${secret}</title>`,
      `{"${secret}":"${secret}"}`,
      `["${secret}"]`,
      `{"version":2,"t":1,"domains":{"${secret}.example":{"providers":"${secret}"}}}`,
      `network,operator,source\n${secret},${secret},https://${secret}\n`,
      `# updated: ${secret}\n${secret}\t${secret}\t24\n`,
      `2|${secret}|1|1|${secret}\n`,
    ].map(bytes);
    let checked = 0;
    for (const format of Object.keys(EXTENSIONS) as Format[]) {
      for (const body of bodies) {
        const parse = isNetworkFormat(format)
          ? parseNetworks
          : isDomainFormat(format)
            ? parseDomains
            : undefined;
        if (parse === undefined) continue;
        try {
          expect(JSON.stringify(parse(format, body).skipped)).not.toContain(secret);
        } catch (error) {
          expect((error as Error).name).toBe("FeedError");
          expect((error as Error).message).not.toContain(secret);
          checked++;
        }
      }
    }
    expect(checked).toBeGreaterThan(80);
  });
  test("a line of a megabyte is skipped", () => {
    const parsed = parseNetworks("ip-lines", bytes(`${"1".repeat(2 ** 20)}\n${addresses}`));
    expect(parsed.skipped).toEqual([{ line: 1, reason: "is longer than 65536 characters" }]);
  });
  test.each([
    ["# Last updated: 2026-03-07 21:15:07 UTC   #", "2026-03-07T21:15:07.000Z"],
    ["# Last Update: 2026-02-18T00:14:44.419Z", "2026-02-18T00:14:44.419Z"],
    ["; Last-Modified: Sat, 12 May 2018 21:54:15 GMT", "2018-05-12T21:54:15.000Z"],
    ["# Last updated: yesterday", undefined],
    ["# updated 2026-03-07", undefined],
    [`# Last updated: 2026-03-07 21:15:07 UTC${"#".repeat(200)}`, undefined],
  ] as const)("the date in %j", (comment, want) => {
    expect(parseNetworks("ip-lines", bytes(`${comment}\n`)).publishedAt?.toISOString()).toBe(want as string);
  });
  test.each([
    ["1.0.0.1 # Last updated: 2026-03-05\n2.0.0.2 # Last updated: 2026-03-07\n", "2026-03-07"],
    ["1.0.0.1 # Last updated: 2026-03-05\n# Last updated: 2026-03-09\n2.0.0.2\n", "2026-03-09"],
  ])("dates of entries: the newest of them is the list's, unless a comment states one", (list, want) => {
    const { publishedAt } = parseNetworks("ip-lines", bytes(list));
    expect(publishedAt).toEqual(new Date(want));
  });
  test("AbuseIPDB without its date: that of the newest report", () => {
    const row = (ipAddress: string, lastReportedAt: string) => {
      return { ipAddress, lastReportedAt, abuseConfidenceScore: 100 };
    };
    const data = [
      row("192.0.2.7", "2026-03-07T21:15:07+00:00"),
      row("192.0.2.8", "2026-03-05T21:15:07+00:00"),
    ];
    const { publishedAt } = parseNetworks("abuseipdb-json", bytes(JSON.stringify({ data })));
    expect(publishedAt).toEqual(new Date("2026-03-07T21:15:07Z"));
  });
  test.each([
    "2026-03-07 21:15:07",
    "2026-03-07T21:15:07.000",
    "2026-03-07 21:15:07UTC",
    "2026-03-07 13:15:07 -0800",
    "2026-03-07T13:15:07-08:00",
    "Sat Mar  7 21:15:07 2026",
    "Sat, 07 Mar 2026 21:15:07",
    "Sat, 07 Mar 2026 16:15:07 EST",
  ])("a time without a zone is UTC, wherever the build runs: %s", (text) => {
    const zone = process.env.TZ;
    process.env.TZ = "America/Los_Angeles";
    try {
      expect(findDate(text)).toEqual(new Date("2026-03-07T21:15:07Z"));
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });
  test.each([
    "2026-02-31",
    "2026-02-31T00:00:00Z",
    "2026-02-30 12:00:00 UTC",
    "Tue, 31 Feb 2026 08:49:37 GMT",
    "Sat Feb 31 21:15:07 2026",
    "31 Apr 2026 10:00:00",
  ])("a day that does not exist is no date: %s", (text) => {
    expect(findDate(text)).toBeUndefined();
  });
  test.each([
    ["Tue, 31 Mar 2026 22:49:37 EST", "2026-04-01T03:49:37Z"],
    ["Tue, 31 Mar 2026 22:49:37 -0500", "2026-04-01T03:49:37Z"],
    ["Tue, 31 Mar 2026 22:49:37 GMT", "2026-03-31T22:49:37Z"],
  ])("a day of 31 stays one: %s", (text, expected) => {
    expect(findDate(text)).toEqual(new Date(expected));
  });
  test("an Onionoo document of all relays gives its running exits only", () => {
    const relay = (host: number, more: object) => ({ or_addresses: [`192.0.2.${host}:9001`], ...more });
    const relays = [
      relay(1, { flags: ["Running", "Exit"], running: true }),
      relay(2, { flags: ["Running", "Guard"], running: true }),
      relay(3, { flags: ["Exit"], running: false }),
    ];
    const parsed = parseNetworks("onionoo-json", bytes(JSON.stringify({ relays })));
    expect(networks(parsed)).toEqual(["192.0.2.1/32"]);
    expect(parsed.skipped.map((skipped) => skipped.line)).toEqual([2, 3]);
  });
  test("FakeFilter's JSON lists hosts, not the domain that groups them", () => {
    const entry = {
      providers: ["static", "svc.example"],
      hosts: { "a.dyn.example": {}, "b.dyn.example": {} },
    };
    const file = { version: 2, t: 1, domains: { "dyn.example": entry } };
    expect(domains(parseDomains("fakefilter-json", bytes(JSON.stringify(file))))).toEqual({
      "a.dyn.example": "svc.example",
      "b.dyn.example": "svc.example",
    });
  });
});

/** Formats of operators' own feeds, which no built-in feed has. */
const OWN_FORMATS: readonly Format[] = ["network-lines", "json-networks", "json-domains"];

describe("files that are refused", () => {
  const all = FEEDS.filter((feed) => feed.format !== "mmdb").map((feed) => feed.format);
  const formats = [...new Set<Format>([...all, "domain-json", "fakefilter-json", ...OWN_FORMATS])];
  const parse = (format: Format, body: Uint8Array) =>
    parseFile(format, body, { systems: { kind: "hosting", weight: 1 } });
  const page = "<!DOCTYPE html>\n<html><head><title>404: Not\tFound</title></head><body></body></html>";
  const bad: readonly [name: string, body: Uint8Array, message: RegExp][] = [
    ["empty", bytes(""), /^is empty$/],
    ["white space", bytes("\r\n \n"), /^contains only white space$/],
    ["a web page", bytes(page), /^is a web page, not a list$/],
    ["a page without a doctype", bytes("\n\n<HTML lang=en><body>"), /^is a web page, not a list$/],
    ["an XML error", bytes("<?xml version='1.0'?><Error/>"), /^is a web page/],
    ["gzip", gzipSync("192.0.2.1\n"), /^is still compressed: it is a gzip file$/],
    ["zip", bytes("PK\u0003\u0004..."), /^is still compressed: it is a zip file$/],
    ["binary", new Uint8Array([0xab, 0xcd, 0, 1, 2, 3]), /^is a binary file/],
    ["UTF-16", new Uint8Array([0xff, 0xfe, 0x31, 0, 0x0a, 0]), /^is a binary file/],
    ["Latin-1", new Uint8Array([0x62, 0xfc, 0x63, 0x68, 0x0a]), /^is not UTF-8 text$/],
  ];
  for (const format of formats) {
    test.each(bad)(`${format}: %s`, (_name, body, message) => {
      expect(() => parse(format, body)).toThrow(message);
      expect(() => parse(format, body)).toThrow(expect.objectContaining({ name: "FeedError" }));
    });
  }
  test("an HTML page after a comment is refused", () => {
    expect(() => ipLines("# 403\n<html><body>")).toThrow(/^is a web page/);
  });

  const metadata = (records: number) => `{"type":"metadata","timestamp":1785585600,"records":${records}}`;
  const rows: readonly [name: string, format: Format, text: string, message: RegExp][] = [
    [
      "prose",
      "ip-lines",
      "Too many requests.\nCome back later.\n",
      /^has unusable entries, 2 of 2; the first is line 1: is not an address or a network$/,
    ],
    ["a tenth and more", "ip-lines", `${"192.0.2.1\n".repeat(17)}x\ny\n`, /^has unusable entries, 2 of 19/],
    [
      "too many invalid lines: refused early",
      "ip-lines",
      `${"192.0.2.1\n".repeat(9_000)}${"x\n".repeat(50_000)}`,
      /^has unusable entries, 10000 of 19000; the first is line 9001/,
    ],
    ["JSON in place of lines", "domain-lines", '{"error":"rate limit"}\n', /^has unusable entries, 1 of 1/],
    [
      "cut inside a line",
      "ip-lines",
      `${"192.0.2.1\n".repeat(50)}80.246.2`,
      /^is truncated in line 51, which/,
    ],
    ["cut inside a domain", "domain-lines", `${"a.example\n".repeat(50)}b.`, /^is truncated in line 51/],
    ["cut inside a geofeed", "geofeed-csv", `${"192.0.2.0/24,,,,\n".repeat(50)}198.51.10`, /^is truncated/],
    ["a geofeed without commas", "geofeed-csv", "192.0.2.0/24\n", /is not a geofeed line/],
    [
      "no metadata",
      "spamhaus-json-lines",
      '{"cidr":"192.0.2.0/24"}\n',
      /^is truncated: the closing metadata/,
    ],
    [
      "fewer records than counted",
      "spamhaus-json-lines",
      `{"cidr":"192.0.2.0/24"}\n${metadata(2)}\n`,
      /^has 1 records, but its metadata lists 2$/,
    ],
    [
      "records after the metadata",
      "spamhaus-json-lines",
      `${metadata(0)}\n{"cidr":"192.0.2.0/24"}\n`,
      /^continues after its metadata, at line 2$/,
    ],
    [
      "a cut record",
      "spamhaus-json-lines",
      '{"cidr":"192.0.2.0/24"}\n{"cidr":"198.5',
      /^line 2 is not JSON, or is truncated/,
    ],
    [
      "another record",
      "spamhaus-json-lines",
      `{"ip":"192.0.2.0/24"}\n${metadata(1)}`,
      /^line 1 does not have the/,
    ],
    [
      "unusable records",
      "spamhaus-json-lines",
      `{"cidr":"AS64496"}\n${metadata(1)}`,
      /^has unusable entries, 1 of 1/,
    ],
    [
      "no relays",
      "onionoo-json",
      '{"version":"8.0"}',
      /^the file does not have the expected format at relays:/,
    ],
    [
      "cut",
      "onionoo-json",
      '{"relays":[{"or_addresses":["192.0.2.1:1"]},{"or_',
      /^the file is not JSON, or is truncated/,
    ],
    [
      "no ports",
      "onionoo-json",
      '{"relays":[{"or_addresses":["192.0.2.1"]}]}',
      /is not an address with a port/,
    ],
    [
      "an object",
      "monosans-json",
      '{"proxies":[]}',
      /^the file does not have the expected format at its top/,
    ],
    [
      "no hosts",
      "monosans-json",
      '[{"ip":"192.0.2.1"}]',
      /^the file does not have the expected format at 0\.host/,
    ],
    ["host names", "monosans-json", '[{"host":"proxy.example"}]', /^has unusable entries, 1 of 1/],
    ["words", "domain-json", '["not","domains"]', /^has unusable entries, 2 of 2; the first is record 1: /],
    ["numbers", "domain-json", "[1,2]", /^has unusable entries, 2 of 2; the first is record 1: is not text/],
    [
      "prose",
      "fakefilter-text",
      "## a.example\nnot found\n",
      /^has unusable entries, 1 of 1; the first is line 2/,
    ],
    [
      "hosts that are none",
      "fakefilter-json",
      '{"version":2,"t":1,"domains":{"a.example":{"providers":[],"hosts":{"x y":{}}}}}',
      /^has unusable entries, 1 of 1/,
    ],
    ["version 1", "fakefilter-json", '{"version":1,"t":1,"domains":{}}', /expected format at version/],
    [
      "another header",
      "exit-networks",
      "cidr,name\n192.0.2.0/24,a\n",
      /^line 1 is not the header network,operator/,
    ],
    ["no header", "exit-networks", "# nothing\n", /^lacks its header network,operator,source$/],
    [
      "no source",
      "exit-networks",
      "network,operator,source\n192.0.2.0/24,A,\n",
      /^line 2 lacks a name or a source/,
    ],
    [
      "a field too many",
      "exit-networks",
      "network,operator,source\na,b,c,d\n",
      /^line 2 does not have 3 fields$/,
    ],
    [
      "host bits in our own list",
      "exit-networks",
      "network,operator,source\n192.0.2.1/24,A,https://a.example\n",
      /^line 2: has host bits set: use 192\.0\.2\.0\/24$/,
    ],
    [
      "an open quote",
      "relay-domains",
      'domain,service,source\na.example,"A,https://a.example\n',
      /^line 2 does not/,
    ],
    [
      "no version line",
      "nro-delegated",
      "ripencc|DE|ipv4|192.0.2.0|256|2010|allocated\n",
      /^line 1 is not the version/,
    ],
    [
      "cut",
      "nro-delegated",
      "2|nro|20260801|2|19830705|20260731|+0000\nripencc|DE|ipv4|192.0.2.0|256|2010|allocated|x\n",
      /^is truncated: 1 of 2 records$/,
    ],
  ];
  test.each(rows)("%s (%s)", (_name, format, text, message) => {
    expect(() => parse(format, bytes(text))).toThrow(message);
  });
  test("a format of the other kind throws", () => {
    expect(() => parseNetworks("domain-lines", bytes("a.example"))).toThrow(
      "domain-lines is not a network format",
    );
    expect(() => parseDomains("mmdb", bytes("a.example"))).toThrow("mmdb is not a domain format");
  });
  test("splices of samples are refused or read", () => {
    // One sample of each format, so that formats with many feeds do not crowd out the others.
    const forms = [...new Set(formats)];
    const samples = forms.flatMap((format) => {
      const feed = FEEDS.find((row) => row.format === format);
      const file = readdirSync(FIXTURES).find((name) => name.startsWith(`${feed?.id}.`));
      return file === undefined ? [] : [readFileSync(join(FIXTURES, file))];
    });
    const random = randomBelow(1);
    let [refused, read] = [0, 0];
    for (let round = 0; round < 30_000; round++) {
      const [a, b] = [samples[random(samples.length)]!, samples[random(samples.length)]!];
      const body = Buffer.concat([a.subarray(0, random(a.length + 1)), b.subarray(random(b.length + 1))]);
      try {
        parse(forms[random(forms.length)]!, body);
        read++;
      } catch (error) {
        expect(error).toHaveProperty("name", "FeedError");
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(10_000);
    expect(read).toBeGreaterThan(100);
  });
  test("a VPN operator's server without an address is skipped", () => {
    const file = { timestamp: 1_785_585_600, servers: [{ vpn: "openvpn" }, { ips: ["217.160.0.2"] }] };
    const read = parseNetworks("gluetun-json", bytes(JSON.stringify(file)));
    expect(networks(read)).toEqual(["217.160.0.2/32"]);
    expect(read.skipped).toEqual([{ line: 1, reason: "has no address" }]);
  });

  test("every truncated sample is refused or gives part of its entries", () => {
    let refused = 0;
    for (const file of readdirSync(FIXTURES)) {
      const feed = FEEDS.find(({ id }) => file.startsWith(`${id}.`))!;
      const extension = file.slice(feed.id.length + 1);
      const format = feed.otherFormats?.[extension] ?? feed.format;
      if (["mmdb", "nro-delegated", "asn-csv", "operator-systems"].includes(format)) continue; // these have separate tests
      const whole = readFileSync(join(FIXTURES, file));
      const entriesOf = (body: Uint8Array): string[] => {
        if (isNetworkFormat(format)) return networks(parseNetworks(format, body, feed.paths));
        if (isSystemFormat(format))
          return [...parseSystemKinds(format, body, "hosting").kinds.keys()].map(String);
        return [...parseDomains(format, body).domains.keys()];
      };
      const all = new Set(entriesOf(whole));
      for (let length = 0; length < whole.length; length++) {
        const body = whole.subarray(0, length);
        try {
          const part = entriesOf(body);
          // All lines but the last are whole. The last line may be cut to another valid entry.
          expect(part.filter((entry) => !all.has(entry)).length).toBeLessThanOrEqual(1);
        } catch (error) {
          expect(error).toHaveProperty("name", "FeedError");
          refused++;
        }
      }
    }
    expect(refused).toBeGreaterThan(1_000);
  });
});

describe("registry statistics", () => {
  const read = (body: Uint8Array) =>
    parseNroDelegated(body).map(({ prefix, country }) => `${formatPrefix(prefix)} ${country}`);
  test("the sample", () => {
    expect(read(readFileSync(join(FIXTURES, "nro-delegated-stats.txt")))).toEqual([
      "192.0.2.0/24 DE",
      "198.51.100.0/25 US",
      "198.51.100.128/26 US",
      "2001:db8::/32 JP",
    ]);
  });
  const one = (start: string, value: string, type = "ipv4") =>
    read(
      bytes(
        `2|nro|20260801|1|19830705|20260731|+0000\nripencc|de|${type}|${start}|${value}|20100101|allocated\n`,
      ),
    );
  test.each([
    ["a single address", "192.0.2.7", "1", ["192.0.2.7/32 DE"]],
    ["not aligned", "192.0.2.192", "128", ["192.0.2.192/26 DE", "192.0.3.0/26 DE"]],
    ["the end of all", "255.255.255.0", "256", ["255.255.255.0/24 DE"]],
    ["everything", "0.0.0.0", "4294967296", ["0.0.0.0/0 DE"]],
  ])("IPv4: %s", (_name, start, value, want) => {
    expect(one(start, value)).toEqual(want);
  });
  test.each([
    ["past the end", "255.255.255.0", "257", "ipv4"],
    ["no addresses", "192.0.2.0", "0", "ipv4"],
    ["not a number", "192.0.2.0", "1e3", "ipv4"],
    ["IPv6 in a row for IPv4", "2001:db8::", "32", "ipv4"],
    ["too long", "2001:db8::", "129", "ipv6"],
    ["host bits", "2001:db8::1", "32", "ipv6"],
  ])("refused: %s", (_name, start, value, type) => {
    expect(() => one(start, value, type)).toThrow(/^has unusable entries, 1 of 1/);
  });
});

describe("the number of JSON values is limited before the file is parsed", () => {
  const list = (count: number, entry: string) => bytes(`[${Array(count).fill(entry).join(",")}]`);
  const read = (body: Uint8Array) => parseNetworks("json-networks", body, ["$[*].ip"]);

  test("64 MiB of empty objects, in the operator's own feed and in a publisher's", () => {
    const body = list(Math.floor((64 * 1024 * 1024) / 3), "{}");
    expect(() => read(body)).toThrow("the file has more than 4,000,000 JSON values");
    expect(() => parseNetworks("monosans-json", body)).toThrow("more than 1,000,000 JSON values");
  });

  test("what is in a string is no value", () => {
    const text = String.raw`a\"${",[{".repeat(2_000_000)}\\`;
    const body = bytes(`[{"ip":"192.0.2.1","note":"${text}"},{"ip":"192.0.2.2"}]`);
    expect(networks(read(body))).toHaveLength(2);
  });
});

describe("what a hostile publisher may send", () => {
  /** Names that every object inherits. */
  const INHERITED = ["constructor", "toString", "hasOwnProperty"];

  test.each(INHERITED)("a crawler, and kinds of systems, named %s", (name) => {
    const service = JSON.stringify(name);
    const bots = `{"services":{${service}:{"ip_list_authoritative":true,"ipv4":["192.0.2.0/24"]}}}`;
    const { groups } = parseNetworks("ipverse-bots", bytes(bots));
    expect(groups?.map(({ operator }) => operator)).toEqual([name.toLowerCase()]);
    const metadata = `[{"asn":1,"metadata":{"category":${service}}},{"asn":2,"metadata":{"category":"isp"}}]`;
    expect([...parseSystemKinds("as-metadata", bytes(metadata), undefined).kinds]).toEqual([[2, "isp"]]);
    const nets = `{"data":[{"asn":1,"info_type":${service}},{"asn":2,"info_types":["Content"]}]}`;
    expect([...parseSystemKinds("peeringdb-net", bytes(nets), undefined).kinds]).toEqual([[2, "hosting"]]);
  });

  test.each([
    ["network-lines", (text: string) => parseNetworks("network-lines", bytes(text)), ""],
    ["geofeed", (text: string) => parseGeofeed(bytes(text)), ",DE,,,"],
  ])("%s: the networks of each range are counted", (_format, parse, rest) => {
    const expand = spyOn(Tally.prototype, "expand");
    parse(`192.0.2.1-192.0.2.9${rest}\n2001:db8::1-2001:db8:ffff:ffff:ffff:ffff:ffff:fffe${rest}\n`);
    expect(expand.mock.calls).toEqual([[4], [190]]);
    expand.mockRestore();
  });

  test("a million networks in few ranges are refused, in many ranges used", () => {
    const [few, many] = [new Tally(), new Tally()];
    for (let i = 0; i < 10_000; i++) few.expand(100);
    for (let i = 0; i < 500_000; i++) many.expand(4);
    expect(() => few.expand(1)).toThrow(/^has 10001 ranges with 1000001 networks, which is too many$/);
  });
});

describe("what a parser would have to hold", () => {
  const few = { least: 1, most: 10 };
  const lines = (count: number) => bytes("192.0.2.1\n".repeat(count - 1));
  const records = (count: number) => bytes(`[${'{"host":"192.0.2.1"},'.repeat(count)}0]`);

  test("lines: as many as the feed's entries, and 10,000 comments", () => {
    requireParsable(few, "ip-lines", lines(10_010));
    expect(() => requireParsable(few, "ip-lines", lines(10_011))).toThrow(
      new FeedError("has 10011 lines, but at most 10010 are parsed: at most 10 entries are expected"),
    );
  });
  test("JSON documents have their own limit", () => {
    requireParsable(few, "monosans-json", records(20_000));
  });
});
