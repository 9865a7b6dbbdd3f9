// Tests which overrides apply, with a table of cases, and random overrides compared with an oracle that tries each one

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  formatPrefix,
  IpAddress,
  parseIp,
  parsePrefix,
  prefixContains,
  type UnwrappedAddress,
} from "../address/ip.ts";
import { Overrides, type OverrideVerdict } from "./compiled.ts";
import { ADDRESS_FLAGS, OVERRIDE_KINDS, type Override, type OverrideKind } from "./model.ts";
import { bitsOf, bitsOfAnswer, forcedBits, REPUTATION_ANSWERS } from "./reputation-flags.ts";

const NOW = 1_000;
/** Creates overrides that use the local part instead of a hash. */
const overridesWith = (all: readonly Override[]) =>
  new Overrides(all, (mailbox) => mailbox.split("@")[0]!).compiled;
let count = 0;
const used = new Set<OverrideKind>();

type Forced = Pick<Override, "flag" | "verdict">;
function override(kind: OverrideKind, value: string, forced: Forced, expiresAt?: number): Override {
  const id = `ovr_${++count}`;
  used.add(kind);
  return {
    id,
    kind,
    value,
    ...forced,
    note: "x",
    author: "x",
    createdAt: 0,
    expiresAt,
    removedAt: undefined,
  };
}
const flag = (name: Override["flag"], verdict: boolean): Forced => ({ flag: name, verdict });

/** Returns the flags of a verdict as a plain object, for comparisons. */
const plain = (verdict: OverrideVerdict | undefined) => verdict && Object.fromEntries(verdict.flags);
const address = (text: string) => parseIp(text)!;

describe("addresses", () => {
  const overrides = overridesWith([
    override("network", "81.2.0.0/16", flag("is_proxy", true)),
    override("network", "81.2.69.0/24", flag("is_proxy", false)),
    override("address", "81.2.69.142", flag("is_proxy", true), NOW),
    override("address", "81.2.69.142", flag("is_abuser", true)),
    override("network", "81.2.69.128/25", flag("is_tor_exit", true)),
    override("network", "2a00:1450::/32", flag("is_abuser", false)),
    override("address", "2a00:1450::9", flag("is_abuser", true)),
  ]);
  const rows: [text: string, expected: object | undefined][] = [
    ["81.2.68.1", { is_proxy: true }],
    ["81.2.69.1", { is_proxy: false }],
    ["81.2.69.142", { is_proxy: false, is_abuser: true, is_tor_exit: true }],
    ["81.3.0.0", undefined],
    ["2a00:1450::1", { is_abuser: false }],
    ["2a00:1450::9", { is_abuser: true }],
    ["2a00:1451::1", undefined],
  ];
  for (const [text, expected] of rows) {
    test(text, () => assert.deepEqual(plain(overrides.matchAddress(address(text), NOW)), expected));
  }

  test("an override holds until it expires", () => {
    const at = (now: number) => plain(overrides.matchAddress(address("81.2.69.142"), now))?.is_proxy;
    assert.deepEqual([at(NOW - 1), at(NOW)], [true, false]);
  });

  test("`applied` has those that have an effect, closest first", () => {
    const applied = overrides.matchAddress(address("81.2.69.142"), NOW)!.applied;
    assert.deepEqual(
      applied.map(({ override: { value, flag } }) => `${value} ${flag}`),
      ["81.2.69.142 is_abuser", "81.2.69.128/25 is_tor_exit", "81.2.69.0/24 is_proxy"],
    );
  });
});

describe("email", () => {
  const overrides = overridesWith([
    override("domain", "shop.co.uk", flag("disposable", true)),
    override("domain", "mail.shop.co.uk", flag("disposable", false)),
    override("domain", "xyz", flag("disposable", false)),
    override("email_hash", "ff", flag("disposable", true)),
  ]);
  const rows: [host: string, hash: string | undefined, expected: object | undefined][] = [
    ["shop.co.uk", undefined, { disposable: true }],
    ["a.shop.co.uk", undefined, { disposable: true }],
    ["mail.shop.co.uk", undefined, { disposable: false }],
    ["x.mail.shop.co.uk", "ff", { disposable: true }],
    ["ashop.co.uk", undefined, undefined],
    ["co.uk", undefined, undefined],
    ["a.xyz", "fe", { disposable: false }],
    ["a.com", "ff", { disposable: true }],
  ];
  for (const [host, hash, expected] of rows) {
    test(`${host} ${hash}`, () =>
      assert.deepEqual(plain(overrides.matchEmail(`${hash}@${host}`, host, NOW)), expected));
  }
});

test("without overrides of a kind nothing is matched or hashed", () => {
  assert.deepEqual([Overrides.NONE.isEmpty, Overrides.NONE.compiled.hasEmail], [true, false]);
  const ofMail = new Overrides([override("domain", "a.com", flag("disposable", true))], () => {
    throw new Error("hashed");
  }).compiled;
  assert.equal(ofMail.hasEmail, true);
  assert.equal(ofMail.matchEmail("x@b.com", "b.com", NOW), undefined);
  assert.equal(ofMail.matchAddress(address("1.1.1.1"), NOW), undefined);
});

describe("random overrides, against each tried in turn", () => {
  // Only a few bits differ, so networks nest and contain the addresses.
  const word = fc.constantFrom(0x51020000, 0x5102458e, 0x5102458f, 0x51024500, 0xd1024500, 0);
  const prefix = fc
    .tuple(
      fc.constantFrom(4 as const, 6 as const),
      fc.array(word, { minLength: 4, maxLength: 4 }),
      fc.nat(128),
    )
    .map(([family, words, length]) => {
      const made = new IpAddress();
      made.family = family;
      const bits = family === 4 ? length % 33 : length;
      for (let k = 0; k < (family === 4 ? 1 : 4); k++) {
        const kept = Math.min(32, Math.max(0, bits - 32 * k));
        made.words[k] = kept === 0 ? 0 : words[k]! & (kept === 32 ? -1 : ~(0xffffffff >>> kept));
      }
      return formatPrefix({ address: made, bits });
    })
    .filter((text) => parsePrefix(text) !== undefined);
  const forced = fc.tuple(fc.constantFrom(...ADDRESS_FLAGS), fc.boolean()).map((one) => flag(...one));
  const expiry = fc.constantFrom(undefined, NOW + 9, NOW + 1, NOW, NOW - 1);
  const one = fc.tuple(prefix, forced, expiry);

  /** Keeps one override for each value and flag, as the store does. */
  const unique = (all: readonly Override[]) => {
    const seen = new Map(all.map((given) => [JSON.stringify([given.value, given.flag]), given]));
    return [...seen.values()];
  };

  function oracle(all: readonly Override[], asked: UnwrappedAddress) {
    const holding = all
      .filter(({ value }) => prefixContains(parsePrefix(value)!, asked))
      .filter(({ expiresAt }) => expiresAt === undefined || NOW < expiresAt)
      .sort((a, b) => parsePrefix(a.value)!.bits - parsePrefix(b.value)!.bits);
    if (holding.length === 0) return undefined;
    const flags: Record<string, boolean> = {};
    for (const { flag, verdict } of holding) flags[flag] = verdict;
    return flags;
  }

  test("agree", () => {
    let matched = 0;
    let nested = 0;
    fc.assert(
      fc.property(fc.array(one, { minLength: 4, maxLength: 16 }), prefix, (rows, asked) => {
        const all = unique(rows.map(([value, given, until]) => override("network", value, given, until)));
        const where = parsePrefix(asked)!.address as UnwrappedAddress; // looked up as written, without unwrapping
        const verdict = overridesWith(all).matchAddress(where, NOW);
        assert.deepEqual(plain(verdict), oracle(all, where));
        if (verdict !== undefined) matched++;
        if (verdict !== undefined && verdict.applied.length > 1) nested++;
      }),
      { numRuns: 3_000 },
    );
    assert.ok(matched > 600);
    assert.ok(nested > 200);
  });

  test("of domains, too", () => {
    const label = fc.constantFrom("a", "b", "com");
    const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
    let matched = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(host, fc.boolean(), expiry), { minLength: 2, maxLength: 8 }),
        host,
        (rows, asked) => {
          const all = unique(
            rows.map(([value, verdict, until]) =>
              override("domain", value, flag("disposable", verdict), until),
            ),
          );
          const holding = all
            .filter(({ value }) => asked === value || asked.endsWith(`.${value}`))
            .filter(({ expiresAt }) => expiresAt === undefined || NOW < expiresAt)
            .sort((x, y) => y.value.length - x.value.length);
          const expected = holding[0]?.verdict;
          const verdict = overridesWith(all).matchEmail(`someone@${asked}`, asked, NOW);
          assert.equal(verdict?.flags.get("disposable"), expected);
          if (expected !== undefined) matched++;
        },
      ),
      { numRuns: 2_000 },
    );
    assert.ok(matched > 300);
  });
});

test("walks: how far the same overrides apply, and which are about a network", () => {
  const all = [
    override("network", "81.2.0.0/16", flag("is_proxy", true)),
    override("address", "81.2.69.142", flag("is_abuser", true)),
    override("network", "81.2.69.0/24", flag("is_proxy", false)),
    override("network", "2a00:1450::/32", flag("is_proxy", false)),
    override("network", "255.255.255.0/24", flag("is_proxy", false)),
  ];
  const overrides = overridesWith(all);
  const bits = (text: string) => overrides.networkBits(address(text));
  assert.deepEqual(
    ["81.2.69.142", "81.2.69.143", "81.2.69.1", "81.2.68.9", "81.3.0.1", "1.1.1.1", "255.255.255.1"].map(
      bits,
    ),
    [32, 32, 25, 24, 16, 2, 24],
  );
  assert.deepEqual(["2a00:1450::1", "2a00:1451::", "::9"].map(bits), [32, 32, 3]);
  const around = (text: string) => {
    const found = overrides.around(parsePrefix(text)!);
    return all.flatMap((one, i) => (found.has(one) ? [i] : []));
  };
  assert.deepEqual(around("81.2.69.128/25"), [0, 1, 2]);
  assert.deepEqual(around("81.2.70.0/24"), [0]);
  assert.deepEqual(around("0.0.0.0/0"), [0, 1, 2, 4]);
  assert.deepEqual(around("::/0"), [3]);
  assert.deepEqual(around("10.0.0.0/8"), []);
  assert.deepEqual(
    [overrides.covers(address("81.2.0.1")), overrides.covers(address("81.3.0.1"))],
    [true, false],
  );
});

test("they are compiled once", () => {
  const overrides = new Overrides([], () => "");
  assert.equal(overrides.compiled, overrides.compiled);
});

describe("every answer", () => {
  for (const [bits, answer] of REPUTATION_ANSWERS.entries()) {
    test(`${bits}`, () => {
      const text = new TextDecoder().decode(answer);
      assert.deepEqual(
        Object.entries(JSON.parse(text)),
        ADDRESS_FLAGS.map((flag, i) => [flag, (bits & (2 ** i)) !== 0]),
      );
      assert.equal(bitsOfAnswer(answer), bits);
      assert.equal(bitsOfAnswer(new TextEncoder().encode(text.replace("}", ',"evidence":[]}'))), bits);
      assert.equal(bitsOf(ADDRESS_FLAGS.filter((_, i) => (bits & (1 << i)) !== 0)), bits);
    });
  }

  test("forced flags take the place of the data's", () => {
    const all = [
      override("address", "1.1.1.1", flag("is_tor_exit", false)),
      override("address", "1.1.1.1", flag("is_abuser", true)),
    ];
    const verdict = overridesWith(all).matchAddress(address("1.1.1.1"), NOW)!;
    assert.deepEqual(
      [0, 2, 4, 6, 7].map((bits) => forcedBits(bits, verdict)),
      [1, 3, 1, 3, 3],
    );
  });
});

test("every kind is matched here", () =>
  assert.deepEqual(
    OVERRIDE_KINDS.filter((kind) => !used.has(kind)),
    [],
  ));
