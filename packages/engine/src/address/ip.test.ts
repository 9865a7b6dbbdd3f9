import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  formatIp,
  formatPrefix,
  IpAddress,
  MAX_IP_TEXT,
  parseIp,
  parseIpBytesInto,
  parseIpInto,
  parsePeer,
  parsePeerPrefix,
  parsePrefix,
  parsePrefixAround,
  parseRawIp,
  prefixContains,
  withoutHostBits,
} from "./ip.ts";

/** A text and its printed form, which is undefined if the text must be refused. */
const FORMS: Record<string, readonly (readonly [text: string, printed: string | undefined])[]> = {
  "dotted quad": [
    ["0.0.0.0", "0.0.0.0"],
    ["203.0.113.9", "203.0.113.9"],
    ["255.255.255.255", "255.255.255.255"],
  ],
  "IPv4 that others read in several ways": [
    ["01.2.3.4", undefined],
    ["1.2.3.04", undefined],
    ["00.0.0.0", undefined],
    ["0x7f.0.0.1", undefined],
    ["0x7f000001", undefined],
    ["2130706433", undefined],
    ["127.1", undefined],
    ["127.0.1", undefined],
    ["1.2.3.4.5", undefined],
    ["1.2.3.", undefined],
    [".1.2.3", undefined],
    ["1..2.3", undefined],
    ["256.1.1.1", undefined],
    ["1.2.3.1000", undefined],
  ],
  "full IPv6": [
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:DB8::A", "2001:db8::a"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"],
  ],
  "IPv6 with a dotted tail": [
    ["::ffff:203.0.113.9", "::ffff:203.0.113.9"],
    ["64:ff9b::203.0.113.9", "64:ff9b::cb00:7109"],
    ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
    ["1:2:3:4:5:6:7:1.2.3.4", undefined],
    ["::ffff:1.2.3", undefined],
    ["::ffff:01.2.3.4", undefined],
    ["1.2.3.4::", undefined],
    ["::1.2.3.4:5", undefined],
  ],
  "broken IPv6": [
    [":", undefined],
    [":::", undefined],
    ["1:2:3:4:5:6:7", undefined],
    ["1:2:3:4:5:6:7:8:9", undefined],
    ["1:2:3:4:5:6:7:8::", undefined],
    ["1::2::3", undefined],
    ["12345::", undefined],
    ["g::", undefined],
    ["1:2:3:4:5:6:7:", undefined],
    [":1:2:3:4:5:6:7", undefined],
    ["::1:", undefined],
  ],
  "what is around an address": [
    ["", undefined],
    [" 1.2.3.4", undefined],
    ["1.2.3.4 ", undefined],
    ["1.2.3.4\n", undefined],
    ["1.2.3.4/32", undefined],
    ["1.2.3.4:80", undefined],
    ["[::1]", undefined],
    ["fe80::1%eth0", undefined],
    ["::1/128", undefined],
    ["81.2.69.142.evil.example", undefined],
    ["\u0661.2.3.4", undefined],
    ["\uff11.2.3.4", undefined],
    ["1.2.3.4\0", undefined],
  ],
};

describe("parseRawIp", () => {
  for (const [name, rows] of Object.entries(FORMS)) {
    test(name, () => {
      for (const [text, printed] of rows) {
        const address = parseRawIp(text);
        assert.equal(address && formatIp(address), printed, JSON.stringify(text));
      }
    });
  }

  test("a reused holder keeps nothing of the previous address", () => {
    const holder = new IpAddress();
    assert.ok(parseIpInto("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", holder));
    assert.ok(parseIpInto("::1", holder));
    assert.equal(formatIp(holder), "::1");
    assert.ok(parseIpInto("1.2.3.4", holder));
    assert.equal(formatIp(holder), "1.2.3.4");
  });
});

const ipv4 = fc.ipV4();
const ipv6 = fc.ipV6();
/** Near misses: an address with one character changed, removed or added, or two addresses spliced together. */
const nearMiss = fc
  .tuple(
    fc.oneof(ipv4, ipv6),
    fc.oneof(ipv4, ipv6),
    fc.nat(50),
    fc.nat(50),
    fc.constantFrom(..."0159afAF.:/% gx"),
  )
  .chain(([a, b, i, j, c]) =>
    fc.constantFrom(
      a.slice(0, i) + c + a.slice(i + 1),
      a.slice(0, i) + a.slice(i + 1),
      a.slice(0, i) + b.slice(j),
      a + c,
      c + a,
    ),
  );

describe("parseIpBytesInto", () => {
  test("reads what is between start and end as parseIpInto reads the text, whatever is around it", () => {
    const one = new IpAddress();
    const other = new IpAddress();
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.oneof(nearMiss, ipv4, ipv6),
        fc.constantFrom("", "1", ":", ".", "f:"),
        (text, around) => {
          const bytes = Uint8Array.from(around + text + around, (c) => c.charCodeAt(0));
          const is = parseIpBytesInto(bytes, around.length, bytes.length - around.length, one);
          assert.equal(is, parseIpInto(text, other), text);
          if (!is) return;
          accepted++;
          assert.equal(formatIp(one), formatIp(other), text);
        },
      ),
      { numRuns: 20_000 },
    );
    assert.ok(accepted > 5_000, `accepted ${accepted}`);
  });
  const rows: readonly (readonly [why: string, bytes: number[]])[] = [
    ["characters beyond ASCII", [0x31, 0x2e, 0x32, 0x2e, 0x33, 0x2e, 0xb2]],
    ["a zero byte", [0x3a, 0x3a, 0]],
    ["nothing", []],
  ];
  for (const [why, bytes] of rows) {
    test(`refuses ${why}`, () => {
      assert.ok(!parseIpBytesInto(Uint8Array.from(bytes), 0, bytes.length, new IpAddress()));
    });
  }
});

describe("parseIp and node:net", () => {
  test("agree on near misses and addresses; node takes zone ids, the contract does not", () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(nearMiss, ipv4, ipv6), (text) => {
        const ours = parseIp(text) !== undefined;
        const theirs = (isIPv4(text) || isIPv6(text)) && !text.includes("%");
        if (ours) accepted++;
        else refused++;
        assert.equal(ours, theirs, text);
      }),
      { numRuns: 20_000 },
    );
    assert.ok(accepted > 5_000 && refused > 3_000, `accepted ${accepted}, refused ${refused}`);
  });

  test("parse, print, parse is stable, and printed addresses are within the length limit", () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (text) => {
        const first = parseRawIp(text);
        assert.ok(first, text);
        const printed = formatIp(first);
        assert.ok(printed.length <= MAX_IP_TEXT);
        const second = parseRawIp(printed);
        assert.ok(second, printed);
        assert.equal(second.family, first.family);
        assert.deepEqual(second.words, first.words);
        assert.equal(formatIp(second), printed);
      }),
      { numRuns: 10_000 },
    );
  });
});

describe("IPv4 addresses inside IPv6", () => {
  const rows: readonly (readonly [text: string, ipv4: string | undefined, why: string])[] = [
    ["::ffff:203.0.113.9", "203.0.113.9", "IPv4-mapped"],
    ["2002:cb00:7109::1", "203.0.113.9", "6to4"],
    ["2001:0:4136:e378:8000:63bf:34ff:8ef6", "203.0.113.9", "Teredo: the client, inverted"],
    ["64:ff9b::cb00:7109", "203.0.113.9", "NAT64"],
    ["64:ff9b:1::cb00:7109", undefined, "local-use NAT64 is not unwrapped"],
    ["64:ff9b::1:0:0", undefined, "only the /96"],
    ["::203.0.113.9", undefined, "IPv4-compatible is deprecated"],
    ["2001:1::1", undefined, "beside Teredo"],
    ["2003::1", undefined, "beside 6to4"],
    ["::fffe:203.0.113.9", undefined, "beside IPv4-mapped"],
  ];
  for (const [text, ipv4, why] of rows) {
    test(why, () => {
      const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
      const ofBytes = new IpAddress();
      const raw = formatIp(parseRawIp(text)!);
      assert.equal(formatIp(parseIp(text)!), ipv4 ?? raw);
      assert.ok(parseIpBytesInto(bytes, 0, bytes.length, ofBytes));
      assert.equal(formatIp(ofBytes), ipv4 ?? raw);
      assert.equal(parseRawIp(text)!.family, 6);
      assert.equal(formatIp(parsePeer(text)!), why === "IPv4-mapped" ? ipv4 : raw, "tunnels are no peers");
    });
  }
});

describe("parsePrefix", () => {
  const rows: readonly (readonly [text: string, printed: string | undefined])[] = [
    ["203.0.113.0/24", "203.0.113.0/24"],
    ["203.0.113.9", "203.0.113.9/32"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:db8::/32", "2001:db8::/32"],
    ["::/0", "::/0"],
    ["2001:db8::1", "2001:db8::1/128"],
    ["::ffff:203.0.113.0/120", "203.0.113.0/24"],
    ["::ffff:0:0/96", "0.0.0.0/0"],
    ["::ffff:0:0/95", undefined], // host bits
    ["::fffe:0:0/95", "::fffe:0:0/95"],
    ["2002:cb00:7100::/40", "203.0.113.0/24"],
    ["2002:cb00:7109::/48", "203.0.113.9/32"],
    ["2002:cb00:7109:1::/64", "203.0.113.9/32"],
    ["2002:cb00:7109::1", "203.0.113.9/32"],
    ["2002:cb00::/24", "203.0.0.0/8"],
    ["2002:8000::/17", "2002:8000::/17"],
    ["2002::/16", "2002::/16"],
    ["2000::/3", "2000::/3"],
    ["64:ff9b::cb00:7100/120", "203.0.113.0/24"],
    ["64:ff9b::/96", "64:ff9b::/96"],
    ["64:ff9b:1::/48", "64:ff9b:1::/48"],
    ["2001:0:4136:e378:8000:63bf:34ff:8e00/120", "203.0.113.0/24"],
    ["2001:0:4136:e378::/64", "2001:0:4136:e378::/64"],
    ["2001::/32", "2001::/32"],
    ["2001::/23", "2001::/23"],
    ["2002:cb00:7109::1/48", undefined],
    ["203.0.113.1/24", undefined],
    ["2001:db8::1/64", undefined],
    ["203.0.113.0/33", undefined],
    ["203.0.113.0/024", undefined],
    ["203.0.113.0/", undefined],
    ["203.0.113.0/+24", undefined],
    ["203.0.113.0/24/24", undefined],
    ["/24", undefined],
  ];
  for (const [text, printed] of rows) {
    test(text, () => {
      const prefix = parsePrefix(text);
      assert.equal(prefix && formatPrefix(prefix), printed);
    });
  }

  test("networks around an address, and of peers", () => {
    const around = (text: string) => {
      const prefix = parsePrefixAround(text);
      return prefix && formatPrefix(prefix);
    };
    assert.equal(around("203.0.113.9/24"), "203.0.113.0/24");
    assert.equal(around("2002:cb00:7109::1/40"), "203.0.113.0/24");
    assert.equal(around("::ffff:203.0.113.9/120"), "203.0.113.0/24");
    assert.equal(around("203.0.113.9/33"), undefined);
    const ofPeers = (text: string) => {
      const prefix = parsePeerPrefix(text);
      return prefix && formatPrefix(prefix);
    };
    assert.equal(ofPeers("::ffff:203.0.113.0/120"), "203.0.113.0/24");
    assert.equal(ofPeers("2002:cb00:7100::/40"), "2002:cb00:7100::/40");
    assert.equal(ofPeers("203.0.113.9/24"), undefined);
    assert.equal(withoutHostBits("10.0.0.1/8"), "10.0.0.0/8");
    assert.equal(withoutHostBits("2002:cb00:7109::1/48"), "2002:cb00:7109::/48");
    assert.equal(withoutHostBits("10.0.0.0/8"), undefined);
  });

  test("a prefix contains its edges and not its neighbours", () => {
    const inside = (prefix: string, address: string) =>
      prefixContains(parsePrefix(prefix)!, parseIp(address)!);
    assert.ok(inside("203.0.112.0/23", "203.0.112.0"));
    assert.ok(inside("203.0.112.0/23", "203.0.113.255"));
    assert.ok(!inside("203.0.112.0/23", "203.0.114.0"));
    assert.ok(!inside("203.0.112.0/23", "203.0.111.255"));
    assert.ok(inside("2001:db8:0:8000::/49", "2001:db8:0:ffff:ffff:ffff:ffff:ffff"));
    assert.ok(!inside("2001:db8:0:8000::/49", "2001:db8:0:7fff:ffff:ffff:ffff:ffff"));
    assert.ok(!inside("::/0", "1.2.3.4"), "families never match each other");
  });
});
