// Tests how operators may request an override, what is refused and why, and how overrides are stored.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ADDRESS_FLAGS, FLAGS_OF, isInForce, OVERRIDE_KINDS, type Override } from "@inkling/engine";
import fc from "fast-check";
import { anyText } from "../../../../test/harness/any-text.ts";
import { emailHash, OverrideInputError, parseNewOverride } from "./override.ts";
import { overrideFromRow, rowFromOverride } from "./record.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const CONTEXT = { now: NOW, author: "ada" };
const OFF = { flag: "is_tor_exit", verdict: false, note: "our office" };
const GOOD = { flag: "disposable", verdict: false, note: "a customer" };

function refusal(input: object) {
  try {
    parseNewOverride(input, CONTEXT);
  } catch (error) {
    if (error instanceof OverrideInputError) return error;
    throw error;
  }
  return undefined;
}

const JANE = new Bun.CryptoHasher("sha256").update("jane.doe@example-shop.com").digest("hex");

describe("values become normal forms", () => {
  const rows: [given: string, effect: object, kind: string, value: string][] = [
    ["81.2.69.142", OFF, "address", "81.2.69.142"],
    ["81.2.69.142/32", OFF, "address", "81.2.69.142"],
    ["::ffff:81.2.69.142", OFF, "address", "81.2.69.142"],
    ["2002:5102:458e::1", OFF, "address", "81.2.69.142"],
    ["2A00:1450:0:0::200E", OFF, "address", "2a00:1450::200e"],
    ["81.2.0.0/16", OFF, "network", "81.2.0.0/16"],
    ["::ffff:81.2.69.0/120", OFF, "network", "81.2.69.0/24"],
    ["2a00:1450::/32", OFF, "network", "2a00:1450::/32"],
    ["Mailinator.COM", GOOD, "domain", "mailinator.com"],
    ["bücher.de", GOOD, "domain", "xn--bcher-kva.de"],
    ["mail.example-shop.co.uk", GOOD, "domain", "mail.example-shop.co.uk"],
    ["Jane.Doe+news@Example-Shop.com", GOOD, "email_hash", JANE],
    [JANE.toUpperCase(), GOOD, "email_hash", JANE],
  ];
  test.each(rows)("%s", (given, effect, kind, value) => {
    expect(parseNewOverride({ value: given, ...effect }, CONTEXT)).toMatchObject({ kind, value } as object);
  });

  test("all fields", () => {
    const input = { value: "81.2.69.142", ...OFF, expires_at: "2026-06-02T00:00:00Z" };
    expect(parseNewOverride(input, CONTEXT)).toEqual({
      kind: "address",
      value: "81.2.69.142",
      flag: "is_tor_exit",
      verdict: false,
      note: "our office",
      author: "ada",
      expiresAt: Date.parse("2026-06-02T00:00:00Z"),
    });
    expect(parseNewOverride({ value: "81.2.69.0/24", ...OFF }, CONTEXT).expiresAt).toBeUndefined();
  });
});

const DOCS = readFileSync(join(import.meta.dir, "../../../../docs/overrides.md"), "utf8");
/** The rows of the table of values in docs/overrides.md. */
const DOCUMENTED = DOCS.split("| value | covers | flags |\n")[1]!.split("\n\n")[0]!.split("\n").slice(1);
const valuesIn = (row: string) => [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, value]) => value!);

test("docs/overrides.md has a value of every kind, with the flags that it can force", () => {
  const kinds = new Set<string>();
  let flags: string[] = [];
  for (const row of DOCUMENTED) {
    const [, , , forced] = row.split("|");
    if (forced?.includes("every flag")) flags = [...ADDRESS_FLAGS];
    else if (forced?.trim() !== "same") flags = [...forced!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    for (const value of valuesIn(row)) {
      const { kind } = parseNewOverride({ ...OFF, value, flag: flags[0] }, CONTEXT);
      expect([value, flags]).toEqual([value, [...FLAGS_OF[kind]]]);
      kinds.add(kind);
    }
  }
  expect(OVERRIDE_KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
});

describe("refused, with the reason", () => {
  const at = (value: string, over: object = OFF) => ({ value, ...over });
  const rows: [name: string, input: object, reason: RegExp][] = [
    ["no address", at("81.2.69"), /value: is not an address or network/],
    ["leading zeros", at("081.2.69.142"), /is not an address or network/],
    [
      "bits after the prefix",
      at("81.2.69.142/24"),
      /^value: `81\.2\.69\.142\/24` has host bits set\. Use `81\.2\.69\.0\/24`$/,
    ],
    ["an address that nobody looks up", at("192.168.0.1"), /is a private address/],
    ["such an address inside IPv6", at("::ffff:10.0.0.1"), /is a private address/],
    ["such a network", at("10.0.0.0/24"), /is a private network/],
    ["6to4", at("2002::/16"), /write the IPv4 network instead/],
    ["Teredo", at("2001:0:1234::/48"), /IPv4 network instead|IETF protocol/],
    ["no domain", at("exa mple.com", GOOD), /is not an address, network, domain/],
    ["a special-use domain", at("corp.internal", GOOD), /special-use domain/],
    ["no email address", at("a b@example.com", GOOD), /is not an email address/],
    ["a flag of email for an address", at("81.2.69.142", GOOD), /not a flag of an address: use is_abuser/],
    ["a flag of addresses for a domain", at("example-shop.com"), /not a flag of a domain: use disposable/],
    ["a misspelt flag", at("81.2.69.142", { ...OFF, flag: "is_tor_exits" }), /did you mean is_tor_exit\?/],
    ["an unknown flag", at("81.2.69.142", { ...OFF, flag: "evil" }), /the flags are is_abuser, is_proxy/],
    [
      "neither flag nor verdict",
      at("81.2.69.142", { note: "x" }),
      /`flag` is required and must be one of is_abuser, is_proxy/,
    ],
    [
      "a flag without verdict",
      at("81.2.69.142", { flag: "is_proxy", note: "x" }),
      /`verdict` is required and must be true or/,
    ],
    [
      "a verdict that is text",
      at("81.2.69.142", { ...OFF, verdict: "no" }),
      /verdict: must be true or false/,
    ],
    ["no note", at("81.2.69.142", { ...OFF, note: " " }), /note: must not be empty/],
    ["a long note", at("81.2.69.142", { ...OFF, note: "x".repeat(501) }), /note: must have at most 500/],
    ["a note of two lines", at("81.2.69.142", { ...OFF, note: "a\nb" }), /note: must not contain/],
    ["an end in the past", at("81.2.69.142", { ...OFF, expires_at: "2026-06-01T12:00:00Z" }), /in the past/],
    [
      "an end that is none",
      at("81.2.69.142", { ...OFF, expires_at: "soon" }),
      /expires_at: must be a date such as/,
    ],
    ["an unknown field", at("81.2.69.142", { ...OFF, vedrict: true }), /vedrict/],
  ];
  test.each(rows)("%s", (_, input, reason) => {
    const error = refusal(input);
    expect(error?.code).toBe("INVALID");
    expect(error?.message).toMatch(reason);
  });

  test("every problem at once, and never the email address", () => {
    const error = refusal({
      value: "jane@exa mple.com",
      flag: "x",
      verdict: true,
      note: "x",
      expires_at: "2001-01-01",
    });
    expect(error?.problems).toHaveLength(3);
    expect(error?.message).not.toContain("jane");
  });
});

describe("too wide without force", () => {
  const rows: [value: string, effect: object, reason: RegExp][] = [
    ["81.2.0.0/15", OFF, /broader than \/16: it covers 131,072 addresses/],
    ["0.0.0.0/0", OFF, /broader than \/16/],
    ["2a00:1450::/31", OFF, /broader than \/32: it covers 2\^97/],
    ["::/0", OFF, /broader than \/32/],
    ["co.uk", GOOD, /public suffix/],
    ["github.io", GOOD, /public suffix/],
    ["XYZ", GOOD, /public suffix/],
  ];
  test.each(rows)("%s", (value, effect, reason) => {
    const error = refusal({ value, ...effect });
    expect(error?.code).toBe("TOO_WIDE");
    expect(error?.message).toMatch(reason);
    expect(parseNewOverride({ value, ...effect, force: true }, CONTEXT).value).toBe(value.toLowerCase());
  });
});

describe("the hash of an email address", () => {
  const same = [
    "jane.doe@example-shop.com",
    "Jane.Doe@EXAMPLE-shop.COM",
    "jane.doe+x@example-shop.com",
    "jane.doe+a+b@example-shop.com",
  ];
  test.each(same)("%s", (text) => expect(emailHash(text)).toBe(JANE));

  const different = [
    "janedoe@example-shop.com",
    "jane.doe@sub.example-shop.com",
    "+jane.doe@example-shop.com",
  ];
  test.each(different)("another: %s", (text) => {
    expect(emailHash(text)).toMatch(/^[0-9a-f]{64}$/);
    expect(emailHash(text)).not.toBe(JANE);
  });

  test("is the one that docs/overrides.md works out", () => {
    const [, printed, given] = /`printf (\S+) \| sha256sum` prints the hash of `(\S+)`/.exec(DOCS)!;
    expect(emailHash(given!)).toBe(new Bun.CryptoHasher("sha256").update(printed!).digest("hex"));
  });

  test("Unicode in either part", () => {
    expect(emailHash("JOSE\u0301@bücher.de")).toBe(emailHash("jos\u00e9@xn--bcher-kva.de")!);
  });
});

describe("random values", () => {
  const piece = fc.constantFrom(
    ..."81.2.69.142|2a00:1450::|/24|/32|/0|/129|::ffff:|2002:|.|:|/|@|+|jane|shop|.com|.co.uk|com|bücher|xn--|0x|01|%|a b|例|".split(
      "|",
    ),
  );
  const value = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join("")),
    fc.ipV4(),
    fc.ipV6(),
    fc.domain(),
    fc.emailAddress(),
    fc.stringMatching(/^[A-Za-z0-9.+é]{1,8}$/).map((local) => `${local}@Gmail.com`),
    fc.tuple(fc.nat(255), fc.nat(255)).map(([a, b]) => `${a}.${b}.0.0/16`),
    fc.tuple(fc.ipV4(), fc.nat(33)).map(([ip, bits]) => `${ip}/${bits}`),
    anyText(40),
    fc.constantFrom(...DOCUMENTED.flatMap(valuesIn)),
  );

  test("are refused with a reason, or have a normal form that stands for itself", () => {
    const kinds = new Map<string, number>();
    let refused = 0;
    fc.assert(
      fc.property(value, fc.boolean(), (text, isAddress) => {
        const rest = { ...(isAddress ? OFF : GOOD), force: true };
        try {
          const one = parseNewOverride({ value: text, ...rest }, CONTEXT);
          expect(parseNewOverride({ value: one.value, ...rest }, CONTEXT)).toEqual(one);
          kinds.set(one.kind, (kinds.get(one.kind) ?? 0) + 1);
        } catch (error) {
          if (!(error instanceof OverrideInputError)) throw error;
          expect(error.problems.length).toBeGreaterThan(0);
          refused++;
        }
      }),
      { numRuns: 6_000 },
    );
    expect(refused).toBeGreaterThan(1_000);
    for (const kind of OVERRIDE_KINDS) expect([kind, (kinds.get(kind) ?? 0) > 40]).toEqual([kind, true]);
  });
});

test("rows hold all that there is to an override, and nothing else is understood", () => {
  const override: Override = {
    id: "ovr_0123456789abcdef",
    kind: "network",
    value: "81.2.69.0/24",
    flag: "is_proxy",
    verdict: true,
    note: "x",
    author: "ada",
    createdAt: NOW,
    expiresAt: NOW + 1,
    removedAt: undefined,
  };
  expect(overrideFromRow(rowFromOverride(override))).toEqual(override);
  expect(() => overrideFromRow({ ...rowFromOverride(override), kind: "planet" })).toThrow("unknown kind");
  expect(() => overrideFromRow({ ...rowFromOverride(override), effect: "x" })).toThrow("unknown effect");
  expect([NOW, NOW + 1].map((now) => isInForce(override, now))).toEqual([true, false]);
});
